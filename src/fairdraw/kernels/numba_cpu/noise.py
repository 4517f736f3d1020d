"""The keyed noise of `fairdraw.streams.noise`, the same operations in the same order: one number at a time, or many."""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.arena import STEP
from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.streams import logarithms, philox
from fairdraw.streams.noise import BLOCK, GROUP, Level

NATURAL_TAIL, BINARY_TAIL = logarithms.NATURAL_TAIL, logarithms.BINARY_TAIL
LN2_HIGH, LN2_LOW = logarithms.LN2_HIGH, logarithms.LN2_LOW
LOG2E_HIGH, LOG2E_LOW = logarithms.LOG2E_HIGH, logarithms.LOG2E_LOW
SQRT_HALF_BITS = int(logarithms._SQRT_HALF_BITS)
TERMS = len(NATURAL_TAIL)
LEFT, RIGHT = (np.uint64(number) for number in philox.MULTIPLIERS)
LEFT_STEP, RIGHT_STEP = (np.uint64(number) for number in philox.KEY_STEPS)
ROUNDS = philox.ROUNDS
LEFT_SHORT, RIGHT_SHORT = np.uint32(LEFT_STEP), np.uint32(RIGHT_STEP)
LOW_WORD, HALF, SPARE_BITS = np.uint64(0xFFFFFFFF), np.uint64(32), np.uint64(12)
CELL = 2.0**-52
GROUP_LEVEL, BLOCK_LEVEL, LEAF_LEVEL, SINGLE_LEVEL = (np.uint64(int(level) << 16) for level in Level)
IN_GROUP, IN_BLOCK = 1.0 / GROUP, 1.0 / BLOCK


@kernel
def words(index, level, key):
    """52 random bits and the third word of Philox4x32-10; ``index`` and ``level`` uint64."""
    position, sample_index, left_key, right_key, tag = key
    c0, c1, c2, c3 = index, position, sample_index, tag | level
    for _ in range(ROUNDS):
        left, right = LEFT * c0, RIGHT * c2
        c0, c1 = (right >> HALF) ^ c1 ^ left_key, right & LOW_WORD
        c2, c3 = (left >> HALF) ^ c3 ^ right_key, left & LOW_WORD
        left_key, right_key = (left_key + LEFT_STEP) & LOW_WORD, (right_key + RIGHT_STEP) & LOW_WORD
    return (c0 << HALF | c1) >> SPARE_BITS, c2


@kernel
def padded(count):
    """The next multiple of STEP.  Loops run to it, so that vector instructions leave no rest."""
    return (count + STEP - 1) // STEP * STEP


@kernel
def words_of(indices, count, level, key, bits, spare, c):
    """`words` of some indices, a round of all at a time; the arrays are filled to a multiple of STEP."""
    position, sample_index, left_key, right_key, tag = key
    size = padded(count)
    for i in range(size):
        c[i], c[size + i] = np.uint32(indices[i]), np.uint32(position)
        c[2 * size + i], c[3 * size + i] = np.uint32(sample_index), np.uint32(tag | level)
    c0, c1, c2, c3 = c[:size], c[size : 2 * size], c[2 * size : 3 * size], c[3 * size : 4 * size]
    left_word, right_word = np.uint32(left_key), np.uint32(right_key)
    for _ in range(ROUNDS):
        for i in range(size):
            left, right = LEFT * np.uint64(c0[i]), RIGHT * np.uint64(c2[i])
            one, three = c1[i], c3[i]
            c0[i], c1[i] = np.uint32(right >> HALF) ^ one ^ left_word, np.uint32(right)
            c2[i], c3[i] = np.uint32(left >> HALF) ^ three ^ right_word, np.uint32(left)
        left_word, right_word = np.uint32(left_word + LEFT_SHORT), np.uint32(right_word + RIGHT_SHORT)
    for i in range(size):
        bits[i] = (np.uint64(c0[i]) << HALF | np.uint64(c1[i])) >> SPARE_BITS
        spare[i] = np.uint64(c2[i])


@kernel
def split(value):
    """Exponent n and fraction f with value = 2^n (1 + f)."""
    bits = np.float64(value).view(np.int64)
    exponent = (bits - np.int64(SQRT_HALF_BITS)) >> np.int64(52)
    mantissa = np.int64(bits - (exponent << np.int64(52))).view(np.float64)
    return np.float64(exponent), mantissa - 1.0


@kernel
def minus_log(value):
    """-ln of a positive normal float64."""
    exponent, fraction = split(value)
    tail = NATURAL_TAIL[TERMS - 1]
    for i in range(1, TERMS):
        tail = tail * fraction + NATURAL_TAIL[TERMS - 1 - i]
    tail = fraction * fraction * tail
    return -(exponent * LN2_HIGH + (exponent * LN2_LOW + (fraction + tail)))


@kernel
def log2(value):
    """Binary logarithm of a positive normal float64."""
    exponent, fraction = split(value)
    tail = BINARY_TAIL[TERMS - 1]
    for i in range(1, TERMS):
        tail = tail * fraction + BINARY_TAIL[TERMS - 1 - i]
    tail = fraction * LOG2E_LOW + fraction * fraction * tail
    return exponent + (fraction * LOG2E_HIGH + tail)


@kernel
def excess(bits):
    """Exp(1) from 52 random bits."""
    return minus_log((np.float64(bits) + 0.5) * CELL)


@kernel
def make_key(position, sample_index, low_key, high_key, tag):
    """The words of counter and key that a draw fixes, as uint64; the tag has purpose and round."""
    return np.uint64(position), np.uint64(sample_index), np.uint64(low_key), np.uint64(high_key), np.uint64(tag)


@kernel
def exponential(token, key):
    """Noise of one id, from the top: for tests alone, as the race computes many at a time."""
    bits, spare = words(np.uint64(token // GROUP), GROUP_LEVEL, key)
    minimum, holder = excess(bits) * IN_GROUP, token // GROUP * GROUP + np.int64(spare) % GROUP
    if holder // BLOCK != token // BLOCK:
        bits, spare = words(np.uint64(token // BLOCK), BLOCK_LEVEL, key)
        minimum, holder = minimum + excess(bits) * IN_BLOCK, token // BLOCK * BLOCK + np.int64(spare) % BLOCK
    if holder != token:
        minimum = minimum + excess(words(np.uint64(token), LEAF_LEVEL, key)[0])
    return minimum
