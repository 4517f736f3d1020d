import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import AllowedIds, BadWords, LogitBias, Mask, MinTokens, RepetitionPenalty, Temperature
from stages.one_stage import kept, law, scores

FOUR = [5.0, 1.0, 0.0, -1.0]


def test_a_mask_forbids_what_it_does_not_allow():
    weights = fd.law(fd.Plan.parse("fairdraw:"), FOUR, mask=[False, True, True, False])
    assert weights.support.tolist() == [1, 2]
    assert weights.probabilities.round(4).tolist() == [0, 0.7311, 0.2689, 0]


def test_without_a_mask_the_stage_changes_nothing():
    assert scores(FOUR, Mask()) == FOUR


def test_a_mask_does_not_revive_a_forbidden_token():
    row = [-np.inf, 1.0, 0.0, -1.0]
    assert fd.law(fd.Plan.parse("fairdraw:"), row, mask=[True, True, False, False]).support.tolist() == [1]


def test_the_place_of_the_mask_counts_for_top_k():
    first, last = fd.Plan.parse("custom: mask() > top_k(k=2)"), fd.Plan.parse("custom: top_k(k=2) > mask()")
    mask = [False, True, True, True]
    assert fd.law(first, FOUR, mask=mask).support.tolist() == [1, 2]
    assert fd.law(last, FOUR, mask=mask).support.tolist() == [1]


def test_allowed_ids_are_the_only_ones():
    assert kept(FOUR, AllowedIds(ids=[2, 0])) == [0, 2]
    assert kept([-np.inf, 1.0, 0.0, -1.0], AllowedIds(ids=[0, 1])) == [1]


@pytest.mark.parametrize("text", ["fairdraw: temperature=0", "fairdraw:"])
@pytest.mark.parametrize("step", [0, 3])
def test_f16_two_constraints_without_a_common_token_are_an_error_that_names_both_and_the_step(text, step):
    """Never token 0, whose logit is the largest."""
    plan = fd.Plan.resolve(
        {"allowed_token_ids": [2, 3], "bad_words_ids": [[2], [3]], "temperature": 0.0 if "=0" in text else 1.0}
    )
    with pytest.raises(fd.LogitsError) as caught:
        fd.law(plan, FOUR, history=fd.History(prompt=[1], output=[1] * step))
    assert str(caught.value) == (
        f"logits after bad_words, {step} tokens into the output, must leave a token that may be drawn, got none\n"
        "hint: allowed_ids left 2 of 4; then bad_words left none"
    )
    with pytest.raises(fd.LogitsError, match="allowed_ids left 2 of 4; then bad_words left none"):
        fd.sample(plan, FOUR, seed=1, position=1 + step, history=fd.History(prompt=[1], output=[1] * step))


def test_f16_a_longer_bad_word_empties_the_row_at_a_later_step():
    plan = fd.Plan.of(AllowedIds(ids=[2]), BadWords(sequences=[[2, 2]]))
    history = fd.History()
    assert fd.law(plan, FOUR, history=history).support.tolist() == [2]
    history.append(2)
    with pytest.raises(fd.LogitsError, match="logits after bad_words, 1 tokens into the output"):
        fd.law(plan, FOUR, history=history)


def test_f16_a_mask_and_a_list_are_named_too():
    plan = fd.Plan.parse("fairdraw: allowed_token_ids=[2,3]")
    with pytest.raises(fd.LogitsError, match="mask left 2 of 4; then allowed_ids left none"):
        fd.law(plan, FOUR, mask=[True, True, False, False])


@pytest.mark.parametrize(("drawn", "ids"), [(0, [0, 2]), (1, [0, 2]), (2, [0, 1, 2, 3]), (5, [0, 1, 2, 3])])
def test_no_end_before_the_minimum_of_drawn_tokens(drawn, ids):
    stage = MinTokens(count=2, end_ids=[3, 1])
    assert kept(FOUR, stage, history=fd.History(prompt=[0] * 9, output=[0] * drawn)) == ids


@pytest.mark.parametrize(("scope", "ends"), [("output", False), ("all", False), ("padded", True)])
def test_a_minimum_counts_the_tokens_of_its_scope(scope, ends):
    history = fd.History(prompt=[0, 0, 0], output=[0], left_padding=1)
    assert (1 in kept(FOUR, MinTokens(count=4, end_ids=[1], scope=scope), history=history)) is ends


def test_min_tokens_of_the_request_forbids_the_models_ends_and_the_requests():
    facts = fd.ModelFacts(vocab_size=4, end_token_ids=(3,))
    plan = fd.Plan.resolve({"min_tokens": 1, "stop_token_ids": [1]}, facts=facts)
    assert fd.law(plan, FOUR).support.tolist() == [0, 2]
    assert fd.law(plan, FOUR, history=fd.History(output=[0])).support.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "stage",
    [
        LogitBias(bias={1: 50.0}),
        RepetitionPenalty(penalty=0.5),
        Temperature(value=2.0),
        Temperature(value=2.0, operation="divide"),
        Mask(),
        AllowedIds(ids=[0, 1]),
    ],
    ids=lambda stage: stage.name,
)
def test_a_logit_of_minus_infinity_stays_forbidden_through_every_edit(stage):
    weights = law([0.0, -np.inf, 1.0], stage, history=fd.History(prompt=[0, 1]))
    assert weights.probabilities[1] == 0.0
    assert 1 not in weights.trace[-1].row.kept
