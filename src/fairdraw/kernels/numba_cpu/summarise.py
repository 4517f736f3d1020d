"""One read of a row: the largest score of every group, whether it can be drawn from at all, and its fingerprint.

Maxima are taken on the bits, as integers: a maximum of floats cannot be split into lanes without fast-math.  Read as
integers, the largest float of a stretch is the largest one if any float is >= 0, and else the smallest one.  That
holds for float16 and bfloat16 as well, so a row of a half type is widened only where a draw looks closer.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.fingerprint import FACTOR, FIRST_TURN, LINE, MIX, PIECE, SPREAD, SPREAD_AGAIN, TURN
from fairdraw.kernels.fingerprint import WEIGHTS as WHOLE_WEIGHTS
from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.digest import digest
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
FACTOR_WORD, MIX_WORD, NO_WORD = np.uint32(FACTOR), np.uint32(MIX), np.uint32(0)
WEIGHTS = tuple(np.uint64(weight) for weight in WHOLE_WEIGHTS)


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
def extremes(bits, unsigned):
    """Largest and smallest bits as signed numbers, and the largest as unsigned ones, of the type of ``unsigned``."""
    to_unsigned = unsigned.dtype.type
    high, low, far = bits[0], bits[0], to_unsigned(bits[0])
    for i in range(bits.size):
        high, low = max(high, bits[i]), min(low, bits[i])
        far = max(far, to_unsigned(bits[i]))
    return high, low, np.int64(far)


@kernel
def last_piece(shorts, line, sums):
    """Let a fingerprint go on with less than a piece (see `fairdraw.kernels.fingerprint`); 16 bits at a time."""
    line[:] = NO_WORD
    for i in range(shorts.size):
        word = np.uint32(np.uint32(np.uint16(shorts[i])) << np.uint32(16 * (i & 1)))
        turn = np.uint32(FIRST_TURN + TURN * (i // (2 * LINE)))
        turned = np.uint32(word << turn) | np.uint32(word >> np.uint32(32 - turn))
        line[i // 2 % LINE] += np.uint32(turned)
    for j in range(LINE):
        mixed = np.uint32(np.uint32(line[j] ^ np.uint32(line[j] >> np.uint32(SPREAD))) * MIX_WORD)
        sums[j] = np.uint32(sums[j] * FACTOR_WORD) + (mixed ^ np.uint32(mixed >> np.uint32(SPREAD_AGAIN)))


@kernel
def fingerprint_of(sums):
    """The fingerprint that the sums of a whole row come to."""
    total = np.uint64(0)
    for j in range(LINE):
        total += np.uint64(sums[j]) * np.uint64(WEIGHTS[j])
    return np.int64(total)


@kernel
def read_short_group(bits, unsigned, arena):
    """Extremes of a last group that is not full, as `extremes` gives them; the fingerprint goes on."""
    entries = PIECE // bits.itemsize
    pieces = bits.size // entries
    behind = pieces * entries
    if pieces:
        digest(bits, pieces, arena.sums)
    if behind < bits.size:
        last_piece(bits[behind:].view(np.int16), arena.line, arena.sums)
    return extremes(bits, unsigned)


@kernel
def shown_extremes(bits, unsigned, words, group, hidden, high, low, arena):
    """Extremes of what a mask shows of a group; a group where it hides something is STALE."""
    first = group * GROUP
    allowed = all_or_none(words, first, first + bits.size)
    if allowed == 1:
        return high, low
    arena.state[group] = STALE
    if allowed == 0:
        return hidden, hidden
    shown = arena.shown.view(bits.dtype)
    mask_out(bits, words, first, shown, hidden)
    high, low, _ = extremes(shown[: bits.size], unsigned)
    return high, low


@kernel
def read_bits(bits, unsigned, kind, infinity, hidden, words, arena):
    """Fill the maxima of the groups; return whether a NaN or +inf is among the entries, and their fingerprint.

    The entries come as signed and unsigned integers.  A mask hides some from the maxima, but not what is wrong with
    them.
    """
    broken, full = False, bits.size // GROUP
    arena.sums[:] = NO_WORD
    for group in range(arena.maxima.size):
        stretch = bits[group * GROUP : min(group * GROUP + GROUP, bits.size)]
        if group < full:
            # How much that is, is known when this is compiled: it takes half the time.
            high, low, largest = digest(stretch, GROUP * bits.itemsize // PIECE, arena.sums)
            far = np.int64(unsigned.dtype.type(largest))
        else:
            high, low, far = read_short_group(stretch, unsigned, arena)
        broken = broken or np.int64(high) >= infinity or far > infinity + SIGN_OF[kind]
        if words.size:
            high, low = shown_extremes(stretch, unsigned, words, group, hidden, high, low, arena)
        arena.maxima[group] = float_of(high if high >= 0 else low, kind)
    return broken, fingerprint_of(arena.sums)
