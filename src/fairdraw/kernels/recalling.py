"""What a result needs, so that the row its token was drawn from can be worked out when somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Context
from fairdraw.errors import LogitsError
from fairdraw.kernels import slots
from fairdraw.kernels.calling import widened
from fairdraw.kernels.fingerprint import fingerprint_of
from fairdraw.kernels.operations import Operation
from fairdraw.masses import Ids, IntegerMasses, Scores
from fairdraw.packed_masks import Words, unpack
from fairdraw.rows import Row
from fairdraw.stages import Stage

Edited = tuple[Any, int, int]
"""What edits came to: bytes as `fairdraw.kernels.slots` says, for how many ids they have room, how many there are."""


def edited_scores(edited: Edited) -> tuple[Ids, Scores]:
    """The edited ids and their scores."""
    memory, room, count = edited
    return np.frombuffer(memory, np.int64, count), np.frombuffer(memory, np.float32, count, slots.EDIT_SCORES * room)


def changed(where: str = "logits") -> LogitsError:
    """The error of a row that is no longer what it was when its token was drawn."""
    hint = "ask for a logprob or a support before the row's memory is used again, or pass a copy of the row"
    return LogitsError(where, "be as they were when the token was drawn", "others in the same memory", hint)


class Recall:
    """The caller's own row, not copied, with its fingerprint; and what mask and edits made of it.

    The mask and the edited ids are copies: masks are written again at the next step, and histories grow.
    """

    __slots__ = ("cuts", "edited", "fingerprint", "kind", "operations", "source", "where", "words")

    def __init__(
        self,
        source: NDArray[Any],
        kind: int,
        fingerprint: int,
        words: Words | None,
        operations: Sequence[Operation],
        edited: Edited | None,
        cuts: Sequence[Stage],
        where: str = "logits",
    ) -> None:
        self.source, self.kind, self.fingerprint = source, kind, fingerprint
        self.words, self.operations, self.edited, self.cuts = words, operations, edited, cuts
        self.where = where

    def logits(self) -> Scores:
        """The logits as they came, a copy.

        Raises
        ------
        LogitsError
            They have been changed since.
        """
        values = widened(self.source, self.kind)
        if fingerprint_of(self.source) != self.fingerprint:
            raise changed(self.where)
        return values

    def row(self) -> Row:
        """The row after all stages."""
        scores = self.logits()
        if self.words is not None:
            scores[~unpack(self.words, scores.size)] = -np.inf
        with np.errstate(over="ignore"):
            for operation in self.operations:
                if operation.code == slots.DIVIDE:
                    scores = scores / np.float32(operation.amounts[0]) + np.float32(0)
                elif operation.code == slots.MULTIPLY:
                    scores = scores * np.float32(operation.amounts[0]) + np.float32(0)
        if self.edited is not None:
            ids, values = edited_scores(self.edited)
            scores[ids] = values + np.float32(0)
        return cut(self.cuts, Row.of(scores, IntegerMasses))


def cut(stages: Sequence[Stage], row: Row) -> Row:
    """A row after stages that read nothing but it."""
    return reduce(lambda row, stage: stage.apply(row, Context()), stages, row)


def guarded(source: NDArray[Any], *finds: Callable[[], Any]) -> tuple[Callable[[], Any], ...]:
    """Answer only while a row is what it is now; for rows that no kernel read."""
    bits = source.copy().view(np.int16)

    def guard(find: Callable[[], Any]) -> Any:
        if not np.array_equal(source.view(np.int16), bits):
            raise changed()
        return find()

    return tuple(partial(guard, find) for find in finds)
