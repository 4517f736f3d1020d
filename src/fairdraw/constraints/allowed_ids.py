"""A fixed list of ids, at every step."""

from __future__ import annotations

from dataclasses import dataclass

from fairdraw.constraints.bitmask import allows, from_ids
from fairdraw.constraints.states import Ended, refused
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.domains import TokenIds, require
from fairdraw.errors import ParameterError
from fairdraw.packed_masks import Words


@dataclass(frozen=True, slots=True)
class AllowedIds:
    """Only these ids may be drawn.

    The text may end where an end id is among them; without one it goes on until something else ends it.

    Parameters
    ----------
    ids : sequence of int
        At least one.

    Raises
    ------
    ParameterError
        No ids, or something else.

    Examples
    --------
    >>> toy = Vocabulary(token_bytes=(b"", b"a", b"b"), width=3, end_ids=(0,))
    >>> state = AllowedIds((0, 2)).start(toy)
    >>> state.mask().tolist(), state.may_end
    ([5], True)
    """

    ids: tuple[int, ...]

    def __post_init__(self) -> None:
        ids = require("allowed_ids", self.ids, TokenIds())
        if not ids:
            raise ParameterError("allowed_ids", self.ids, "at least one token id")
        object.__setattr__(self, "ids", ids)

    @property
    def name(self) -> str:
        """``allowed_ids``."""
        return "allowed_ids"

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"kind": "allowed_ids", "ids": list(self.ids)}

    def start(self, vocabulary: Vocabulary) -> AllowedIdsState:
        """Give the state, which no token changes.

        Raises
        ------
        ParameterError
            An id writes nothing and ends nothing: a special token, or one that the tokenizer does not have.
        """
        known = vocabulary.text_words | vocabulary.end_words
        for token in self.ids:
            if not allows(known, token):
                raise ParameterError("allowed_ids", token, "ids of tokens that write text or end it")
        return AllowedIdsState(vocabulary=vocabulary, words=from_ids(self.ids, vocabulary.width))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AllowedIdsState:
    """The list as a mask."""

    vocabulary: Vocabulary
    words: Words
    is_complete: bool = False

    @property
    def may_end(self) -> bool:
        """Whether an end id is in the list."""
        return bool((self.words & self.vocabulary.end_words).any())

    def mask(self) -> Words:
        """The listed ids."""
        return self.words

    def allows(self, token: int) -> bool:
        """Whether an id is listed."""
        return allows(self.words, token)

    def advance(self, token: int) -> AllowedIdsState | Ended:
        """Add a token."""
        if not self.allows(token):
            raise refused("allowed_ids", token)
        return Ended(vocabulary=self.vocabulary) if token in self.vocabulary.ends else self
