import math

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import Temperature, TopP, Xtc, XtcAverage
from stages import long_tail
from stages.one_stage import kept, law, law_of

FIVE = [0.5, 0.3, 0.1, 0.07, 0.03]
FIRED = [0, 0, 0.5, 0.35, 0.15]


def fired(logits, **fields):
    return kept(logits, Xtc(probability=1.0, **fields))


def test_d26_fired_not_fired_and_half_of_each():
    laws = [law_of(FIVE, Xtc(probability=p, threshold=0.09)).probabilities.round(6).tolist() for p in (1.0, 0.0, 0.5)]
    assert laws == [FIRED, FIVE, [0.25, 0.15, 0.3, 0.21, 0.09]]


def test_d26_the_average_has_the_same_law_and_tosses_no_coin():
    stage = XtcAverage(probability=0.5, threshold=0.09)
    assert law_of(FIVE, stage).probabilities.round(6).tolist() == [0.25, 0.15, 0.3, 0.21, 0.09]
    assert len(stage.branches()) == 1


def test_d27_the_order_of_the_ids_does_not_matter():
    shuffled = np.log([0.1, 0.5, 0.3, 0.07, 0.03])
    assert fired(shuffled, threshold=0.09) == [0, 3, 4]
    assert law(shuffled, Xtc(probability=1.0, threshold=0.09)).probabilities.round(4).tolist() == [
        0.5,
        0,
        0,
        0.35,
        0.15,
    ]


@pytest.mark.parametrize("threshold", [0.31, 0.49, 0.6, 1.0])
def test_fewer_than_two_likely_tokens_change_nothing(threshold):
    assert fired(np.log(FIVE), threshold=threshold) == [0, 1, 2, 3, 4]
    same = law_of(FIVE, XtcAverage(probability=0.5, threshold=threshold)).probabilities
    assert same.round(12).tolist() == law_of(FIVE).probabilities.round(12).tolist()


@pytest.mark.parametrize(("boundary", "ids"), [("inclusive", [1]), ("strict", [0, 1])])
def test_a_token_with_exactly_the_threshold_is_likely_unless_strict_and_in_doubt(boundary, ids):
    weights = law([0.0, 0.0], Xtc(probability=1.0, threshold=0.5, boundary=boundary, ties="highest"))
    assert weights.support.tolist() == ids
    assert len(weights.others) == 1


@pytest.mark.parametrize(("ties", "ids"), [("lowest", [1, 3]), ("highest", [2, 3]), ("all", [1, 2, 3])])
def test_of_tokens_equal_to_the_least_likely_one_the_switch_decides(ties, ids):
    assert fired(np.log([0.4, 0.25, 0.25, 0.1]), threshold=0.2, ties=ties) == ids


def test_which_of_equal_tokens_stays_can_be_left_open():
    weights = law_of([0.4, 0.25, 0.25, 0.1], Xtc(probability=1.0, threshold=0.2, ties="any"))
    (tie,) = weights.open_ties
    assert (tie.group.tolist(), tie.count) == ([1, 2], 1)


def test_protected_ids_stay():
    assert fired(np.log(FIVE), threshold=0.09, protected=[0]) == [0, 2, 3, 4]
    average = law_of(FIVE, XtcAverage(probability=1.0, threshold=0.09, protected=[0])).probabilities
    assert average.round(4).tolist() == law_of([0.5, 0, 0.1, 0.07, 0.03]).probabilities.round(4).tolist()
    with pytest.raises(fd.ParameterError, match=r"xtc.protected must be a token id in 0..4"):
        fired(np.log(FIVE), threshold=0.09, protected=[5])


def test_the_threshold_is_a_share_of_what_is_kept_at_the_temperature_so_far():
    """At temperature 2 the five weigh .364 .282 .163 .136 .063."""
    assert fired(np.log(FIVE), threshold=0.13) == [1, 2, 3, 4]
    assert kept(np.log(FIVE), Temperature(value=2.0), Xtc(probability=1.0, threshold=0.13)) == [3, 4]
    assert kept(np.log(FIVE), TopP(p=0.75), Xtc(probability=1.0, threshold=0.35)) == [1]


def test_what_is_left_may_weigh_next_to_nothing_of_the_row_before():
    """Two certain tokens, a tail of e^-70 and less: in integers it weighed 0."""
    scores = [0.0, 0.0, -70.0, -71.0]
    weights = law(scores, Xtc(probability=1.0, threshold=1e-38))
    assert weights.probabilities.round(4).tolist() == [0, 0, 0, 1]
    assert law(scores[:3], Xtc(probability=1.0, threshold=1e-38), TopP(p=0.5)).support.tolist() == [2]
    mixed = law(scores, XtcAverage(probability=0.5, threshold=0.4)).probabilities
    assert mixed.sum() == pytest.approx(1.0)


def test_a_draw_weighs_what_is_left_from_its_own_best_token():
    drawn = fd.sample(
        fd.Plan.of(Xtc(probability=1.0, threshold=1e-38, ties="all"), TopP(p=0.9)),
        [0.0, -70.0, -70.0],
        seed=1,
        position=0,
    )
    assert drawn.support.tolist() == [1, 2]
    assert drawn.logprob == pytest.approx(math.log(0.5))


def test_a_draw_tosses_the_coin_as_often_as_the_probability_says():
    """Hoeffding: 5000 draws are farther than 0.042 from a mean with a chance below 5e-8, five means."""
    plan = fd.Plan.of(Xtc(probability=0.3, threshold=0.09))
    tokens = fd.sample_many(plan, np.log(FIVE), seed=11, positions=range(5000))
    shares = np.bincount(tokens, minlength=5) / tokens.size
    expected = 0.3 * np.array(FIRED) + 0.7 * np.array(FIVE)
    assert np.abs(shares - expected).max() < math.sqrt(math.log(2 / 5e-8) / 2 / 5000)


def test_the_token_and_the_coin_of_a_draw_are_independent():
    """Two tokens that either outcome draws alike: their ratio must not depend on which one it was."""
    plan = fd.Plan.of(Xtc(probability=0.5, threshold=0.09))
    whole, cut = (
        fd.sample_many(fd.Plan.of(Xtc(probability=p, threshold=0.09)), np.log(FIVE), seed=3, positions=range(1000))
        for p in (0.0, 1.0)
    )
    tokens = fd.sample_many(plan, np.log(FIVE), seed=3, positions=range(1000))
    assert ((tokens == whole) | (tokens == cut)).all()
    differ = whole != cut
    assert 0.4 < (tokens == cut)[differ].mean() < 0.6


def test_two_random_stages_have_four_outcomes_whose_chances_multiply():
    weights = law_of(FIVE, Xtc(probability=0.5, threshold=0.2), Xtc(probability=0.5, threshold=0.2))
    once = law_of(FIVE, Xtc(probability=1.0, threshold=0.2)).probabilities
    twice = law_of(FIVE, Xtc(probability=1.0, threshold=0.2), Xtc(probability=1.0, threshold=0.2)).probabilities
    expected = np.array(FIVE) / 4 + once / 2 + twice / 4
    assert np.allclose(weights.probabilities, expected, atol=1e-7)


def test_a_doubt_before_the_mixture_is_a_reading_of_its_own():
    row = [0.0, 0.0, -3.0]
    share = float(law(row).probabilities[0])
    for stage in (Xtc(probability=0.5, threshold=share), XtcAverage(probability=0.5, threshold=share)):
        weights = law(row, stage)
        laws = [reading.probabilities.round(4).tolist() for reading in (weights, *weights.others)]
        assert len(laws) == 2
        assert law(row).probabilities.round(4).tolist() in laws


@pytest.mark.parametrize("threshold", [0.001, 0.01])
def test_average_and_branches_agree_on_a_long_tail(threshold):
    scores = long_tail.row()
    p = long_tail.probabilities(scores)
    likely = np.flatnonzero(p >= threshold)
    stay = np.setdiff1d(np.arange(p.size), np.setdiff1d(likely, likely[np.argmin(p[likely])]))
    cut = np.zeros_like(p)
    cut[stay] = p[stay] / p[stay].sum()
    expected = 0.3 * cut + 0.7 * p
    for stage in (Xtc(probability=0.3, threshold=threshold), XtcAverage(probability=0.3, threshold=threshold)):
        assert np.abs(law(scores, stage).probabilities - expected).sum() / 2 < 1e-6
