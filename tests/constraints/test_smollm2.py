"""JSON from the real model: valid, or cut by length and said to be so."""

from __future__ import annotations

import json

import jsonschema
import pytest

import fairdraw as fd
from fairdraw.constraints.bad_words import BadWords
from fairdraw.constraints.json_schema import JsonSchema
from fairdraw.constraints.lazy import draw_lazily
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.generation.loop import generate
from fairdraw.models import load
from fairdraw.packed_masks import unpack

pytestmark = pytest.mark.model

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 10},
        "home": {
            "type": "object",
            "properties": {"zip": {"type": "string", "pattern": "^[0-9]{3}$"}, "own": {"type": "boolean"}},
            "required": ["zip", "own"],
            "additionalProperties": False,
        },
        "tags": {"type": "array", "items": {"enum": ["sea", "wind", "sky"]}, "minItems": 1, "maxItems": 3},
    },
    "required": ["name", "home", "tags"],
    "additionalProperties": False,
}
SHORT = {
    "type": "object",
    "properties": {
        "home": {
            "type": "object",
            "properties": {"zip": {"type": "string", "pattern": "^[0-9]{2}$"}, "own": {"type": "boolean"}},
            "required": ["zip", "own"],
            "additionalProperties": False,
        },
    },
    "required": ["home"],
    "additionalProperties": False,
}
PLAN = fd.Plan.parse("fairdraw: temperature=1.0")


@pytest.fixture(scope="module")
def model():
    return load("smollm2")


@pytest.fixture(scope="module")
def vocabulary(model):
    return Vocabulary.of(model.tokenizer, model.facts)


def test_twenty_samples_of_a_nested_schema_are_valid_or_cut_by_length(model):
    validator = jsonschema.Draft202012Validator(SHORT)
    constraint = JsonSchema(SHORT, whitespace="none")
    prompt = model.tokenizer.encode("A person as JSON:\n")
    for index in range(20):
        done = generate(model, prompt, PLAN, seed=11, sample_index=index, max_tokens=16, constraint=constraint)
        assert done.fulfilled == (done.finish_reason == "stop")
        if done.fulfilled:
            validator.validate(json.loads(done.text))
        else:
            assert len(done.tokens) == 16
            with pytest.raises(json.JSONDecodeError):
                json.loads(done.text)


def test_the_masks_of_the_whole_vocabulary_agree_with_single_questions(vocabulary):
    track = Track(JsonSchema(SCHEMA), vocabulary)
    for byte in b'{"name": "Ann", "home": {':
        track.advance(vocabulary.spelled_by(bytes([byte]))[0])
        allowed = unpack(track.state.mask(), vocabulary.width)
        looked_at = range(byte % 7, vocabulary.width, 97)
        assert [track.state.allows(token) for token in looked_at] == allowed[list(looked_at)].tolist()


def test_no_split_of_a_bad_word_is_allowed(model, vocabulary):
    constraint = BadWords(("ocean",))
    for parts in (["ocean"], [" ocean"], ["o", "cean"], ["oc", "ean"], [" oc", "e", "an"], ["O", "CE", "AN"]):
        tokens = [vocabulary.spelled_by(part.encode()) for part in parts]
        if not all(tokens):
            continue
        track = Track(constraint, vocabulary)
        for ids in tokens[:-1]:
            track.advance(ids[0])
        assert not track.mask()[list(tokens[-1])].any()


def test_the_lazy_token_is_the_masked_one_on_the_models_own_rows(model, vocabulary):
    track, session = Track(JsonSchema(SCHEMA, whitespace="none"), vocabulary), model.start()
    history = fd.History(prompt=model.tokenizer.encode("A person as JSON:\n"))
    logits = session.feed(history.prompt)
    for _ in range(14):
        lazy = draw_lazily(track, PLAN, logits, seed=2, position=len(history), history=history)
        masked = fd.sample(PLAN, logits, seed=2, position=len(history), history=history, mask=track.mask())
        assert lazy.token == masked.token
        assert 1 <= lazy.asked <= 40
        history.append(lazy.token)
        track.advance(lazy.token)
        logits = session.feed([lazy.token])
