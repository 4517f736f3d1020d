"""Masked steps and the conditional law, on grammars small enough to work out by hand."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import fairdraw as fd
from constraints.toys import toy
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.conditional import conditional_law, draw_by_rejection, masked_law
from fairdraw.constraints.regex import Regex
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.generation.loop import generate
from fairdraw.stages import Mask, Mirostat2
from generation.toy import ToyModel

PLAN = fd.Plan.parse("fairdraw: temperature=1.0")
FOUR = Vocabulary(token_bytes=(b"a", b"b", b"x", b"y"), width=4, end_ids=())
# After "a" the legal "x" has 1 of 8, after "b" all of it.
SHARES = {(): [6, 2, 0, 0], (0,): [0, 0, 1, 7], (1,): [0, 0, 8, 0]}
ALPHA = 1e-7


def rows(tokens: tuple[int, ...]) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.array(SHARES[tokens], np.float64))


def close(law, expected: dict[tuple[int, ...], float]) -> None:
    assert dict(zip(law.tokens, law.probabilities, strict=True)) == pytest.approx(expected, abs=1e-6)


def test_masking_each_step_does_not_ask_how_likely_the_rest_is():
    close(masked_law(rows, PLAN, Choice(("ax", "bx")), FOUR, most=2), {(0, 2): 3 / 4, (1, 2): 1 / 4})


def test_conditioning_on_the_whole_weighs_a_beginning_by_its_legal_rest():
    whole = conditional_law(rows, PLAN, Choice(("ax", "bx")), FOUR, most=2)
    close(whole, {(0, 2): 3 / 11, (1, 2): 8 / 11})
    assert whole.legal == pytest.approx(11 / 32, abs=1e-6)
    masked = masked_law(rows, PLAN, Choice(("ax", "bx")), FOUR, most=2)
    assert masked.total_variation(whole) == pytest.approx(21 / 44, abs=1e-6)


def test_the_laws_agree_where_every_beginning_has_the_same_legal_share():
    constraint = Choice(("ax", "ay", "bx"))
    masked, whole = (law(rows, PLAN, constraint, FOUR, most=2) for law in (masked_law, conditional_law))
    assert masked.total_variation(whole) < 1e-12


def test_the_end_token_counts_in_the_free_law_and_is_forced_in_the_masked_one():
    # "a" is complete, so a masked text ends there for sure; a free one ends with 1 of 4 (and goes on with 3 of 4),
    # and after "b" with 1 of 2.
    vocabulary = toy("a", "b")
    shares = {(): [0, 1, 1], (1,): [1, 3, 0], (2,): [1, 1, 0]}
    either = Choice(("a", "b"))
    masked, whole = (
        law(lambda tokens: np.log(np.maximum(shares[tokens], 1e-30)), PLAN, either, vocabulary, most=1)
        for law in (masked_law, conditional_law)
    )
    close(masked, {(1,): 1 / 2, (2,): 1 / 2})
    close(whole, {(1,): 1 / 3, (2,): 2 / 3})


def test_two_ways_to_spell_a_text_are_two_sequences_and_one_text():
    vocabulary = Vocabulary(token_bytes=(b"a", b"b", b"ab"), width=3, end_ids=())
    law = masked_law(lambda tokens: [0.0, 0.0, 0.0], PLAN, Choice(("ab",)), vocabulary, most=2)
    close(law, {(0, 1): 1 / 2, (2,): 1 / 2})
    assert law.of_bytes(vocabulary) == {b"ab": pytest.approx(1.0)}


def test_masked_steps_of_the_loop_follow_the_masked_law():
    draws = 150
    model = ToyModel(rows=[], texts=(b"a", b"b", b"x", b"y"))

    class Session:
        def __init__(self) -> None:
            self.fed: tuple[int, ...] = ()

        def feed(self, tokens):
            self.fed += tuple(tokens)
            return np.maximum(rows(self.fed[1:]), -50).astype(np.float32)

    model.start = Session
    counts = Counter(
        generate(model, [0], PLAN, seed=3, sample_index=i, constraint=Choice(("ax", "bx"))).tokens for i in range(draws)
    )
    assert stats.binomtest(counts[0, 2], draws, 3 / 4).pvalue > ALPHA
    assert set(counts) == {(0, 2), (1, 2)}


def test_rejection_draws_from_the_conditional_law():
    draws, tries, counts = 120, 0, Counter()
    for number in range(draws):
        accepted = draw_by_rejection(rows, PLAN, Choice(("ax", "bx")), FOUR, seed=5, first_index=1000 * number, most=2)
        counts[accepted.tokens] += 1
        tries += accepted.tries
    assert stats.binomtest(counts[0, 2], draws, 3 / 11).pvalue > ALPHA
    assert stats.binomtest(draws, tries, 11 / 32).pvalue > ALPHA


def test_the_listed_law_is_drawn_from_as_it_is():
    law = conditional_law(rows, PLAN, Choice(("ax", "bx")), FOUR, most=2)
    counts = Counter(law.draw(seed=8, sample_index=i) for i in range(250))
    assert stats.binomtest(counts[1, 2], 250, 8 / 11).pvalue > ALPHA


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(["(ab|ba)c?", "a{1,3}b?", "(a|bc)(b|ca)", "[abc]{1,2}"]))
def test_both_laws_are_laws_on_random_models(seed, pattern):
    vocabulary = toy("a", "b", "c", "ab")

    def random_rows(tokens: tuple[int, ...]) -> np.ndarray:
        return np.random.default_rng([seed, *tokens]).normal(size=5) * 2

    constraint = Regex(pattern)
    masked, whole = (law(random_rows, PLAN, constraint, vocabulary, most=4) for law in (masked_law, conditional_law))
    assert masked.tokens == whole.tokens
    assert masked.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert whole.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert 0 < whole.legal < 1
    # The ratio of the two is the same for all texts up to what their steps allow: the conditional one is
    # proportional to the product of the free shares.
    for tokens, probability in zip(whole.tokens, whole.probabilities, strict=True):
        free = math.prod(
            fd.law(PLAN, random_rows(tokens[:n])).probabilities[token] for n, token in enumerate([*tokens, 0])
        )
        assert probability == pytest.approx(free / whole.legal, rel=1e-9)


def test_texts_longer_than_asked_for_are_an_error_and_not_cut_off():
    with pytest.raises(fd.ParameterError, match="most must be as many tokens as the longest legal text has, got 2"):
        masked_law(lambda tokens: [0.0] * 3, PLAN, Regex("a+"), toy("a", "b"), most=2)
    with pytest.raises(fd.ParameterError, match="most must be"):
        conditional_law(lambda tokens: [0.0] * 3, PLAN, Regex("a+"), toy("a", "b"), most=2)


def test_a_plan_that_draws_no_legal_text_has_no_conditional_law():
    plan = fd.Plan.parse("fairdraw: top_k=1")
    with pytest.raises(fd.LogitsError, match="give some legal text a probability above 0"):
        conditional_law(lambda tokens: [0.0, 1.0, 2.0], plan, Choice(("a",)), toy("a", "b"), most=1)
    with pytest.raises(fd.LogitsError, match="3 free texts under choice must have a legal one among them"):
        draw_by_rejection(lambda tokens: [0.0, 1.0, 2.0], plan, Choice(("a",)), toy("a", "b"), seed=1, tries=3, most=1)


def test_a_plan_with_a_memory_has_no_law_of_whole_texts_here():
    plan = fd.Plan.of(Mask(), Mirostat2())
    for law in (masked_law, conditional_law):
        with pytest.raises(fd.PlanError, match="a plan without mirostat"):
            law(rows, plan, Choice(("ax", "bx")), FOUR, most=2)
