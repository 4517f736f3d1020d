"""From a call to a view: where the row lies, one read of it, its mask and its edits."""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from fairdraw.kernels.numba_cpu.arena import arrays_at
from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.edits import REFUSED, edit, enter
from fairdraw.kernels.numba_cpu.memory import numbers_at
from fairdraw.kernels.numba_cpu.summarise import (
    HIDDEN,
    HIDDEN_16,
    HIDDEN_B16,
    INFINITY,
    INFINITY_16,
    INFINITY_B16,
    STALE,
    read_bits,
)
from fairdraw.kernels.numba_cpu.view import PLAIN, View, scaled
from fairdraw.kernels.slots import (
    ADDRESS,
    AMOUNTS,
    CALL,
    CODES,
    DIVIDE,
    EDIT_FOLLOWING,
    EDIT_SCORES,
    EDITED,
    FINGERPRINT,
    FLOAT16,
    FLOAT32,
    KIND,
    MASK_ADDRESS,
    MASK_WORDS,
    MULTIPLY,
    OPERATIONS,
    PLAN,
    ROOM,
    SCALES,
    TOUCHED,
    WHOLE,
    WIDTH,
)

NONE, LARGEST = np.float32(-np.inf), np.float32(np.inf)
SCORE, SHORT, MASK_WORD, WHOLE_NUMBER, NUMBER = np.float32(0), np.int16(0), np.int32(0), np.int64(0), np.float64(0)

Opened = namedtuple("Opened", "call whole scales row maxima numbers peak usable")
"""The call's record, its plan's numbers, a view of its row (Numba forbids the name), the maxima of the row's groups,
the best score, and whether a token can be drawn.  ``numbers`` is memory for a list of the best, for masses of groups or
for a race, one after the other: each overwrites what was there."""


@inlined
def temperature_of(whole, scales):
    """The float32 temperature among a plan's edits: how it is applied, and its number; 0 without one."""
    for turn in range(whole[OPERATIONS]):
        if whole[CODES + turn] == DIVIDE or whole[CODES + turn] == MULTIPLY:
            return whole[CODES + turn], np.float32(scales[AMOUNTS + 2 * turn])
    return 0, np.float32(1)


@kernel
def plain_view(row, state):
    """A float32 row that nothing touches; ``state`` has a place for each group."""
    none, nothing, word = numbers_at(0, 0, WHOLE_NUMBER), numbers_at(0, 0, SCORE), numbers_at(0, 0, MASK_WORD)
    state[:] = PLAIN
    short = numbers_at(0, 0, SHORT)
    return View(row, short, FLOAT32, word, 0, np.float32(1), state, nothing, none, word, none, nothing)


@inlined
def plan_of(call):
    """The whole numbers of a call's plan, and its scales."""
    return numbers_at(call[PLAN], WHOLE, WHOLE_NUMBER), numbers_at(call[PLAN] + 8 * WHOLE, SCALES, NUMBER)


@inlined
def view_of(call, whole, scales, arena):
    """The view that a call describes, before it is read."""
    size, kind, room, edited = call[WIDTH], call[KIND], call[ROOM], call[EDITED]
    scale, factor = temperature_of(whole, scales)
    words = numbers_at(call[MASK_ADDRESS], call[MASK_WORDS], MASK_WORD)
    arena.state[:] = STALE if kind != FLOAT32 or scale != 0 else PLAIN
    heads = arena.heads[: arena.heads.size if room else 0]
    heads[:] = -1
    row = numbers_at(call[ADDRESS], size if kind == FLOAT32 else 0, SCORE)
    halves = numbers_at(call[ADDRESS], 0 if kind == FLOAT32 else size, SHORT)
    ids, values = numbers_at(edited, room, WHOLE_NUMBER), numbers_at(edited + EDIT_SCORES * room, room, SCORE)
    following = numbers_at(edited + EDIT_FOLLOWING * room, room, MASK_WORD)
    return View(row, halves, kind, words, scale, factor, arena.state, arena.scratch, heads, following, ids, values)


@inlined
def read(view, arena):
    """Read the row once: fill the maxima of its groups, without edits; return what `read_bits` does."""
    if view.kind == FLOAT32:
        bits, unsigned = view.row.view(np.int32), view.row.view(np.uint32)
        return read_bits(bits, unsigned, FLOAT32, INFINITY, HIDDEN, view.words, arena)
    bits, unsigned = view.halves, view.halves.view(np.uint16)
    infinity, hidden = (INFINITY_16, HIDDEN_16) if view.kind == FLOAT16 else (INFINITY_B16, HIDDEN_B16)
    return read_bits(bits, unsigned, view.kind, infinity, hidden, view.words, arena)


@inlined
def open_call(calls_at, number, arena_at, places_at):
    """A call of those that lie in memory one after the other, ready to draw from; see `Opened`."""
    call = numbers_at(calls_at + 8 * CALL * number, CALL, WHOLE_NUMBER)
    whole, scales = plan_of(call)
    arena = arrays_at(arena_at, call[WIDTH])
    view, maxima = view_of(call, whole, scales, arena), arena.maxima
    broken, call[FINGERPRINT] = read(view, arena)
    if view.scale != 0:
        for group in range(maxima.size):
            # Rounding keeps order: the largest quotient is the quotient of the largest.
            maxima[group] = scaled(maxima[group], view.scale, view.factor)
            broken = broken or not maxima[group] < LARGEST
    call[TOUCHED] = 0
    if call[ROOM] and not broken:
        count = edit(view, call, whole, scales, numbers_at(places_at, call[WIDTH], MASK_WORD))
        broken = count == REFUSED
        if not broken:
            call[TOUCHED] = count
            enter(view, count, maxima, arena.again)
    peak = NONE
    for group in range(maxima.size):
        peak = max(peak, maxima[group])
    return Opened(call, whole, scales, view, maxima, arena.numbers, peak, not broken and peak > NONE)
