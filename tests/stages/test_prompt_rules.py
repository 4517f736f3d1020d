"""Rules about the prompt alone, padding in sequences, finite scores, and log-softmax."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels.shapes import recognise
from fairdraw.masses import IntegerMasses, RealMasses
from fairdraw.rows import Row
from fairdraw.stages import (
    BadWords,
    FiniteScores,
    LengthDecay,
    LogSoftmax,
    NoPromptNgram,
    PromptPenalty,
    SequenceBias,
    SuppressedTokens,
    Temperature,
    TopH,
    TopK,
)
from stages.long_tail import row as long_tail
from stages.one_stage import kept, law, scores

LEAST = float(np.finfo(np.float32).min)


def forbidden(stage, **history) -> list[int]:
    return sorted(set(range(8)) - set(kept([0.0] * 8, stage, history=fd.History(**history))))


def test_the_prompts_ids_are_divided_or_multiplied_once_and_the_outputs_are_not():
    history = fd.History(prompt=[0, 1, 1, 2], output=[3])
    assert scores([2.0, -2.0, 0.0, 5.0], PromptPenalty(penalty=0.5), history=history) == [4.0, -1.0, 0.0, 5.0]


def test_padding_counts_as_prompt():
    history = fd.History(prompt=[0, 1], left_padding=1)
    assert scores([2.0, 2.0, 2.0], PromptPenalty(penalty=2.0), history=history) == [1.0, 1.0, 2.0]
    assert forbidden(NoPromptNgram(size=1), prompt=[0, 1], left_padding=1) == [0, 1]


def test_an_id_of_the_prompt_beyond_the_row_is_an_error():
    for stage in (PromptPenalty(penalty=2.0), NoPromptNgram(size=1)):
        with pytest.raises(fd.ParameterError, match=r"prompt must be a token id in 0\.\.7, got 9"):
            forbidden(stage, prompt=[9])


@pytest.mark.parametrize(
    ("prompt", "output", "size", "ids"),
    [
        ([1, 2, 3], [1], 2, [2]),
        ([1, 2, 1, 3], [1], 2, [2, 3]),
        ([1, 2, 3], [5, 6, 5], 2, []),
        ([1, 2, 3], [], 1, [1, 2, 3]),
        ([1, 2, 3], [1, 2], 3, [3]),
        ([1, 2, 3], [2], 4, []),
        ([1, 2, 1], [], 2, [2]),
    ],
)
def test_a_sequence_of_the_prompt_is_not_completed_and_one_of_the_output_may_be(prompt, output, size, ids):
    assert forbidden(NoPromptNgram(size=size), prompt=prompt, output=output) == ids


@pytest.mark.parametrize(("scope", "ids"), [("all", []), ("padded", [3]), ("output", [])])
def test_a_bad_word_begins_in_the_padding_for_one_scope_alone(scope, ids):
    assert forbidden(BadWords(sequences=[[1, 2, 3]], scope=scope), prompt=[1, 2], left_padding=1) == ids


@pytest.mark.parametrize(("scope", "biased"), [("all", 0.0), ("padded", 0.5)])
def test_a_bias_begins_in_the_padding_for_one_scope_alone(scope, biased):
    stage = SequenceBias(bias={(1, 2, 3): 0.5}, scope=scope)
    assert scores([0.0] * 4, stage, history=fd.History(prompt=[1, 2], left_padding=1))[3] == biased


LARGE = 2.0**24
"""LARGE + 1 rounds to LARGE in float32, and 1 - LARGE is exact: the order of three additions shows."""


@pytest.mark.parametrize(("order", "sum_"), [("given", 1.0), ("by_length", 0.0)])
def test_single_biases_come_first_then_longer_ones_as_given_or_those_of_equal_length_together(order, sum_):
    bias = {(0, 0, 3): 9.0, (1, 3): -LARGE, (2, 1, 3): LARGE, (3,): 1.0}
    row = scores([0.0] * 6, SequenceBias(bias=bias, order=order), history=fd.History(prompt=[2, 1]))
    assert row[3] == sum_


def test_top_h_leaves_equal_tokens_at_its_cut_open_where_the_engine_does():
    """Four tokens of 1/4, each with a quarter of the entropy; half of it is two of them."""
    for ties, ids, groups in (
        ("lowest", [0, 1], 0),
        ("highest", [2, 3], 0),
        ("all", [0, 1, 2, 3], 0),
        ("any", [0, 1], 1),
    ):
        weights = law([0.0] * 4, TopH(h=0.5, ties=ties))
        assert weights.trace[-1].row.kept.tolist() == ids
        assert len(weights.open_ties) == groups


def test_a_forbidden_id_gets_the_smallest_number_and_no_probability():
    weights = law([1.0, -np.inf, 0.0], FiniteScores())
    assert weights.trace[-1].row.scores.tolist() == [1.0, LEAST, 0.0]
    assert weights.trace[-1].row.kept.tolist() == [0, 1, 2]
    assert weights.probabilities[1] == 0.0


def test_a_later_rule_can_bring_it_back_and_where_all_others_go_it_is_drawn():
    history = fd.History(output=[2])
    revived = scores(
        [1.0, -np.inf, 0.0], FiniteScores(), LengthDecay(start=0, factor=2.0, end_ids=[1]), history=history
    )
    assert revived == [1.0, 0.0, 0.0]
    assert law([1.0, -np.inf, 0.0], FiniteScores(), SuppressedTokens(ids=[0, 2])).support.tolist() == [1]


def test_what_a_cut_has_removed_gets_it_too_and_the_temperature_stays():
    weights = law([1.0, 3.0, 2.0], Temperature(value=2.0), TopK(k=2), FiniteScores())
    assert weights.trace[-1].row.scores.tolist() == [LEAST, 3.0, 2.0]
    assert weights.probabilities[1] / weights.probabilities[2] == pytest.approx(np.exp(0.5))


def test_log_softmax_is_float64s_within_two_roundings_and_the_same_bits_in_both_arithmetics():
    logits = long_tail()
    real, whole = (LogSoftmax().apply(Row.of(logits, masses), None).scores for masses in (RealMasses, IntegerMasses))
    assert np.array_equal(real, whole)
    exact = logits - np.log(np.exp(logits.astype(np.float64)).sum())
    assert np.abs(real - exact).max() <= 2 * np.spacing(np.float32(16.0))


def test_log_softmax_changes_no_law_yet_may_make_scores_equal():
    logits = [1e-9, 2e-9, 10.0]
    assert law(logits, LogSoftmax()).probabilities == pytest.approx(law(logits).probabilities, abs=1e-9)
    first, second, _ = scores(logits, LogSoftmax())
    assert first == second


def test_log_softmax_leaves_out_what_is_cut():
    assert scores([0.0, 0.0, -5.0], TopK(k=2), LogSoftmax())[:2] == pytest.approx([-np.log(2)] * 2)
    assert scores([0.0, 0.0, -5.0], TopK(k=2), LogSoftmax())[2] == -np.inf


@pytest.mark.parametrize(
    "stage", [PromptPenalty(penalty=2.0), NoPromptNgram(size=2), FiniteScores(), LogSoftmax()], ids=lambda s: s.name
)
def test_no_kernel_takes_a_plan_with_it_for_a_simpler_one(stage):
    for plan in (fd.Plan.of(stage), fd.Plan.of(stage, TopK(k=3))):
        program = recognise(plan)
        assert program is None or stage in program.edits
