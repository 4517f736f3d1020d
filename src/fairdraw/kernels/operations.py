"""Edits as numbers: what a kernel does for the stages that change a few scores.

An operation is a code of `fairdraw.kernels.slots` with two amounts; one that names ids lists them anew for each
call, because histories grow.  Stages that are not here run in NumPy, and a kernel draws from what they leave.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fairdraw.arrays import address_of
from fairdraw.context import Context
from fairdraw.history import History, InMemory
from fairdraw.kernels import slots
from fairdraw.stages import (
    AllowedIds,
    ForbidStage,
    LogitBias,
    Mask,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
)

Finder = Callable[[History, int], InMemory]
"""What lists the ids of an edit, given the history and the width of the row.  A whole number belongs to each id: its
count, or the bits of its bias as a float32."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One edit."""

    code: int
    amounts: tuple[float, float] = (1.0, 1.0)
    find: Finder | None = None
    """The ids it names; None: it acts on all."""


def read_operations(edits: Sequence[Stage]) -> tuple[Operation, ...] | None:
    """Read stages into operations, or return None if some have to run in NumPy.

    Notes
    -----
    Among the float32 temperatures and masks only one of each is known, the mask first: so it does not matter that a
    kernel applies them to a whole group at once.  A list of allowed ids is left to NumPy.

    Examples
    --------
    >>> [operation.code for operation in read_operations([Mask(), RepetitionPenalty(penalty=1.1)])]
    [1, 4]
    """
    if len(edits) > slots.MOST_OPERATIONS or any(type(stage) is AllowedIds for stage in edits):
        return None
    operations = [_read(stage) for stage in edits]
    codes = [operation.code if operation else 0 for operation in operations]
    everywhere = [code for code in codes if code in (slots.MASK, slots.DIVIDE, slots.MULTIPLY)]
    if 0 in codes or len(everywhere) > 2 or everywhere.count(slots.MASK) > 1:
        return None
    if len(everywhere) == 2 and everywhere[0] != slots.MASK:
        return None
    return tuple(operation for operation in operations if operation)


def _read(stage: Stage) -> Operation | None:
    if type(stage) is Mask:
        return Operation(code=slots.MASK)
    if type(stage) is Temperature:
        divides = stage.operation == "divide"
        with np.errstate(over="ignore"):
            amount = float(np.float32(stage.value if divides else 1.0 / stage.value))
        return Operation(code=slots.DIVIDE if divides else slots.MULTIPLY, amounts=(amount, 1.0))
    if type(stage) is RepetitionPenalty:
        return _penalty(stage, slots.REPETITION, (stage.penalty, 1.0))
    if type(stage) is PresenceFrequencyPenalty:
        code = slots.TOGETHER if stage.operation == "together" else slots.FREQUENCY_FIRST
        return _penalty(stage, code, (stage.presence, stage.frequency))
    if type(stage) is LogitBias:
        with np.errstate(over="ignore"):
            added = np.array([bias for _, bias in stage.bias], np.float32)
        ids, extras = np.array([token for token, _ in stage.bias], np.int64), added.view(np.int32).astype(np.int64)
        listed = address_of(ids), address_of(extras), ids.size, ids, extras
        return Operation(code=slots.BIAS, find=lambda history, vocab: listed)
    if isinstance(stage, ForbidStage):
        return Operation(code=slots.FORBID, find=lambda history, vocab: _forbidden(stage, history, vocab))
    return None


def _penalty(
    stage: RepetitionPenalty | PresenceFrequencyPenalty, code: int, amounts: tuple[float, float]
) -> Operation | None:
    scope, window = stage.scope, stage.window
    code += slots.IGNORES_UNKNOWN if stage.unknown_ids == "ignore" else 0
    with np.errstate(over="ignore"):
        amounts = float(np.float32(amounts[0])), float(np.float32(amounts[1]))
    return Operation(code=code, amounts=amounts, find=lambda history, vocab: history.seen_in_memory(scope, window))


def _forbidden(stage: ForbidStage, history: History, vocab: int) -> InMemory:
    ids = np.ascontiguousarray(stage.forbidden(vocab, Context(history=history)), np.int64)
    return address_of(ids), address_of(ids), ids.size, ids, ids
