"""The keyed race inside a cut, without noise for what cannot win: exactly the token of `fairdraw.draws.race`.

A cut (lowest, last) keeps the scores above ``lowest``, and of those equal to it the ids up to ``last``.

What may be skipped.  An arrival is fl(fl(z c) - l(E)), with l the polynomial of log2.  In a group or block with
largest score g and smallest noise E0 every id has z <= g and E >= E0, because a rounded sum is not below a summand.
Rounding keeps order, so fl(z c) <= fl(g c).  The polynomial need not keep order, but its error is below
1e-15 * |l|, and |l| < 128, so l(E) >= l(E0) - MARGIN with much to spare.  Hence no arrival of the group exceeds
fl(fl(g c) - fl(l(E0) - MARGIN)): if the best so far is above that bound, or equals it and has a lower id than the
group's first, nothing in the group can win.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.noise import (
    BLOCK_LEVEL,
    GROUP_LEVEL,
    IN_BLOCK,
    IN_GROUP,
    LANES,
    LEAF_LEVEL,
    STEP,
    excess,
    fill_words,
    log2,
    words_of,
)
from fairdraw.kernels.numba_cpu.summarise import block_maxima
from fairdraw.kernels.numba_cpu.view import look, part, width
from fairdraw.streams.noise import BLOCK, GROUP

MARGIN = 1e-9
BLOCKS = GROUP // BLOCK
NONE = -np.inf


@kernel
def loses(bound, first, best, token):
    """Whether a bound, of ids from ``first`` on, says that the best so far stays."""
    return bound < best or (bound == best and first > token)


@kernel
def is_kept(score, i, cut):
    """Whether an id lies inside the cut; of a largest score and a first id: whether any of them may."""
    return score > cut[0] or (score == cut[0] and i <= cut[1])


@kernel
def arrivals_of_groups(view, maxima, cut, scale, key, minima, holders, floors, bounds):
    """Noise and bounds of all groups, arrays of a multiple of LANES.

    Return the group with the highest bound, and the best arrival among the ids that hold their group's noise.
    """
    bits, spare = np.empty(LANES, np.uint64), np.empty(LANES, np.uint64)
    for start in range(0, minima.size, LANES):
        fill_words(start, GROUP_LEVEL, key, bits, spare)
        for i in range(LANES):
            minima[start + i] = excess(bits[i]) * IN_GROUP
        for i in range(LANES):
            floors[start + i] = log2(minima[start + i])
            holders[start + i] = (start + i) * GROUP + np.int64(spare[i] % np.uint64(GROUP))
    lead, best, token, size = 0, NONE, np.int64(-1), width(view)
    for group in range(maxima.size):
        i, noise = holders[group], floors[group]
        floors[group] = noise - MARGIN
        inside = is_kept(maxima[group], group * GROUP, cut)
        bounds[group] = np.float64(maxima[group]) * scale - floors[group] if inside else NONE
        lead = group if bounds[group] > bounds[lead] else lead
        if inside and i < size:
            score = look(view, i)
            arrival = np.float64(score) * scale - noise
            if is_kept(score, i, cut) and (arrival > best or token < 0):
                best, token = arrival, i
    return lead, best, token


@kernel
def least_score(best, floor, scale):
    """A score below which an id surely loses, with slack for what rounding does to the quotient."""
    quotient = (best + floor) / scale
    slack = 1e-12 * (abs(best) + abs(floor)) / scale + 1e-6 * abs(quotient)
    return np.float32(quotient - slack)


@kernel
def open_block(stretch, first, floor, leaders, cut, scale, key, best, token, work):
    """Race the ids of a block that may still win: its scores, its first id, its smallest noise and that one's id."""
    ids, noise, bits, spare, counters = work[3], work[4], work[7], work[8], work[9]
    least = max(cut[0], least_score(best, floor, scale)) if best > NONE else cut[0]
    count = 0
    for place in range(stretch.size):
        if stretch[place] >= least:
            i = first + place
            bound = np.float64(stretch[place]) * scale - floor
            if is_kept(stretch[place], i, cut) and not loses(bound, i, best, token):
                ids[count] = i
                count += 1
    minimum, holder = leaders
    words_of(ids, count, LEAF_LEVEL, key, bits, spare, counters)
    for start in range(0, count, STEP):
        for j in range(start, start + STEP):
            noise[j] = minimum + excess(bits[j])
        for j in range(start, min(start + STEP, count)):
            noise[j] = minimum if ids[j] == holder else noise[j]
        for j in range(start, start + STEP):
            noise[j] = log2(noise[j])
    for j in range(count):
        arrival = np.float64(stretch[ids[j] - first]) * scale - noise[j]
        if arrival > best or (arrival == best and ids[j] < token) or token < 0:
            best, token = arrival, ids[j]
    return best, token


@kernel
def open_group(stretch, group, floor, leaders, cut, scale, key, best, token, work):
    """Race the blocks of a group that may still win: its scores, its smallest noise and that one's id."""
    peaks, blocks, holders, _, _, minima, floors, bits, spare, counters = work
    minimum, holder = leaders
    count = 0
    for place in range(block_maxima(stretch, peaks)):
        block = group * BLOCKS + place
        bound = np.float64(peaks[place]) * scale - floor
        if is_kept(peaks[place], block * BLOCK, cut) and not loses(bound, block * BLOCK, best, token):
            blocks[count], peaks[count] = block, peaks[place]
            count += 1
    words_of(blocks, count, BLOCK_LEVEL, key, bits, spare, counters)
    for start in range(0, count, STEP):
        for j in range(start, start + STEP):
            minima[j] = minimum + excess(bits[j]) * IN_BLOCK
        for j in range(start, min(start + STEP, count)):
            holders[j] = blocks[j] * BLOCK + np.int64(spare[j] % np.uint64(BLOCK))
            if blocks[j] == holder // BLOCK:
                minima[j], holders[j] = minimum, holder
        for j in range(start, start + STEP):
            floors[j] = log2(minima[j]) - MARGIN
    lead = 0
    for j in range(count):
        lead = j if np.float64(peaks[j]) * scale - floors[j] > np.float64(peaks[lead]) * scale - floors[lead] else lead
    for turn in range(-1, count):
        j = lead if turn < 0 else turn
        if turn == lead or count == 0:
            continue
        bound = np.float64(peaks[j]) * scale - floors[j]
        if not loses(bound, blocks[j] * BLOCK, best, token):
            start = (blocks[j] - group * BLOCKS) * BLOCK
            block, leader = stretch[start : min(start + BLOCK, stretch.size)], (minima[j], holders[j])
            best, token = open_block(block, blocks[j] * BLOCK, floors[j], leader, cut, scale, key, best, token, work)
    return best, token


@kernel
def race(view, maxima, cut, scale, key):
    """Return the id that arrives first inside the cut; the row has a kept id."""
    lanes = (maxima.size + LANES - 1) // LANES * LANES
    minima, floors, bounds = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    holders = np.empty(lanes, np.int64)
    work = (
        np.empty(BLOCKS, np.float32),
        np.zeros(BLOCKS, np.int64),
        np.empty(BLOCKS, np.int64),
        np.zeros(BLOCK + STEP, np.int64),
        np.ones(BLOCK + STEP),
        np.ones(BLOCKS),
        np.empty(BLOCKS),
        np.empty(BLOCK + STEP, np.uint64),
        np.empty(BLOCK + STEP, np.uint64),
        np.empty(4 * (BLOCK + STEP), np.uint32),
    )
    lead, best, token = arrivals_of_groups(view, maxima, cut, scale, key, minima, holders, floors, bounds)
    for turn in range(-1, maxima.size):
        group = lead if turn < 0 else turn
        if turn == lead or bounds[group] == NONE or loses(bounds[group], group * GROUP, best, token):
            continue
        leaders, stretch = (minima[group], holders[group]), part(view, group)
        best, token = open_group(stretch, group, floors[group], leaders, cut, scale, key, best, token, work)
    return token
