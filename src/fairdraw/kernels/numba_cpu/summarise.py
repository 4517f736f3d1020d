"""One read of a row: the largest score of every group, and whether the row can be drawn from at all.

Maxima are taken on the bits, as integers: a maximum of floats cannot be split into lanes without fast-math.  Read as
int32, the largest float of a stretch is the largest int if any float is >= 0, and else the smallest int.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.streams.noise import BLOCK, GROUP

INFINITY, MINUS_INFINITY = np.int32(0x7F800000), np.uint32(0xFF800000)
LEAST, MOST = np.int32(-(2**31)), np.int32(2**31 - 1)
ZERO = np.float32(0)
USABLE, BROKEN, NOTHING_LEFT = 0, 1, 2
"""What a row may be: NaN or +inf makes it broken."""


@kernel
def largest(bits):
    """The largest float of a stretch, given as int32 bits; 0.0 for -0.0."""
    high, low = LEAST, MOST
    for i in range(bits.size):
        high, low = max(high, bits[i]), min(low, bits[i])
    return np.float32(np.int32(high if high >= np.int32(0) else low).view(np.float32) + ZERO)


@kernel
def summarise(bits, maxima):
    """Fill the maxima of the groups; return the row's maximum and status."""
    groups = maxima.size
    top, bottom, peak = LEAST, np.uint32(0), np.float32(-np.inf)
    for group in range(groups):
        stretch = bits[group * GROUP : min(group * GROUP + GROUP, bits.size)]
        high, low, far = LEAST, MOST, np.uint32(0)
        for i in range(stretch.size):
            high, low = max(high, stretch[i]), min(low, stretch[i])
            far = max(far, np.uint32(stretch[i]))
        top, bottom = max(top, high), max(bottom, far)
        best = np.float32(np.int32(high if high >= np.int32(0) else low).view(np.float32) + ZERO)
        maxima[group] = best
        peak = best if best > peak else peak
    if top >= INFINITY or bottom > MINUS_INFINITY:
        return peak, BROKEN
    return peak, USABLE if peak > np.float32(-np.inf) else NOTHING_LEFT


@kernel
def block_maxima(bits, start, maxima):
    """Fill the maxima of the blocks of a group that starts here; return how many blocks there are."""
    stop = min(start + GROUP, bits.size)
    count = (stop - start + BLOCK - 1) // BLOCK
    for block in range(count):
        first = start + block * BLOCK
        maxima[block] = largest(bits[first : min(first + BLOCK, stop)])
    return count
