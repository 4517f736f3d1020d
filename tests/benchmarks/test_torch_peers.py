"""The peers on torch draw from the law that they claim: ``pytest -m engines``."""

import numpy as np
import pytest

import fairdraw as fd
from benchmarks.laws import LEVEL, p_value
from fairdraw.benchmarks.contenders import Work
from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.peers import PEERS
from fairdraw.benchmarks.rows import make_rows

pytestmark = pytest.mark.engines
BATCH, CALLS = 200, 200
TORCH_PEERS = ("torch", "transformers", "vllm")


@pytest.fixture(autouse=True)
def _torch():
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "greedy"])
@pytest.mark.parametrize("name", TORCH_PEERS)
def test_draws_follow_the_law_of_the_mode(name, mode):
    pytest.importorskip(name if name == "transformers" else "torch")
    row = make_rows("flat", 300, 1)[0] * np.float32(2)
    job = PEERS[name].prepare(Work(mode=MODES[mode], rows=np.tile(row, (BATCH, 1)), batch=BATCH, threads=1))
    tokens = np.concatenate([job(0, step).numpy() for step in range(CALLS)])
    assert tokens.size == BATCH * CALLS
    assert p_value(tokens, fd.law(fd.Plan.parse(MODES[mode].plan), row).probabilities) > LEVEL


@pytest.mark.parametrize("name", TORCH_PEERS)
def test_single_rows_take_turns_and_greedy_takes_the_best(name):
    pytest.importorskip(name if name == "transformers" else "torch")
    rows = make_rows("peaky", 100, 4)
    job = PEERS[name].prepare(Work(mode=MODES["greedy"], rows=rows, batch=1, threads=1))
    assert [int(job(turn, 0)) for turn in range(8)] == [*rows.argmax(axis=1)] * 2


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", TORCH_PEERS)
def test_a_row_narrower_than_k_is_drawn_from_and_never_written(name, mode):
    pytest.importorskip(name if name == "transformers" else "torch")
    rows = make_rows("flat", 20, 3)
    before = rows.copy()
    job = PEERS[name].prepare(Work(mode=MODES[mode], rows=rows, batch=1, threads=1))
    assert all(0 <= int(job(turn, turn)) < 20 for turn in range(30))
    np.testing.assert_array_equal(rows, before)


@pytest.mark.parametrize("name", TORCH_PEERS)
def test_threads_are_as_many_as_asked(name):
    import torch

    pytest.importorskip(name if name == "transformers" else "torch")
    rows = make_rows("flat", 20, 3)
    for threads in (2, 1):
        PEERS[name].prepare(Work(mode=MODES["temperature"], rows=rows, batch=1, threads=threads))
        assert torch.get_num_threads() == threads
