import codecs
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairdraw.text.detokenizer import Utf8Stream

# Bytes that start, continue, break and nearly make characters, far more often than chance would give.
BYTES = st.lists(
    st.one_of(
        st.characters(codec="utf-8").map(str.encode),
        st.sampled_from([b"\xe4\xbd", b"\xf0\x9f\x98", b"\xed\xa0", b"\xed\xa0\x80", b"\xc0", b"\xf4\x90"]),
        st.binary(max_size=3),
    ),
    max_size=8,
).map(b"".join)


def pieces_of(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


def deltas_of(pieces: list[bytes]) -> list[str]:
    stream, deltas = Utf8Stream(), []
    for piece in pieces:
        stream, text = stream.push(piece)
        deltas.append(text)
    return [*deltas, stream.finish()]


def certain_text(data: bytes) -> str:
    """Give the longest text that starts the decode of data, whatever bytes follow."""
    # These follow every kind of incomplete character: rightly, with too few, and wrongly.
    endings = [b"", b"a", b"\x80", b"\xbf", b"\x90", b"\xa0", b"\x80\x80", b"\x80\x80\x80", b"\xbf\xbf\xbf"]
    endings += [b"\x90\x80\x80", b"\xa0\x80"]
    futures = [(data + ending).decode("utf-8", "replace") for ending in endings]
    shared = 0
    while all(len(future) > shared for future in futures) and len({future[shared] for future in futures}) == 1:
        shared += 1
    return futures[0][:shared]


@pytest.mark.parametrize(
    ("tokens", "deltas"),
    [
        ([b"\xe4\xbd", b"\xa0"], ["", "你", ""]),
        ([b"\x20\xf0\x9f", b"\x98", b"\x80"], [" ", "", "😀", ""]),
        ([b"\xc3\x28"], ["\ufffd(", ""]),
    ],
    ids=["a", "b", "c"],
)
def test_a_character_split_over_tokens_is_shown_when_its_last_byte_comes(tokens, deltas):
    assert deltas_of(tokens) == deltas


def test_one_byte_at_a_time_gives_the_character_with_its_last_byte():
    assert deltas_of([b"\xf0", b"\x9f", b"\x98", b"\x80"]) == ["", "", "", "😀", ""]


def test_a_broken_character_is_replaced_when_the_byte_that_breaks_it_comes():
    assert deltas_of([b"\xc3", b"("]) == ["", "\ufffd(", ""]


def test_bytes_that_never_start_a_character_are_replaced_at_once():
    assert deltas_of([b"\x80", b"\xc0", b"\xff"]) == ["\ufffd", "\ufffd", "\ufffd", ""]


def test_half_a_surrogate_is_replaced_at_once_although_the_standard_decoder_waits():
    assert codecs.getincrementaldecoder("utf-8")("replace").decode(b"\xed\xa0") == ""
    assert deltas_of([b"\xed\xa0", b"\x80"]) == ["\ufffd\ufffd", "\ufffd", ""]


def test_an_incomplete_character_becomes_one_replacement_at_the_end():
    assert deltas_of([b"a\xf0\x9f\x98"]) == ["a", "\ufffd"]


def test_a_byte_order_mark_is_kept():
    assert deltas_of([b"\xef\xbb", b"\xbfa"]) == ["", "\ufeffa", ""]


def test_an_old_stream_still_works_after_a_push():
    stream, _ = Utf8Stream().push(b"\xe4\xbd")
    assert stream.push(b"\xa0")[1] == "你"
    assert stream.push(b"\xa1")[1] == "\u4f61"
    assert stream.pending == b"\xe4\xbd"


@given(data=BYTES, cuts=st.lists(st.integers(min_value=0), max_size=6))
@example(data=b"\xed\xa0\x80", cuts=[2])
def test_joined_deltas_are_the_decode_of_all_bytes(data, cuts):
    assert "".join(deltas_of(pieces_of(data, cuts))) == data.decode("utf-8", "replace")


@given(data=BYTES)
@example(data=b"\xed\xa0")
@example(data=b"\xf0\x9f\x98")
def test_what_is_certain_is_shown_and_nothing_else(data):
    assert Utf8Stream().push(data)[1] == certain_text(data)


@given(data=BYTES, cuts=st.lists(st.integers(min_value=0), max_size=6))
def test_what_is_shown_by_a_byte_does_not_depend_on_the_cuts(data, cuts):
    shown = "".join(deltas_of(pieces_of(data, cuts))[:-1])
    assert shown == Utf8Stream().push(data)[1]


def test_every_pair_of_bytes_in_every_split_decodes_as_a_whole():
    for first in range(256):
        for second in range(256):
            data = bytes([first, second])
            whole = data.decode("utf-8", "replace")
            assert "".join(deltas_of([data])) == whole
            assert "".join(deltas_of([data[:1], data[1:]])) == whole
