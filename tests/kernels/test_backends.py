"""Who draws, and what happens while a kernel is compiled or cannot be."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels import backends

GOLDEN = Path(__file__).parents[1] / "golden" / "tokens.json"
SAMPLE = """
import sys, warnings, numpy as np
import fairdraw as fd
assert not any(name.split(".")[0] in ("numba", "llvmlite") for name in sys.modules), "import fairdraw imports numba"
plan = fd.Plan.parse("fairdraw: temperature=0.7 top_k=40 top_p=0.9")
row = (np.arange(1000) * 2654435761 % 2**32 >> 20).astype(np.float32) / 256 - 8
"""


def run(code: str, backend: str | None, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name != backends.VARIABLE} | environment
    if backend is not None:
        variables[backends.VARIABLE] = backend
    command = [sys.executable, "-c", SAMPLE + code]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize(("backend", "draws"), [(None, 99), ("", 99), ("numpy", 200)])
def test_numpy_draws_and_leaves_numba_alone_unless_a_kernel_is_worth_it(backend: str | None, draws: int) -> None:
    code = f"""
import threading
for position in range({draws}):
    fd.sample(plan, row, seed=1, position=position)
assert "numba" not in sys.modules and "fairdraw.kernels.warming" not in sys.modules and threading.active_count() == 1
"""
    done = run(code, backend)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["numpi", "NUMBA", "cuda", "background", "automatic"])
def test_an_unknown_backend_is_refused_with_the_names_there_are(name: str) -> None:
    done = run("fd.sample(plan, row, seed=1, position=2)", name)
    assert done.returncode == 1
    assert f"FAIRDRAW_BACKEND must be one of 'numpy', 'numba', got '{name}'" in done.stderr


def test_a_broken_numba_is_said_once_and_numpy_draws() -> None:
    code = """
sys.modules["numba"] = None
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for position in range(20):
        print(fd.sample(plan, row, seed=1, position=position).token)
assert len(told) == 1 and "NumPy draws the same tokens" in str(told[0].message), told
"""
    done = run(code, "numba")
    assert done.returncode == 0, done.stderr
    plain = run("for p in range(20): print(fd.sample(plan, row, seed=1, position=p).token)", "numpy")
    assert done.stdout == plain.stdout


def test_the_golden_tokens_come_from_the_kernels_too() -> None:
    code = f"""
import json
from fairdraw.kernels import backends
golden = json.loads(open({str(GOLDEN)!r}).read())
for text, tokens in golden["tokens"].items():
    for vocab, expected in tokens.items():
        wide = np.arange(int(vocab), dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32) >> np.uint64(20)
        row = (wide.astype(np.float64) / 256 - 8).astype(np.float32)
        plan = fd.Plan.parse(text)
        draws = golden["draws"][:: 7 if vocab == "49152" else 1]
        got = [fd.sample(plan, row, seed=s, position=p, sample_index=i).token for s, p, i in draws]
        assert got == expected[:: 7 if vocab == "49152" else 1], (text, vocab)
        for s in {{draw[0] for draw in golden["draws"]}}:
            p, i = zip(*((p, i) for t, p, i in golden["draws"] if t == s))
            many = fd.sample_many(plan, row, seed=s, positions=np.array(p), sample_indices=np.array(i)).tolist()
            assert many == [token for token, draw in zip(expected, golden["draws"]) if draw[0] == s], (text, vocab)
print(*sorted(backends._READY))
"""
    done = run(code, "numba")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["greedy", "inverse_cdf", "many", "min_p", "temperature", "top_k", "top_p"]
    assert len(json.loads(GOLDEN.read_text())["tokens"]) == 16


@pytest.fixture
def kernels_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "chosen", lambda: "numba")
    backends._ASKED.clear()


ODD_ROWS = {
    "nan": [0.0, np.nan, 1.0],
    "inf": [0.0, np.inf, 1.0],
    "nothing": [-np.inf, -np.inf],
    "empty": [],
    "two axes": [[0.0, 1.0]],
    "whole numbers": [1, 2],
}


@pytest.mark.usefixtures("kernels_only")
@pytest.mark.parametrize("kind", ODD_ROWS)
@pytest.mark.parametrize("text", ["fairdraw: top_k=2", "candle: All temperature=0.7", "fairdraw: temperature=0"])
def test_a_bad_row_has_the_same_error_with_and_without_kernels(
    kind: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, messages = fd.Plan.parse(text), []
    for _ in range(2):
        with pytest.raises(fd.LogitsError) as caught:
            fd.sample(plan, np.array(ODD_ROWS[kind]), seed=1, position=2)
        messages.append(str(caught.value))
        monkeypatch.setattr(backends, "chosen", lambda: "numpy")
    assert messages[0] == messages[1]


@pytest.mark.usefixtures("kernels_only")
@pytest.mark.parametrize("make", [
    lambda row: row.astype(np.float16),
    lambda row: row.astype(np.float64),
    lambda row: row.astype(">f4"),
    lambda row: np.repeat(row, 2)[::2],
    lambda row: row[::-1].copy()[::-1],
    lambda row: np.frombuffer(b"x" + row.tobytes(), np.uint8)[1:].view(np.float32),
    lambda row: row.tolist(),
])  # fmt: skip
def test_any_kind_of_row_gives_the_same_token_and_is_not_written(make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.float16(np.random.default_rng(2).standard_normal(3000)).astype(np.float32)
    given = make(row)  # type: ignore[operator]
    if isinstance(given, np.ndarray):
        given.flags.writeable = False
    plan = fd.Plan.parse("fairdraw: temperature=0.7 top_p=0.9")
    drawn = [fd.sample(plan, given, seed=3, position=position).token for position in range(10)]
    monkeypatch.setattr(backends, "chosen", lambda: "numpy")
    assert drawn == [fd.sample(plan, row, seed=3, position=position).token for position in range(10)]


@pytest.mark.usefixtures("kernels_only")
def test_support_and_logprob_are_those_of_the_plan_though_the_history_grew_since() -> None:
    row = np.random.default_rng(3).standard_normal(500).astype(np.float32)
    for text in ("fairdraw: repetition_penalty=1.5 top_p=0.8", "fairdraw: top_k=9 min_p=0.1"):
        plan, history = fd.Plan.parse(text), fd.History(prompt=[int(row.argmax())])
        drawn = fd.sample(plan, row, seed=1, position=1, history=history)
        law = fd.law(plan, row, history=history)
        history.append(drawn.token)
        assert drawn.support.tolist() == law.support.tolist()
        assert drawn.logprob == pytest.approx(law.log_weights[drawn.token], abs=1e-6)


@pytest.mark.usefixtures("kernels_only")
def test_a_history_that_is_none_is_refused_though_the_kernel_needs_none() -> None:
    with pytest.raises(fd.ParameterError, match="history must be a History"):
        fd.sample(fd.Plan.parse("fairdraw: top_k=2"), [1.0, 2.0], seed=1, position=0, history=[1, 2])  # type: ignore[arg-type]


@pytest.mark.model
def test_the_real_model_writes_the_same_text_with_both_backends() -> None:
    def text(backend: str) -> str:
        command = [sys.executable, "-m", "fairdraw.cli", "generate", "Write about the sea.", "--seed", "42"]
        flags = ["--temperature", "0.8", "--top-p", "0.9", "--max-tokens", "16"]
        variables = os.environ | {backends.VARIABLE: backend}
        return subprocess.run([*command, *flags], env=variables, capture_output=True, text=True, check=True).stdout

    assert text("numba") == text("numpy")
    assert len(text("numpy").split()) > 5
