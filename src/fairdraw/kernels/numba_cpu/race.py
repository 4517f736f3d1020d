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
    excess,
    fill_words,
    log2,
    words,
)
from fairdraw.kernels.numba_cpu.summarise import block_maxima
from fairdraw.streams.noise import BLOCK, GROUP

MARGIN = 1e-9
BLOCKS = GROUP // BLOCK
STEP = 8
"""Logarithms are taken this many at a time, in one vector."""
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
def arrivals_of_groups(row, maxima, cut, scale, key, minima, holders, floors, bounds):
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
    lead, best, token = 0, NONE, np.int64(-1)
    for group in range(maxima.size):
        i, noise = holders[group], floors[group]
        if i < row.size and is_kept(row[i], i, cut):
            arrival = np.float64(row[i]) * scale - noise
            if arrival > best or token < 0:
                best, token = arrival, i
        floors[group] = noise - MARGIN
        inside = is_kept(maxima[group], group * GROUP, cut)
        bounds[group] = np.float64(maxima[group]) * scale - floors[group] if inside else NONE
        lead = group if bounds[group] > bounds[lead] else lead
    return lead, best, token


@kernel
def least_score(best, floor, scale):
    """A score below which an id surely loses, with slack for what rounding does to the quotient."""
    quotient = (best + floor) / scale
    slack = 1e-12 * (abs(best) + abs(floor)) / scale + 1e-6 * abs(quotient)
    return np.float32(quotient - slack)


@kernel
def open_block(row, block, floor, leaders, cut, scale, key, best, token, work):
    """Race the ids of a block that may still win; ``leaders`` is the block's smallest noise and its holder."""
    ids, noise = work[3], work[4]
    stretch = row[block * BLOCK : min(block * BLOCK + BLOCK, row.size)]
    least = max(cut[0], least_score(best, floor, scale)) if best > NONE else cut[0]
    count = 0
    for place in range(stretch.size):
        if stretch[place] >= least:
            i = block * BLOCK + place
            bound = np.float64(stretch[place]) * scale - floor
            if is_kept(stretch[place], i, cut) and not loses(bound, i, best, token):
                ids[count] = i
                count += 1
    minimum, holder = leaders
    for j in range(count):
        noise[j] = np.float64(words(np.uint64(ids[j]), LEAF_LEVEL, key)[0])
    for start in range(0, count, STEP):
        for j in range(start, start + STEP):
            noise[j] = minimum + excess(noise[j])
        for j in range(start, min(start + STEP, count)):
            noise[j] = minimum if ids[j] == holder else noise[j]
        for j in range(start, start + STEP):
            noise[j] = log2(noise[j])
    for j in range(count):
        arrival = np.float64(row[ids[j]]) * scale - noise[j]
        if arrival > best or (arrival == best and ids[j] < token) or token < 0:
            best, token = arrival, ids[j]
    return best, token


@kernel
def open_group(row, bits, group, floor, leaders, cut, scale, key, best, token, work):
    """Race the blocks of a group that may still win; ``leaders`` is the group's smallest noise and its holder."""
    peaks, blocks, holders, _, _, minima, floors = work
    minimum, holder = leaders
    count = 0
    for place in range(block_maxima(bits, group * GROUP, peaks)):
        block = group * BLOCKS + place
        bound = np.float64(peaks[place]) * scale - floor
        if is_kept(peaks[place], block * BLOCK, cut) and not loses(bound, block * BLOCK, best, token):
            word, spare = words(np.uint64(block), BLOCK_LEVEL, key)
            blocks[count], peaks[count] = block, peaks[place]
            minima[count], holders[count] = np.float64(word), block * BLOCK + np.int64(spare % np.uint64(BLOCK))
            count += 1
    for start in range(0, count, STEP):
        for j in range(start, start + STEP):
            minima[j] = minimum + excess(minima[j]) * IN_BLOCK
        for j in range(start, min(start + STEP, count)):
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
            leader = minima[j], holders[j]
            best, token = open_block(row, blocks[j], floors[j], leader, cut, scale, key, best, token, work)
    return best, token


@kernel
def race(row, bits, maxima, cut, scale, key):
    """Return the id that arrives first inside the cut; the row has a kept id."""
    lanes = (maxima.size + LANES - 1) // LANES * LANES
    minima, floors, bounds = np.empty(lanes), np.empty(lanes), np.empty(lanes)
    holders = np.empty(lanes, np.int64)
    work = (
        np.empty(BLOCKS, np.float32),
        np.empty(BLOCKS, np.int64),
        np.empty(BLOCKS, np.int64),
        np.empty(BLOCK + STEP, np.int64),
        np.ones(BLOCK + STEP),
        np.ones(BLOCKS),
        np.empty(BLOCKS),
    )
    lead, best, token = arrivals_of_groups(row, maxima, cut, scale, key, minima, holders, floors, bounds)
    for turn in range(-1, maxima.size):
        group = lead if turn < 0 else turn
        if turn == lead or bounds[group] == NONE or loses(bounds[group], group * GROUP, best, token):
            continue
        leaders = minima[group], holders[group]
        best, token = open_group(row, bits, group, floors[group], leaders, cut, scale, key, best, token, work)
    return token
