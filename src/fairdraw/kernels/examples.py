"""Arguments to compile a kernel for: those of its calls, in type."""

from __future__ import annotations

import numpy as np

from fairdraw.arrays import address_of
from fairdraw.kernels.calling import Workspace
from fairdraw.kernels.slots import ADDRESS, PLAN, SCALES, WHOLE, WIDTH, K

_ROW, _NUMBERS = np.zeros(1, np.float32), np.concatenate([np.zeros(WHOLE, np.int64), np.ones(SCALES).view(np.int64)])
_NUMBERS[K] = 1
_SPACES: dict[str, Workspace] = {}
"""These three stay, because an example has their addresses alone."""


def example(mode: str) -> tuple[object, ...]:
    """Arguments of the types that every call of a mode's kernel has; a row of one token, so that a call costs nothing.

    Examples
    --------
    >>> record, count, arena, places = example("top_k")
    >>> count
    1
    """
    space = _SPACES.setdefault(mode, Workspace())
    if not space.width:
        space.widen(1)
    if mode == "many":
        counters = np.zeros(1, np.uint64)
        return _ROW, 1.0, counters, counters, 0, 0, np.zeros(1, np.int64), space.arena_at
    space.record[[ADDRESS, WIDTH, PLAN]] = address_of(_ROW), 1, address_of(_NUMBERS)
    return space.at, 1, space.arena_at, space.places_at
