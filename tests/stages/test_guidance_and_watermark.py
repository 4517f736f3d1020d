import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels.shapes import recognise
from fairdraw.stages import Guidance, Mask, RepetitionPenalty, TopK, Watermark
from fairdraw.stages.watermark import shuffled
from stages import long_tail
from stages.one_stage import scores

FIRST, SECOND = np.log([0.5, 0.3, 0.2]), np.log([0.2, 0.3, 0.5])


def guided(scale, *more, first=FIRST, second=SECOND, operation="difference", **given):
    return fd.law(fd.Plan.of(Guidance(scale=scale, operation=operation), *more), first, second=second, **given)


@pytest.mark.parametrize("operation", ["difference", "sum"])
@pytest.mark.parametrize(
    ("scale", "expected"),
    [(1.0, [0.5, 0.3, 0.2]), (0.0, [0.2, 0.3, 0.5]), (2.0, [1.25 / 1.63, 0.3 / 1.63, 0.08 / 1.63])],
)
def test_odds_are_taken_to_the_power_of_the_scale(operation, scale, expected):
    """p^2 / q is 1.25, 0.3 and 0.08."""
    assert np.allclose(guided(scale, operation=operation).probabilities, expected, atol=1e-6)


def test_scores_are_log_softmax_so_that_a_penalty_after_it_multiplies():
    history = fd.History(prompt=[0])
    shifted = [guided(1.0, RepetitionPenalty(penalty=2.0), first=FIRST + c, history=history) for c in (0.0, 5.0)]
    assert shifted[0].total_variation(shifted[1]) < 1e-6
    assert np.allclose(shifted[0].probabilities, np.array([0.25, 0.3, 0.2]) / 0.75, atol=1e-6)


def test_a_row_needs_a_second_one_of_its_size_and_a_plan_without_guidance_none():
    plan = fd.Plan.of(Guidance(scale=2.0))
    with pytest.raises(fd.ParameterError, match="second must be a second row of logits"):
        fd.law(plan, FIRST)
    with pytest.raises(fd.ParameterError, match="second must be as long as the row, 3, got '2 logits'"):
        fd.sample(plan, FIRST, seed=1, position=0, second=[0.0, 1.0])
    with pytest.raises(fd.ParameterError, match="second must be None for a plan without guidance"):
        fd.sample(fd.Plan.of(TopK(k=2)), FIRST, seed=1, position=0, second=SECOND)


def test_a_forbidden_token_stays_forbidden_and_one_that_only_the_second_row_forbids_is_an_error():
    assert guided(2.0, first=[0.0, -np.inf, 1.0], second=[0.0, 0.0, 0.0]).support.tolist() == [0, 2]
    assert guided(2.0, first=[0.0, -np.inf, 1.0], second=[0.0, -np.inf, 0.0]).support.tolist() == [0, 2]
    with pytest.raises(fd.LogitsError, match="logits after guidance"):
        guided(2.0, first=[0.0, 0.0], second=[0.0, -np.inf])


def test_the_second_row_of_a_batch_is_its_own():
    plan = fd.Plan.of(Mask(), Guidance(scale=3.0))
    batch = fd.sample_batch(plan, [FIRST] * 2, seeds=1, positions=[0, 1], seconds=[SECOND, FIRST])
    alone = [fd.sample(plan, FIRST, seed=1, position=p, second=row) for p, row in enumerate((SECOND, FIRST))]
    assert batch.tokens.tolist() == [drawn.token for drawn in alone]
    assert recognise(plan) is None


def test_guidance_on_a_long_tail():
    first, second = long_tail.row(1), long_tail.row(2)
    p, q = long_tail.probabilities(first), long_tail.probabilities(second)
    expected = p**1.5 / q**0.5
    got = guided(1.5, first=first, second=second).probabilities
    assert np.abs(got - expected / expected.sum()).sum() / 2 < 1e-6


def test_green_ids_are_a_share_of_the_vocabulary_and_follow_key_and_last_token():
    row = np.zeros(400, np.float32)

    def green(token, **fields):
        return np.flatnonzero(scores(row, Watermark(bias=1.5, **fields), history=fd.History(prompt=[9, token])))

    assert green(5).size == 100
    assert green(5, share=0.1).size == 40
    assert np.array_equal(green(5), green(5))
    assert not np.array_equal(green(5), green(6))
    assert not np.array_equal(green(5), green(5, key=7))


def test_torch_s_shuffle():
    """torch 2.13.0: randperm(8) and randperm(5) after manual_seed(77429315)."""
    assert shuffled(8, 8, 77_429_315).tolist() == [0, 5, 6, 2, 3, 7, 1, 4]
    assert shuffled(5, 5, 77_429_315).tolist() == [3, 2, 0, 4, 1]
    assert shuffled(8, 3, 77_429_315).tolist() == [0, 5, 6]


def test_a_text_shorter_than_the_width_and_a_forbidden_id_get_no_bias():
    row = [0.0] * 40
    assert scores(row, Watermark(width=3), history=fd.History(prompt=[1, 2])) == row
    first = int(np.flatnonzero(scores(row, Watermark(), history=fd.History(prompt=[1])))[0])
    masked = [*row]
    masked[first] = -np.inf
    assert scores(masked, Watermark(), history=fd.History(prompt=[1]))[first] == -np.inf


def test_selfhash_marks_some_of_the_forty_best_alone():
    row = long_tail.row(4)
    stage = Watermark(bias=3.0, scheme="selfhash", width=2)
    changed = np.flatnonzero(np.array(scores(row, stage, history=fd.History(prompt=[1, 2]))) != row)
    assert 0 < changed.size <= 25
    assert np.isin(changed, np.argsort(-row)[:40]).all()
