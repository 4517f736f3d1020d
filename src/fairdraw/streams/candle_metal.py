"""The uniforms of candle's Metal device, with its reading of the seed.

A Tausworthe generator combined with a congruential one (GPU Gems 3, chapter 37), started afresh by every call from
the device's seed and the thread's number.  Each thread fills two places, one from either end, and thread 0 leaves
the next seed.

The host writes the 64-bit seed with its low word first, and the kernel reads it with its high word first: the two
halves are swapped.  The kernel then keeps 32 bits of what it read, so of the seed that a user sets only the upper
half counts: **all seeds below 2^32 are alike**.  The seeds that the kernel leaves to itself are read as written.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import SEED, Choice, Real, Whole, require
from fairdraw.errors import ParameterError

SeedReading = Literal["as_shipped", "as_meant"]

FIRST_SEED = 299792458
"""What a fresh device has."""
WORD = 2**32
SEED_FACTORS = (0x9E3779B97F4A7C15, 0xF39CC0605CEDC834, 0x1082276BF3A27251, 0xF86C6A11D0C18E95)
SEED_FACTOR = 1099087573
"""What the four seeds of a thread are multiplied by: its own factor, and a common one."""
SHIFTS = ((13, 19, 12), (2, 25, 4), (3, 11, 17))
START_MASKS = (4294967294, 4294967288, 4294967280)
STEP_MASKS = (429496729, 4294967288, 429496280)
"""The kernel's own; the first and the last look as if they had lost a digit."""
LARGEST_CALL = 64
"""Two values for each thread of one SIMD group.  In a larger call a thread may read the seed after another wrote
it: what it returns then depends on the run."""


class MetalGenerator:
    """Uniforms of a candle Metal device.

    It has a state, as the device has: every call leaves the seed for the next.

    Parameters
    ----------
    seed : int
        0 to 2^64-1, as in ``device.set_seed``; a fresh device has 299792458.
    seed_reading : {"as_shipped", "as_meant"}
        Whether the kernel swaps the halves of a seed that was set, as candle 0.11 does, or not.  Either way 32 of
        the 64 bits count: the upper ones as shipped, the lower ones as meant.

    Notes
    -----
    Source: candle 0.11.0, candle-metal-kernels, ``random.metal`` and ``random.rs``.  Checked against 28 numbers and
    48 draws printed for calls of 4 and 6 values, not on the hardware itself.  float32 throughout, each operation
    rounded once: a compiler that fuses them may change a last digit where the bounds are not 0 and 1.

    Examples
    --------
    >>> MetalGenerator(42).uniforms(2).tolist() == MetalGenerator(7).uniforms(2).tolist()
    True
    >>> MetalGenerator(42, seed_reading="as_meant").uniforms(2)
    array([0.41943923, 0.8331046 ], dtype=float32)
    """

    def __init__(self, seed: int = FIRST_SEED, *, seed_reading: SeedReading = "as_shipped") -> None:
        require("seed_reading", seed_reading, Choice(("as_shipped", "as_meant")))
        self._seed_reading = seed_reading
        self.set_seed(seed)

    def set_seed(self, seed: int) -> None:
        """Start again from a seed, 0 to 2^64-1."""
        seed = int(require("seed", seed, SEED))  # type: ignore[call-overload]
        high, low = divmod(seed, WORD)
        self._seed = low * WORD + high if self._seed_reading == "as_shipped" else seed

    def uniforms(self, count: int, low: float = 0.0, high: float = 1.0) -> NDArray[np.float32]:
        """The numbers of ``Tensor::rand(low, high, count)`` on the device, float32, shape (count,).

        Parameters
        ----------
        count : int
            1 to 64; see `LARGEST_CALL`.
        low, high : float
            The bounds, low < high.  Rounding may reach ``high``.
        """
        hint = "candle's kernel has a race in larger calls: its own numbers differ from run to run"
        require("count", count, Whole(1, LARGEST_CALL), hint)
        require("low", low, Real())
        require("high", high, Real())
        bottom, top = np.float32(low), np.float32(high)
        if not bottom < top:
            raise ParameterError("low", low, f"below high ({high!r})", "candle itself: 'min must be less than max'")
        first = [_start(self._seed, thread) for thread in range((count + 1) // 2)]
        self._seed = _next(first[0])
        second = [_next(state) for state in reversed(first[1:])]
        third = [_next(self._seed)] if count % 2 == 0 else []
        shares = (np.array(first + second + third, np.float64) / WORD).astype(np.float32)
        return shares * np.abs(bottom - top) + bottom


def _start(seed: int, thread: int) -> int:
    """State of a thread: 2^32 times its first number."""
    x, y, z, w = (
        value * own * SEED_FACTOR % WORD for value, own in zip((seed, thread, 1, 1), SEED_FACTORS, strict=True)
    )
    mixed = _congruential(x) ^ y
    for word, shifts, mask in zip((x, y, z), SHIFTS, START_MASKS, strict=True):
        mixed ^= _tausworthe(word, shifts, mask)
    return _rounded(_mixed(_mixed(_mixed(mixed) ^ z) ^ w))


def _next(state: int) -> int:
    """The state after one: it passes through a float32, and 2^32 itself becomes the largest word."""
    return _rounded(_mixed(min(state, WORD - 1)))


def _mixed(word: int) -> int:
    mixed = _congruential(word)
    for shifts, mask in zip(SHIFTS, STEP_MASKS, strict=True):
        mixed ^= _tausworthe(word, shifts, mask)
    return mixed


def _tausworthe(word: int, shifts: tuple[int, int, int], mask: int) -> int:
    up, down, kept_up = shifts
    return ((word & mask) << kept_up) % WORD ^ ((word << up) % WORD ^ word) >> down


def _congruential(word: int) -> int:
    return (1664525 * word + 1013904223) % WORD


def _rounded(word: int) -> int:
    """A word as float32 holds it: 24 bits, and 2^32 for the largest."""
    return int(np.float32(word))
