"""What looks at the text: n-grams, sequences, length, and ids forced or suppressed at one place."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import ForcedTokens, LengthDecay, NoRepeatNgram, SequenceBias, SuppressedTokens, Temperature, TopK
from stages.one_stage import kept, law, scores

ROW = [0.0] * 8


def forbidden(stage, **history) -> list[int]:
    return sorted(set(range(8)) - set(kept(ROW, stage, history=fd.History(**history))))


@pytest.mark.parametrize(
    ("tokens", "size", "ids"),
    [([1, 2, 1], 2, [2]), ([1, 2, 1, 3, 1], 2, [2, 3]), ([4, 4], 2, [4]), ([1, 2], 3, []), ([1, 2, 3], 1, [1, 2, 3])],
)
def test_an_id_that_completes_a_seen_sequence_is_forbidden(tokens, size, ids):
    assert forbidden(NoRepeatNgram(size=size), prompt=tokens) == ids


def test_an_ngram_may_begin_in_the_prompt_unless_the_scope_is_the_output_and_padding_is_no_part_of_it():
    assert forbidden(NoRepeatNgram(size=2), prompt=[1, 2], output=[1]) == [2]
    assert forbidden(NoRepeatNgram(size=2, scope="output"), prompt=[1, 2], output=[1]) == []
    padded = {"prompt": [1, 2, 1], "left_padding": 1}
    assert forbidden(NoRepeatNgram(size=2), **padded) == []
    assert forbidden(NoRepeatNgram(size=2, scope="padded"), **padded) == [2]


def test_an_ngram_with_an_id_beyond_the_row_is_passed_over():
    assert forbidden(NoRepeatNgram(size=2), prompt=[1, 99, 1]) == []


def test_biases_of_sequences_that_end_alike_add_up_in_float32():
    stage = SequenceBias(bias={(1, 2): 0.1, (2,): 0.2, (7, 1, 2): 0.3})
    row = scores([0.7] * 8, stage, history=fd.History(prompt=[7, 1]))
    total = np.float32(0.2) + np.float32(0.1) + np.float32(0.3)
    assert row[2] == float(np.float32(0.7) + total)
    assert row[0] == float(np.float32(0.7))


def test_a_sequence_bias_reads_back_from_text_and_refuses_ids_beyond_the_row():
    plan = fd.Plan.parse('custom: sequence_bias(bias={"[1, 2]": 0.5, "[3]": -2})')
    assert plan.stages == (SequenceBias(bias=[([1, 2], 0.5), ([3], -2)]),)
    assert fd.Plan.parse(str(plan)) == fd.Plan.from_json(plan.to_json()) == plan
    with pytest.raises(fd.ParameterError, match=r"sequence_bias must be a token id in 0\.\.7, got 9"):
        scores(ROW, SequenceBias(bias={(9, 1): 1.0}))
    for broken in ({(): 1.0}, {(1,): float("nan")}, {"[1": 1.0}, [((1,), 1.0), ([1], 2.0)], 5, {(-1,): 1.0}):
        with pytest.raises(fd.ParameterError, match="a mapping from non-empty lists of token ids"):
            SequenceBias(bias=broken)


def test_the_end_rises_from_the_token_after_start_on():
    stage = LengthDecay(start=1, factor=1.5, end_ids=[0, 1, 2])
    rows = [scores([2.0, -2.0, 0.0, 1.0], stage, history=fd.History(prompt=[3] * 9, output=[3] * n)) for n in range(4)]
    assert rows == [[2, -2, 0, 1], [2, -2, 0, 1], [3, -1, 0, 1], [4.5, 0.5, 0, 1]]


def test_a_forbidden_end_does_not_rise():
    assert scores([-np.inf, 1.0], LengthDecay(start=0, factor=2.0, end_ids=[0]), history=fd.History(output=[1])) == [
        -np.inf,
        1.0,
    ]


def test_an_overflow_of_the_length_bonus_is_an_error_that_names_the_stage():
    with pytest.raises(fd.LogitsError, match="length_decay"):
        law([1.0, 0.0], LengthDecay(start=0, factor=1e300, end_ids=[0]), history=fd.History(output=[1, 1]))


def test_forced_ids_come_at_their_place_whatever_was_forbidden():
    stage = ForcedTokens(ids=[3, 1], length=1)
    before, here = fd.History(), fd.History(prompt=[0])
    row = [2.0, -np.inf, 1.0, 0.0]
    assert kept(row, stage, history=before) == [0, 2, 3]
    assert law(row, stage, history=here).probabilities.tolist() == [0, 0.5, 0, 0.5]
    # A temperature before it is gone with the scores; a cut before it too.
    assert law(row, Temperature(value=0.1), TopK(k=1), stage, history=here).probabilities.tolist() == [0, 0.5, 0, 0.5]
    assert fd.sample(fd.Plan.of(TopK(k=1), stage), row, seed=1, position=1, history=here).token in (1, 3)


def test_suppressed_ids_are_forbidden_everywhere_or_at_one_place():
    assert forbidden(SuppressedTokens(ids=[5, 2]), prompt=[1]) == [2, 5]
    first = SuppressedTokens(ids=[5], length=0, scope="output")
    assert (forbidden(first, prompt=[1]), forbidden(first, prompt=[1], output=[0])) == ([5], [])


@pytest.mark.parametrize("stage", [ForcedTokens(ids=[8], length=0), SuppressedTokens(ids=[8])])
def test_an_id_beyond_the_row_is_refused(stage):
    with pytest.raises(fd.ParameterError, match=r"must be a token id in 0\.\.7, got 8"):
        kept(ROW, stage)
