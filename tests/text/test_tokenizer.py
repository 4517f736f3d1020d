import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairdraw.errors import ParameterError, UnavailableError
from fairdraw.models import load
from fairdraw.text.tokenizer import Tokenizer

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "smollm2_token_ids.json").read_text(encoding="utf-8"))


def _toy(**changes):
    # "Ä" and "½" are the letters of bytes C3 and BD in the byte alphabet, "Ġ" of the space, "Ċ" of \n.
    parts = {
        "tokens": ["<|end|>", "h", "i", "Ġ", "hi", "Ä", "½", "Ċ", "1", "Ġhi", "<|end|>>"],
        "merges": ["h i", "Ġ hi"],
        "special_ids": [0, 10],
    }
    return Tokenizer(**(parts | changes))


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load(model="smollm2").tokenizer


@pytest.mark.model
@pytest.mark.parametrize("context", GOLDEN["contexts"], ids=lambda context: context["tag"])
def test_the_golden_texts_give_the_golden_ids(tokenizer, context):
    assert tokenizer.encode_with_specials(context["text"]) == context["token_ids"]


@pytest.mark.model
@pytest.mark.parametrize("context", GOLDEN["contexts"], ids=lambda context: context["tag"])
def test_decoding_skips_special_tokens_and_loses_nothing_else(tokenizer, context):
    text = context["text"]
    for special in tokenizer.special_tokens:
        text = text.replace(special, "")
    assert tokenizer.decode(context["token_ids"]) == text


@pytest.mark.model
def test_no_plain_text_becomes_a_special_token(tokenizer):
    for text, index in tokenizer.special_tokens.items():
        ids = tokenizer.encode(f"a{text}{text} {text}")
        assert index not in ids
        assert tokenizer.decode(ids) == f"a{text}{text} {text}"


@pytest.mark.model
def test_the_vocabulary_has_49152_tokens_and_17_special_ones(tokenizer):
    assert tokenizer.vocab_size == 49152
    assert tokenizer.special_ids == frozenset(range(17))


@pytest.mark.model
@pytest.mark.parametrize(
    ("text", "pieces"),
    [("1234", ["1", "2", "3", "4"]), ("don't", ["don", "'t"]), ("a  b", ["a", " ", " b"])],
)
def test_digits_stand_alone_and_words_take_one_space(tokenizer, text, pieces):
    assert [tokenizer.decode([token]) for token in tokenizer.encode(text)] == pieces


@pytest.mark.model
def test_a_character_split_over_tokens_comes_back_whole(tokenizer):
    ids = tokenizer.encode("佾")
    assert len(ids) > 1
    assert b"".join(map(tokenizer.token_bytes, ids)) == "佾".encode()
    assert tokenizer.decode(ids) == "佾"
    assert tokenizer.decode(ids[:-1]) == "\ufffd"


@pytest.mark.model
def test_every_token_can_be_shown_on_one_line(tokenizer):
    for token in range(tokenizer.vocab_size):
        shown = tokenizer.token_text(token)
        assert shown.isprintable()
        assert " " not in shown or "<" in shown


def test_special_tokens_are_recognised_only_where_asked_and_the_longest_wins():
    toy = _toy()
    assert toy.encode_with_specials("hi<|end|> hi<|end|>>") == [4, 0, 9, 10]
    assert set(toy.encode("hi<|end|>")) & {0, 10} == set()


def test_without_special_tokens_both_encodings_agree():
    toy = _toy(special_ids=[])
    assert toy.encode_with_specials("hi hi") == toy.encode("hi hi") == [4, 9]


def test_an_empty_text_has_no_tokens():
    assert _toy().encode("") == _toy().encode_with_specials("") == []
    assert _toy().decode([]) == ""


def test_bytes_are_exact_and_special_tokens_have_none():
    toy = _toy()
    assert [toy.token_bytes(token) for token in (0, 9, 5, 6, 7)] == [b"", b" hi", b"\xc4", b"\xbd", b"\n"]


def test_bytes_that_are_no_character_decode_to_one_replacement():
    # The lead byte C4 without its second byte.
    assert _toy().decode([5, 1]) == "\ufffdh"
    assert _toy().decode([5, 6]) == "Ľ"


def test_a_table_shows_spaces_escapes_parts_and_names():
    toy = _toy()
    assert [toy.token_text(token) for token in (9, 7, 5, 0)] == ["␣hi", "\\n", "<c4>", "<|end|>"]


@pytest.mark.parametrize("token", [-1, 11])
def test_an_id_outside_the_vocabulary_is_refused(token):
    toy = _toy()
    for use in (toy.token_bytes, toy.token_text, lambda index: toy.decode([1, index])):
        with pytest.raises(ParameterError, match=r"token id must be in \[0, 11\)"):
            use(token)


def test_a_lone_surrogate_is_refused_in_our_words():
    with pytest.raises(ParameterError, match="whole Unicode characters"):
        _toy().encode("h\ud800i")


def test_json_carries_everything():
    toy = _toy(chat_template="{{ x }}", bos_id=0, eos_id=10)
    twin = Tokenizer.from_json(toy.to_json())
    assert twin.to_json() == toy.to_json()
    assert twin.encode_with_specials("hi<|end|> hi") == toy.encode_with_specials("hi<|end|> hi")
    assert (twin.chat_template, twin.bos_id, twin.eos_id) == ("{{ x }}", 0, 10)


def test_a_missing_package_is_named_with_the_extra_that_brings_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(UnavailableError, match=r'hint: pip install "fairdraw\[demo\]"'):
        _toy()


@pytest.mark.model
@given(text=st.text(st.characters(categories=["L", "P", "S", "Z", "M"], max_codepoint=0x7FF)))
def test_what_was_encoded_decodes_to_itself(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert not set(ids) & tokenizer.special_ids
