"""exllamav2's own top-p and min-p."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import Checkpoint, KnapsackTopP, MinP, SpareMinP, Temperature, TopA, TopK
from stages import long_tail
from stages.one_stage import SIX, kept, law, law_of

FIVE = [0.5, 0.3, 0.1, 0.07, 0.03]


def test_d06_the_crossing_token_goes_and_lighter_ones_fill_up():
    """.5 + .1 + .07 is .67; .03 more is .7 exactly, which the engine's float32 sum exceeds: both are reported."""
    weights = law_of(FIVE, KnapsackTopP(p=0.7))
    sets = sorted(reading.support.tolist() for reading in (weights, *weights.others))
    assert sets == [[0, 2, 3], [0, 2, 3, 4]]
    assert law_of(FIVE, KnapsackTopP(p=0.699)).probabilities.round(6).tolist() == [0.746269, 0, 0.149254, 0.104478, 0]


def test_d04_what_weighs_p_exactly_stays():
    """Two of four equal tokens; the lower ids go out first."""
    assert law([0.0] * 4, KnapsackTopP(p=0.5)).probabilities.tolist() == [0, 0, 0.5, 0.5]


def test_d01_after_a_top_k_of_three():
    stages = (TopK(k=3), KnapsackTopP(p=0.75))
    assert law(SIX, *stages).probabilities.round(4).tolist() == [0.7311, 0, 0.2689, 0, 0, 0]


def test_d40_before_and_after_temperature_2():
    """.290 + .226, and .065 fits where .176, .137 and .107 do not; the engine's own function says so too."""
    hot = Temperature(value=2.0)
    first, last = law(SIX, hot, KnapsackTopP(p=0.6)), law(SIX, KnapsackTopP(p=0.6), hot)
    assert first.probabilities.round(4).tolist() == [0.4995, 0.389, 0, 0, 0, 0.1115]
    assert last.support.tolist() == [0, 2, 5]


@pytest.mark.parametrize(("order", "ids"), [("score", [3, 1]), ("id", [3])])
def test_the_order_in_which_tokens_come_decides(order, ids):
    """By id .2 .1 .3 .4, p = .5: .2 + .1, then .3 throws .1 out and .2 stays (.5), then .4 throws both out."""
    assert sorted(kept(np.log([0.2, 0.1, 0.3, 0.4]), KnapsackTopP(p=0.501, order=order))) == sorted(ids)


def test_one_token_stays_however_heavy():
    assert kept(np.log([0.9, 0.1]), KnapsackTopP(p=0.5)) == [0]
    assert kept(np.log([0.9, 0.1]), KnapsackTopP(p=0.0)) == [0]


def test_tokens_lighter_than_a_millionth_are_passed_over():
    assert kept([0.0, -13.0, -14.0], KnapsackTopP(p=1.0)) == [0, 1]


def test_of_equal_tokens_the_lower_id_goes_first():
    assert kept(np.log([0.25] * 4), KnapsackTopP(p=0.6)) == [2, 3]


def engine(probabilities, p):
    """The rule in float64, with a list instead of a heap."""
    bag = []
    for token, mass in probabilities:
        if mass < 1e-6:
            continue
        bag = sorted([*bag, (mass, token)])
        while sum(m for m, _ in bag) > p and len(bag) > 1:
            bag.pop(0)
    return sorted(token for _, token in bag)


@pytest.mark.parametrize("order", ["score", "id"])
@pytest.mark.parametrize("p", [0.2, 0.55, 0.83])
def test_a_long_tail_has_what_the_rule_says(order, p):
    scores = np.sort(long_tail.row())[::-1][:400].copy() if order == "score" else long_tail.row()[:400]
    probabilities = long_tail.probabilities(scores)
    assert kept(scores, KnapsackTopP(p=p, order=order)) == engine(list(enumerate(probabilities)), p)


def test_a_whole_long_tail_draws_inside_its_law():
    scores = long_tail.row()
    weights = law(scores, KnapsackTopP(p=0.9, order="id"))
    tokens = fd.sample_many(fd.Plan.of(KnapsackTopP(p=0.9, order="id")), scores, seed=1, positions=range(50))
    assert np.isin(tokens, weights.support).all()
    assert long_tail.probabilities(scores)[weights.support].sum() <= 0.9 + 1e-6


def spare(*cut, p=0.05, order="id"):
    return law(SIX, Checkpoint(), *cut, SpareMinP(p=p, order=order)).probabilities.round(6).tolist()


def test_d07_when_all_pass_the_next_candidate_comes_back_with_its_old_probability():
    assert spare(TopK(k=3)) == [0.463111, 0.280891, 0.170369, 0.085629, 0, 0]


def test_when_one_fails_it_is_min_p():
    assert spare(TopK(k=3), p=0.5) == law(SIX, TopK(k=3), MinP(p=0.5)).probabilities.round(6).tolist()


def test_of_unsorted_candidates_one_that_fails_may_stay():
    """Two pointers meet at id 3: it passes, and what fails at id 2 is counted with it."""
    row = [0.602, 0.084, -0.449, 1.4, 0.534, -0.84]
    assert kept(row, SpareMinP(p=0.26, mass="current")) == [0, 1, 2, 3, 4]
    assert kept(row, MinP(p=0.26)) == [0, 1, 3, 4]
    assert kept(sorted(row, reverse=True), SpareMinP(p=0.26, mass="current")) == [0, 1, 2, 3]


def test_a_spare_candidate_among_the_survivors_counts_twice():
    """Id 2 is the best of [0, 1, 2, -1]; top-k 2 keeps ids 1 and 2, and candidate 2 of the array is id 2."""
    row = [0.0, 1.0, 2.0, -1.0]
    p = np.exp(row) / np.exp(row).sum()
    expected = np.array([0, p[1] / (p[1] + p[2]), p[2] / (p[1] + p[2]) + p[2], 0]) / (1 + p[2])
    got = law(row, Checkpoint(), TopK(k=2), SpareMinP(p=0.1)).probabilities
    assert np.allclose(got, expected, atol=1e-6)


def test_after_a_second_cut_the_spare_one_is_the_next_by_score_with_its_share_there():
    """Of the three best, .5065 .3072 .1863, two are left; the third comes back with .1863 beside their 1."""
    got = law(SIX, TopK(k=3), Checkpoint(), TopK(k=2), SpareMinP(p=0.05, order="score")).probabilities
    assert np.allclose(got, np.array([0.622459, 0.377541, 0.186324, 0, 0, 0]) / 1.186324, atol=1e-5)


def test_d13_without_a_cut_before_there_is_no_spare_one():
    assert law(SIX, SpareMinP(p=0.0, mass="current")).probabilities.tolist() == law(SIX).probabilities.tolist()
    assert law(SIX, Checkpoint(), SpareMinP(p=0.0)).probabilities.tolist() == law(SIX).probabilities.tolist()


def test_a_plan_must_have_set_the_row_it_reads():
    with pytest.raises(fd.PlanError, match="spare_min_p measures mass on 'raw'"):
        fd.Plan.of(TopK(k=2), SpareMinP(p=0.1))


def test_what_came_back_can_be_drawn_and_cut_again():
    plan = fd.Plan.of(Checkpoint(), TopK(k=3), SpareMinP(p=0.05))
    tokens = fd.sample_many(plan, SIX, seed=2, positions=range(300))
    assert set(tokens.tolist()) == {0, 1, 2, 3}
    assert kept(SIX, Checkpoint(), TopK(k=3), SpareMinP(p=0.05), TopA(a=0.5)) == [0, 1, 2]
