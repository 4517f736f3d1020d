"""What a constraint knows of tokens: the bytes of each, which of them end a text, and how wide a row is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fairdraw.constraints.bitmask import from_ids
from fairdraw.errors import ParameterError
from fairdraw.packed_masks import Words, pack

if TYPE_CHECKING:
    from fairdraw.context import ModelFacts
    from fairdraw.text.tokenizer import Tokenizer


@dataclass(frozen=True, kw_only=True, eq=False)
class Vocabulary:
    """The tokens as a constraint sees them.

    A token without bytes writes nothing, so it is never allowed inside a text: special tokens are such, and so are
    the ids behind the tokenizer's last one, with which a row may be padded.

    Examples
    --------
    >>> toy = Vocabulary(token_bytes=(b"a", b"b", b""), width=4, end_ids=(2,))
    >>> toy.text_words.tolist(), toy.end_words.tolist()
    ([3], [4])
    """

    token_bytes: tuple[bytes, ...]
    """Bytes of each id of the tokenizer; empty for special tokens."""
    width: int
    """Width of a row of logits, padding included."""
    end_ids: tuple[int, ...]
    """Ids that end a text; their bytes count as none."""

    def __post_init__(self) -> None:
        if self.width < len(self.token_bytes):
            raise ParameterError("width", self.width, f"at least the tokenizer's {len(self.token_bytes)} ids")
        outside = [token for token in self.end_ids if not 0 <= token < self.width]
        if outside:
            raise ParameterError("end_ids", outside[0], f"token ids in 0..{self.width - 1}")

    @classmethod
    def of(cls, tokenizer: Tokenizer, facts: ModelFacts) -> Vocabulary:
        """The vocabulary of a model.

        Raises
        ------
        ParameterError
            The model's rows are narrower than its tokenizer.
        """
        return _of(tokenizer, facts.vocab_size, facts.end_token_ids)

    @cached_property
    def text_words(self) -> Words:
        """Packed mask of the ids that write something and do not end the text."""
        mask = np.zeros(self.width, np.bool_)
        mask[[token for token, written in enumerate(self.token_bytes) if written]] = True
        mask[list(self.end_ids)] = False
        return pack(mask)

    @cached_property
    def end_words(self) -> Words:
        """Packed mask of the end ids."""
        return from_ids(self.end_ids, self.width)

    @cached_property
    def ends(self) -> frozenset[int]:
        """The end ids as a set."""
        return frozenset(self.end_ids)

    def writes(self, token: int) -> bytes:
        """Bytes that an id writes; empty for special, end and padding ids."""
        known = 0 <= token < len(self.token_bytes) and token not in self.ends
        return self.token_bytes[token] if known else b""

    def text(self, tokens: Iterable[int]) -> bytes:
        """The bytes of a sequence."""
        return b"".join(map(self.writes, tokens))

    def spelled_by(self, written: bytes) -> Sequence[int]:
        """Ids that write exactly these bytes."""
        return self._ids_of.get(written, ())

    @cached_property
    def longest(self) -> int:
        """How many bytes the longest token writes."""
        return max(map(len, self._ids_of), default=0)

    @cached_property
    def _ids_of(self) -> dict[bytes, list[int]]:
        ids: dict[bytes, list[int]] = {}
        for token in range(len(self.token_bytes)):
            if written := self.writes(token):
                ids.setdefault(written, []).append(token)
        return ids


# A model's vocabulary is asked for at every text, and takes a tenth of a second.
@lru_cache(maxsize=4)
def _of(tokenizer: Tokenizer, width: int, end_ids: tuple[int, ...]) -> Vocabulary:
    tokens = tuple(tokenizer.token_bytes(token) for token in range(tokenizer.vocab_size))
    return Vocabulary(token_bytes=tokens, width=width, end_ids=end_ids)
