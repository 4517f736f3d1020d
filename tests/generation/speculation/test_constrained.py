"""Masks of a constraint apply at each position as if there were no speculation."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.generation.loop import generate
from fairdraw.generation.speculation import starting
from fairdraw.generation.speculation.tree import Candidate, Tree
from generation.speculation.scripted import every_run
from generation.speculation.toys import PrefixModel

PLAN = fd.Plan.parse("fairdraw: repetition_penalty=1.2")
TEXTS = Choice(("bcbc", "bd", "ccd", "ccb"))
PROMPT = [1, 2, 1]
ANOTHER = fd.ModelDraft(model=PrefixModel(seed=9, vocab=4, ends=(0,)))


class Stubborn:
    """A draft that knows no constraint: always the same two tokens."""

    name = "stubborn"

    def start(self, target):
        return self

    def propose(self, request):
        tokens = (3, 2)[: len(request.widths)]
        candidates = tuple(Candidate(token=token) for token in tokens)
        return Tree(candidates=candidates, parents=tuple(range(-1, len(tokens) - 1)))


DRAFTS = {"stubborn": Stubborn(), "lookup": fd.PromptLookup(), "another": ANOTHER}


def model() -> PrefixModel:
    return PrefixModel(vocab=4, ends=(0,))


def alone(plan, length):
    """The law of the text under the constraint, position by position."""
    target, law = model(), Counter()
    vocabulary = Vocabulary.of(target.tokenizer, target.facts)

    def go_on(tokens, probability):
        track = Track(TEXTS, vocabulary)
        for token in tokens:
            track.advance(token)
        if len(tokens) == length or track.is_complete or (tokens and tokens[-1] == 0):
            law[tokens] += probability
            return
        history = fd.History(prompt=PROMPT, output=tokens)
        row = fd.law(plan, target.row([*PROMPT, *tokens]), history=history, mask=track.mask()).probabilities
        for token in np.flatnonzero(row):
            go_on((*tokens, int(token)), probability * row[token])

    go_on((), 1.0)
    return law


@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("way", ["accept", "block"])
def test_the_law_under_a_constraint_is_that_of_the_text_alone(draft, way, monkeypatch):
    begin, law = starting.begin, Counter()
    setting = fd.Speculation(draft=DRAFTS[draft], way=way, tokens=2)

    def run(chance):
        monkeypatch.setattr("fairdraw.generation.loop.begin", lambda *a, **k: begin(*a, **k, chance=chance))
        return generate(model(), PROMPT, PLAN, seed=0, max_tokens=4, constraint=TEXTS, speculation=setting).tokens

    for tokens, probability in every_run(run):
        law[tokens] += probability
    exact = alone(PLAN, 4)
    assert len(exact) > 3
    assert sum(abs(law[key] - exact[key]) for key in law | exact) / 2 <= 1e-12


@pytest.mark.parametrize("draft", DRAFTS)
def test_match_under_a_constraint_writes_the_text_alone(draft):
    for seed in range(30):
        texts = [
            generate(model(), PROMPT, PLAN, seed=seed, constraint=TEXTS, speculation=speculation)
            for speculation in (None, fd.Speculation(draft=DRAFTS[draft], widths=(2,)))
        ]
        assert texts[0].tokens == texts[1].tokens
        assert texts[1].fulfilled is True
        assert texts[0].text in TEXTS.texts


@pytest.mark.parametrize("way", ["accept", "block"])
def test_a_text_that_cannot_go_on_meets_its_error_as_often_as_alone(way, monkeypatch):
    # After token 1 nothing is left.
    plan = fd.Plan.parse("fairdraw: allowed_token_ids=[1,2] bad_words_ids=[[1,1],[1,2]]")
    setting = fd.Speculation(draft=ANOTHER, way=way, tokens=2)
    begin, law = starting.begin, Counter()

    def run(chance):
        monkeypatch.setattr("fairdraw.generation.loop.begin", lambda *a, **k: begin(*a, **k, chance=chance))
        try:
            return generate(model(), [2], plan, seed=0, max_tokens=4, speculation=setting).tokens
        except fd.LogitsError as problem:
            return "bad_words" in problem.where

    for outcome, probability in every_run(run):
        law[outcome] += probability
    on, text = 1.0, [2]
    for _ in range(3):
        on *= fd.law(plan, model().row(text), history=fd.History(prompt=[2], output=text[1:])).probabilities[2]
        text.append(2)
    assert set(law) == {True, (2, 2, 2, 1), (2, 2, 2, 2)}
    assert law[True] == pytest.approx(1 - on, abs=1e-12)
