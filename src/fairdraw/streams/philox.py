"""Philox4x32-10: the one generator behind all noise.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (SC 2011): ten rounds of two
32-by-32-bit multiplications; a counter and a key go in, four independent words come out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""32-bit words, held in uint64 so that a product of two fits."""

ROUNDS = 10
MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
KEY_STEPS = (0x9E3779B9, 0xBB67AE85)
LOW_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counter: tuple[Words, Words, Words, Words], key: tuple[int, int]) -> tuple[Words, Words, Words, Words]:
    """Four random words for each counter.

    Parameters
    ----------
    counter : four arrays of uint64 below 2^32, shapes that broadcast
        c0, c1, c2, c3.
    key : two ints below 2^32
        k0, k1.

    Returns
    -------
    four arrays of uint64 below 2^32
        w0, w1, w2, w3.

    Examples
    --------
    The known answer for a counter and a key of zeros:

    >>> zero = np.zeros(1, np.uint64)
    >>> [hex(int(word[0])) for word in philox((zero, zero, zero, zero), (0, 0))]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    c0, c1, c2, c3 = counter
    left_multiplier, right_multiplier = (np.uint64(multiplier) for multiplier in MULTIPLIERS)
    for step in range(ROUNDS):
        left_key, right_key = (np.uint64((k + step * w) & 0xFFFFFFFF) for k, w in zip(key, KEY_STEPS, strict=True))
        left, right = left_multiplier * c0, right_multiplier * c2
        c0, c1 = (right >> _HALF) ^ c1 ^ left_key, right & LOW_WORD
        c2, c3 = (left >> _HALF) ^ c3 ^ right_key, left & LOW_WORD
    return c0, c1, c2, c3
