"""A number that tells whether a row is still what it was when it was read.

A draw does not copy the row: what is asked of its result later is worked out from the caller's own memory, after a
look whether that has changed.  The row's bytes, with zeros behind them, are words of 32 bits in lines of 16, and
16 lines make a piece.  A piece comes to one line: its lines added up, each rotated by an amount of its own, and then
mixed, so that a sign alone is spread.  These are the digits of 16 polynomials, one for each place in a line, and the
fingerprint weighs the 16 values.  All that is a few instructions for 64 bytes, beside those of a maximum.  It guards
against a buffer that was filled again, sorted or edited, by accident: a change of one word never escapes, and another
with a probability of about 2^-30.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE, LINES = 16, 16
"""Words of 32 bits to a line, and lines to a piece."""
PIECE = 4 * LINE * LINES
"""Bytes of a piece."""
FIRST_TURN, TURN = 1, 1
"""Line number n of a piece is rotated left by FIRST_TURN + n TURN bits; no two amounts differ by 16, which would lay
one half of a word over the other."""
MIX, SPREAD, SPREAD_AGAIN = 0x85EBCA6B, 16, 13
"""A sum x is mixed so: x ^= x >> SPREAD, x *= MIX, x ^= x >> SPREAD_AGAIN, modulo 2^32."""
FACTOR = 0x915F77F5
"""What the polynomials are evaluated at, modulo 2^32."""
WEIGHTS = tuple(pow(0x9E3779B97F4A7C15, 2 * place + 3, 2**64) for place in range(LINE))
"""What the value of each place weighs, modulo 2^64: odd, and sums of few of them do not agree."""


def fingerprint_of(row: NDArray[Any]) -> int:
    """Fingerprint of a contiguous row of 16 or 32 bits an entry, as a signed 64-bit number.

    Examples
    --------
    >>> row = np.float32([1, 2, 3])
    >>> fingerprint_of(row) == fingerprint_of(row.copy()), fingerprint_of(row) == fingerprint_of(row[::-1].copy())
    (True, False)
    """
    pieces = -(-row.nbytes // PIECE)
    padded = np.zeros(pieces * PIECE, np.uint8)
    padded[: row.nbytes] = row.view(np.uint8)
    lines = padded.view("<u4").astype(np.uint32).reshape(pieces, LINES, LINE)
    turns = [FIRST_TURN + TURN * number for number in range(LINES)]
    turned = [lines[:, n] << turn | lines[:, n] >> 32 - turn for n, turn in enumerate(turns)]
    digits = np.sum(turned, axis=0, dtype=np.uint32)
    digits = (digits ^ digits >> SPREAD) * np.uint32(MIX)
    digits ^= digits >> SPREAD_AGAIN
    powers = np.ones(pieces, np.uint32)
    np.cumprod(np.full(pieces - 1, FACTOR, np.uint32), dtype=np.uint32, out=powers[1:])
    values = (digits * powers[::-1, np.newaxis]).sum(axis=0, dtype=np.uint32).tolist()
    total = sum(value * weight for value, weight in zip(values, WEIGHTS, strict=True)) % 2**64
    return total - 2**64 if total >= 2**63 else total
