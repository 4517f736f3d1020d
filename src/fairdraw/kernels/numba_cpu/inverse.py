"""Inverse CDF: the first id whose running mass exceeds a point of the total, as `fairdraw.draws.inverse_cdf` says."""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.cuts import is_kept
from fairdraw.kernels.numba_cpu.masses import NOTHING, mass
from fairdraw.kernels.numba_cpu.noise import SINGLE_LEVEL, words
from fairdraw.kernels.numba_cpu.view import part
from fairdraw.kernels.numba_cpu.weighing import mass_of_group

HALF, LOW_WORD = np.uint64(32), np.uint64(0xFFFFFFFF)
ONE = np.uint64(1)


@kernel
def point(bits, total):
    """floor((2 bits + 1) * total / 2^53), in 128 bits."""
    odd = bits + bits + ONE
    a0, a1, b0, b1 = odd & LOW_WORD, odd >> HALF, total & LOW_WORD, total >> HALF
    bottom, middle = a0 * b0, a1 * b0
    middle += bottom >> HALF
    carry = (middle & LOW_WORD) + a0 * b1
    lower = (carry << HALF) | (bottom & LOW_WORD)
    upper = a1 * b1 + (middle >> HALF) + (carry >> HALF)
    return (upper << np.uint64(11)) | (lower >> np.uint64(53))


@kernel
def walk(view, maxima, cut, peak, scale, key, numbers):
    """Return the id in which the uniform falls.  ``numbers`` is memory to work in."""
    masses, total = numbers.view(np.uint64), NOTHING
    for group in range(maxima.size):
        masses[group] = NOTHING
        if maxima[group] >= cut[0]:
            first, stretch = part(view, group)
            masses[group] = mass_of_group(stretch, first, cut, peak, scale)
        total += masses[group]
    left = point(words(np.uint64(0), SINGLE_LEVEL, key)[0], total)
    for group in range(maxima.size):
        if left >= masses[group]:
            left -= masses[group]
            continue
        first, stretch = part(view, group)
        for i in range(stretch.size):
            if is_kept(stretch[i], first + i, cut):
                weight = mass(stretch[i], peak, scale)
                if left < weight:
                    return np.int64(first + i)
                left -= weight
    return np.int64(-1)
