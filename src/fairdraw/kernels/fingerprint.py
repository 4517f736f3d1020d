"""A number that tells whether a row is still what it was when it was read.

A draw does not copy the row: what is asked of its result later is worked out from the caller's own memory, after a
look whether that has changed.  The row's bytes, with zeros behind them, are words of 32 bits in lines of 16, and
8 lines make a piece.  A piece comes to one line: its lines added up, each rotated by an amount of its own, and then
``x ^ (x >> 15)``, so that a sign alone is spread.  These are the digits of 16 polynomials, one for each place in a
line, and the fingerprint weighs the 16 values.  All that is a few instructions for 64 bytes, beside those of a
maximum.  It guards against a buffer that was filled again, sorted or edited, by accident: a change of one word never
escapes, another with a probability of about 2^-30.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

LINE, LINES = 16, 8
"""Words of 32 bits to a line, and lines to a piece."""
PIECE = 4 * LINE * LINES
"""Bytes of a piece."""
TURN = 4
"""Line number n of a piece is rotated left by n times so many bits."""
SPREAD = 15
FACTOR = 0x915F77F5
"""What the polynomials are evaluated at, modulo 2^32."""
WEIGHT = 0x9E3779B97F4A7C15
"""Place number j weighs (2 j + 1) times this, modulo 2^64."""


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
    turned = [lines[:, 0], *(lines[:, n] << TURN * n | lines[:, n] >> 32 - TURN * n for n in range(1, LINES))]
    digits = np.sum(turned, axis=0, dtype=np.uint32)
    digits ^= digits >> SPREAD
    powers = np.ones(pieces, np.uint32)
    np.cumprod(np.full(pieces - 1, FACTOR, np.uint32), dtype=np.uint32, out=powers[1:])
    values = (digits * powers[::-1, np.newaxis]).sum(axis=0, dtype=np.uint32).tolist()
    total = sum(value * (2 * place + 1) * WEIGHT for place, value in enumerate(values)) % 2**64
    return total - 2**64 if total >= 2**63 else total
