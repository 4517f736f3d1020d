"""Rows to draw from: synthetic kinds, made from a seed."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

Make = Callable[[Generator, int], NDArray[np.float64]]


def _zipf(rng: Generator, vocab: int) -> NDArray[np.float64]:
    return -1.1 * np.log(rng.permutation(vocab) + 2.7) + 0.3 * rng.standard_normal(vocab)


def _half_masked(rng: Generator, vocab: int) -> NDArray[np.float64]:
    row = np.where(rng.random(vocab) < 0.5, -np.inf, rng.standard_normal(vocab))
    row[rng.integers(vocab)] = 0.0  # never nothing but -inf
    return row


KINDS: MappingProxyType[str, Make] = MappingProxyType(
    {
        "peaky": lambda rng, vocab: 2.5 * _zipf(rng, vocab),
        "lm-like": lambda rng, vocab: 1.3 * _zipf(rng, vocab),
        "long-tail": _zipf,
        "flat": lambda rng, vocab: rng.standard_normal(vocab),
        "equal": lambda rng, vocab: np.zeros(vocab),
        "half-inf": _half_masked,
    }
)
"""Peaky, LM-like and long-tail are Zipf rows: at temperature 0.8 top-p 0.9 keeps about 5, 40 and 600 tokens, whatever
the vocabulary; of flat, N(0, 1), it keeps most.  Of real rows of a small model it keeps 1 to 500."""
DIFFERENT = 4
"""So many rows are made from scratch; a batch has these again, each time moved on by some ids."""


def make_rows(kind: str, vocab: int, count: int, *, seed: int = 1) -> NDArray[np.float32]:
    """Make rows of a kind.

    Parameters
    ----------
    kind : str
        A name in `KINDS`.
    vocab, count : int
        Width and number of the rows, at least 1.
    seed : int
        The same seed makes the same rows.

    Returns
    -------
    float32, shape (count, vocab)
        Logits.

    Examples
    --------
    >>> make_rows("equal", 3, 2).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]
    """
    rng = np.random.default_rng(seed)
    different = [KINDS[kind](rng, vocab).astype(np.float32) for _ in range(min(count, DIFFERENT))]
    return repeat_rows(np.stack(different), count)


def repeat_rows(rows: NDArray[np.float32], count: int) -> NDArray[np.float32]:
    """Make ``count`` rows of fewer: when they run out they come again, moved on by 37 ids a time.

    Examples
    --------
    >>> repeat_rows(np.float32([[1, 2, 3]]), 2).tolist()
    [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
    """
    return np.stack([np.roll(rows[i % len(rows)], i // len(rows) * 37) for i in range(count)])
