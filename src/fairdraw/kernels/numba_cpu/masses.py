"""The integer masses of `fairdraw.masses`, one at a time, and the threshold of a share."""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.masses import EXP2, FRACTION_BITS, LIGHTEST

P0, P1, P2, P3, P4, P5, P6 = EXP2
ZERO = np.float32(0)
MANTISSA = np.float32(2**24)
ROUNDER = np.float32(1.5 * 2**23)
"""Adding and subtracting it rounds a small float32 to a whole number, half to even."""
SHIFT = np.uint64(FRACTION_BITS - 24)
NOTHING = np.uint64(0)


@kernel
def power(score, peak, scale):
    """The exponent of 2, held in [-62, 0]; all float32."""
    t = (score - peak) * scale
    t = t if t > LIGHTEST else LIGHTEST
    return t if t < ZERO else ZERO


@kernel
def mass(score, peak, scale):
    """Integer mass of a score, uint64; the peak's is 2^40."""
    t = power(score, peak, scale)
    whole = (t + ROUNDER) - ROUNDER
    f = t - whole
    value = P6 * f + P5
    value = value * f + P4
    value = value * f + P3
    value = value * f + P2
    value = value * f + P1
    value = value * f + P0
    mantissa = np.uint64(np.uint32(np.int32(value * MANTISSA)))
    return (mantissa << SHIFT) >> np.uint64(np.uint32(-np.int32(whole)))


@kernel
def threshold(share, total, strict):
    """The smallest whole mass, at least 1, that reaches (strict: exceeds) share / 2^53 of a total, in 128 bits."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    a0, a1, b0, b1 = share & low, share >> high, total & low, total >> high
    bottom, middle = a0 * b0, a1 * b0
    middle += bottom >> high
    carry = (middle & low) + a0 * b1
    lower = (carry << high) | (bottom & low)
    upper = a1 * b1 + (middle >> high) + (carry >> high)
    quotient = (upper << np.uint64(11)) | (lower >> np.uint64(53))
    exact = lower & np.uint64((1 << 53) - 1) == np.uint64(0)
    if strict or not exact:
        quotient += np.uint64(1)
    return max(quotient, np.uint64(1))
