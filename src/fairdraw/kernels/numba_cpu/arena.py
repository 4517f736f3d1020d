"""The memory of `fairdraw.kernels.arena` as arrays."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from fairdraw.kernels.arena import RACING, RACING_A_GROUP, SHOWN, SUMS
from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.memory import numbers_at
from fairdraw.kernels.numba_cpu.noise import padded
from fairdraw.streams.noise import GROUP

BYTE, WORD, SCORE, WHOLE, NUMBER = np.uint8(0), np.uint32(0), np.float32(0), np.int64(0), np.float64(0)

Arena = namedtuple("Arena", "sums line shown numbers heads maxima state again scratch")
"""``sums`` and ``line`` are for the fingerprint, ``shown`` for a group that a mask hides a part of, ``numbers`` for a
list of the best or for a race, one after the other; ``heads``, ``maxima``, ``state`` and ``again`` have a number for
each group, ``scratch`` one for each id."""


@kernel
def groups_of(width):
    """How many groups a row has."""
    return (width + GROUP - 1) // GROUP


@kernel
def arrays_at(address, width):
    """The arrays that lie in memory from an address on, for a row of this width; what is in them is left over."""
    groups = groups_of(width)
    room = padded(groups)
    line = address + 2 * SUMS
    shown = line + 2 * SUMS
    numbers = shown + SHOWN
    count = RACING_A_GROUP * room + RACING + width
    heads = numbers + 8 * count
    maxima = heads + 8 * room
    state = maxima + 4 * room
    again = state + room
    return Arena(
        numbers_at(address, SUMS // 2, WORD),
        numbers_at(line, SUMS // 2, WORD),
        numbers_at(shown, SHOWN, BYTE),
        numbers_at(numbers, count, NUMBER),
        numbers_at(heads, groups, WHOLE),
        numbers_at(maxima, groups, SCORE),
        numbers_at(state, groups, BYTE),
        numbers_at(again, groups, BYTE),
        numbers_at(again + room, width, SCORE),
    )
