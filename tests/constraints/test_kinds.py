"""What each kind refuses, and what is particular to it."""

from __future__ import annotations

import numpy as np
import pytest

import fairdraw as fd
from constraints.toys import toy
from fairdraw.constraints.all_of import AllOf
from fairdraw.constraints.allowed_ids import AllowedIds
from fairdraw.constraints.bad_words import BadWords
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.grammar import Grammar
from fairdraw.constraints.json_schema import JsonSchema
from fairdraw.constraints.regex import Regex
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary

LETTERS = toy("a", "b", "c", "ab")
BYTES = Vocabulary(token_bytes=(b"", *(bytes([byte]) for byte in range(256))), width=257, end_ids=(0,))


def writes(constraint, text: str) -> Track:
    """The constraint after a text, byte by byte."""
    track = Track(constraint, BYTES)
    for byte in text.encode():
        track.advance(byte + 1)
    return track


@pytest.mark.parametrize("texts", [(), ("a", ""), ("a", 1), "ab", 3])
def test_a_choice_is_of_texts_that_are_not_empty(texts):
    with pytest.raises(fd.ParameterError, match="a sequence of texts, none of them empty"):
        Choice(texts)


def test_a_choice_that_no_tokens_spell_is_refused_by_name():
    with pytest.raises(fd.ParameterError, match="tokens can spell, got 'axe'"):
        Choice(("ab", "axe")).start(LETTERS)


def test_a_choice_never_takes_a_token_after_which_no_token_spells_the_rest():
    # "a" begins "abc", but nothing spells "bc" or "b".
    track = Track(Choice(("abc",)), toy("a", "ab", "c"))
    assert track.mask().nonzero()[0].tolist() == [2]


def test_a_choice_may_be_written_in_any_script():
    assert writes(Choice(("né", "日本")), "日本").is_complete


@pytest.mark.parametrize(
    ("pattern", "hint"),
    [
        ("(", "unclosed group"),
        ("a(?=b)", "look-around"),
        (r"(a)\1", "backreferences"),
        ("a{2,1}", "invalid repetition"),
    ],
)
def test_a_regular_expression_that_the_engine_does_not_know_is_refused_with_the_reason(pattern, hint):
    with pytest.raises(fd.ParameterError, match=hint) as caught:
        Regex(pattern).start(LETTERS)
    assert (caught.value.parameter, caught.value.value) == ("regex", pattern)


def test_a_regular_expression_matches_the_whole_text():
    assert not Track(Regex("b"), LETTERS).mask()[[1, 4]].any()
    assert writes(Regex(r"\d+"), "١").may_end


def test_tokens_other_than_the_tokenizers_own_are_allowed_where_a_text_is_forced():
    assert Track(Regex("abc"), LETTERS).mask().nonzero()[0].tolist() == [1, 4]


def test_a_grammar_is_refused_with_line_and_column():
    with pytest.raises(fd.ParameterError, match=r"2\(5\)"):
        Grammar('start: "a"\nx: (').start(LETTERS)
    with pytest.raises(fd.ParameterError, match="no start rule"):
        Grammar('begin: "a"').start(LETTERS)


def test_a_special_token_is_not_allowed_even_where_a_grammar_names_it():
    special = Vocabulary(token_bytes=(b"", b"a", b""), width=3, end_ids=(0,))
    with pytest.raises(fd.LogitsError, match="grammar at step 0 must allow some token, got none"):
        Track(Grammar("start: <[2]>"), special).mask()


def test_a_dead_end_names_the_constraint_and_the_step():
    track = Track(Regex("az"), toy("a", "b"))
    track.advance(1)
    with pytest.raises(fd.LogitsError, match=r"regex at step 1 must allow some token, got none\n.*dead end"):
        track.mask()


def test_a_token_of_the_byte_255_is_never_text():
    tokens = Vocabulary(token_bytes=(b"", b"a", b"\xff", b"\xffa"), width=4, end_ids=(0,))
    assert Track(Regex("(?s:.)+"), tokens).mask().nonzero()[0].tolist() == [1]


@pytest.mark.parametrize(
    ("schema", "keyword", "place"),
    [
        ({"not": {}}, "not", "#"),
        ({"properties": {"a": {"items": [{}, {"if": {}}]}}}, "if", "#/properties/a/items/1"),
        ({"$defs": {"x": {"uniqueItems": True}}}, "uniqueItems", r"#/\$defs/x"),
        ({"anyOf": [{}, {"contains": {}}]}, "contains", "#/anyOf/1"),
        ({"additionalProperties": {"dependentRequired": {}}}, "dependentRequired", "#/additionalProperties"),
        ({"x-guidance": {"lenient": True}}, "x-guidance", "#"),
    ],
)
def test_a_keyword_that_nothing_enforces_is_named_with_its_place(schema, keyword, place):
    with pytest.raises(fd.ParameterError, match=f"it stands at {place};") as caught:
        JsonSchema(schema)
    assert caught.value.value == keyword


def test_a_misspelled_keyword_gets_the_right_one():
    with pytest.raises(fd.ParameterError, match="did you mean 'required'"):
        JsonSchema({"requried": ["a"]})


def test_names_of_properties_and_values_are_no_keywords():
    JsonSchema({"properties": {"not": {"enum": [{"if": 1}]}}, "default": {"then": 2}})


@pytest.mark.parametrize(
    ("schema", "hint"),
    [
        ({"type": "strin"}, "Invalid type: strin"),
        ({"type": "integer", "minimum": 3, "maximum": 2}, "minimum .3. is greater than maximum"),
        ({"type": "string", "pattern": "a(?!b)"}, "look-around"),
        ({"type": "string", "format": "poem"}, "Unknown format: poem"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "oneOf"),
        ({"$ref": "#/$defs/missing"}, "does not exist"),
        ({"$ref": "https://example.com/schema"}, "https://example.com/schema"),
    ],
)
def test_a_schema_that_cannot_be_met_or_compiled_is_refused_with_the_reason(schema, hint):
    with pytest.raises(fd.ParameterError, match=hint):
        JsonSchema(schema).start(BYTES)


@pytest.mark.parametrize("schema", ["{", "[]", '{"const": NaN}', "true", 5, {"const": {1, 2}}])
def test_what_is_no_schema_is_refused(schema):
    with pytest.raises(fd.ParameterError, match="json_schema must be"):
        JsonSchema(schema)


def test_white_space_is_what_json_allows_or_none():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert writes(JsonSchema(schema), '{ "a" :\n 1 }').may_end
    assert writes(JsonSchema(schema, whitespace="none"), '{"a":1}').may_end
    with pytest.raises(fd.ParameterError):
        writes(JsonSchema(schema, whitespace="none"), '{ "a"')
    with pytest.raises(fd.ParameterError, match="whitespace must be"):
        JsonSchema(schema, whitespace="some")


def test_properties_come_in_the_order_of_the_schema():
    schema = {"type": "object", "properties": {"b": {"const": 1}, "a": {"const": 2}}, "additionalProperties": False}
    assert writes(JsonSchema(schema), '{"b":1,"a":2}').is_complete
    with pytest.raises(fd.ParameterError, match="allowed by json_schema"):
        writes(JsonSchema(schema), '{"a":2,"b":1}')


def test_a_schema_in_words_equals_the_same_as_data():
    assert JsonSchema('{"type": "null"}') == JsonSchema({"type": "null"})


@pytest.mark.parametrize(("ids", "got"), [((1, 9), "9"), ((3,), "3")])
def test_a_listed_id_must_write_or_end_something(ids, got):
    tokens = Vocabulary(token_bytes=(b"", b"a", b"b", b""), width=6, end_ids=(0,))
    with pytest.raises(fd.ParameterError, match=f"write text or end it, got {got}"):
        AllowedIds(ids).start(tokens)


def test_field_case_16_two_constraints_without_a_common_token_are_named_with_the_step():
    tokens = toy("p", "q", "r", ends=())
    constraint = AllOf([AllowedIds((2, 3)), BadWords(("q", "r"))])
    with pytest.raises(fd.LogitsError, match="allowed_ids and bad_words at step 0 must allow some token") as caught:
        Track(constraint, tokens).mask()
    assert "allowed_ids allows 2, bad_words allows 1" in str(caught.value)


def test_field_case_16_a_word_of_several_tokens_can_empty_a_later_step():
    track = Track(AllOf([AllowedIds((1, 2)), BadWords(("ab", "aa"))]), toy("a", "b", "c", ends=()))
    track.advance(2)
    track.advance(1)
    with pytest.raises(fd.LogitsError, match="allowed_ids and bad_words at step 2"):
        track.mask()


def test_field_case_16_a_mask_that_allows_nothing_never_gives_token_0():
    for temperature in (0.0, 1.0):
        plan = fd.Plan.parse(f"fairdraw: temperature={temperature}")
        with pytest.raises(fd.LogitsError):
            fd.sample(plan, [5.0, 1.0, 0.0, -1.0], seed=1, position=0, mask=np.zeros(4, np.bool_))


def test_a_conjunction_needs_parts():
    with pytest.raises(fd.ParameterError, match="at least one constraint"):
        AllOf([])


def test_a_row_narrower_than_the_tokenizer_is_refused():
    with pytest.raises(fd.ParameterError, match="at least the tokenizer's 3 ids"):
        Vocabulary(token_bytes=(b"", b"a", b"b"), width=2, end_ids=())
    with pytest.raises(fd.ParameterError, match="end_ids"):
        Vocabulary(token_bytes=(b"",), width=2, end_ids=(2,))


def test_the_bytes_of_an_end_token_are_no_text():
    tokens = Vocabulary(token_bytes=(b"end", b"a", b""), width=4, end_ids=(0,))
    assert (tokens.text_words.tolist(), tokens.end_words.tolist()) == ([2], [1])
    assert (tokens.text([0, 1, 3]), tokens.spelled_by(b"end")) == (b"a", ())
    assert Track(Regex("(end)+a?"), tokens).state.mask().tolist() == [0]
