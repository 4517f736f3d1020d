"""One read of a row: the largest score of every group, whether it can be drawn from at all, and its fingerprint.

Maxima are taken on the bits, as integers: a maximum of floats cannot be split into lanes without fast-math.  Read as
integers, the largest float of a stretch is the largest one if any float is >= 0, and else the smallest one.  That
holds for float16 and bfloat16 as well, so a row of a half type is widened only where a draw looks closer.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.fingerprint import FACTOR, WEIGHTS
from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.memory import all_or_none, mask_out
from fairdraw.kernels.slots import BFLOAT16, FLOAT32
from fairdraw.streams.noise import GROUP

ZERO = np.float32(0)
STALE = np.uint8(1)
"""Of a group: its scores are not those in memory, and still to be worked out."""
INFINITY, INFINITY_16, INFINITY_B16 = 0x7F800000, 0x7C00, 0x7F80
"""Bits of +inf in a float32, a float16 and a bfloat16."""
HIDDEN, HIDDEN_16, HIDDEN_B16 = np.int32(0x7F800000 - 2**31), np.int16(0x7C00 - 2**15), np.int16(0x7F80 - 2**15)
"""Bits of -inf."""
SIGN_OF = (2**31, 2**15, 2**15)
SUBNORMAL, STEP_OF_SUBNORMALS, REBIAS = np.int32(0x400), np.float32(2.0**-24), np.float32(2.0**112)
FACTOR_WORD = np.uint64(FACTOR)


@kernel
def widen(bits, kind):
    """The float32 of 16 bits, exactly."""
    if kind == BFLOAT16:
        return np.int32(np.int32(bits) << np.int32(16)).view(np.float32)
    size = np.int32(np.int32(bits) & np.int32(0x7FFF))
    value = np.int32(size << np.int32(13)).view(np.float32) * REBIAS
    value = np.float32(size) * STEP_OF_SUBNORMALS if size < SUBNORMAL else value
    value = np.float32(np.inf) if size == np.int32(0x7C00) else value
    value = np.float32(np.nan) if size > np.int32(0x7C00) else value
    return -value if bits < 0 else value


@kernel
def float_of(bits, kind):
    """The float32 of a row's bits; 0.0 for -0.0."""
    if kind == FLOAT32:
        return np.float32(np.int32(bits).view(np.float32) + ZERO)
    return np.float32(widen(np.int16(bits), kind) + ZERO)


@kernel
def weighed(shorts):
    """What the entries of a group add to a row's fingerprint (see `fairdraw.kernels.fingerprint`)."""
    total = np.int32(0)
    for i in range(shorts.size):
        total = np.int32(total + np.int32(np.int32(shorts[i]) * np.int32(WEIGHTS[i])))
    return np.uint64(np.uint32(total))


@kernel
def extremes(bits, unsigned):
    """Largest and smallest bits as signed numbers, and the largest as unsigned ones."""
    to_unsigned = unsigned.dtype.type
    high, low, far = bits[0], bits[0], unsigned[0]
    for i in range(bits.size):
        high, low = max(high, bits[i]), min(low, bits[i])
        far = max(far, to_unsigned(bits[i]))
    return high, low, far


@kernel
def read_bits(bits, unsigned, kind, infinity, hidden, words, state, maxima):
    """Fill the maxima of the groups; return whether a NaN or +inf is among the entries, and their fingerprint.

    The entries come as signed and unsigned integers.  A mask hides some from the maxima, but not what is wrong with
    them; a group where it does so is STALE.
    """
    shorts = bits.view(np.int16)
    shown, share = np.empty(GROUP if words.size else 0, bits.dtype), GROUP * (shorts.size // bits.size)
    broken, fingerprint = False, np.uint64(0)
    for group in range(maxima.size):
        first, stop = group * GROUP, min(group * GROUP + GROUP, bits.size)
        high, low, far = extremes(bits[first:stop], unsigned)
        broken = broken or np.int64(high) >= infinity or np.int64(far) > infinity + SIGN_OF[kind]
        sum_of_group = weighed(shorts[group * share : min(group * share + share, shorts.size)])
        fingerprint = fingerprint * FACTOR_WORD + sum_of_group
        if words.size:
            allowed = all_or_none(words, first, stop)
            if allowed != 1:
                state[group] = STALE
                high = low = hidden
            if allowed == 2:
                mask_out(bits[first:stop], words, first, shown, hidden)
                high, low, _ = extremes(shown[: stop - first], unsigned)
        maxima[group] = float_of(high if high >= 0 else low, kind)
    return broken, np.int64(fingerprint)
