"""Small cases from end to end; what the figures are is nobody's concern here."""

import importlib
from types import MappingProxyType

import numpy as np
import pytest

from fairdraw.benchmarks import running
from fairdraw.benchmarks.cases import FILE, Case
from fairdraw.benchmarks.contenders import FAIRDRAW, LIMITS, Contender, Work, draw_batch
from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.peers import PEERS
from fairdraw.benchmarks.rows import make_rows
from fairdraw.benchmarks.running import find_missing, run_cases, wait_for_kernels
from fairdraw.plan import Plan
from fairdraw.sampling import sample


def case(mode: str = "top_k", batch: int = 1, rows: str = "flat", vocab: int = 16) -> Case:
    return Case(mode=mode, batch=batch, threads=1, vocab=vocab, rows=rows)


def test_fairdraw_draws_from_single_rows_and_from_batches_what_its_public_functions_draw():
    rows, plan = make_rows("flat", 40, 8), Plan.parse(MODES["top_p"].plan)
    alone = FAIRDRAW.prepare(Work(mode=MODES["top_p"], rows=rows, batch=1, threads=1))
    batch = FAIRDRAW.prepare(Work(mode=MODES["top_p"], rows=rows, batch=8, threads=1))
    assert [alone(turn, 3) for turn in (0, 7, 8)] == [
        sample(plan, rows[i], seed=2026, position=3).token for i in (0, 7, 0)
    ]
    expected = [sample(plan, row, seed=i, position=3).token for i, row in enumerate(rows)]
    assert batch(0, 3).tolist() == expected == draw_batch(plan, rows, np.arange(8), 3, 1).tolist()


@pytest.mark.parametrize("batch", [1, 3])
def test_the_limits_read_and_copy_the_rows(batch):
    rows = make_rows("flat", 40, 3)
    work = Work(mode=MODES["greedy"], rows=rows, batch=batch, threads=1)
    assert LIMITS["max"].prepare(work)(1, 0) == (rows.max() if batch > 1 else rows[1].max())
    LIMITS["memcpy"].prepare(work)(0, 0)


def test_every_contender_of_a_case_is_measured_but_those_that_lack_the_mode():
    modes = [case(), case("min_p")]
    first, second = run_cases(modes, ["candle"], repeats=1)
    assert list(first.times) == ["fairdraw", "max", "memcpy", "candle"]
    assert list(second.times) == ["fairdraw", "max", "memcpy"]
    assert (first.case, second.case) == tuple(modes)


def test_cases_of_a_file_draw_from_its_rows_and_a_batch_from_them_again_and_again(monkeypatch):
    seen = []

    def prepare(work: Work):
        seen.append(work.rows)
        return lambda turn, step: None

    spy = Contender(name="spy", role="peer", meaning="", prepare=prepare)
    monkeypatch.setattr(running, "PEERS", MappingProxyType({"spy": spy}))
    rows = np.arange(10, dtype=np.float32).reshape(2, 5)
    list(run_cases([case(rows=FILE), case(rows=FILE, batch=3)], ["spy"], repeats=1, file_rows=rows))
    np.testing.assert_array_equal(seen[0], rows)
    assert seen[1].shape == (3, 5)
    np.testing.assert_array_equal(seen[1][:2], rows)


def test_progress_counts_the_cases():
    told = []
    list(run_cases([case(vocab=4), case(vocab=5)], [], repeats=1, on_progress=told.append))
    assert told == [1, 2]


def test_a_package_that_is_not_there_or_broken_is_said_with_what_to_install(monkeypatch):
    def absent(package: str):
        if package == "torch":
            raise ModuleNotFoundError("No module named 'torch'", name="torch")
        if package == "transformers":
            raise RuntimeError("broken")
        return importlib.__import__(package)

    monkeypatch.setattr(running.importlib, "import_module", absent)
    found = find_missing([*PEERS])
    assert {name: (each.why, each.hint) for name, each in found.items()} == dict.fromkeys(
        ("torch", "transformers", "vllm"), ("torch is not installed", 'pip install "fairdraw[engines]"')
    )
    broken = PEERS["transformers"]
    monkeypatch.setattr(
        running, "PEERS", {"x": Contender(name="x", role="peer", meaning="", prepare=broken.prepare,
                                          packages=("transformers",), extra="engines")},
    )  # fmt: skip
    assert find_missing(["x"])["x"].why == "transformers cannot be imported: RuntimeError"


def test_the_extras_that_peers_name_install_what_they_import():
    import tomllib
    from pathlib import Path

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    for peer in PEERS.values():
        needs = project["optional-dependencies"][peer.extra] if peer.extra else project["dependencies"]
        assert all(any(need.startswith(package) for need in needs) for package in peer.packages)


def test_without_kernels_it_is_said_that_numpy_draws_and_nothing_is_compiled(monkeypatch):
    monkeypatch.setattr("fairdraw.kernels.backends.chosen", lambda: "numpy")
    monkeypatch.setattr(running, "chosen", lambda: "numpy")
    monkeypatch.setattr(running, "prepare", lambda mode: pytest.fail(f"{mode} was compiled"))
    assert wait_for_kernels(["greedy", "top_p"]) == {"greedy": "numpy", "top_p": "numpy"}


def test_with_kernels_each_mode_is_prepared_before_it_is_asked_for(monkeypatch):
    ready = {}
    monkeypatch.setattr(running, "chosen", lambda: "numba")
    monkeypatch.setattr(running, "prepare", lambda mode: ready.setdefault(mode, len) if mode != "min_p" else None)
    monkeypatch.setattr(running, "find_kernel", ready.get)
    assert wait_for_kernels(["top_k_top_p", "min_p"]) == {"top_k_top_p": "numba", "min_p": "numpy"}
    assert set(ready) == {"top_k"}
