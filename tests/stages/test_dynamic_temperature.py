import numpy as np
import pytest

import fairdraw as fd
from fairdraw.masses import LOG2E
from fairdraw.stages import DynamicTemperature, Temperature, TopK, TopP
from stages import long_tail
from stages.one_stage import SIX, law


def temperature_of(logits, *stages) -> float:
    return LOG2E / law(logits, *stages).trace[-1].row.masses.scale


def test_d39_half_around_one():
    """Entropy 1.477 of at most ln 6 = 1.792: share 0.8245, temperature 1.3245."""
    weights = law(SIX, DynamicTemperature(low=0.5, high=1.5))
    assert weights.probabilities.round(4).tolist() == [0.3577, 0.2448, 0.1676, 0.1147, 0.0785, 0.0368]


@pytest.mark.parametrize(("exponent", "expected"), [(1.0, 1.0), (2.0, 0.5), (0.0, 2.0)])
def test_the_share_of_the_entropy_is_raised_to_the_exponent(exponent, expected):
    """Two of four tokens are equal, the others as good as gone: 1 bit of 2."""
    assert temperature_of([0.0, 0.0, -90.0, -90.0], DynamicTemperature(low=0, high=2, exponent=exponent)) == expected


def test_a_flat_row_is_hot_and_a_sure_one_cold():
    stage = DynamicTemperature(low=0.25, high=4.0)
    assert temperature_of([1.0] * 7, stage) == pytest.approx(4.0, rel=1e-6)
    assert temperature_of([90.0, 0.0, 0.0], stage) == pytest.approx(0.25, rel=1e-6)


def test_entropy_and_its_largest_value_are_of_what_is_kept():
    stage = DynamicTemperature(low=0.0, high=2.0)
    assert temperature_of([1.0, 1.0, 0.0, 0.0], TopK(k=2), stage) == pytest.approx(2.0, rel=1e-6)


def test_the_temperature_so_far_counts_and_both_are_multiplied():
    half = Temperature(value=0.5)
    doubled = law([2 * x for x in SIX], DynamicTemperature(low=0.5, high=1.5))
    assert law(SIX, half, DynamicTemperature(low=0.5, high=1.5)).total_variation(doubled) < 1e-7


def test_one_token_alone_is_left_alone():
    assert temperature_of(SIX, TopK(k=1), DynamicTemperature(low=0.1, high=0.2)) == 1.0


def test_no_temperature_is_ever_zero():
    weights = law([90.0, 0.0], DynamicTemperature(low=0.0, high=0.0))
    assert weights.probabilities.tolist() == [1.0, 0.0]
    assert law([1.0, 1.0], DynamicTemperature(low=0.0, high=0.0)).probabilities.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("exponent", [0.5, 1.0, 3.0])
def test_a_long_tail_has_the_temperature_that_float64_gives_it(exponent):
    scores = long_tail.row()
    p = long_tail.probabilities(scores)
    expected = 0.4 + 1.2 * (long_tail.entropy(p) / np.log(p.size)) ** exponent
    stage = DynamicTemperature(low=0.4, high=1.6, exponent=exponent)
    assert temperature_of(scores, stage) == pytest.approx(expected, rel=3e-7)
    exact = long_tail.probabilities(scores.astype(np.float64) / expected)
    assert np.abs(law(scores, stage).probabilities - exact).sum() / 2 < 1e-6


def test_law_and_draw_cut_at_the_same_temperature():
    scores = long_tail.row(3)
    stages = (DynamicTemperature(low=0.4, high=1.6), TopP(p=0.8))
    kept = law(scores, *stages).trace[-1].row.kept
    assert np.isin(fd.sample_many(fd.Plan.of(*stages), scores, seed=1, positions=range(200)), kept).all()
