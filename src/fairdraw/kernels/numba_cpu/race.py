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
from fairdraw.kernels.numba_cpu.memory import lowest_bit, reach
from fairdraw.kernels.numba_cpu.noise import (
    BLOCK_LEVEL,
    GROUP_LEVEL,
    IN_BLOCK,
    IN_GROUP,
    LEAF_LEVEL,
    STEP,
    excess,
    log2,
    padded,
    words_of,
)
from fairdraw.kernels.numba_cpu.view import look, part, width
from fairdraw.streams.noise import BLOCK, GROUP

MARGIN = 1e-9
BLOCKS = GROUP // BLOCK
NONE = -np.inf
WAIT = 2 * BLOCK
"""How many ids wait at most until their noise is worked out together."""
ROOM = 5 * BLOCKS + 9 * (WAIT + STEP)
"""Numbers of 8 bytes that the race inside a group needs."""


@kernel
def loses(bound, first, best, token):
    """Whether a bound, of ids from ``first`` on, says that the best so far stays."""
    return bound < best or (bound == best and first > token)


@kernel
def is_kept(score, i, cut):
    """Whether an id lies inside the cut; of a largest score and a first id: whether any of them may."""
    return score > cut[0] or (score == cut[0] and i <= cut[1])


@kernel
def arrivals_of_groups(view, maxima, cut, scale, key, groups, work):
    """Noise and bounds of all groups.

    Return the group with the highest bound, and the best arrival among the ids that hold their group's noise.
    """
    minima, floors, bounds, holders = groups
    bits, spare, counters = work
    for group in range(maxima.size):
        holders[group] = group
    words_of(holders, maxima.size, GROUP_LEVEL, key, bits, spare, counters)
    for group in range(minima.size):
        minima[group] = excess(bits[group]) * IN_GROUP
    for group in range(minima.size):
        floors[group] = log2(minima[group])
    for group in range(maxima.size):
        holders[group] = group * GROUP + np.int64(spare[group] % np.uint64(GROUP))
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
def settle(waiting, count, scale, key, best, token, work):
    """Race ids whose block's smallest noise is known: work out their own."""
    ids, scores, bases, holds, noise = waiting
    bits, spare, counters = work
    words_of(ids, count, LEAF_LEVEL, key, bits, spare, counters)
    size = padded(count)
    own, base, word = noise[:size], bases[:size], bits[:size]
    for j in range(size):
        own[j] = base[j] + excess(word[j])
    for j in range(count):
        own[j] = base[j] if holds[j] else own[j]
    for j in range(size):
        own[j] = log2(own[j])
    for j in range(count):
        arrival = scores[j] * scale - own[j]
        if arrival > best or (arrival == best and ids[j] < token) or token < 0:
            best, token = arrival, ids[j]
    return best, token


@kernel
def blocks_that_reach(stretch, group, least, blocks, reached):
    """List the blocks of a group that have a score of at least ``least``, and which scores those are."""
    count = 0
    for place in range((stretch.size + BLOCK - 1) // BLOCK):
        low = reach(stretch, place * BLOCK, least)
        high = reach(stretch, place * BLOCK + BLOCK // 2, least)
        if low or high:
            blocks[count], reached[2 * count], reached[2 * count + 1] = group * BLOCKS + place, low, high
            count += 1
    return count


@kernel
def open_group(stretch, group, floor, leaders, cut, scale, key, best, token, room):
    """Race the ids of a group that may still win: its scores, its smallest noise and that one's id."""
    blocks, reached, holders, minima, floors, waiting, work = room
    ids, scores, bases, holds, _ = waiting
    minimum, holder = leaders
    least = max(cut[0], least_score(best, floor, scale)) if best > NONE else cut[0]
    count = blocks_that_reach(stretch, group, least, blocks, reached)
    if count == 0:
        return best, token
    words_of(blocks, count, BLOCK_LEVEL, key, work[0], work[1], work[2])
    size = padded(count)
    least_noise, low, word = minima[:size], floors[:size], work[0][:size]
    for j in range(size):
        least_noise[j] = minimum + excess(word[j]) * IN_BLOCK
    for j in range(count):
        # The id with the block's smallest noise: the group's own, or one that the hash names.
        holders[j] = blocks[j] * BLOCK + np.int64(work[1][j] % np.uint64(BLOCK))
        if blocks[j] == holder // BLOCK:
            least_noise[j], holders[j] = minimum, holder
    for j in range(size):
        low[j] = log2(least_noise[j]) - MARGIN
    listed = 0
    for j in range(count):
        for half in range(2):
            word, first = reached[2 * j + half], blocks[j] * BLOCK + half * (BLOCK // 2)
            while word:
                i = first + lowest_bit(word)
                word = np.uint32(word & np.uint32(word - np.uint32(1)))
                score = stretch[i - group * GROUP]
                bound = np.float64(score) * scale - floors[j]
                if is_kept(score, i, cut) and not loses(bound, i, best, token):
                    ids[listed], scores[listed], bases[listed] = i, np.float64(score), minima[j]
                    holds[listed] = 1 if i == holders[j] else 0
                    listed += 1
        if listed > WAIT - BLOCK:
            best, token = settle(waiting, listed, scale, key, best, token, work)
            listed = 0
    return settle(waiting, listed, scale, key, best, token, work)


@kernel
def room_of(numbers):
    """Arrays for the race inside a group, cut out of one."""
    whole, words, size, at = numbers.view(np.int64), numbers.view(np.uint64), WAIT + STEP, 3 * BLOCKS
    reached = numbers[2 * BLOCKS : 3 * BLOCKS].view(np.uint32)
    waiting = (
        whole[at : at + size],
        numbers[at + size : at + 2 * size],
        numbers[at + 2 * size : at + 3 * size],
        whole[at + 3 * size : at + 4 * size],
        numbers[at + 4 * size : at + 5 * size],
    )
    at += 5 * size
    work = (
        words[at : at + size],
        words[at + size : at + 2 * size],
        numbers[at + 2 * size : at + 4 * size].view(np.uint32),
    )
    at += 4 * size
    blocks, holders = whole[:BLOCKS], whole[BLOCKS : 2 * BLOCKS]
    return blocks, reached, holders, numbers[at : at + BLOCKS], numbers[at + BLOCKS : at + 2 * BLOCKS], waiting, work


@kernel
def race(view, maxima, cut, scale, key):
    """Return the id that arrives first inside the cut; the row has a kept id."""
    lanes = padded(maxima.size)
    numbers = np.empty(8 * lanes + ROOM)
    groups = (
        numbers[:lanes],
        numbers[lanes : 2 * lanes],
        numbers[2 * lanes : 3 * lanes],
        numbers[3 * lanes : 4 * lanes].view(np.int64),
    )
    words = numbers.view(np.uint64)
    work = words[4 * lanes : 5 * lanes], words[5 * lanes : 6 * lanes], numbers[6 * lanes : 8 * lanes].view(np.uint32)
    room = room_of(numbers[8 * lanes :])
    minima, floors, bounds, holders = groups
    lead, best, token = arrivals_of_groups(view, maxima, cut, scale, key, groups, work)
    for turn in range(-1, maxima.size):
        group = lead if turn < 0 else turn
        if turn == lead or bounds[group] == NONE or loses(bounds[group], group * GROUP, best, token):
            continue
        leaders, stretch = (minima[group], holders[group]), part(view, group)
        best, token = open_group(stretch, group, floors[group], leaders, cut, scale, key, best, token, room)
    return token
