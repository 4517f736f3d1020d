"""Integer masses: exact sums, exact thresholds, an order that rounding cannot upset."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairdraw.context import Context
from fairdraw.masses import LOG2E, IntegerMasses, RealMasses
from fairdraw.plan import Plan
from fairdraw.rows import Row
from fairdraw.sampling import law
from fairdraw.stages import Temperature, TopK, TopP

PEAK = 2**40
HALVINGS = Temperature(value=LOG2E)
"""One logit is one power of two: log2(e) / T = 1."""
HEAVIER_BELOW = (float.fromhex("-0x1.ffd6p-2"), float.fromhex("-0x1.ffd602p-2"))
"""A score and the float32 below it, which weighs 2^16 more: float32 Horner rounds up there."""


def masses(*scores: float, scale: float = 1.0) -> list[int]:
    row = np.float32(scores)
    return IntegerMasses(scores=row, scale=scale, peak=row.max()).values.tolist()


def test_a_whole_power_of_two_weighs_exactly_that() -> None:
    assert masses(0, -1, -2, -10, -40) == [PEAK, PEAK // 2, PEAK // 4, 2**30, 1]


def test_what_is_lighter_than_2_to_the_minus_40_of_the_peak_weighs_nothing() -> None:
    assert masses(0, -41, -62, -1000, -3e38, -np.inf) == [PEAK, 0, 0, 0, 0, 0]


def test_a_fraction_weighs_its_24_bit_mantissa_shifted() -> None:
    # 2^-0.5 = 11863283.2 / 2^24, where the float32 polynomial says ...84; -0.5 rounds to the even exponent 0.
    assert masses(0, -0.5) == [PEAK, 11863284 << 16]
    # -1.5 rounds to -2: 2^0.5 * 2^24 = 23726566 (float32 has 23 digits after the point there).
    assert masses(0, -1.5) == [PEAK, (23726566 << 16) >> 2]


def test_the_last_digit_of_a_mass_is_cut_off_not_rounded() -> None:
    # 2^(40 - 39.4) = 1.516, 2^(40 - 38.5) = 2.828, 2^(40 - 40.5) = 0.707.
    assert masses(0, -39.4, -38.5, -40.5)[1:] == [1, 2, 0]


def test_the_peak_weighs_2_to_the_40_at_any_level_and_temperature() -> None:
    for peak in (-1e30, -5.5, 0.0, 7.25, 3e38):
        for scale in (LOG2E / 1e-38, LOG2E, LOG2E / 1e38):
            assert masses(peak, scale=scale) == [PEAK]


def test_a_temperature_of_2_takes_the_square_root_of_a_mass() -> None:
    assert masses(0, -2, -4, scale=0.5) == masses(0, -1, -2)


def test_the_masses_are_within_2_to_the_minus_22_of_the_real_ones() -> None:
    row = np.linspace(-10, 0, 50_001).astype(np.float32)
    exact = np.exp2(row.astype(np.float64))
    got = IntegerMasses(scores=row, scale=1.0, peak=np.float32(0)).values / PEAK
    assert np.abs(got / exact - 1).max() < 2.0**-22


@pytest.mark.parametrize("order", ["ascending", "descending", "shuffled", "pairwise"])
def test_a_sum_of_masses_does_not_depend_on_the_order(order: str) -> None:
    rng = np.random.default_rng(3)
    row = (rng.standard_normal(40_000) * 4).astype(np.float32)
    values = IntegerMasses(scores=row, scale=LOG2E, peak=row.max()).values
    total = sum(values.tolist())
    arranged = {
        "ascending": np.sort(values),
        "descending": np.sort(values)[::-1],
        "shuffled": rng.permutation(values),
        "pairwise": values.reshape(200, 200).sum(axis=0),
    }[order]
    assert int(arranged.sum()) == int(np.cumsum(arranged)[-1]) == total


def test_the_mass_of_the_higher_of_two_neighbouring_scores_may_be_the_smaller_one() -> None:
    higher, lower = HEAVIER_BELOW
    assert np.nextafter(np.float32(higher), np.float32(-np.inf)) == np.float32(lower)
    top, first, second = masses(0, higher, lower)
    assert (top, first, second) == (PEAK, 777558425600, 777558491136)


def test_a_cut_orders_by_score_even_where_the_masses_stand_the_other_way_round() -> None:
    row = Row.of(np.float32([HEAVIER_BELOW[1], HEAVIER_BELOW[0], 0]), IntegerMasses).at_temperature(LOG2E)
    assert row.order.tolist() == [2, 1, 0]
    assert TopK(k=2).apply(row, Context()).kept.tolist() == [1, 2]


def kept(p: float, boundary: str, logits: tuple[float, ...] = (0, -1, -2, -2)) -> list[int]:
    plan = Plan.of(HALVINGS, TopP(p=p, boundary=boundary))  # type: ignore[arg-type]
    return law(plan, np.float32(logits)).support.tolist()


def test_an_exact_hit_leaves_the_next_token_out_and_strict_takes_it_in() -> None:
    # Shares 1/2, 1/4, 1/8, 1/8; before them 0, 1/2, 3/4, 7/8.
    assert [kept(p, "inclusive") for p in (0.5, 0.75, 0.875)] == [[0], [0, 1], [0, 1, 2]]
    assert [kept(p, "strict") for p in (0.5, 0.75, 0.875)] == [[0, 1], [0, 1, 2], [0, 1, 2, 3]]


def test_one_step_of_p_beside_an_exact_hit_decides_for_sample_and_is_reported_by_law() -> None:
    just_above, just_below = math.nextafter(0.75, 1), math.nextafter(0.75, 0)
    assert kept(just_above, "inclusive") == [0, 1, 2]
    assert kept(just_below, "strict") == [0, 1]
    weights = law(Plan.of(HALVINGS, TopP(p=0.75)), np.float32([0, -1, -2, -2]))
    assert weights.in_doubt.tolist() == [2]


def test_four_equal_tokens_are_cut_at_exact_quarters() -> None:
    equal = (1.5,) * 4
    assert [len(kept(p, "inclusive", equal)) for p in (0.25, 0.5, 0.75)] == [1, 2, 3]
    assert [len(kept(p, "strict", equal)) for p in (0.25, 0.5, 0.75)] == [2, 3, 4]


def test_top_p_of_0_keeps_the_best_and_of_1_keeps_what_weighs_nothing() -> None:
    assert kept(0.0, "inclusive", (0, -1, -50)) == [0]
    assert kept(0.0, "strict", (0, -1, -50)) == [0]
    assert kept(1.0, "inclusive", (0, -1, -50)) == [0, 1, 2]
    assert kept(math.nextafter(1, 0), "inclusive", (0, -1, -50)) == [0, 1]


@given(
    share=st.floats(0, 1, exclude_max=True),
    total=st.integers(1, 2**60),
    boundary=st.sampled_from(["inclusive", "strict"]),
)
def test_a_threshold_is_the_least_whole_mass_that_reaches_the_share(share: float, total: int, boundary: str) -> None:
    need = IntegerMasses(scores=np.float32([0]), scale=1.0, peak=np.float32(0)).threshold(share, total, boundary)  # type: ignore[arg-type]
    exact = Fraction(round(Fraction(share) * 2**53), 2**53) * total
    reaches = exact.__lt__ if boundary == "strict" else exact.__le__
    assert need == 1 or not reaches(need - 1)
    assert reaches(need) or (need == 1 and exact == 0)


def test_a_real_threshold_of_an_exact_hit_is_the_hit_or_the_next_float() -> None:
    real = RealMasses(scores=np.float32([0]), scale=1.0, peak=np.float32(0))
    assert real.threshold(0.75, 2.0, "inclusive") == 1.5
    assert real.threshold(0.75, 2.0, "strict") == math.nextafter(1.5, 2)


@given(st.lists(st.floats(-60, 0, width=32), min_size=1, max_size=50))
def test_the_mean_exponent_is_the_floor_of_the_exact_mean(scores: list[float]) -> None:
    row = np.float32(scores)
    integer = IntegerMasses(scores=row, scale=1.0, peak=row.max())
    values, exponents = integer.values.tolist(), integer.exponents.tolist()
    exact = Fraction(sum(v * e for v, e in zip(values, exponents, strict=True)), sum(values))
    assert integer.mean(np.arange(row.size)) == math.floor(exact)
