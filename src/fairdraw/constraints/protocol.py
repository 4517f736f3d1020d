"""What a constraint offers: it starts states, and a state turns tokens into masks.

A state is a value: `advance` returns the next one and the old one stays good, so to go back is to keep it, and two
texts may go on from one state.  `fairdraw.constraints.tracking.Track` keeps them for a text: advance, rollback, fork.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from fairdraw.errors import ParameterError
from fairdraw.packed_masks import Words

if TYPE_CHECKING:
    from fairdraw.constraints.vocabulary import Vocabulary


class State(Protocol):
    """A constraint after some tokens."""

    @property
    def may_end(self) -> bool:
        """Whether the text may end here; end tokens are allowed exactly then."""
        ...

    @property
    def is_complete(self) -> bool:
        """Whether the text can only end here: no token but an end token may follow."""
        ...

    def mask(self) -> Words:
        """Give the allowed ids.

        Returns
        -------
        int32, shape (ceil(width / 32),)
            Bit ``id & 31`` of word ``id >> 5`` is set if the id may come next.  Ids of special tokens and ids that
            the tokenizer does not have are never set; end tokens are set exactly when `may_end`.  The caller must
            not write to it.
        """
        ...

    def allows(self, token: int) -> bool:
        """Whether one id may come next: its bit of `mask`, but cheap where the whole mask is dear."""
        ...

    def advance(self, token: int) -> State:
        """Give the state after one more token.

        Parameters
        ----------
        token : int
            An allowed id.  After an end token only end tokens may follow.

        Raises
        ------
        ParameterError
            The token is not allowed here.
        """
        ...


class Constraint(Protocol):
    """A rule for texts; frozen data that compares and prints."""

    @property
    def name(self) -> str:
        """What an error calls it, such as ``"json_schema"``."""
        ...

    def to_json(self) -> dict[str, object]:
        """Plain data that `fairdraw.constraints.reading.from_json` reads."""
        ...

    def start(self, vocabulary: Vocabulary) -> State:
        """Give the state before the first token.

        Raises
        ------
        ParameterError
            The rule is malformed, or does not fit the vocabulary.
        UnavailableError
            A package is missing.
        """
        ...


def require_constraint(constraint: object, parameter: str = "constraint") -> None:
    """Refuse what is no constraint, a class of them included, with an example.

    Raises
    ------
    ParameterError
        It cannot start.
    """
    if isinstance(constraint, type) or not hasattr(constraint, "start"):
        hint = 'for instance fairdraw.constraints.choice.Choice(("yes", "no"))'
        raise ParameterError(parameter, constraint, "a Constraint", hint)
