import numpy as np
import pytest

import fairdraw as fd
from fairdraw.masses import deviation
from fairdraw.stages import Temperature, TopNSigma, Typical
from stages import long_tail
from stages.one_stage import SIX, kept, law

FOUR = [3.0, 2.0, 1.0, 0.0]
"""Their deviation is sqrt(1.25) = 1.118."""


@pytest.mark.parametrize(
    ("n", "ids"), [(0.5, [0]), (0.9, [0, 1]), (1.7, [0, 1]), (1.8, [0, 1, 2]), (3.0, [0, 1, 2, 3])]
)
def test_tokens_within_n_deviations_of_the_best_stay(n, ids):
    assert kept(FOUR, TopNSigma(n=n)) == ids


def test_d30_one_and_a_fifth_deviations_keep_three_of_the_six():
    """The deviation is sqrt(8.5 / 6 - 4 / 9) = 0.986, the threshold 2 - 1.183 = 0.817."""
    assert kept(SIX, TopNSigma(n=1.2)) == [0, 1, 2]


def test_d30_typical_after_it_looks_at_what_is_left():
    weights = law(SIX, TopNSigma(n=1.2), Typical(p=0.5, boundary="strict"))
    assert weights.probabilities.round(4).tolist() == [0.6225, 0.3775, 0, 0, 0, 0]


def test_a_forbidden_token_has_no_part_in_the_deviation():
    assert kept([*FOUR, -np.inf], TopNSigma(n=1.7)) == [0, 1]
    # A very low one has.
    assert kept([*FOUR, -100.0], TopNSigma(n=1.7)) == [0, 1, 2, 3]


@pytest.mark.parametrize("temperature", [0.3, 3.0])
def test_a_temperature_before_or_after_makes_no_difference(temperature):
    for row in (FOUR, SIX):
        scale = Temperature(value=temperature)
        assert kept(row, scale, TopNSigma(n=1.1)) == kept(row, TopNSigma(n=1.1), scale) == kept(row, TopNSigma(n=1.1))


def test_equal_rows_keep_all_and_equal_tokens_go_together():
    assert kept([1.0, 1.0, 1.0], TopNSigma(n=0.1)) == [0, 1, 2]
    assert kept([3.0, 2.0, 2.0, 2.0, 0.0], TopNSigma(n=0.5)) == [0]
    assert kept([3.0, 2.0, 2.0, 2.0, 0.0], TopNSigma(n=1.1)) == [0, 1, 2, 3]


def test_exactly_on_the_threshold_a_token_stays_and_is_in_doubt():
    """Deviation 1: (2, 0, ..., ) has mean 1."""
    weights = law([2.0, 0.0], TopNSigma(n=2.0))
    assert weights.support.tolist() == [0, 1]
    assert [other.support.tolist() for other in weights.others] == [[0]]


@pytest.mark.parametrize("spread", [1e-3, 1.0, 1e9, 1e30])
def test_the_integer_deviation_is_the_float64_one_at_any_scale_and_with_outliers(spread):
    scores = np.random.default_rng(1).normal(0, 1, 40_000).astype(np.float32)
    scores[7] = -spread
    assert deviation(scores) == pytest.approx(np.std(scores.astype(np.float64)), rel=1e-9)


def test_the_deviation_does_not_depend_on_the_order_of_the_ids():
    scores = long_tail.row()
    assert deviation(scores) == deviation(scores[::-1].copy()) == deviation(np.sort(scores))


def test_a_long_tail_is_cut_where_float64_cuts_it():
    scores = long_tail.row()
    exact = scores.astype(np.float64)
    for n in (0.5, 2.0, 5.0):
        expected = np.flatnonzero(exact >= exact.max() - n * exact.std())
        assert np.array_equal(law(scores, TopNSigma(n=n)).trace[-1].row.kept, expected)
        assert np.isin(fd.sample_many(fd.Plan.of(TopNSigma(n=n)), scores, seed=1, positions=range(50)), expected).all()
