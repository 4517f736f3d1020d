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

from fairdraw.kernels.arena import BLOCKS, OPEN_FROM, PENDING, RACING_A_GROUP, STEP, WAIT
from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.cuts import is_kept
from fairdraw.kernels.numba_cpu.noise import (
    BLOCK_LEVEL,
    GROUP_LEVEL,
    IN_BLOCK,
    IN_GROUP,
    LEAF_LEVEL,
    excess,
    log2,
    padded,
    words_of,
)
from fairdraw.kernels.numba_cpu.reach import lowest_bit, search, search_block
from fairdraw.kernels.numba_cpu.view import as_it_lies, look, width
from fairdraw.streams.noise import BLOCK, GROUP

MARGIN = 1e-9
NONE, LOWEST = -np.inf, np.float32(np.finfo(np.float32).min)
ONE = np.uint64(1)
PROMISE = 0.7
"""Groups whose bound lies this far up from the first arrival known to the highest bound are searched first."""
ZERO = np.int64(0)
"""Numba compiles a function anew for a 0 that is written as such."""


@inlined
def loses(bound, first, best, token):
    """Whether a bound, of ids from ``first`` on, says that the best so far stays."""
    return bound < best or (bound == best and first > token)


@inlined
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


@inlined
def least_score(best, floor, scale):
    """A score below which an id surely loses, with slack for what rounding does to the quotient."""
    quotient = (best + floor) / scale
    slack = 1e-12 * (abs(best) + abs(floor)) / scale + 1e-6 * abs(quotient)
    return np.float32(quotient - slack)


@kernel
def settle(count, scale, key, best, token, ids, work):
    """Race the ids that wait, whose blocks' smallest noise is known: work out their own."""
    listed, scores, bases, holds, noise = ids
    bits, spare, counters = work
    words_of(listed, count, LEAF_LEVEL, key, bits, spare, counters)
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
        if arrival > best or (arrival == best and listed[j] < token) or token < 0:
            best, token = arrival, listed[j]
    return best, token


@inlined
def list_blocks(view, group, minimum, holder, least, count, blocks):
    """Let those blocks of a group wait that have a score of at least ``least``; return how many wait then."""
    numbers, minima, holders, _, _, _ = blocks
    found, stretch, bare = search(view, group, least)
    while found:
        block = group * BLOCKS + lowest_bit(found)
        found &= found - ONE
        if not bare or search_block(view, stretch, bare, block, least):
            numbers[count], minima[count], holders[count] = block, minimum, holder
            count += 1
    return count


@inlined
def bound_blocks(count, best, scale, key, blocks, work):
    """For the blocks that wait: their smallest noise, the ids that have it, and which score is needed to win there."""
    numbers, minima, holders, smallest, floors, least = blocks
    bits, spare, counters = work
    words_of(numbers, count, BLOCK_LEVEL, key, bits, spare, counters)
    size = padded(count)
    base, own, word, floor = minima[:size], smallest[:size], bits[:size], floors[:size]
    for j in range(size):
        own[j] = base[j] + excess(word[j]) * IN_BLOCK
    for j in range(count):
        # The group's own, or one that the hash names.
        if numbers[j] == holders[j] // BLOCK:
            own[j] = base[j]
        else:
            holders[j] = numbers[j] * BLOCK + np.int64(spare[j] % np.uint64(BLOCK))
    for j in range(size):
        floor[j] = log2(own[j]) - MARGIN
    for j in range(count):
        least[j] = least_score(best, floor[j], scale)


@kernel
def open_blocks(view, count, listed, cut, scale, key, best, token, room):
    """List the ids of the blocks that wait which may still win, and race them whenever there are enough."""
    blocks, ids, work = room
    numbers, _, holders, smallest, _, least = blocks
    listed_ids, scores, bases, holds, _ = ids
    bound_blocks(count, best, scale, key, blocks, work)
    group = np.int64(-1)
    stretch, bare = view.row, False
    for j in range(count):
        if group != numbers[j] // BLOCKS:
            group = numbers[j] // BLOCKS
            stretch, bare = as_it_lies(view, group)
        first, needed = numbers[j] * BLOCK, max(cut[0], least[j])
        bits = search_block(view, stretch, bare, numbers[j], needed)
        while bits:
            i = first + lowest_bit(bits)
            bits &= bits - ONE
            score = look(view, i) if bare else stretch[i - group * GROUP]
            if is_kept(score, i, cut):
                listed_ids[listed], scores[listed], bases[listed] = i, np.float64(score), smallest[j]
                holds[listed] = 1 if i == holders[j] else 0
                listed += 1
        if listed > WAIT - BLOCK:
            best, token = settle(listed, scale, key, best, token, ids, work)
            listed = ZERO
    if listed >= STEP:
        best, token = settle(listed, scale, key, best, token, ids, work)
        listed = ZERO
    return best, token, listed


@kernel
def only_id(view, block, least):
    """The one id of a block with a score of at least ``least``, or -1 if there are more."""
    stretch, bare = as_it_lies(view, block // BLOCKS)
    bits = search_block(view, stretch, bare, block, least)
    if bits & (bits - ONE):
        return np.int64(-1)
    return np.int64(block * BLOCK + lowest_bit(bits))


@inlined
def room_of(numbers):
    """Arrays for what waits, cut out of one.

    Of a block: its number; smallest noise of its group; who has it, later who has the block's; smallest noise of the
    block; logarithm of that, less a margin; the score needed.  Of an id: its number; score; smallest noise of its
    block; whether it has that; its own noise.  Words of noise: bits, spare bits, counters.
    """
    whole, words = numbers.view(np.int64), numbers.view(np.uint64)
    blocks = (
        whole[:PENDING],
        numbers[PENDING : 2 * PENDING],
        whole[2 * PENDING : 3 * PENDING],
        numbers[3 * PENDING : 4 * PENDING],
        numbers[4 * PENDING : 5 * PENDING],
        numbers[5 * PENDING : 6 * PENDING].view(np.float32),
    )
    at, size = 6 * PENDING, WAIT + STEP
    ids = (
        whole[at : at + size],
        numbers[at + size : at + 2 * size],
        numbers[at + 2 * size : at + 3 * size],
        whole[at + 3 * size : at + 4 * size],
        numbers[at + 4 * size : at + 5 * size],
    )
    at += 5 * size
    counters = numbers[at + 2 * size : at + 4 * size].view(np.uint32)
    return blocks, ids, (words[at : at + size], words[at + size : at + 2 * size], counters)


@inlined
def split_for_groups(numbers, lanes):
    """Arrays with a number for each group, cut out of one: of the groups, words of noise; and what is left."""
    whole, words = numbers.view(np.int64), numbers.view(np.uint64)
    groups = (
        numbers[:lanes],
        numbers[lanes : 2 * lanes],
        numbers[2 * lanes : 3 * lanes],
        whole[3 * lanes : 4 * lanes],
    )
    counters = numbers[6 * lanes : RACING_A_GROUP * lanes].view(np.uint32)
    work = words[4 * lanes : 5 * lanes], words[5 * lanes : 6 * lanes], counters
    return groups, work, numbers[RACING_A_GROUP * lanes :]


@kernel
def race(view, maxima, cut, scale, key, numbers):
    """Return the id that arrives first inside the cut; the row has a kept id.  ``numbers`` is memory to work in."""
    groups, work, left = split_for_groups(numbers, padded(maxima.size))
    minima, floors, bounds, holders = groups
    room = room_of(left)
    lead, best, token = arrivals_of_groups(view, maxima, cut, scale, key, groups, work)
    waiting, listed = ZERO, ZERO
    promising = best + PROMISE * (bounds[lead] - best) if best > NONE else NONE
    for turn in range(2):
        # Those that promise most come first: what they find spares others.
        for group in range(maxima.size):
            bound = bounds[group]
            if bound == NONE or (bound < promising) != (turn == 1) or loses(bound, group * GROUP, best, token):
                continue
            least = max(cut[0], least_score(best, floors[group], scale)) if best > NONE else cut[0]
            waiting = list_blocks(view, group, minima[group], holders[group], least, waiting, room[0])
            if waiting >= OPEN_FROM:
                best, token, listed = open_blocks(view, waiting, listed, cut, scale, key, best, token, room)
                waiting = ZERO
        if waiting >= STEP:
            best, token, listed = open_blocks(view, waiting, listed, cut, scale, key, best, token, room)
            waiting = ZERO
    if token < 0 and waiting == 1 and listed == 0:
        # Who races alone wins, whatever the noise.
        alone = only_id(view, room[0][0][0], max(cut[0], LOWEST))
        if alone >= 0:
            return alone
    best, token, listed = open_blocks(view, waiting, listed, cut, scale, key, best, token, room)
    return settle(listed, scale, key, best, token, room[1], room[2])[1]
