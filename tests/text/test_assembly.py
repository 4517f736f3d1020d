from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairdraw.errors import ParameterError
from fairdraw.text.assembly import Piece, TextAssembler
from fairdraw.text.stop_strings import StopMatch, StopStrings

REPLACED = "\ufffd"
TOKENS = st.lists(
    st.lists(
        st.sampled_from([b"a", b"b", "é".encode(), b"\xc3", b"\xa9", b"\xf0\x9f", b"\xed\xa0", b"\xff"]),
        max_size=4,
    ).map(b"".join),
    max_size=10,
)
STOPS = st.lists(st.text(alphabet="abé" + REPLACED, min_size=1, max_size=4), max_size=3).map(tuple)


def run(assembler: TextAssembler, tokens: list[bytes]) -> list[Piece]:
    """Push tokens up to a stop, then finish."""
    pieces = []
    for token in tokens:
        pieces.append(assembler.push(token))
        if pieces[-1].stopped is not None:
            return pieces
    return [*pieces, assembler.finish()]


def first_match(text: str, stops: tuple[str, ...]) -> tuple[str, str] | None:
    """Read character by character: before, stop string."""
    for end in range(1, len(text) + 1):
        if ending := [stop for stop in stops if text[:end].endswith(stop)]:
            stop = max(ending, key=len)
            return text[: end - len(stop)], stop
    return None


def test_streaming_shows_nothing_of_a_stop_string_that_comes_in_pieces():
    pieces = run(TextAssembler(StopStrings(("WXYZ",))), [b"ab", b"WX", b"Y", b"Zq"])
    assert [piece.text for piece in pieces] == ["ab", "", "", ""]
    assert pieces[-1].stopped == StopMatch(before="", matched="WXYZ", after="q")


def test_a_stop_string_is_included_by_adding_what_matched():
    pieces = run(TextAssembler(StopStrings(("WXYZ",))), [b"ab", b"WX", b"Y", b"Zq"])
    assert pieces[-1].stopped is not None
    assert "".join(piece.text for piece in pieces) + pieces[-1].stopped.matched == "abWXYZ"


def test_held_text_goes_out_with_the_token_that_breaks_the_stop_string():
    pieces = run(TextAssembler(StopStrings(("WXYZ",))), [b"ab", b"WX", b"Y", b"Q"])
    assert [piece.text for piece in pieces] == ["ab", "", "", "WXYQ", ""]


@pytest.mark.parametrize(
    ("tokens", "texts"),
    [
        ([b"\xe4\xbd", b"\xa0"], ["", "你", ""]),
        ([b"\x20\xf0\x9f", b"\x98", b"\x80"], [" ", "", "😀", ""]),
        ([b"\xc3\x28"], [REPLACED + "(", ""]),
    ],
    ids=["a", "b", "c"],
)
def test_a_character_split_over_tokens_is_shown_when_its_last_byte_comes(tokens, texts):
    assert [piece.text for piece in run(TextAssembler(), tokens)] == texts


def test_the_end_releases_held_text_and_replaces_an_incomplete_character():
    assembler = TextAssembler(StopStrings(("WXYZ",)))
    assert assembler.push(b"aWX\xf0\x9f") == Piece(text="a")
    assert assembler.held == "WX"
    assert assembler.finish() == Piece(text="WX" + REPLACED)
    assert assembler.held == ""


def test_a_stop_string_may_be_completed_by_the_replacement_at_the_end():
    pieces = run(TextAssembler(StopStrings(("b" + REPLACED,))), [b"ab", b"\xf0"])
    assert pieces[-1] == Piece(text="", stopped=StopMatch(before="", matched="b" + REPLACED, after=""))


def test_bytes_of_a_character_that_began_behind_the_match_are_dropped_with_it():
    pieces = run(TextAssembler(StopStrings(("b",))), [b"abc\xf0\x9f"])
    assert pieces == [Piece(text="a", stopped=StopMatch(before="a", matched="b", after="c" + REPLACED))]


def test_a_character_split_over_tokens_can_be_part_of_a_stop_string():
    pieces = run(TextAssembler(StopStrings(("é!",))), [b"a\xc3", b"\xa9", b"!"])
    assert [piece.text for piece in pieces] == ["a", "", ""]
    assert pieces[-1].stopped is not None


def test_a_stop_string_within_the_first_tokens_is_text_until_armed():
    pieces = run(TextAssembler(StopStrings(("b",)), armed_after=2), [b"ab", b"bc", b"ab"])
    assert [piece.text for piece in pieces] == ["ab", "bc", "a"]
    assert pieces[-1].stopped is not None


def test_text_before_arming_is_shown_at_once_and_begins_no_match():
    assembler = TextAssembler(StopStrings(("ab",)), armed_after=1)
    assert assembler.push(b"a") == Piece(text="a")
    assert assembler.push(b"b") == Piece(text="b")


def test_a_character_that_an_armed_token_completes_is_armed():
    assembler = TextAssembler(StopStrings(("é",)), armed_after=1)
    assert assembler.push(b"\xc3") == Piece()
    assert assembler.push(b"\xa9").stopped == StopMatch(before="", matched="é", after="")


def test_a_token_without_text_counts_towards_arming():
    assembler = TextAssembler(StopStrings(("a",)), armed_after=1)
    assert assembler.push(b"") == Piece()
    assert assembler.push(b"a").stopped is not None


@pytest.mark.parametrize(("armed_after", "stops"), [(0, True), (1, False)])
def test_the_replacement_at_the_end_belongs_to_the_last_token(armed_after, stops):
    pieces = run(TextAssembler(StopStrings((REPLACED,)), armed_after=armed_after), [b"\xf0"])
    assert (pieces[-1].stopped is not None) == stops


def test_a_negative_arming_is_refused():
    with pytest.raises(ParameterError, match="armed_after must be 0 or more, got -1"):
        TextAssembler(armed_after=-1)


def test_offsets_count_the_characters_before_each_token():
    assembler = TextAssembler(StopStrings(("WXYZ",)))
    run(assembler, [b"ab", b"WX", b"Y", b"Zq"])
    assert assembler.offsets == (0, 2, 4, 5)


def test_offsets_give_a_split_character_to_the_token_that_completes_it():
    assembler = TextAssembler()
    run(assembler, [b" \xf0\x9f", b"\x98", b"\x80", b"", b"!"])
    assert assembler.offsets == (0, 1, 1, 2, 2)


def test_nothing_can_be_pushed_after_a_stop_string():
    assembler = TextAssembler(StopStrings(("b",)))
    assembler.push(b"ab")
    with pytest.raises(ParameterError, match="token_bytes must be pushed before the text has ended, got b'c'"):
        assembler.push(b"c")
    assert assembler.offsets == (0,)


def test_nothing_can_be_pushed_after_the_end():
    assembler = TextAssembler()
    assembler.finish()
    with pytest.raises(ParameterError, match="pushed before the text has ended"):
        assembler.push(b"c")


def test_a_text_ends_once():
    assembler = TextAssembler(StopStrings(("ab",)))
    assembler.push(b"a\xf0")
    assert assembler.finish() == Piece(text="a" + REPLACED)
    assert assembler.finish() == Piece()


def test_the_end_adds_nothing_after_a_stop_string():
    assembler = TextAssembler(StopStrings(("ab",)))
    assembler.push(b"aba\xf0")
    assert assembler.finish() == Piece()


def test_a_fork_goes_its_own_way():
    assembler = TextAssembler(StopStrings(("abc",)))
    assembler.push(b"xab")
    twin = assembler.fork()
    assert twin.push(b"c").stopped is not None
    assert assembler.held == "ab"
    assert assembler.push(b"d") == Piece(text="abd")
    assert (assembler.offsets, twin.offsets) == ((0, 3), (0, 3))
    assembler.push(b"e")
    assert twin.offsets == (0, 3)


@given(tokens=TOKENS, stops=STOPS)
def test_the_pieces_are_the_whole_text_up_to_its_first_stop_string(tokens, stops):
    pieces = run(TextAssembler(StopStrings(stops)), tokens)
    shown = "".join(piece.text for piece in pieces)
    whole = b"".join(tokens).decode("utf-8", "replace")
    expected = first_match(whole, stops)
    if expected is None:
        assert pieces[-1].stopped is None
        assert shown == whole
    else:
        assert pieces[-1].stopped is not None
        assert (shown, pieces[-1].stopped.matched) == expected


@given(tokens=TOKENS, stops=STOPS)
def test_shown_matched_and_after_are_the_decode_of_what_was_pushed(tokens, stops):
    assembler = TextAssembler(StopStrings(stops))
    pieces = run(assembler, tokens)
    text = "".join(piece.text for piece in pieces)
    if match := pieces[-1].stopped:
        text += match.matched + match.after
    assert text == b"".join(tokens[: len(assembler.offsets)]).decode("utf-8", "replace")


@given(tokens=TOKENS, stops=STOPS, armed_after=st.integers(0, 12))
def test_after_arming_the_text_is_read_as_if_it_began_there(tokens, stops, armed_after):
    assembler = TextAssembler(StopStrings(stops), armed_after=armed_after)
    pieces = run(assembler, tokens)
    shown = "".join(piece.text for piece in pieces)
    plain = TextAssembler()
    run(plain, tokens)
    whole = b"".join(tokens).decode("utf-8", "replace")
    border = plain.offsets[armed_after] if armed_after < len(tokens) else len(whole)
    expected = first_match(whole[border:], stops)
    if expected is None:
        assert (shown, pieces[-1].stopped) == (whole, None)
    else:
        assert shown == whole[:border] + expected[0]
        assert pieces[-1].stopped is not None


@given(tokens=TOKENS)
def test_each_character_belongs_to_the_first_token_that_makes_it_certain(tokens):
    assembler = TextAssembler()
    by_token = [(index, character) for index, token in enumerate(tokens) for character in assembler.push(token).text]
    for place, (index, _) in enumerate(by_token):
        assert bisect_right(assembler.offsets, place) - 1 == index


@given(before=TOKENS, left=TOKENS, right=TOKENS, stops=STOPS)
def test_a_fork_gives_what_a_fresh_assembler_with_the_same_tokens_gives(before, left, right, stops):
    assembler = TextAssembler(StopStrings(stops))
    for token in before:
        if assembler.push(token).stopped is not None:
            return
    twin = assembler.fork()
    run(assembler, left)
    fresh = TextAssembler(StopStrings(stops))
    for token in before:
        fresh.push(token)
    assert run(twin, right) == run(fresh, right)
    assert twin.offsets == fresh.offsets
