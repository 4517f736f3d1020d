"""llama.cpp's tokens by a plan of its dialect: the same as its chain gives."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay.engines import replayer
from fairdraw.replay.llama_cpp import Chain, replay

ROWS = np.random.default_rng(4).normal(size=(8, 50)).astype(np.float32) * 3


def drawn(text: str, history: fd.History | None = None) -> list[int]:
    step = replayer("llama_cpp", fd.Plan.parse(text), 42)
    return [step(row, history or fd.History()).token for row in ROWS]


@pytest.mark.parametrize(
    ("text", "chain"),
    [
        ("llama_cpp:", Chain()),
        ("llama_cpp: temperature=1.5 top_k=0 top_p=0.9 min_p=0", Chain(temperature=1.5, top_k=0, top_p=0.9, min_p=0.0)),
        ("llama_cpp: temperature=0", Chain(temperature=0.0)),
        ("llama_cpp: min_keep=3 min_p=0.9", Chain(min_keep=3, min_p=0.9)),
    ],
)
def test_a_plan_draws_what_its_chain_draws(text, chain):
    assert drawn(text) == [step.token for step in replay(chain, ROWS, seed=42)]


def test_edits_come_before_the_chain():
    history = fd.History(prompt=range(25))
    edited = ROWS.copy()
    edited[:, :25] -= np.float32(5)
    assert drawn("llama_cpp: presence_penalty=5.0", history) == [s.token for s in replay(Chain(), edited, seed=42)]
    assert drawn("llama_cpp: presence_penalty=5.0", history) != drawn("llama_cpp:")


@pytest.mark.parametrize(
    "more", ["top_n_sigma=1.0", "samplers=tkpm", "xtc_probability=0.5", "mirostat=2", "samplers=k"]
)
def test_a_chain_that_the_replay_does_not_have_is_refused(more):
    with pytest.raises(fd.ParameterError, match="the usual chain"):
        drawn(f"llama_cpp: {more}")
