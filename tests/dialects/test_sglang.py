"""SGLang: what is its own, in numbers small enough to check by hand."""

import numpy as np
import pytest

import fairdraw as fd

ROW = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]


def law(text: str, row: list[float] = ROW, **more) -> fd.Weights:
    return fd.law(fd.Plan.parse(text), np.float32(row), **more)


def test_the_same_request_has_another_law_beside_a_neighbour_with_min_p():
    """0.42, 0.25, 0.15: three reach 0.75 of the row; two reach 0.75 of the three."""
    assert law("sglang: flashinfer top_k=3 top_p=0.75").support.tolist() == [0, 1, 2]
    assert law("sglang: flashinfer_beside_min_p top_k=3 top_p=0.75").support.tolist() == [0, 1]
    assert law("sglang: pytorch top_k=3 top_p=0.75").support.tolist() == [0, 1, 2]


def test_its_own_min_p_changes_what_p_measures():
    assert fd.Plan.parse("sglang: top_k=3 top_p=0.75").mode == "joint"
    assert fd.Plan.parse("sglang: top_k=3 top_p=0.75 min_p=0.01").mode == "min_p"
    assert law("sglang: top_k=3 top_p=0.75 min_p=0.01").support.tolist() == [0, 1]


def test_flashinfer_keeps_all_equals_and_pytorch_exactly_k_of_them():
    tie = [3.0, 2.0, 2.0, 1.0]
    assert law("sglang: flashinfer top_k=2", tie).support.tolist() == [0, 1, 2]
    (open_tie,) = law("sglang: pytorch top_k=2", tie).open_ties
    assert (open_tie.certain.tolist(), open_tie.group.tolist(), open_tie.count) == ([0], [1, 2], 1)


def test_pytorch_is_strict_on_an_exact_hit():
    assert law("sglang: pytorch top_p=0.25", [0.0] * 8).support.size == 3
    assert law("sglang: flashinfer_beside_min_p top_p=0.25", [0.0] * 8).support.size == 8


def test_every_penalty_sees_the_output_alone_and_repetition_comes_last():
    """Logit 2 of token 0, twice in the output: 2 - 2 * 0.5 - 0.25 = 0.75, then halved; token 1 is in the prompt."""
    history = fd.History(prompt=[1, 1], output=[0, 0])
    text = "sglang: repetition_penalty=2.0 frequency_penalty=0.5 presence_penalty=0.25"
    scores = law(text, [2.0, 1.0, 0.5], history=history).trace[-1].row.scores
    assert scores.tolist() == [0.375, 1.0, 0.5]


def test_a_bias_comes_after_the_penalties():
    history = fd.History(output=[0])
    scores = law('sglang: logit_bias={"0":2} repetition_penalty=2.0', [-1.0, 0.5], history=history).trace[-1].row.scores
    assert scores.tolist() == [0.0, 0.5]


@pytest.mark.parametrize("text", ["sglang: temperature=1e-7", "sglang: temperature=0 top_k=-5", "sglang: top_k=1"])
def test_a_temperature_below_a_millionth_and_a_k_of_one_are_greedy(text):
    plan = fd.Plan.parse(text)
    assert plan.mode == "greedy"
    assert fd.law(plan, ROW).support.tolist() == [0]


def test_a_k_of_zero_is_refused_and_our_own_zero_is_translated():
    with pytest.raises(fd.ParameterError, match="top_k") as caught:
        fd.Plan.parse("sglang: top_k=0")
    assert "top_k must be -1 (disable) or at least 1, got 0." in caught.value.hint
    plan = fd.Plan.resolve(fd.SamplingParams(top_k=0), dialect="sglang")
    assert {s.name: s.value for s in plan.settings}["top_k"] == -1
