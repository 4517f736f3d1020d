"""A row as kernels see it: after its mask, its edits and its float32 temperature, group by group.

A group that nothing touches is read where it lies.  Another is worked out when it is first asked for, in scratch
memory: so a draw that opens few groups changes few of them, and nothing is ever copied whole.  A float32 row without
a float32 temperature is not even worked out for a search: that reads it as it lies, and enters mask and edits into the
bits that it finds (`as_it_lies`, and `entered` in `reach`).
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.memory import is_allowed, mask_out
from fairdraw.kernels.numba_cpu.summarise import STALE, widen
from fairdraw.kernels.slots import BFLOAT16, DIVIDE, FLOAT16, FLOAT32, MULTIPLY
from fairdraw.streams.noise import GROUP

NONE = np.float32(-np.inf)
FEW = 4
"""So many edits to a group, on average, are entered where they are asked for; more are entered at once."""
PLAIN, READY = np.uint8(0), np.uint8(2)
"""Of a group: read where it lies; in the scratch memory; or STALE."""

View = namedtuple("View", "row halves kind words scale factor state scratch heads following ids values")
"""``row`` is float32, or empty where ``halves`` has a half type's bits.  ``scale`` is DIVIDE, MULTIPLY or 0.  ``heads``
has the first edit of each group and ``following`` the next one after each edit, -1 at the end; ``ids`` and ``values``
are what the edits come to.  ``words`` are the mask's, none without one, and ``factor`` is the temperature.  ``state``
is PLAIN, STALE or READY for each group; ``scratch`` has the scores of READY groups, and what is left over elsewhere."""


@inlined
def width(view):
    """How many ids there are."""
    return max(view.row.size, view.halves.size)


@inlined
def scaled(score, scale, factor):
    """A score after a float32 temperature."""
    if scale == DIVIDE:
        return np.float32(score / factor)
    if scale == MULTIPLY:
        return np.float32(score * factor)
    return score


@inlined
def entry(view, i):
    """The score of an id as it came."""
    return view.row[i] if view.kind == FLOAT32 else widen(view.halves[i], view.kind)


@inlined
def unedited(view, i):
    """The score of an id after mask and temperature, without edits."""
    if view.words.size and not is_allowed(view.words, i):
        return NONE
    return scaled(entry(view, i), view.scale, view.factor)


@inlined
def look(view, i):
    """The score of one id, without working out its group."""
    group = i // GROUP
    if view.state[group] == PLAIN:
        return view.row[i]
    if view.state[group] == READY:
        return view.scratch[i]
    if view.heads.size:
        edit = view.heads[group]
        while edit >= 0:
            if view.ids[edit] == i:
                return view.values[edit]
            edit = view.following[edit]
    return unedited(view, i)


@inlined
def part(view, group):
    """The first id of a group, and its scores, float32."""
    first, stop = group * GROUP, min(group * GROUP + GROUP, width(view))
    if view.state[group] == PLAIN:
        return first, view.row[first:stop]
    if view.state[group] == STALE:
        work_out(view, group, first, view.scratch[first:stop])
    return first, view.scratch[first:stop]


@inlined
def as_it_lies(view, group):
    """The scores of a group to search in, and whether mask and edits have not been entered into them.

    That spares a float32 row the working out; whoever searches enters them into what is found.
    """
    if view.state[group] == STALE and view.kind == FLOAT32 and view.scale == 0:
        first = group * GROUP
        return view.row[first : min(first + GROUP, view.row.size)], True
    return part(view, group)[1], False


@kernel
def widen_all(halves, kind, target):
    """Widen a stretch of a half type."""
    if kind == BFLOAT16:
        for i in range(halves.size):
            target[i] = widen(halves[i], BFLOAT16)
    else:
        for i in range(halves.size):
            target[i] = widen(halves[i], FLOAT16)


@kernel
def work_out(view, group, first, target):
    """Fill in the scores of a group."""
    if view.kind == FLOAT32:
        source = view.row[first : first + target.size]
        for i in range(target.size):
            target[i] = source[i]
    else:
        widen_all(view.halves[first : first + target.size], view.kind, target)
    if view.words.size:
        mask_out(target, view.words, first, target, NONE)
    if view.scale == DIVIDE:
        for i in range(target.size):
            target[i] /= view.factor
    elif view.scale == MULTIPLY:
        for i in range(target.size):
            target[i] *= view.factor
    if view.heads.size:
        edit = view.heads[group]
        while edit >= 0:
            target[view.ids[edit] - first] = view.values[edit]
            edit = view.following[edit]
    view.state[group] = READY
