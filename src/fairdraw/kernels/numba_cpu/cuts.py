"""Where a rule cuts a row.

The total order is score descending, id ascending.  A cut (lowest, last) keeps the scores above ``lowest``, and of
those equal to it the ids up to ``last``.  A pair of score and id is also held as one uint64, its code, that ascends
in that order.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.arena import BLOCKS
from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.masses import power
from fairdraw.kernels.numba_cpu.reach import lowest_bit, search, search_block
from fairdraw.kernels.numba_cpu.view import look, part, width
from fairdraw.streams.noise import BLOCK, GROUP

HALF, LOW_WORD = np.uint64(32), np.uint64(0xFFFFFFFF)
ONE = np.uint64(1)
ZERO, NONE = np.float32(0), np.float32(-np.inf)
SIGN, MAGNITUDE = np.int32(31), np.int32(0x7FFFFFFF)
LOWEST = np.float32(-np.finfo(np.float32).max)
NEAR = 64
"""Floats to either side of a guess."""
EVERYTHING = NONE, np.int64(-1)
"""The cut that keeps all above -inf: no id is up to -1."""
SHORT = 24
"""A stretch this short is sorted by insertion."""


@kernel
def order_key(score):
    """Int32 in the order of the floats; the same for -0.0 and 0.0."""
    bits = np.float32(score + ZERO).view(np.int32)
    return np.int32(bits ^ ((bits >> SIGN) & MAGNITUDE))


@kernel
def score_of(key):
    """The float of an order key."""
    return np.int32(key ^ ((key >> SIGN) & MAGNITUDE)).view(np.float32)


@kernel
def code(score, i):
    """Score and id in one number that ascends in the total order."""
    return (np.uint64(np.uint32(order_key(score) ^ MAGNITUDE)) << HALF) | np.uint64(i)


@kernel
def decode(number):
    """Score and id of a code."""
    return score_of(np.int32(np.uint32(number >> HALF)) ^ MAGNITUDE), np.int64(number & LOW_WORD)


@inlined
def is_kept(score, i, cut):
    """Whether an id lies inside the cut; of a largest score and a first id: whether any of them may."""
    return score > cut[0] or (score == cut[0] and i <= cut[1])


@kernel
def shorter(a, b):
    """The cut that keeps less."""
    return a if a[0] > b[0] or (a[0] == b[0] and a[1] < b[1]) else b


@kernel
def last_code(codes):
    """The last of some codes in the total order."""
    last = codes[0]
    for i in range(1, codes.size):
        last = max(last, codes[i])
    return last


@kernel
def sort(codes, first, stop):
    """Sort a stretch of codes (Shell's sort, with Ciura's steps and longer ones)."""
    gap = 1
    while gap < (stop - first) // 3:
        gap = gap * 9 // 4 + 1
    while gap >= 1:
        for j in range(first + gap, stop):
            moved, place = codes[j], j
            while place >= first + gap and codes[place - gap] > moved:
                codes[place] = codes[place - gap]
                place -= gap
            codes[place] = moved
        gap = gap * 4 // 9


@kernel
def select(codes, count, k):
    """Move the k smallest of distinct codes to the front, in any order (quickselect)."""
    low, high, k = np.int64(0), count - 1, k - 1
    while high - low > SHORT:
        a, b, c = codes[low], codes[(low + high) >> 1], codes[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while codes[i] < pivot:
                i += 1
            while codes[j] > pivot:
                j -= 1
            if i <= j:
                codes[i], codes[j] = codes[j], codes[i]
                i, j = i + 1, j - 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            return
    sort(codes, low, high + 1)


@kernel
def kth_of_groups(maxima, k, codes):
    """The k-th largest maximum: k ids at least are not below it; -inf if there are fewer groups."""
    if k > maxima.size:
        return NONE
    for group in range(maxima.size):
        codes[group] = code(maxima[group], group)
    select(codes, maxima.size, k)
    return decode(last_code(codes[:k]))[0]


@kernel
def best_codes(view, maxima, k, numbers):
    """Put codes of the k best ids above -inf into ``numbers``, in any order; return how many, fewer if there are fewer.

    Ids come in ascending order, so once k are held, another equal to the worst of them cannot displace it.
    """
    codes = numbers.view(np.uint64)
    least, count = kth_of_groups(maxima, k, codes), np.int64(0)
    room, held = min(width(view), 2 * k) + 2 * BLOCK, False
    for group in range(maxima.size):
        if maxima[group] < least or maxima[group] == NONE or (held and maxima[group] == least):
            continue
        blocks, stretch, bare = search(view, group, max(least, LOWEST))
        while blocks:
            block = group * BLOCKS + lowest_bit(blocks)
            blocks &= blocks - ONE
            word = search_block(view, stretch, bare, block, max(least, LOWEST))
            if count + BLOCK > room:
                select(codes, count, k)
                count, held = k, True
                least = decode(last_code(codes[:k]))[0]
            while word:
                i = block * BLOCK + lowest_bit(word)
                word &= word - ONE
                score = look(view, i) if bare else stretch[i - group * GROUP]
                if score > least or (score == least and not held):
                    codes[count] = code(score, i)
                    count += 1
    if count > k:
        select(codes, count, k)
        count = k
    return count


@kernel
def passes_min_p(key, peak, scale, least, strict):
    """Whether the score of an order key has an exponent >= least (strict: > least), in steps of 2^-24."""
    steps = np.int64(np.rint(np.float64(power(score_of(np.int32(key)), peak, scale)) * 2.0**24))
    return steps > least or (steps == least and not strict)


@kernel
def lowest_of_min_p(peak, scale, least, strict):
    """The smallest score that passes, or the peak; by bisection, near to where it must be if it is there.

    Every operation of the exponent keeps order, so the scores that pass are those above some float.
    """
    fails, passes = np.int64(order_key(NONE)), np.int64(order_key(peak))
    guess = np.int64(order_key(np.float32(peak + np.float32(least * 2.0**-24 / scale))))
    low, high = guess - NEAR, guess + NEAR
    if fails < low and not passes_min_p(low, peak, scale, least, strict):
        fails = low
    if high < passes and high > fails and passes_min_p(high, peak, scale, least, strict):
        passes = high
    while passes - fails > 1:
        middle = (passes + fails) >> 1
        if passes_min_p(middle, peak, scale, least, strict):
            passes = middle
        else:
            fails = middle
    return score_of(np.int32(passes))


@kernel
def nth_tied(view, maxima, score, n):
    """The n-th id, from 1 on, with this score; -1 if there are fewer."""
    for group in range(maxima.size):
        if maxima[group] < score:
            continue
        here = 0
        first, stretch = part(view, group)
        for i in range(stretch.size):
            here += 1 if stretch[i] == score else 0
        if here < n:
            n -= here
            continue
        for i in range(stretch.size):
            n -= 1 if stretch[i] == score else 0
            if n == 0:
                return first + i
    return np.int64(-1)


@kernel
def count_tied(view, maxima, score, stop):
    """How many ids below ``stop`` have this score."""
    count = 0
    for group in range(maxima.size):
        if maxima[group] >= score and group * GROUP < stop:
            first, stretch = part(view, group)
            for i in range(min(stretch.size, stop - first)):
                count += 1 if stretch[i] == score else 0
    return count
