"""``fairdraw bench`` on rows of a few tokens: what it prints and refuses, never how long anything takes."""

import json

import numpy as np
import pytest

from fairdraw.benchmarks import running
from fairdraw.benchmarks.cases import Case
from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.peers import PEERS
from fairdraw.benchmarks.results import Result
from fairdraw.benchmarks.rows import KINDS
from fairdraw.benchmarks.timing import Times

SMALL = ("--vocab", "8", "--rows", "flat", "--modes", "top_k", "--repeats", "1")


@pytest.fixture(autouse=True)
def _numpy(numpy_draws, monkeypatch) -> None:
    monkeypatch.setattr(running, "chosen", lambda: "numpy")


@pytest.fixture
def no_torch(monkeypatch) -> None:
    why = {"torch": "torch is not installed", "transformers": "transformers is not installed"}
    monkeypatch.setattr(running, "_cannot_import", lambda package: why.get(package, ""))


@pytest.fixture
def measured(monkeypatch) -> None:
    """Figures of our own: wall time and CPU time, microseconds."""
    figures = {"fairdraw": (50.0, 40.0), "max": (5.0, 4.0), "memcpy": (8.0, 8.0), "candle": (500.0, 460.0)}

    def run_cases(cases: tuple[Case, ...], peers, **rest):
        for case in cases:
            grown = case.vocab / 8
            times = {
                name: Times(wall_us=wall * grown, cpu_us=cpu * grown, repeats=3)
                for name, (wall, cpu) in figures.items()
                if name in ("fairdraw", "max", "memcpy", *peers)
            }
            yield Result(case=case, times=times)

    monkeypatch.setattr("fairdraw.cli.bench.run_cases", run_cases)


def lines_of(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_a_table_has_times_of_fairdraw_and_ratios_of_the_peers(cli, no_torch, measured):
    ran = cli("bench", "--vocab", "8", "16", "--rows", "flat", "--modes", "top_p")
    assert ran.code == 0
    assert "top_p: rows one by one, 1 thread, microseconds a row, thread CPU time" in ran.out
    lines = lines_of(ran.out)
    assert ["V", "rows", "max", "memcpy", "fairdraw", "over", "max", "candle"] in lines
    assert ["8", "flat", "4.00", "8.00", "40.0", "10.0", "11.5"] in lines
    assert ["16", "flat", "8.00", "16.0", "80.0", "10.0", "11.5"] in lines
    assert "growth with the vocabulary" in ran.out
    assert "where a peer was faster" not in ran.out
    assert ["top_p", "flat", *["V=16", "over", "V=8,", "batch", "1,", "1", "thread"], "2.00"] in lines


def test_wall_time_decides_for_a_batch(cli, no_torch, measured):
    ran = cli("bench", *SMALL, "--batch", "8,16")
    assert "top_k: batch 8, 1 thread, microseconds a row, wall time" in ran.out
    assert ["8", "flat", "5.00", "8.00", "50.0", "10.0", "10.0"] in lines_of(ran.out)
    assert "a row of a large batch over one of a small batch" in ran.out


def test_the_machine_the_versions_and_who_draws_are_said(cli, no_torch, measured):
    out = cli("bench", *SMALL).out
    assert f"numpy {np.__version__}" in out
    assert "draws with numpy; unset FAIRDRAW_BACKEND for kernels" in out
    assert "Ratios travel between machines, times do not" in out


def test_a_peer_that_is_not_installed_is_a_row_that_says_so_and_no_error(cli, no_torch):
    ran = cli("bench", *SMALL)
    assert ran.code == 0
    text = " ".join(ran.out.split())
    assert 'torch is not installed: pip install "fairdraw[engines]"' in text
    assert "candle's algorithm, written anew" in text
    header = next(line for line in lines_of(ran.out) if line[:1] == ["V"])
    assert header[-1] == "candle"
    assert "torch" not in header


def test_a_peer_without_the_mode_has_a_dash(cli, no_torch):
    ran = cli("bench", "--vocab", "8", "--rows", "flat", "--modes", "min_p", "--repeats", "1")
    line = next(line for line in lines_of(ran.out) if line[:2] == ["8", "flat"])
    assert line[-1] == "-"
    assert "has no min_p" in ran.out


def test_a_faster_peer_is_named(cli, no_torch, monkeypatch):
    def run_cases(cases, peers, **rest):
        for case in cases:
            fast = {name: Times(wall_us=1, cpu_us=1, repeats=1) for name in ("max", "memcpy", "candle")}
            yield Result(case=case, times={"fairdraw": Times(wall_us=2, cpu_us=2, repeats=1), **fast})

    monkeypatch.setattr("fairdraw.cli.bench.run_cases", run_cases)
    out = cli("bench", *SMALL).out
    assert "where a peer was faster: its time over fairdraw's" in out
    assert ["candle", "top_k", "flat", "V=8,", "batch", "1,", "1", "thread", "0.50"] in lines_of(out)


def test_json_on_standard_output_is_one_object_with_everything(cli, no_torch):
    ran = cli("bench", *SMALL, "--json", "-")
    data = json.loads(ran.out)
    assert set(data) == {"machine", "kernels", "size", "peers", "cases", "findings", "losses"}
    assert data["kernels"] == {"top_k": "numpy"}
    assert {"processor", "cores", "system", "python", "fairdraw", "packages"} == set(data["machine"])
    assert [(peer["name"], peer["measured"]) for peer in data["peers"]] == [
        ("torch", False), ("transformers", False), ("vllm", False), ("candle", True),
    ]  # fmt: skip
    assert data["peers"][0]["hint"] == 'pip install "fairdraw[engines]"'
    (case,) = data["cases"]
    assert (case["mode"], case["vocab"], case["rows"], case["batch"], case["threads"]) == ("top_k", 8, "flat", 1, 1)
    assert set(case["contenders"]) == {"fairdraw", "max", "memcpy", "candle"}
    assert set(case["contenders"]["candle"]) == {"wall_us", "cpu_us", "repeats", "ratio_to_max", "ratio_to_fairdraw"}


def test_json_into_a_file_leaves_the_tables_on_standard_output(cli, no_torch, measured, tmp_path):
    path = tmp_path / "bench.json"
    ran = cli("bench", *SMALL, "--json", str(path))
    assert json.loads(path.read_text())["cases"][0]["contenders"]["candle"]["ratio_to_fairdraw"] == 11.5
    assert "top_k: rows one by one" in ran.out
    assert f"written to {path}" in ran.err


def test_rows_of_a_file_are_measured_alone_or_beside_others(cli, rows_npy):
    arguments = ("bench", "--modes", "greedy", "--peers", "none", "--repeats", "1", "--rows-file", rows_npy)
    alone = cli(*arguments)
    assert [line[:2] for line in lines_of(alone.out) if "file" in line] == [["6", "file"]]
    both = lines_of(cli(*arguments, "--rows", "file", "flat", "--vocab", "9").out)
    assert [line[:2] for line in both if len(line) == 6 and line[0].isdigit()] == [["6", "file"], ["9", "flat"]]


@pytest.mark.parametrize(
    ("given", "repeats", "bounded"),
    [([], 15, True), (["--repeats", "40"], 40, False), (["--size", "full"], 31, True)],
)
def test_repeats_that_are_asked_for_are_made_however_slow_a_contender_is(cli, monkeypatch, given, repeats, bounded):
    seen = []
    monkeypatch.setattr("fairdraw.cli.bench.run_cases", lambda cases, peers, **rest: seen.append(rest) or [])
    assert cli("bench", "--peers", "none", *given).code == 0
    assert (seen[0]["repeats"], seen[0]["budget_ns"] is not None) == (repeats, bounded)


def test_none_and_names_choose_the_peers(cli, measured, no_torch):
    assert "peer" not in [line[0] for line in lines_of(cli("bench", *SMALL, "--peers", "none").out) if line]
    out = cli("bench", *SMALL, "--peers", "candle").out
    assert "transformers" not in out.partition("peer ")[2]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--modes", "top-k"], ["--modes must be of greedy, temperature, top_k", "'top-k'", "did you mean 'top_k'?"]),
        (["--rows", "peeky"], ["--rows must be of peaky", "did you mean 'peaky'?"]),
        (["--rows", "file"], ["--rows file needs --rows-file"]),
        (["--tensor", "x"], ["--tensor needs --rows-file"]),
        (["--peers", "candel"], ["--peers must be of torch", "did you mean 'candle'?"]),
        (["--peers", "none", "candle"], ["--peers", "none stands alone"]),
        (["--vocab", "0"], ["--vocab must be a whole number in 1..", "got 0"]),
        (["--vocab", "many"], ["--vocab", "'many' is not a whole number"]),
        (["--batch", "0"], ["--batch must be a whole number"]),
        (["--batch", "100000"], ["--batch must be at most", "a batch holds at most 2^28 logits"]),
        (["--threads", "0"], ["--threads must be a whole number in 1..", "or all"]),
        (["--threads", "100000"], ["--threads must be a whole number"]),
        (["--threads", "every"], ["'every'"]),
        (["--repeats", "0"], ["--repeats must be a whole number >= 1, got 0"]),
        (["--repeats", "1.5"], ["'1.5' is not a whole number"]),
        (["--size", "fulll"], ["--size", 'Did you mean "full"?']),
        (["--json", ""], ["--json must be a file in a folder that exists"]),
        (["--json", "/nowhere/x.json"], ["--json must be a file", "or - for standard output"]),
        (["--json"], ["--json requires an argument"]),
        (["--rows-file", "none.npy"], ["--rows-file must be a file that exists"]),
        (["--rows-file", "none.csv"], ["--rows-file must be a file that ends in"]),
    ],
)
def test_a_mistake_is_one_sentence_before_anything_is_measured(cli, monkeypatch, arguments, parts):
    monkeypatch.setattr("fairdraw.cli.bench.run_cases", lambda *rest, **more: pytest.fail("it was measured"))
    ran = cli("bench", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("fairdraw: ")
    assert len(ran.err.splitlines()) <= 2
    for part in parts:
        assert part in ran.err


def test_flags_that_a_file_makes_idle_are_refused(cli, rows_npy):
    for arguments, part in (
        (["--vocab", "8"], "--vocab needs synthetic rows"),
        (["--rows", "flat"], "--rows-file needs --rows file"),
    ):
        ran = cli("bench", "--rows-file", rows_npy, *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert part in ran.err


def test_a_bad_row_of_a_file_is_named(cli, tmp_path):
    np.save(tmp_path / "a.npy", np.float32([[0, 1], [np.nan, 1]]))
    ran = cli("bench", "--rows-file", str(tmp_path / "a.npy"))
    assert ran.code == 2
    assert "logits row 1 must have no NaN" in ran.err


def test_help_names_every_mode_and_peer(cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    text = " ".join(cli("bench", "--help").out.split())
    for names in (MODES, PEERS, KINDS):
        assert " ".join(names) in text
