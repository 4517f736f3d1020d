import pickle
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fairdraw.errors import ParameterError
from fairdraw.text.stop_strings import StopMatch, StopStrings, _Automaton

STOPS = st.lists(st.text(alphabet="aab😀", min_size=1, max_size=7), max_size=4).map(tuple)
CUTS = st.lists(st.integers(min_value=0, max_value=24), max_size=8)


@st.composite
def texts_with_stops(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """Draw stop strings, and a text made of their parts, so that many matches begin and few succeed."""
    stops = draw(STOPS)
    parts = [stop[start:end] for stop in stops for end in range(len(stop) + 1) for start in range(end)]
    text = "".join(draw(st.lists(st.sampled_from([*parts, "a", "b"]), max_size=6)))
    return text, stops


def pieces_of(text: str, cuts: list[int]) -> list[str]:
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return [text[start:stop] for start, stop in pairwise(edges)]


def first_match(text: str, stops: tuple[str, ...]) -> tuple[str, str, str] | None:
    """Read character by character: before, stop string, after."""
    for end in range(1, len(text) + 1):
        if ending := [stop for stop in stops if text[:end].endswith(stop)]:
            stop = max(ending, key=len)
            return text[: end - len(stop)], stop, text[end:]
    return None


def longest_end_that_may_still_match(text: str, stops: tuple[str, ...]) -> str:
    """Try every way to complete every stop string, and see what the match takes from the text."""
    taken = 0
    for stop in stops:
        for present in range(1, len(stop)):
            if text.endswith(stop[:present]):
                found = first_match(text + stop[present:], stops)
                assert found is not None
                taken = max(taken, len(text) - len(found[0]))
    return text[len(text) - taken :]


def read(stops: tuple[str, ...], pieces: list[str]) -> tuple[list[str], StopMatch | None, str]:
    """Push pieces up to a match: what each released, the match, what finish adds."""
    matcher, released = StopStrings(stops).matcher(), []
    for piece in pieces:
        matcher, text, match = matcher.push(piece)
        released.append(text)
        if match is not None:
            return released, match, ""
    return released, None, matcher.finish()


def test_a_stop_string_over_four_tokens_is_never_shown():
    released, match, _ = read(("WXYZ",), ["ab", "WX", "Y", "Zq"])
    assert released == ["ab", "", "", ""]
    assert match == StopMatch(before="", matched="WXYZ", after="q")


def test_a_stop_string_is_included_by_adding_what_matched():
    released, match, _ = read(("WXYZ",), ["ab", "WX", "Y", "Zq"])
    assert match is not None
    assert "".join(released) + match.matched == "abWXYZ"


def test_held_text_is_released_when_the_stop_string_fails():
    assert read(("WXYZ",), ["ab", "WX", "Y", "Q"]) == (["ab", "", "", "WXYQ"], None, "")


def test_held_text_is_released_at_the_end():
    assert read(("WXYZ",), ["abWXY"]) == (["ab"], None, "WXY")


def test_text_that_starts_no_stop_string_is_never_held():
    assert read(("WXYZ",), ["a", "b", "XYZ"]) == (["a", "b", "XYZ"], None, "")


def test_the_match_that_ends_first_wins_over_the_one_listed_first():
    assert read(("late", "early"), ["an early and late"])[1] == StopMatch(
        before="an ", matched="early", after=" and late"
    )


@pytest.mark.parametrize("stops", [("ab", "bc"), ("bc", "ab")])
def test_of_two_overlapping_stop_strings_the_one_that_ends_first_wins(stops):
    assert read(stops, ["xabc"])[1] == StopMatch(before="x", matched="ab", after="c")


@pytest.mark.parametrize("stops", [("c", "bc", "abc"), ("abc", "bc", "c")])
def test_of_stop_strings_that_end_together_the_one_that_starts_first_wins(stops):
    assert read(stops, ["x", "a", "b", "c"])[1] == StopMatch(before="", matched="abc", after="")


def test_a_stop_string_that_starts_another_ends_the_text_before_it():
    assert read(("abc", "ab"), ["abc"])[1] == StopMatch(before="", matched="ab", after="c")


def test_a_stop_string_inside_another_is_found_although_the_longer_began_first():
    released, match, _ = read(("abcd", "bc"), ["ab", "cd"])
    assert released == ["a", ""]
    assert match == StopMatch(before="", matched="bc", after="d")


def test_nothing_waits_for_a_stop_string_that_cannot_win():
    assert read(("abcd", "c"), ["ab"]) == (["ab"], None, "")


@pytest.mark.parametrize(
    ("stop", "text", "before"),
    [
        ("aa", "baaa", "b"),
        ("aab", "aaab", "a"),
        ("abab", "abaabab", "aba"),
        ("ababc", "abababc", "ab"),
        ("aabaaac", "aabaaabaaac", "aaba"),
    ],
)
def test_a_stop_string_that_overlaps_itself_is_found_at_its_first_end(stop, text, before):
    for pieces in ([text], list(text)):
        released, match, _ = read((stop,), pieces)
        assert match is not None
        assert ("".join(released), match.matched) == (before, stop)


def test_a_failed_start_releases_only_what_starts_no_new_match():
    assert read(("aab",), ["aa", "a", "b"])[0] == ["", "a", ""]


def test_unicode_is_compared_code_point_by_code_point():
    assert read(("é",), ["e\u0301"])[1] is None
    assert read(("停止",), ["好停", "止"])[:2] == (["好", ""], StopMatch(before="", matched="停止", after=""))


def test_a_stop_string_given_twice_is_found_once():
    assert read(("ab", "ab"), ["xab"])[1] == StopMatch(before="x", matched="ab", after="")


def test_without_stop_strings_nothing_is_held():
    assert read((), ["ab", "", "c"]) == (["ab", "", "c"], None, "")


@pytest.mark.parametrize("stops", [("",), ("a", ""), "ab", ["ab"], None, (b"ab",), (None,)])
def test_an_empty_or_foreign_stop_string_is_refused(stops):
    with pytest.raises(ParameterError, match=r"stops must be a tuple of strings that are not empty, got .*"):
        StopStrings(stops)


def test_a_bare_string_is_refused_with_the_tuple_to_write():
    with pytest.raises(ParameterError, match=r"hint: one stop string is \('ab',\)"):
        StopStrings("ab")  # type: ignore[arg-type]


def test_an_old_matcher_still_works_after_a_push():
    matcher, _, _ = StopStrings(("abc",)).matcher().push("xab")
    assert matcher.push("c")[2] is not None
    assert matcher.push("d")[1] == "abd"
    assert matcher.held == "ab"


def test_stop_strings_are_equal_by_value_and_survive_pickling():
    stops = StopStrings(("ab", "bc"))
    again = pickle.loads(pickle.dumps(stops))
    assert again == stops
    assert hash(again) == hash(stops)
    assert again.matcher().push("xab")[1] == "x"


def test_a_push_reads_the_held_and_the_new_characters_and_not_the_whole_text(monkeypatch):
    read_characters = []
    step = _Automaton.step

    def counted_step(automaton: _Automaton, node: int, character: str) -> int:
        read_characters.append(character)
        return step(automaton, node, character)

    monkeypatch.setattr(_Automaton, "step", counted_step)
    matcher = StopStrings(("a" * 20 + "b", "ab" * 8)).matcher()
    for _ in range(2_000):
        read_characters.clear()
        matcher, _, _ = matcher.push("a")
        assert len(read_characters) <= 20 + 1


@given(case=texts_with_stops(), cuts=CUTS)
@example(case=("aaab", ("aab",)), cuts=[2])
@example(case=("xabcd", ("abcd", "bc")), cuts=[2, 3])
def test_every_split_gives_what_a_search_of_the_whole_text_gives(case, cuts):
    text, stops = case
    released, match, rest = read(stops, pieces_of(text, cuts))
    expected = first_match(text, stops)
    if expected is None:
        assert match is None
        assert "".join(released) + rest == text
    else:
        before, stop, _ = expected
        assert match is not None
        assert ("".join(released), match.matched) == (before, stop)
        assert match.before == released[-1]
        assert text.startswith(before + stop + match.after)


@given(case=texts_with_stops(), cuts=CUTS)
def test_after_is_the_rest_of_the_piece_that_completed_the_match(case, cuts):
    text, stops = case
    pieces = pieces_of(text, cuts)
    released, match, _ = read(stops, pieces)
    if match is not None:
        read_so_far = "".join(pieces[: len(released)])
        assert "".join(released) + match.matched + match.after == read_so_far


@given(case=texts_with_stops(), cuts=CUTS)
@example(case=("ab", ("abab", "b")), cuts=[1])
def test_held_is_exactly_what_may_still_become_part_of_a_match(case, cuts):
    text, stops = case
    matcher, seen = StopStrings(stops).matcher(), ""
    for piece in pieces_of(text, cuts):
        matcher, _, match = matcher.push(piece)
        seen += piece
        if match is not None:
            return
        assert matcher.held == longest_end_that_may_still_match(seen, stops)


@given(case=texts_with_stops())
def test_held_is_the_longest_end_that_is_a_proper_prefix_of_a_stop_string(case):
    text, stops = case
    stops = tuple(stop for stop in stops if not any(other in stop[:-1] for other in stops))
    matcher, _, match = StopStrings(stops).matcher().push(text)
    if match is None:
        ends = [text[start:] for start in range(len(text) + 1)]
        prefixes = {stop[:length] for stop in stops for length in range(1, len(stop))}
        assert matcher.held == next((end for end in ends if end in prefixes), "")
