"""A number that tells whether a row is still what it was when it was read.

A draw does not copy the row: what is asked of its result later is worked out from the caller's own memory, after a
look whether that has changed.  The fingerprint weighs every 16 bits of a group by a number of their own and adds up
(modulo 2^32); the groups' sums are the digits of a polynomial (modulo 2^64).  It guards against a buffer that was
filled again, sorted or edited, by accident: a change escapes with a probability of about 2^-30.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.streams.noise import GROUP


def _scattered(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Numbers below 2^14 in disorder: each step can be undone, so that different ones stay different."""
    for shift, factor in ((7, 0x2C9B), (5, 0x1D4D), (8, 1)):
        numbers = (numbers ^ numbers >> shift) * factor & 2**14 - 1
    return numbers


WEIGHTS: NDArray[np.int16] = (_scattered(np.arange(1, 2 * GROUP + 1)) * 2 + 1).astype(np.int16)
"""Odd and different, one for each 16 bits of a group."""
FACTOR = 0x9E3779B97F4A7C15


def fingerprint_of(row: NDArray[Any]) -> int:
    """Fingerprint of a contiguous row of 16 or 32 bits an entry, as a signed 64-bit number.

    Examples
    --------
    >>> row = np.float32([1, 2, 3])
    >>> fingerprint_of(row) == fingerprint_of(row.copy()), fingerprint_of(row) == fingerprint_of(row[::-1].copy())
    (True, False)
    """
    shorts = row.view(np.int16)
    share = GROUP * shorts.size // row.size
    total = 0
    for first in range(0, shorts.size, share):
        part = shorts[first : first + share].astype(np.int64)
        total = (total * FACTOR + (int(part @ WEIGHTS[: part.size]) & 0xFFFFFFFF)) & 0xFFFFFFFFFFFFFFFF
    return total - 2**64 if total >= 2**63 else total
