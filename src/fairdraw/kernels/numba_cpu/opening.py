"""From a call to a view: where the row lies, one read of it, its mask and its edits."""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.edits import REFUSED, edit, settle
from fairdraw.kernels.numba_cpu.memory import scores_at, shorts_at, words_at
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
    CODES,
    DIVIDE,
    EDGES,
    FINGERPRINT,
    FLOAT16,
    FLOAT32,
    KIND,
    MASK_ADDRESS,
    MASK_WORDS,
    MULTIPLY,
    OPERATIONS,
    TOUCHED,
    WIDTH,
)
from fairdraw.streams.noise import GROUP

NONE, LARGEST = np.float32(-np.inf), np.float32(np.inf)
BAD = -1


@kernel
def groups_of(size):
    """How many groups a row has."""
    return (size + GROUP - 1) // GROUP


@kernel
def temperature_of(whole, scales):
    """The float32 temperature among a plan's edits: how it is applied, and its number; 0 without one."""
    for turn in range(whole[OPERATIONS]):
        if whole[CODES + turn] == DIVIDE or whole[CODES + turn] == MULTIPLY:
            return whole[CODES + turn], np.float32(scales[AMOUNTS + 2 * turn])
    return 0, np.float32(1)


@kernel
def plain_view(row):
    """A float32 row that nothing touches."""
    none, nothing = np.empty(0, np.int64), np.empty(0, np.float32)
    state = np.full(groups_of(row.size), PLAIN)
    short, word = np.empty(0, np.int16), np.empty(0, np.int32)
    return View(row, short, FLOAT32, word, 0, np.float32(1), state, nothing, none, none, none, nothing)


@kernel
def view_of(call, whole, scales, ids, values, scratch):
    """The view that a call describes, before it is read; ``ids`` and ``values`` have room for its edits."""
    size, kind, first = call[WIDTH], call[KIND], call[EDGES]
    room = call[EDGES + whole[OPERATIONS]] - first
    scale, factor = temperature_of(whole, scales)
    groups = groups_of(size)
    words = words_at(call[MASK_ADDRESS], call[MASK_WORDS])
    touches = kind != FLOAT32 or scale != 0
    state = np.full(groups, STALE if touches else PLAIN)
    heads = np.full(groups if room else 0, -1)
    following = np.empty(room, np.int64)
    row = scores_at(call[ADDRESS], size if kind == FLOAT32 else 0)
    halves = shorts_at(call[ADDRESS], 0 if kind == FLOAT32 else size)
    mine = slice(first, first + room)
    return View(row, halves, kind, words, scale, factor, state, scratch, heads, following, ids[mine], values[mine])


@kernel
def read(view, maxima):
    """Read the row once: fill the maxima of its groups, without edits; return what `read_bits` does."""
    if view.kind == FLOAT32:
        bits, far = view.row.view(np.int32), view.row.view(np.uint32)
        return read_bits(bits, far, FLOAT32, INFINITY, HIDDEN, view.words, view.state, maxima)
    bits, far = view.halves, view.halves.view(np.uint16)
    infinity, hidden = (INFINITY_16, HIDDEN_16) if view.kind == FLOAT16 else (INFINITY_B16, HIDDEN_B16)
    return read_bits(bits, far, view.kind, infinity, hidden, view.words, view.state, maxima)


@kernel
def open_call(call, whole, scales, ids, extras, touched, values, scratch, places):
    """View, maxima of the groups, their maximum, and whether a token can be drawn."""
    view = view_of(call, whole, scales, touched, values, scratch)
    maxima = np.empty(groups_of(call[WIDTH]), np.float32)
    broken, call[FINGERPRINT] = read(view, maxima)
    if view.scale != 0:
        for group in range(maxima.size):
            # Rounding keeps order: the largest quotient is the quotient of the largest.
            maxima[group] = scaled(maxima[group], view.scale, view.factor)
            broken = broken or not maxima[group] < LARGEST
    call[TOUCHED] = 0
    if view.heads.size and not broken:
        count = edit(view, call, whole, scales, ids, extras, places)
        broken = count == REFUSED
        if not broken:
            call[TOUCHED] = count
            settle(view, count, maxima)
    peak = NONE
    for group in range(maxima.size):
        peak = max(peak, maxima[group])
    return view, maxima, peak, not broken and peak > NONE
