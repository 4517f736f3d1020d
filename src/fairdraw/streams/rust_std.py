"""Rust's ``StdRng``, as rand 0.9 has it: ChaCha with 12 rounds, keyed from a 64-bit seed.

ChaCha turns a key of eight words and a block counter into blocks of 16 words, by rounds of 32-bit additions,
exclusive ors and rotations, and adds the start to the end (Bernstein, "ChaCha, a variant of Salsa20", 2008; the
state's layout is RFC 8439's, with a counter of 64 bits and a stream number of 0).  The stream is block 0's words,
then block 1's, and so on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import SEED, Whole, require
from fairdraw.errors import ParameterError

Words = NDArray[np.uint32]

CONSTANTS = np.frombuffer(b"expand 32-byte k", "<u4").astype(np.uint32)
"""The first four words of every block's start."""
ROUNDS = 12
"""Rounds of ``StdRng``; RFC 8439 has 20."""
BLOCK_WORDS = 16
MULTIPLIER, INCREMENT = 6364136223846793005, 11634580027462260723
"""The congruential step between the words of a key."""
BUFFERED_BLOCKS = 16
"""Blocks made at once: a single block costs as much."""


class StdRng:
    """A stream of 32-bit words: rand's ``StdRng``.

    It has a state, as in Rust: what was drawn is gone.

    Parameters
    ----------
    key : array_like of uint32, shape (8,)
        The 32 bytes of Rust's ``from_seed``, read low byte first.

    Notes
    -----
    Source: rand 0.9.5, ``src/rngs/std.rs``; rand_core 0.9, ``seed_from_u64``; rand_chacha 0.9.  rand itself promises
    no such stream for its next versions.

    Examples
    --------
    >>> StdRng.seed_from_u64(42).draw_words(3).tolist()
    [572990626, 2261546851, 1068323197]
    """

    def __init__(self, key: object) -> None:
        words = np.array(key)
        if words.shape != (8,) or words.dtype.kind not in "iu" or np.any(words < 0) or np.any(words >= 2**32):
            raise ParameterError("key", key, "eight words of 32 bits")
        self._key = words.astype(np.uint32)
        self._next_block = 0
        self._waiting = np.zeros(0, np.uint32)

    @classmethod
    def seed_from_u64(cls, seed: int) -> StdRng:
        """The generator that Rust's ``StdRng::seed_from_u64(seed)`` makes; seed: 0 to 2^64-1."""
        return cls(key_from_u64(seed))

    def draw_words(self, count: int) -> Words:
        """The next ``count`` words, uint32, each as from ``next_u32``."""
        require("count", count, Whole(0))
        missing = count - self._waiting.size
        if missing > 0:
            blocks = max(BUFFERED_BLOCKS, -(-missing // BLOCK_WORDS))
            fresh = chacha_blocks(self._key, self._next_block, blocks).ravel()
            self._next_block += blocks
            self._waiting = np.concatenate([self._waiting, fresh])
        words, self._waiting = self._waiting[:count], self._waiting[count:]
        return words


def key_from_u64(seed: int) -> Words:
    """Key of a 64-bit seed: eight steps of a congruential generator, each permuted to 32 bits (PCG32).

    Parameters
    ----------
    seed : int
        0 to 2^64-1.

    Returns
    -------
    uint32, shape (8,)
        The generator steps before its first word, not after it.
    """
    state = int(require("seed", seed, SEED))  # type: ignore[call-overload]
    words = []
    for _ in range(8):
        state = (state * MULTIPLIER + INCREMENT) % 2**64
        mixed = (((state >> 18) ^ state) >> 27) % 2**32
        turn = state >> 59
        words.append((mixed >> turn | mixed << (32 - turn)) % 2**32)
    return np.array(words, np.uint32)


def chacha_blocks(key: Words, first: int, count: int, rounds: int = ROUNDS) -> Words:
    """Blocks first, first + 1, ... of ChaCha's stream 0, uint32, shape (count, 16).

    Parameters
    ----------
    key : uint32, shape (8,)
        Words 4 to 11 of the start.
    first, count : int
        Number of the first block (64 bits, words 12 and 13), and how many.
    rounds : int
        Even: half of them mix columns, half diagonals.
    """
    counters = np.arange(count, dtype=np.uint64) + np.uint64(first)
    start = np.zeros((16, count), np.uint32)
    start[0:4], start[4:12] = CONSTANTS[:, np.newaxis], key[:, np.newaxis]
    start[12] = (counters & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    start[13] = (counters >> np.uint64(32)).astype(np.uint32)
    rows: tuple[Words, ...] = tuple(start.reshape(4, 4, count))
    for _ in range(rounds // 2):
        rows = _turned(_quarter_rounds(*rows), -1)
        rows = _turned(_quarter_rounds(*rows), 1)
    return np.ascontiguousarray((np.stack(rows).reshape(16, count) + start).T)


def _quarter_rounds(a: Words, b: Words, c: Words, d: Words) -> tuple[Words, Words, Words, Words]:
    """Four quarter rounds side by side; a, b, c, d are the four rows of the state."""
    for first, second in ((16, 12), (8, 7)):
        a = a + b
        d = _rotated(d ^ a, first)
        c = c + d
        b = _rotated(b ^ c, second)
    return a, b, c, d


def _turned(rows: tuple[Words, ...], direction: int) -> tuple[Words, ...]:
    """Row i turned by i places, so that diagonals become columns (-1), or back (1)."""
    return tuple(np.roll(row, direction * place, axis=0) for place, row in enumerate(rows))


def _rotated(words: Words, left: int) -> Words:
    return words << np.uint32(left) | words >> np.uint32(32 - left)
