"""A constraint along a text: masks as rows of bool, tokens forward and back, and a clear word where nothing fits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from fairdraw.constraints.protocol import Constraint, State
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.domains import Whole, require
from fairdraw.errors import LogitsError
from fairdraw.packed_masks import as_words, unpack


class Track:
    """The states of a constraint along a text.

    Parameters
    ----------
    constraint : Constraint
        The rule.
    vocabulary : Vocabulary
        The tokens.

    Raises
    ------
    ParameterError, UnavailableError
        The constraint is malformed or cannot be read: see its own class.

    Notes
    -----
    It keeps one state for each token, so `rollback` and `fork` compute nothing.

    Examples
    --------
    >>> from fairdraw.constraints.choice import Choice
    >>> toy = Vocabulary(token_bytes=(b"", b"ye", b"s", b"yes", b"no"), width=5, end_ids=(0,))
    >>> track = Track(Choice(("yes", "no")), toy)
    >>> track.mask().tolist()
    [False, True, False, True, True]
    >>> track.advance(1)
    >>> track.mask().tolist(), track.may_end
    ([False, False, True, False, False], False)
    >>> track.rollback(1)
    >>> track.advance(3)
    >>> track.is_complete
    True
    """

    __slots__ = ("_states", "constraint", "vocabulary")

    def __init__(self, constraint: Constraint, vocabulary: Vocabulary) -> None:
        self.constraint, self.vocabulary = constraint, vocabulary
        self._states = [constraint.start(vocabulary)]

    @property
    def step(self) -> int:
        """How many tokens came."""
        return len(self._states) - 1

    @property
    def state(self) -> State:
        """The state after the last token."""
        return self._states[-1]

    @property
    def may_end(self) -> bool:
        """Whether the text may end here."""
        return self.state.may_end

    @property
    def is_complete(self) -> bool:
        """Whether the text can only end here."""
        return self.state.is_complete

    def mask(self) -> NDArray[np.bool_]:
        """Give the allowed ids of the next step.

        Returns
        -------
        bool, shape (width,)

        Raises
        ------
        LogitsError
            None is allowed; the message names the constraint, the step, and what each part allows by itself.
        """
        width = self.vocabulary.width
        mask = unpack(as_words(self.state.mask(), width), width)
        if not mask.any():
            raise self.nothing_allowed()
        return mask

    def advance(self, token: int) -> None:
        """Add a token.

        Raises
        ------
        ParameterError
            It is not allowed here.
        """
        self._states.append(self.state.advance(token))

    def rollback(self, count: int) -> None:
        """Forget the last tokens.

        Raises
        ------
        ParameterError
            There are fewer.
        """
        require("count", count, Whole(0, self.step))
        del self._states[len(self._states) - count :]

    def fork(self) -> Track:
        """Give a second track that goes on from here; what one adds does not reach the other."""
        twin = Track.__new__(Track)
        twin.constraint, twin.vocabulary, twin._states = self.constraint, self.vocabulary, self._states.copy()
        return twin

    def nothing_allowed(self) -> LogitsError:
        """The error for a step at which no id is allowed."""
        alone = getattr(self.state, "alone", None)
        counts: Sequence[tuple[str, int]] = alone() if alone else ()
        hint = "by itself " + ", ".join(f"{name} allows {count}" for name, count in counts) if counts else ""
        hint = hint or "the text so far is a dead end: no token of the vocabulary spells what must come"
        return LogitsError(f"{self.constraint.name} at step {self.step}", "allow some token", "none", hint)
