"""Epsilon, eta and top-a: cuts at a probability that the row itself may set."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import Epsilon, Eta, TopA, TopK, Xtc
from stages import long_tail
from stages.one_stage import kept, law, law_of

FOUR = np.log([0.5, 0.3, 0.15, 0.05])


@pytest.mark.parametrize(
    ("epsilon", "ids"), [(0.0, [0, 1, 2, 3]), (0.04, [0, 1, 2, 3]), (0.06, [0, 1, 2]), (0.2, [0, 1]), (0.9, [0])]
)
def test_epsilon_keeps_probabilities_from_it_on_and_the_best(epsilon, ids):
    assert kept(FOUR, Epsilon(epsilon=epsilon)) == ids


def test_epsilon_is_a_share_of_what_is_kept_now():
    assert kept(FOUR, TopK(k=2), Epsilon(epsilon=0.37)) == [0, 1]
    assert kept(FOUR, Epsilon(epsilon=0.37)) == [0]


@pytest.mark.parametrize(("boundary", "ids"), [("inclusive", [0, 1, 2, 3]), ("strict", [0, 1, 2, 3])])
def test_what_equals_the_best_token_stays_whatever_the_threshold(boundary, ids):
    assert kept([1.0] * 4, Epsilon(epsilon=0.3, boundary=boundary)) == ids
    assert kept([1.0] * 4, Eta(epsilon=1.0, boundary=boundary)) == ids


@pytest.mark.parametrize(("boundary", "sizes"), [("inclusive", (3, 1)), ("strict", (1, 3))])
def test_exactly_at_epsilon_the_switch_decides_and_it_is_in_doubt(boundary, sizes):
    """Half, a quarter, a quarter, to the last bit of a logit: the threshold is a quarter."""
    weights = law([np.log(2), 0.0, 0.0], Epsilon(epsilon=0.25, boundary=boundary))
    assert {weights.support.size, *(other.support.size for other in weights.others)} == set(sizes)


def test_eta_is_the_smaller_of_epsilon_and_its_root_times_e_to_minus_the_entropy():
    """Entropy 1.142, e^-1.142 = 0.319: for 0.2, 0.4472 * 0.319 = 0.143; for 0.01, epsilon itself is the smaller."""
    assert kept(FOUR, Eta(epsilon=0.2)) == [0, 1, 2]
    assert kept(FOUR, Epsilon(epsilon=0.2)) == [0, 1]
    assert kept(FOUR, Eta(epsilon=0.25)) == [0, 1]
    for epsilon in (0.04, 0.06):
        assert kept(FOUR, Eta(epsilon=epsilon)) == kept(FOUR, Epsilon(epsilon=epsilon))


def test_top_a_is_relative_to_the_square_of_the_best():
    """0.25 * 0.4 = 0.1, 0.25 * 0.8 = 0.2."""
    assert kept(FOUR, TopA(a=0.0)) == kept(FOUR, TopA(a=1e-60)) == [0, 1, 2, 3]
    assert kept(FOUR, TopA(a=0.4)) == [0, 1, 2]
    assert kept(FOUR, TopA(a=0.8)) == [0, 1]
    assert kept([9.0, 0.0], TopA(a=1.0)) == [0]


def test_top_a_after_a_cut_from_the_top_reads_the_best_of_what_is_left():
    """.1 .07 .03 are .5 .35 .15: the threshold is .25 * .7."""
    row = np.log([0.5, 0.3, 0.1, 0.07, 0.03])
    assert kept(row, Xtc(probability=1.0, threshold=0.09), TopA(a=0.7)) == [2, 3]


def test_a_threshold_below_what_integers_tell_apart_cuts_nothing():
    row = [0.0, -30.0, -60.0, -90.0]
    for epsilon in (1e-19, 1e-20):
        assert kept(row, Epsilon(epsilon=epsilon)) == [0, 1, 2, 3]
    assert kept(row, Epsilon(epsilon=1e-12)) == [0]
    assert kept(row, Epsilon(epsilon=1e-15)) == [0, 1]


@pytest.mark.parametrize("number", [1e-5, 3e-4, 0.02])
def test_a_long_tail_is_cut_where_float64_cuts_it(number):
    scores = long_tail.row()
    p = long_tail.probabilities(scores)
    thresholds = {
        Epsilon(epsilon=number): number,
        Eta(epsilon=number): min(number, np.sqrt(number) * np.exp(-long_tail.entropy(p))),
        TopA(a=number): number * p.max() ** 2,
    }
    for stage, threshold in thresholds.items():
        weights = law(scores, stage)
        assert np.array_equal(weights.trace[-1].row.kept, np.flatnonzero(p >= threshold))
        tokens = fd.sample_many(fd.Plan.of(stage), scores, seed=1, positions=range(20))
        assert np.isin(tokens, weights.support).all()


def test_equal_tokens_stay_or_go_together():
    for stage in (Epsilon(epsilon=0.15), TopA(a=0.9), Eta(epsilon=0.3)):
        assert law_of([0.4, 0.2, 0.2, 0.2], stage).support.size in (1, 4)
