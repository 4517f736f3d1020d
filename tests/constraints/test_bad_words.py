from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairdraw as fd
from constraints.toys import toy, vocabularies
from fairdraw.constraints.bad_words import BadWords, spellings_of
from fairdraw.constraints.tracking import Track
from fairdraw.generation.loop import generate
from generation.toy import ToyModel


def test_field_case_15_every_way_to_spell_the_word_is_forbidden():
    # "plain" is 3, 10, 6 and " plain" is 7; no token of the first is forbidden by itself.
    texts = ["x1", "x2", "pl", "x4", "x5", "n", " plain", "x8", "y", "ai"]
    vocabulary = toy(*texts, padding=1)
    expected = {(): {7}, (3,): {7}, (3, 10): {6, 7}, (9, 3, 10): {6, 7}}
    for history, forbidden in expected.items():
        track = Track(BadWords(("plain",)), vocabulary)
        for token in history:
            track.advance(token)
        assert set(np.flatnonzero(~track.mask())) == forbidden | {11}


def test_the_spellings_are_listed():
    constraint = BadWords(("the end",))
    assert constraint.spellings == ("the end", "THE END", "The end", "The End")
    assert constraint.to_json()["spellings"] == list(constraint.spellings)
    assert BadWords(("the end",), spelled="as_written").spellings == ("the end",)


@given(st.text(min_size=1, max_size=8))
def test_a_word_stands_for_its_cases_and_both_forms_of_its_accents(word):
    listed = spellings_of(word)
    assert listed[0] == word
    assert {word.lower(), word.upper()} & set(listed) or unicodedata.normalize("NFC", word.lower()) in listed
    for spelling in listed:
        for form in ("NFC", "NFD"):
            if spelling != word:
                assert unicodedata.normalize(form, spelling) in listed
    assert len(set(listed)) == len(listed)


ALPHABET = "aAbB é"
bad = st.lists(st.text(ALPHABET, min_size=1, max_size=4), min_size=1, max_size=3)


@settings(max_examples=80, deadline=None)
@given(vocabularies(ALPHABET, longest=4), bad, st.integers(0, 2**32))
def test_no_covered_spelling_is_ever_written(vocabulary, words, seed):
    constraint = BadWords(words)
    track, generator = Track(constraint, vocabulary), np.random.default_rng(seed)
    text = b""
    for _ in range(30):
        allowed = np.flatnonzero(track.mask())
        allowed = allowed[allowed != 0]
        if not allowed.size:
            return
        token = int(generator.choice(allowed))
        track.advance(token)
        text += vocabulary.writes(token)
        decoded = text.decode()
        assert not any(spelling in decoded for spelling in constraint.spellings)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.binary(min_size=1, max_size=3), min_size=1, max_size=8), st.integers(0, 2**32))
def test_no_word_appears_in_a_text_of_broken_characters(pieces, seed):
    # Tokens may be parts of characters, and need not be UTF-8 at all.
    constraint = BadWords(("é", "日", "ab"))
    parts = (b"\xc3", b"\xa9", b"\xe6\x97", b"\xa5", b"a", b"b")
    vocabulary = toy(*parts, *pieces)
    track, generator = Track(constraint, vocabulary), np.random.default_rng(seed)
    text = b""
    for _ in range(30):
        allowed = np.flatnonzero(track.mask())
        token = int(generator.choice(allowed[allowed != 0]))
        track.advance(token)
        text += vocabulary.writes(token)
    assert not any(spelling in text.decode("utf-8", "replace") for spelling in constraint.spellings)


@settings(max_examples=40, deadline=None)
@given(vocabularies(ALPHABET, longest=4), bad)
def test_nothing_is_forbidden_but_what_completes_a_spelling(vocabulary, words):
    constraint = BadWords(words)
    track, text = Track(constraint, vocabulary), b""
    for _ in range(4):
        mask = track.mask()
        for token in range(1, vocabulary.width):
            grown = (text + vocabulary.writes(token)).decode()
            assert mask[token] == (not any(spelling in grown for spelling in constraint.spellings))
        allowed = np.flatnonzero(mask)[1:]
        if not allowed.size:
            return
        track.advance(int(allowed[-1]))
        text += vocabulary.writes(int(allowed[-1]))


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text("abc ", min_size=1, max_size=3), min_size=1, max_size=8),
    st.lists(st.text("abc ", min_size=1, max_size=4), min_size=1, max_size=3),
    st.integers(0, 2**32),
)
def test_nothing_of_a_stop_string_leaves_a_generation_and_no_bad_word_is_in_it(pieces, stops, seed):
    texts = (b"", *(piece.encode() for piece in ["a", "b", "c", " ", *pieces]))
    rows = np.random.default_rng(seed).normal(size=(12, len(texts)))
    facts = fd.ModelFacts(vocab_size=len(texts), end_token_ids=(0,))
    plan = fd.Plan.resolve({"temperature": 1.0, "stop": stops, "max_tokens": 12}, facts=facts)
    model = ToyModel(rows=rows.tolist(), texts=texts, ends=(0,))
    done = generate(model, [1], plan, seed=seed, constraint=BadWords(("cab", "a b"), spelled="as_written"))
    whole = b"".join(texts[token] for token in done.tokens).decode()
    ends = [whole.find(stop) + len(stop) for stop in stops if stop in whole]
    assert not any(word in whole for word in ("cab", "a b"))
    assert not any(stop in done.text for stop in stops)
    if ends:
        matched = max((s for s in stops if whole[: min(ends)].endswith(s)), key=len)
        assert done.text == whole[: min(ends) - len(matched)]
        assert (done.stop_reason, done.fulfilled) == (matched, False)
    else:
        assert done.text == whole


@pytest.mark.parametrize("words", [(), ("",), "word", (1,), None])
def test_words_are_texts_that_are_not_empty(words):
    with pytest.raises(fd.ParameterError, match="none of them empty"):
        BadWords(words)
