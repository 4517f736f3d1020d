"""Bias, penalties and forbidden ids: a plan's edits, in its order, on the few ids that they name.

The arithmetic is that of `fairdraw.stages`: float32, each operation rounded once.  Whatever those would refuse (an id
beyond the row, NaN, +inf) is refused here, and NumPy says why.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.memory import is_allowed, numbers_at
from fairdraw.kernels.numba_cpu.summarise import STALE, extremes, float_of
from fairdraw.kernels.numba_cpu.view import FEW, entry, part, scaled, unedited, width
from fairdraw.kernels.slots import (
    AMOUNTS,
    BIAS,
    CODES,
    FLOAT32,
    FORBID,
    IGNORES_UNKNOWN,
    LIST,
    LISTED,
    MASK,
    MULTIPLY,
    OPERATIONS,
    REPETITION,
    TOGETHER,
)
from fairdraw.streams.noise import GROUP

ZERO, NONE, INFINITY = np.float32(0), np.float32(-np.inf), np.float32(np.inf)
REFUSED = -1
WHOLE_NUMBER = np.int64(0)


@inlined
def edited(code, score, extra, one, two):
    """A score after an edit; ``extra`` is the id's count, or the bits of its bias."""
    if code == REPETITION:
        return np.float32(score * one) if score < ZERO else np.float32(score / one)
    if code == BIAS:
        return np.float32(score + np.int32(extra).view(np.float32))
    if code == FORBID:
        return NONE
    often = np.float32(np.float32(extra) * two)
    if code == TOGETHER:
        return np.float32(score - np.float32(often + one))
    return np.float32(np.float32(score - often) - one)


@inlined
def is_everywhere(code):
    """Whether an edit acts on every id."""
    return MASK <= code <= MULTIPLY


@inlined
def everywhere(view, code, score, i):
    """A score after a mask or a float32 temperature."""
    if code == MASK:
        return score if not view.words.size or is_allowed(view.words, i) else NONE
    return scaled(score, view.scale, view.factor)


@kernel
def edit(view, call, whole, scales, places):
    """Work out the edited ids, ``view.ids``, and their values; return how many they are, or REFUSED.

    No edit names an id twice: there is room for as many as are listed.  ``places`` has a zero for each
    id of the row, and has so again at the end, also of what is refused: the next call writes where it points.
    """
    count, good, size = 0, True, width(view)
    several = 0
    for turn in range(whole[OPERATIONS]):
        everywhere_too = is_everywhere(whole[CODES + turn] & (IGNORES_UNKNOWN - 1))
        several += 1 if not everywhere_too and call[LISTED + LIST * turn + 2] else 0
    for turn in range(whole[OPERATIONS]):
        code = whole[CODES + turn] & (IGNORES_UNKNOWN - 1)
        if is_everywhere(code):
            for j in range(count):
                view.values[j] = everywhere(view, code, view.values[j], view.ids[j])
                good = good and view.values[j] < INFINITY
            continue
        one, two = np.float32(scales[AMOUNTS + 2 * turn]), np.float32(scales[AMOUNTS + 2 * turn + 1])
        at, extras_at, listed = (
            call[LISTED + LIST * turn],
            call[LISTED + LIST * turn + 1],
            call[LISTED + LIST * turn + 2],
        )
        ids, extras = numbers_at(at, listed, WHOLE_NUMBER), numbers_at(extras_at, listed, WHOLE_NUMBER)
        for k in range(listed):
            i = ids[k]
            if not 0 <= i < size:
                good = good and i >= 0 and whole[CODES + turn] >= IGNORES_UNKNOWN
                continue
            # One edit names no id twice; only several need to know which ids they share.
            j = np.int64(places[i]) - 1 if several > 1 else -1
            if j < 0:
                j, count = count, count + 1
                view.ids[j] = i
                if several > 1:
                    places[i] = count
                score = entry(view, i)
                for earlier in range(turn):
                    before = whole[CODES + earlier] & (IGNORES_UNKNOWN - 1)
                    if is_everywhere(before):
                        score = everywhere(view, before, score, i)
                view.values[j] = score
            view.values[j] = edited(code, view.values[j], extras[k], one, two)
            good = good and view.values[j] < INFINITY
    for j in range(count if several > 1 else 0):
        places[view.ids[j]] = 0
    return count if good else REFUSED


@kernel
def largest(stretch):
    """The largest score of a stretch, on the bits (see `summarise`); 0.0 for -0.0."""
    high, low, _ = extremes(stretch.view(np.int32), stretch.view(np.uint32))
    return float_of(high if high >= 0 else low, FLOAT32)


@kernel
def enter_many(view, count, maxima):
    """Work out every group, enter the edits into the scores, and take all maxima anew."""
    for group in range(maxima.size):
        view.state[group] = STALE
        part(view, group)
    for j in range(count):
        view.scratch[view.ids[j]] = view.values[j]
    for group in range(maxima.size):
        maxima[group] = largest(part(view, group)[1])


@kernel
def enter(view, count, maxima, again):
    """Enter the edits into the view, and correct the maxima of their groups.

    A group's maximum stands unless an edited id held it; only then is the group read again.
    """
    if count > FEW * maxima.size:
        enter_many(view, count, maxima)
        return
    again[:] = 0
    for j in range(count):
        group = view.ids[j] // GROUP
        view.following[j], view.heads[group] = view.heads[group], j
        view.state[group] = STALE
        again[group] |= np.uint8(unedited(view, view.ids[j]) >= maxima[group])
    for j in range(count):
        group = view.ids[j] // GROUP
        if again[group]:
            maxima[group], again[group] = largest(part(view, group)[1]), 0
        elif view.values[j] > maxima[group]:
            maxima[group] = view.values[j] + ZERO
