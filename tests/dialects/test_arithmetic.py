"""Each engine's own float32 operations, to the last bit, and what they mean for a cut."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import TopK, TopP

ROW = np.linspace(0.1, 10, 100, dtype=np.float32)


def scores(text: str, history: fd.History | None = None) -> np.ndarray:
    return fd.law(fd.Plan.parse(text), ROW, history=history).trace[-1].row.scores


def test_dividing_and_multiplying_by_the_reciprocal_differ_on_this_row():
    assert (ROW / np.float32(0.7) != ROW * np.float32(1 / 0.7)).sum() >= 5


@pytest.mark.parametrize(
    "text",
    [
        "transformers@5.22: do_sample=true top_k=0 temperature=0.7",
        "transformers@5.24: do_sample=true top_k=0 temperature=0.7",
        "reference: temperature=0.7",
        "nano_vllm: temperature=0.7",
    ],
)
def test_pytorch_divides(text):
    assert np.array_equal(scores(text), ROW / np.float32(0.7))


@pytest.mark.parametrize("text", ["candle: All temperature=0.7", "candle: temperature=0.7"])
def test_candle_multiplies_by_the_reciprocal(text):
    assert np.array_equal(scores(text), ROW * np.float32(1 / 0.7))


def test_fairdraw_touches_no_score():
    assert np.array_equal(scores("fairdraw: temperature=0.7"), ROW)


def cut(text: str) -> float:
    (stage,) = (stage for stage in fd.Plan.parse(text).stages if isinstance(stage, TopP))
    return stage.p


def test_transformers_compares_with_one_minus_p_in_float32():
    """float32(1 - 0.8) is 0.2000000030: the share that counts is a little less than 0.8."""
    assert cut("transformers: do_sample=true top_p=0.8") == 1 - float(np.float32(0.2)) < 0.8
    assert cut("transformers: do_sample=true top_p=0.0") == 0.0


def test_candle_rounds_p_to_float32():
    for text in ("TopP p=0.8 temperature=1", "TopKThenTopP k=3 p=0.8 temperature=1", "temperature=1 top_p=0.8"):
        assert cut(f"candle: {text}") == float(np.float32(0.8)) != 0.8


@pytest.mark.parametrize("p", [0.0, -1.0, 1.0, 1.5, 1e-50, 1 - 1e-9])
def test_candle_leaves_out_a_p_that_float32_puts_outside_the_open_interval_after_top_k(p):
    plan = fd.Plan.parse(f"candle: TopKThenTopP k=3 p={p} temperature=1.0")
    assert not [stage for stage in plan.stages if isinstance(stage, TopP)]
    assert [stage.k for stage in plan.stages if isinstance(stage, TopK)] == [3]


def test_candle_cuts_by_a_p_that_float32_rounds_to_one_where_its_running_sum_rounds_to_one():
    law = fd.law(fd.Plan.parse("candle: TopP p=0.99999999 temperature=1.0"), [20.0, 1.0, 0.0])
    assert [0] in [reading.support.tolist() for reading in (law, *law.others)]
    assert law.total_variation(fd.law(fd.Plan.parse("candle: All temperature=1.0"), [20.0, 1.0, 0.0])) < 1e-7


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("fairdraw: top_p=0.25", 2),
        ("transformers: do_sample=true top_k=0 top_p=0.25", 2),
        ("candle: TopP p=0.25 temperature=1.0", 2),
        ("candle: temperature=1.0 top_p=0.25", 2),
        ("reference: top_p=0.25", 3),
    ],
)
def test_only_the_reference_takes_one_token_more_where_p_is_hit_exactly(text, count):
    """On eight equal tokens every sum is exact in every arithmetic."""
    assert fd.law(fd.Plan.parse(text), [0.0] * 8).support.size == count
