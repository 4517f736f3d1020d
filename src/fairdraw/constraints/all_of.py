"""Several constraints at once: what all of them allow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairdraw.constraints.protocol import Constraint, State, require_constraint
from fairdraw.constraints.states import refused
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.errors import ParameterError
from fairdraw.packed_masks import Words, words_for


@dataclass(frozen=True, slots=True)
class AllOf:
    """The text must satisfy every one of these.

    A token is allowed if all allow it, and the text may end where it may end for all.  Whether some text satisfies
    all of them is not known beforehand: where no token is left, `Track.mask` says which parts met, and at which step.

    Parameters
    ----------
    constraints : sequence of Constraint
        At least one.

    Raises
    ------
    ParameterError
        There is none, or a part is no constraint.

    Examples
    --------
    >>> from fairdraw.constraints.bad_words import BadWords
    >>> from fairdraw.constraints.choice import Choice
    >>> from fairdraw.constraints.tracking import Track
    >>> toy = Vocabulary(token_bytes=(b"", b"yes", b"no"), width=3, end_ids=(0,))
    >>> Track(AllOf((Choice(("yes", "no")), BadWords(("yes",)))), toy).mask().tolist()
    [False, False, True]
    >>> Track(AllOf((Choice(("yes", "no")), BadWords(("yes", "no")))), toy).mask()
    Traceback (most recent call last):
    fairdraw.errors.LogitsError: choice and bad_words at step 0 must allow some token, got none
    hint: by itself choice allows 2, bad_words allows 1
    """

    constraints: Sequence[Constraint]

    def __post_init__(self) -> None:
        if isinstance(self.constraints, str) or not isinstance(self.constraints, Sequence) or not self.constraints:
            raise ParameterError("constraints", self.constraints, "a sequence of at least one constraint")
        for place, constraint in enumerate(self.constraints):
            require_constraint(constraint, f"constraints[{place}]")
        object.__setattr__(self, "constraints", tuple(self.constraints))

    @property
    def name(self) -> str:
        """The names of all."""
        *first, last = (constraint.name for constraint in self.constraints)
        return f"{', '.join(first)} and {last}" if first else last

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"kind": "all_of", "constraints": [constraint.to_json() for constraint in self.constraints]}

    def start(self, vocabulary: Vocabulary) -> AllOfState:
        """Give the state before the first token.

        Raises
        ------
        ParameterError, UnavailableError
            As the parts do.
        """
        states = tuple(constraint.start(vocabulary) for constraint in self.constraints)
        names = tuple(constraint.name for constraint in self.constraints)
        return AllOfState(name=self.name, names=names, states=states, width=vocabulary.width)


@dataclass(frozen=True, slots=True, kw_only=True)
class AllOfState:
    """The states of the parts."""

    name: str
    names: tuple[str, ...]
    states: tuple[State, ...]
    width: int

    @property
    def may_end(self) -> bool:
        """Whether the text may end for all."""
        return all(state.may_end for state in self.states)

    @property
    def is_complete(self) -> bool:
        """Whether it may end for all and must for one."""
        return self.may_end and any(state.is_complete for state in self.states)

    def mask(self) -> Words:
        """What all allow.

        Parts are asked in order until nothing is left.
        """
        words = np.full(words_for(self.width), -1, np.int32)
        for state in self.states:
            words &= state.mask()
            if not words.any():
                break
        return words

    def allows(self, token: int) -> bool:
        """Whether all allow a token."""
        return all(state.allows(token) for state in self.states)

    def advance(self, token: int) -> AllOfState:
        """Add a token."""
        if not self.allows(token):
            raise refused(self.name, token)
        states = tuple(state.advance(token) for state in self.states)
        return AllOfState(name=self.name, names=self.names, states=states, width=self.width)

    def alone(self) -> tuple[tuple[str, int], ...]:
        """For each part, how many tokens it allows by itself."""
        masks = (state.mask() for state in self.states)
        return tuple(
            zip(self.names, (int(np.bitwise_count(mask.view(np.uint32)).sum()) for mask in masks), strict=True)
        )
