import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.verify.comparison import Comparison, compare

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
TIE = [3.0, 2.0, 2.0, 1.0]
EXACT = np.log([0.5, 0.25, 0.125, 0.125])


def compared(a: str, b: str, logits: object, history: fd.History | None = None) -> Comparison:
    return compare(fd.Plan.parse(a), fd.Plan.parse(b), logits, history=history)


def test_the_numbers_are_those_of_the_two_laws() -> None:
    a, b = "transformers: do_sample=true top_k=3 top_p=0.75", "candle: TopKThenTopP k=3 p=0.75 temperature=1"
    result = compared(a, b, SIX)
    # 2 : 1.5 against 2 : 1.5 : 1, in powers of e.
    weights = np.exp([2.0, 1.5, 1.0])
    p, q = np.append(weights[:2] / weights[:2].sum(), 0.0), weights / weights.sum()
    assert result.verdict == "differ"
    assert result.total_variation == pytest.approx(np.abs(p - q).sum() / 2)
    assert (result.max_difference, result.max_difference_id) == (pytest.approx(q[2]), 2)
    assert (result.kept_a, result.kept_b, result.only_a, result.only_b) == (2, 3, (), (2,))
    assert (result.mass_a_outside_b, result.mass_b_outside_a) == (0.0, pytest.approx(q[2]))
    assert result.entropy_a == pytest.approx(-(p[:2] * np.log(p[:2])).sum())
    assert result.entropy_b == pytest.approx(-(q * np.log(q)).sum())


def test_ids_on_one_side_come_with_the_most_probable_first() -> None:
    result = compared("fairdraw: top_k=1", "fairdraw:", [0.0, 3.0, 2.0, 1.0, 2.5])
    assert result.only_b == (4, 2, 3, 0)


def test_a_plan_compared_with_itself_is_the_same() -> None:
    result = compared("candle: TopK k=2 temperature=1", "candle: TopK k=2 temperature=1", TIE)
    assert (result.verdict, result.reason, result.total_variation, result.tied_a) == ("same", "", 0.0, (1, 2))


def test_plans_that_differ_may_mean_the_same_on_a_row_and_the_note_says_so() -> None:
    result = compared("fairdraw: top_k=2", "fairdraw: top_k=2 top_p=0.9", [3.0, 2.0, -9.0])
    assert (result.verdict, result.reason) == ("same", "")
    assert result.note == "The plans differ in top_p, but mean the same on this row."


def test_rounding_in_another_operation_is_no_difference() -> None:
    result = compared("transformers: do_sample=true temperature=0.7 top_k=0", "candle: All temperature=0.7", SIX)
    assert (result.verdict, result.note) == ("same", "")


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("candle: TopK k=2 temperature=1", "fairdraw: top_k=2"),  # candle may keep id 2 instead of id 1
        ("candle: TopK k=2 temperature=1", "custom: top_k(k=2, ties=highest)"),  # the laws differ, a choice agrees
    ],
)
def test_equal_tokens_of_which_an_engine_keeps_an_unspecified_part_leave_it_open(a: str, b: str) -> None:
    result = compared(a, b, TIE)
    assert result.verdict == "could not tell"
    assert result.reason == "candle leaves open which 1 of the equal ids 1 and 2 it keeps."
    assert (result.tied_a, result.tied_b) == ((1, 2), ())


def test_an_open_tie_hides_no_difference_that_every_choice_shows() -> None:
    assert compared("candle: TopK k=2 temperature=1", "fairdraw: top_k=3", TIE).verdict == "differ"
    assert compared("candle: TopK k=2 temperature=1", "fairdraw: temperature=2 top_k=2", TIE).verdict == "differ"


def test_a_prefix_that_lands_exactly_on_p_leaves_it_open_and_the_note_has_the_rules() -> None:
    result = compared("transformers: do_sample=true top_k=0 top_p=0.75", "reference: top_p=0.75", EXACT)
    assert result.verdict == "could not tell"
    assert result.reason == (
        "id 2 lies within 2^-20 of a cut of transformers and reference, "
        "so that rounding decides whether the two laws are the same."
    )
    assert (
        "reference takes one token more when the mass before it is exactly p, transformers stops there" in result.note
    )
    assert (result.in_doubt_a, result.in_doubt_b) == ((2,), (2,))
    assert result.total_variation == pytest.approx(1 / 7)


def test_the_same_rule_at_an_exact_hit_is_the_same_with_the_doubt_in_the_note() -> None:
    a, b = "transformers: do_sample=true top_k=0 top_p=0.75", "candle: TopP p=0.75 temperature=1"
    result = compared(a, b, EXACT)
    assert result.verdict == "same"
    assert "Id 2 lies within 2^-20 of a cut of transformers and candle" in result.note


def test_a_doubt_hides_no_difference_that_every_reading_shows() -> None:
    result = compared("fairdraw: top_p=0.75", "fairdraw: top_p=0.75 temperature=3", EXACT)
    assert result.in_doubt_a == (2,)
    assert result.verdict == "differ"


def test_json_has_both_plans_as_text_and_no_number_that_json_lacks() -> None:
    result = compared("candle: GumbelSoftmax temperature=1", "transformers:", [10.0, 0.0, -math.inf])
    data = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert data["a"]["plan"] == "candle@0.11: GumbelSoftmax temperature=1.0"
    assert data["b"] == {
        "plan": "transformers@5.24:", "kept": 1, "entropy": 0.0, "only": [], "mass_outside_other": 0.0,
        "in_doubt": [], "tied": [],
    }  # fmt: skip
    assert {"verdict", "reason", "note", "total_variation", "max_difference", "max_difference_id"} < set(data)


def test_an_error_of_one_plan_is_raised() -> None:
    with pytest.raises(fd.ParameterError, match="at most 4"):
        compared("reference: top_k=5", "fairdraw:", TIE)


rows = st.lists(st.integers(-8, 8).map(lambda x: x / 2), min_size=2, max_size=8)
plans = st.sampled_from(
    [
        "fairdraw: temperature=0.5 top_k=3",
        "fairdraw: top_p=0.8 min_p=0.1",
        "transformers: do_sample=true top_k=2 top_p=0.7",
        "transformers: do_sample=false",
        "candle: TopKThenTopP k=2 p=0.6 temperature=1.5",
        "candle: TopK k=2 temperature=1",
        "candle: GumbelSoftmax temperature=1",
        "reference: top_p=0.8",
        "custom: typical(p=0.5) > temperature(value=2)",
    ]
)


@given(plans, plans, rows)
def test_swapping_the_plans_swaps_the_sides_and_keeps_the_verdict(a: str, b: str, row: list[float]) -> None:
    one, other = compared(a, b, row), compared(b, a, row)
    assert (one.verdict, one.total_variation) == (other.verdict, other.total_variation)
    assert (one.only_a, one.kept_a, one.in_doubt_a, one.tied_a) == (
        other.only_b,
        other.kept_b,
        other.in_doubt_b,
        other.tied_b,
    )


@given(plans, plans, rows)
def test_a_reason_is_one_sentence_and_stands_with_every_verdict_but_same(a: str, b: str, row: list[float]) -> None:
    result = compared(a, b, row)
    assert (result.reason == "") == (result.verdict == "same")
    assert result.reason.endswith(".") or result.verdict == "same"
    assert "none of it explains" not in result.reason
    if result.verdict == "same":
        assert result.total_variation <= result.tolerance
    if result.verdict == "differ":
        assert result.total_variation > result.tolerance
