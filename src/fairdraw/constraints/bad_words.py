"""Texts that must not appear, however tokens spell them.

The stage of the same name forbids sequences of ids, so a word that the tokenizer could split in another way comes
through.  Here the bytes count: a token is forbidden when it would complete a word, wherever its tokens begin and end.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from fairdraw.constraints.bitmask import allows, from_ids
from fairdraw.constraints.choice import as_bytes
from fairdraw.constraints.states import Ended, refused
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.domains import Choice, require
from fairdraw.errors import ParameterError
from fairdraw.packed_masks import Words


def spellings_of(word: str) -> tuple[str, ...]:
    """The spellings that a word stands for: as written, small, capital, first letter capital, every word's too.

    Each is there in the composed and in the decomposed form of its accents.  What stands before and after does not
    matter, so a leading space needs no spelling of its own.

    Examples
    --------
    >>> spellings_of("iPad mini")
    ('iPad mini', 'ipad mini', 'IPAD MINI', 'Ipad mini', 'Ipad Mini', 'IPad mini')
    >>> [len(spelling) for spelling in spellings_of("né")]
    [2, 3, 2, 3, 2, 3]
    """
    cases = (word, word.lower(), word.upper(), word.capitalize(), word.title(), word[:1].upper() + word[1:])
    forms = (unicodedata.normalize(form, case) for case in cases for form in ("NFC", "NFD"))
    return tuple(dict.fromkeys((word, *forms)))


@dataclass(frozen=True, slots=True)
class BadWords:
    """None of these texts may appear, not even inside a longer word.

    Parameters
    ----------
    words : sequence of str
        Words and phrases; at least one, none empty.
    spelled : "usual" or "as_written"
        Whether a word stands for its usual spellings too; `spellings` lists what is covered.

    Raises
    ------
    ParameterError
        No word, or an empty one.

    Notes
    -----
    "ass" forbids "class": give " ass" where only the start of a word matters, with ``spelled`` as you like.  Not
    covered: other mixes of small and capital letters, other spaces inside a phrase, look-alike letters, and an
    occurrence that begins in the prompt.  The text may end anywhere.

    A mask costs O(tokens that begin with a rest of a spelling); the first for a vocabulary looks into every token.

    Examples
    --------
    >>> from fairdraw.constraints.tracking import Track
    >>> toy = Vocabulary(token_bytes=(b"", b"pl", b"ain", b"plain", b" plain", b"a"), width=6, end_ids=(0,))
    >>> track = Track(BadWords(("plain",)), toy)
    >>> track.mask().tolist()
    [True, True, True, False, False, True]
    >>> track.advance(1)
    >>> track.mask().tolist()
    [True, True, False, False, False, True]
    """

    words: Sequence[str]
    spelled: Literal["usual", "as_written"] = "usual"

    def __post_init__(self) -> None:
        require("spelled", self.spelled, Choice(("usual", "as_written")))
        domain = "a sequence of texts, none of them empty"
        if isinstance(self.words, str):
            raise ParameterError("bad_words", self.words, domain, f"one word is ({self.words!r},)")
        if not isinstance(self.words, Sequence) or not self.words:
            raise ParameterError("bad_words", self.words, domain)
        if not all(isinstance(word, str) and word for word in self.words):
            raise ParameterError("bad_words", self.words, domain)
        object.__setattr__(self, "words", tuple(dict.fromkeys(self.words)))

    @property
    def name(self) -> str:
        """``bad_words``."""
        return "bad_words"

    @property
    def spellings(self) -> tuple[str, ...]:
        """Every text that will not appear."""
        if self.spelled == "as_written":
            return tuple(self.words)
        return tuple(dict.fromkeys(spelling for word in self.words for spelling in spellings_of(word)))

    def to_json(self) -> dict[str, object]:
        """Plain data, with the spellings covered."""
        return {
            "kind": "bad_words",
            "words": list(self.words),
            "spelled": self.spelled,
            "spellings": list(self.spellings),
        }

    def start(self, vocabulary: Vocabulary) -> BadWordsState:
        """Give the state before the first token.

        Raises
        ------
        ParameterError
            A word has a lone surrogate.
        """
        spellings = tuple(as_bytes("bad_words", spelling) for spelling in self.spellings)
        return BadWordsState(vocabulary=vocabulary, spellings=spellings, begun=b"")


@dataclass(frozen=True, slots=True, kw_only=True)
class BadWordsState:
    """The end of the text as far as a spelling may begin in it."""

    vocabulary: Vocabulary
    spellings: tuple[bytes, ...]
    begun: bytes
    """The longest end of the text that begins a spelling and is shorter than it."""
    may_end: bool = True
    is_complete: bool = False

    def mask(self) -> Words:
        """All tokens but those that complete a spelling."""
        forbidden = set(_containing(self.vocabulary, self.spellings))
        for rest in self._rests():
            forbidden.update(_beginning(self.vocabulary, rest))
        vocabulary = self.vocabulary
        bad = from_ids(np.fromiter(forbidden, np.int64, len(forbidden)), vocabulary.width)
        return (vocabulary.text_words & ~bad) | vocabulary.end_words

    def allows(self, token: int) -> bool:
        """Whether a token completes no spelling."""
        if token in self.vocabulary.ends:
            return True
        grown = self.begun + self.vocabulary.writes(token)
        return allows(self.vocabulary.text_words, token) and not any(text in grown for text in self.spellings)

    def advance(self, token: int) -> BadWordsState | Ended:
        """Add a token."""
        if not self.allows(token):
            raise refused("bad_words", token)
        if token in self.vocabulary.ends:
            return Ended(vocabulary=self.vocabulary)
        grown = self.begun + self.vocabulary.writes(token)
        begun = max((_overlap(grown, text) for text in self.spellings), default=0)
        return BadWordsState(vocabulary=self.vocabulary, spellings=self.spellings, begun=grown[len(grown) - begun :])

    def _rests(self) -> set[bytes]:
        """What would complete a spelling that has begun."""
        begun = self.begun
        return {
            text[size:]
            for text in self.spellings
            for size in range(1, min(len(text) - 1, len(begun)) + 1)
            if begun.endswith(text[:size])
        }


def _overlap(text: bytes, spelling: bytes) -> int:
    """The longest end of a text that begins a spelling."""
    return next(n for n in range(min(len(spelling) - 1, len(text)), -1, -1) if text.endswith(spelling[:n]))


@lru_cache(maxsize=16)
def _containing(vocabulary: Vocabulary, spellings: tuple[bytes, ...]) -> tuple[int, ...]:
    """Ids of tokens that have a whole spelling inside."""
    tokens = vocabulary.token_bytes
    return tuple(token for token, text in enumerate(tokens) if any(spelling in text for spelling in spellings))


def _beginning(vocabulary: Vocabulary, start: bytes) -> list[int]:
    """Ids of tokens that begin with some bytes."""
    texts, ids = _sorted(vocabulary)
    first = bisect_left(texts, start)
    last = first
    while last < len(texts) and texts[last].startswith(start):
        last += 1
    return ids[first:last]


@lru_cache(maxsize=4)
def _sorted(vocabulary: Vocabulary) -> tuple[list[bytes], list[int]]:
    pairs = sorted((vocabulary.writes(token), token) for token in range(len(vocabulary.token_bytes)))
    return [text for text, _ in pairs], [token for _, token in pairs]
