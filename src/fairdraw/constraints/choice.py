"""One of a list of texts, in whatever tokens spell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairdraw.constraints.bitmask import from_ids
from fairdraw.constraints.states import Ended, refused
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.errors import ParameterError
from fairdraw.packed_masks import Words


@dataclass(frozen=True, slots=True)
class Choice:
    """The text must be one of these.

    Any tokens that spell a text may write it, not only those that the tokenizer would choose.

    Parameters
    ----------
    texts : sequence of str
        At least one, none empty; duplicates are harmless.  One may begin another: after "no" of ("no", "none")
        the text may end or go on.

    Raises
    ------
    ParameterError
        No text, an empty one, or something that is no str.

    Notes
    -----
    A mask costs O(texts + tokens that fit).  A token that leads to a rest which no tokens spell is not allowed.

    Examples
    --------
    >>> from fairdraw.constraints.tracking import Track
    >>> toy = Vocabulary(token_bytes=(b"", b"no", b"ne", b"n"), width=4, end_ids=(0,))
    >>> track = Track(Choice(("no", "none")), toy)
    >>> track.mask().tolist()
    [False, True, False, False]
    >>> track.advance(1)
    >>> track.mask().tolist(), track.may_end, track.is_complete
    ([True, False, True, False], True, False)
    """

    texts: Sequence[str]

    def __post_init__(self) -> None:
        given = self.texts
        domain = "a sequence of texts, none of them empty"
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise ParameterError("choice", given, domain, f"one text is ({given!r},)" if isinstance(given, str) else "")
        if not given or not all(isinstance(text, str) and text for text in given):
            raise ParameterError("choice", given, domain)
        object.__setattr__(self, "texts", tuple(dict.fromkeys(given)))

    @property
    def name(self) -> str:
        """``choice``."""
        return "choice"

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"kind": "choice", "texts": list(self.texts)}

    def start(self, vocabulary: Vocabulary) -> ChoiceState:
        """Give the state before the first token.

        Raises
        ------
        ParameterError
            The vocabulary has no tokens that spell one of the texts.
        """
        rests = {}
        for text in self.texts:
            written = as_bytes("choice", text)
            good = _spelled_ends(written, vocabulary)
            if 0 not in good:
                raise ParameterError("choice", text, "a text that the vocabulary's tokens can spell")
            rests[written] = good
        return ChoiceState(vocabulary=vocabulary, spelled=rests, written=b"", left=tuple(rests))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceState:
    """Which of the texts are still possible."""

    vocabulary: Vocabulary
    spelled: dict[bytes, frozenset[int]]
    """For each text, the places from which tokens spell the rest of it."""
    written: bytes
    left: tuple[bytes, ...]
    """Texts that begin with what is written."""

    @property
    def may_end(self) -> bool:
        """Whether one of the texts is written."""
        return self.written in self.spelled

    @property
    def is_complete(self) -> bool:
        """Whether it begins no other one."""
        return self.may_end and len(self.left) == 1

    def mask(self) -> Words:
        """The tokens that begin a rest of some text."""
        place, ids = len(self.written), set()
        for text in self.left:
            for end in self.spelled[text]:
                if end > place:
                    ids.update(self.vocabulary.spelled_by(text[place:end]))
        words = from_ids(sorted(ids), self.vocabulary.width)
        return words | self.vocabulary.end_words if self.may_end else words

    def allows(self, token: int) -> bool:
        """Whether the token begins a rest of some text."""
        if token in self.vocabulary.ends:
            return self.may_end
        more = self.vocabulary.writes(token)
        grown = self.written + more
        return bool(more) and any(t.startswith(grown) and len(grown) in self.spelled[t] for t in self.left)

    def advance(self, token: int) -> ChoiceState | Ended:
        """Add a token."""
        if not self.allows(token):
            raise refused("choice", token)
        if token in self.vocabulary.ends:
            return Ended(vocabulary=self.vocabulary)
        grown = self.written + self.vocabulary.writes(token)
        left = tuple(text for text in self.left if text.startswith(grown))
        return ChoiceState(vocabulary=self.vocabulary, spelled=self.spelled, written=grown, left=left)


def as_bytes(parameter: str, text: str) -> bytes:
    """UTF-8 of a text.

    Raises
    ------
    ParameterError
        It holds a lone surrogate.
    """
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ParameterError(parameter, text, "a text of whole Unicode characters") from None


def _spelled_ends(text: bytes, vocabulary: Vocabulary) -> frozenset[int]:
    """Places of a text from which tokens spell its rest; its end is one."""
    good = {len(text)}
    longest = vocabulary.longest
    for place in range(len(text) - 1, -1, -1):
        ends = range(place + 1, min(len(text), place + longest) + 1)
        if any(end in good and vocabulary.spelled_by(text[place:end]) for end in ends):
            good.add(place)
    return frozenset(good)
