"""What holds for every kind of constraint: masks against brute force, single questions, going back, ends."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairdraw as fd
from constraints.toys import toy, vocabularies
from fairdraw.constraints.all_of import AllOf
from fairdraw.constraints.allowed_ids import AllowedIds
from fairdraw.constraints.bad_words import BadWords
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.grammar import Grammar
from fairdraw.constraints.json_schema import JsonSchema
from fairdraw.constraints.protocol import Constraint
from fairdraw.constraints.reading import KINDS, from_json
from fairdraw.constraints.regex import Regex
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.packed_masks import unpack

LONGEST = 5
PATTERNS = ("(ab|b)c?", "a{1,3}b", "(a|ab)(c|bcd)", "[abc]{2,4}", "(aa|b)*c", "a?b?c?d", "(ab){1,2}|abcd")
TEXTS = tuple("".join(t) for n in range(LONGEST + 3) for t in itertools.product("abcd", repeat=n))
LANGUAGES = {pattern: frozenset(filter(re.compile(pattern).fullmatch, TEXTS)) for pattern in PATTERNS}

# Each kind with its language: enough of it to know every beginning of at most LONGEST letters.
finite = st.lists(st.text("abcd", min_size=1, max_size=LONGEST), min_size=1, max_size=5)
choices = finite.map(lambda texts: (Choice(texts), set(texts)))
regexes = st.sampled_from(PATTERNS).map(lambda p: (Regex(p), LANGUAGES[p]))
grammars = st.just((Grammar('start: "d" | "a" start "b"'), {"a" * n + "d" + "b" * n for n in range(LONGEST + 1)}))
words = st.lists(st.text("abcd", min_size=1, max_size=3), min_size=1, max_size=3).map(
    lambda bad: (BadWords(bad, spelled="as_written"), {t for t in TEXTS if not any(word in t for word in bad)})
)
simple = st.one_of(choices, regexes, grammars, words)
both = st.tuples(simple, simple).map(lambda two: (AllOf([two[0][0], two[1][0]]), two[0][1] & two[1][1]))


@settings(max_examples=40, deadline=None)
@given(vocabularies("abcd"), simple, st.data())
def test_a_token_is_allowed_exactly_if_the_text_with_it_begins_a_legal_one(vocabulary, case, data):
    constraint, language = case
    track, text = Track(constraint, vocabulary), b""
    beginnings = {t[:n].encode() for t in language for n in range(len(t) + 1)}
    for _ in range(LONGEST):
        words = unpack(track.state.mask(), vocabulary.width)
        for token in range(1, vocabulary.width):
            grown = text + vocabulary.writes(token)
            if len(grown) <= LONGEST:
                assert words[token] == (grown in beginnings), (text, vocabulary.writes(token))
        assert words[0] == track.may_end == (text.decode() in language)
        following = [t for t in np.flatnonzero(words) if t and len(text + vocabulary.writes(int(t))) <= LONGEST]
        if not following:
            return
        token = int(data.draw(st.sampled_from(following)))
        track.advance(token)
        text += vocabulary.writes(token)


@settings(max_examples=40, deadline=None)
@given(vocabularies("abcd"), st.one_of(simple, both), st.data())
def test_single_questions_agree_with_the_mask_and_states_are_values(vocabulary, case, data):
    constraint, _ = case
    state, before = constraint.start(vocabulary), []
    for _ in range(4):
        words = state.mask()
        allowed = unpack(words, vocabulary.width)
        assert [state.allows(token) for token in range(-1, vocabulary.width + 1)] == [False, *allowed.tolist(), False]
        before.append((state, words.copy(), state.may_end, state.is_complete))
        if not allowed.any():
            break
        for token in np.flatnonzero(~allowed)[:3]:
            with pytest.raises(fd.ParameterError, match="token must be allowed by"):
                state.advance(int(token))
        state = state.advance(int(data.draw(st.sampled_from(np.flatnonzero(allowed).tolist()))))
    for old, words, may_end, is_complete in before:
        assert (old.mask().tolist(), old.may_end, old.is_complete) == (words.tolist(), may_end, is_complete)


@settings(max_examples=40, deadline=None)
@given(vocabularies("abcd"), st.one_of(simple, both), st.data())
def test_complete_means_that_only_an_end_may_follow(vocabulary, case, data):
    state = case[0].start(vocabulary)
    for _ in range(5):
        allowed = np.flatnonzero(unpack(state.mask(), vocabulary.width)).tolist()
        if state.is_complete:
            assert allowed == [0]
        if not allowed:
            return
        state = state.advance(int(data.draw(st.sampled_from(allowed))))


EVERY_KIND: tuple[Constraint, ...] = (
    Choice(("ab", "abc")),
    Regex("ab*"),
    Grammar('start: "a" "b"*'),
    JsonSchema({"type": "integer"}, whitespace="none"),
    AllowedIds((0, 1, 2)),
    BadWords(("zz",)),
    AllOf([Regex("[ab]*"), BadWords(("bb",))]),
)
SEVEN = toy("a", "b", "c", "1", ends=(0, 7), padding=3)


def test_every_kind_is_tried_here():
    assert {constraint.to_json()["kind"] for constraint in EVERY_KIND} == set(KINDS)


@pytest.mark.parametrize("constraint", EVERY_KIND, ids=lambda c: c.name)
def test_data_gives_back_the_constraint(constraint):
    assert from_json(constraint.to_json()) == constraint


@pytest.mark.parametrize("constraint", EVERY_KIND, ids=lambda c: c.name)
def test_special_and_padding_ids_are_never_allowed(constraint):
    # Id 7 ends a text although the tokenizer does not have it; 5 and 6 are padding.
    special = Vocabulary(token_bytes=(*SEVEN.token_bytes, b""), width=9, end_ids=(0, 7))
    for vocabulary in (SEVEN, special):
        state = constraint.start(vocabulary)
        for _ in range(3):
            mask = unpack(state.mask(), vocabulary.width)
            assert not mask[[i for i in range(5, vocabulary.width) if i != 7]].any()
            state = state.advance(int(np.flatnonzero(mask)[-1]))


@pytest.mark.parametrize("constraint", EVERY_KIND, ids=lambda c: c.name)
def test_after_an_end_token_only_end_tokens_follow(constraint):
    track = Track(constraint, SEVEN)
    while not track.state.allows(0):
        track.advance(int(np.flatnonzero(track.mask())[0]))
    track.advance(0)
    assert set(np.flatnonzero(track.mask())) <= {0, 7}
    assert (track.may_end, track.is_complete) == (True, True)


def test_rolling_back_gives_the_earlier_masks_again():
    track = Track(Regex("(ab|ba)c"), SEVEN)
    masks = [track.mask().tolist()]
    for token in (1, 2):
        track.advance(token)
        masks.append(track.mask().tolist())
    track.rollback(1)
    assert (track.step, track.mask().tolist()) == (1, masks[1])
    track.rollback(1)
    assert track.mask().tolist() == masks[0]
    track.advance(2)
    assert track.mask().tolist() != masks[1]
    with pytest.raises(fd.ParameterError, match=r"0\.\.1, got 2"):
        track.rollback(2)


def test_a_fork_goes_its_own_way():
    track = Track(Regex("(ab|ba)c"), SEVEN)
    twin = track.fork()
    track.advance(1)
    twin.advance(2)
    assert track.mask().nonzero()[0].tolist() == [2]
    assert twin.mask().nonzero()[0].tolist() == [1]


def test_data_that_is_no_constraint_is_refused():
    with pytest.raises(fd.ParameterError, match="kind is one of choice"):
        from_json({"kind": "poem"})
    with pytest.raises(fd.ParameterError, match="data with 'pattern'"):
        from_json({"kind": "regex"})
