"""Parts of states that several constraints share."""

from __future__ import annotations

from dataclasses import dataclass

from fairdraw.constraints.bitmask import allows
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.errors import ParameterError
from fairdraw.packed_masks import Words


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """The state after an end token: only end tokens may follow."""

    vocabulary: Vocabulary
    may_end: bool = True
    is_complete: bool = True

    def mask(self) -> Words:
        """The end tokens."""
        return self.vocabulary.end_words

    def allows(self, token: int) -> bool:
        """Whether it is an end token."""
        return allows(self.vocabulary.end_words, token)

    def advance(self, token: int) -> Ended:
        """Stay."""
        if not self.allows(token):
            raise refused("a text that has ended", token)
        return self


def refused(constraint: str, token: int) -> ParameterError:
    """The error for a token that is not allowed."""
    return ParameterError("token", token, f"allowed by {constraint}", "advance with an id whose bit is set in mask()")
