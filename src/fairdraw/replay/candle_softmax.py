"""candle's softmax on the CPU: float32, with the order of summation of the build."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
SumOrder = Literal["sequential", "neon", "avx2"]

SUM_ORDERS = ("sequential", "neon", "avx2")
REGISTERS = {"neon": (8, 4), "avx2": (4, 8)}
"""Accumulators and lanes: 32 values a step."""
STEP = 32


def softmax(row: Singles, sum_order: SumOrder) -> Singles:
    """exp(x - max) divided by its sum, each operation rounded to float32.

    Parameters
    ----------
    row : float32, shape (vocab,)
        Scores; its maximum is finite.
    sum_order : {"sequential", "neon", "avx2"}
        See `total`.

    Notes
    -----
    Source: candle 0.11.0, candle-nn ``src/ops.rs``, ``softmax_last_dim``.  The exponential is the correctly rounded
    one (float64's, rounded).  glibc's ``expf`` never gave another token on the rows it was compared on; NumPy's
    float32 ``exp`` did, for up to 1 of 1000 draws at a vocabulary of 49152.
    """
    exponentials = np.exp((row - row.max()).astype(np.float64)).astype(np.float32)
    return exponentials / total(exponentials, sum_order)


def total(values: Singles, sum_order: SumOrder) -> np.float32:
    """Sum in float32, in the order of a build of candle.

    One by one, or, where a build has vector registers, in 32 lanes that are then added pairwise, and what is left
    over one by one.  Below 32 values the three are one.

    Notes
    -----
    Source: candle 0.11.0, candle-core ``src/cpu/{mod,neon,avx}.rs``, ``vec_sum``.  A plain build for x86-64 is
    sequential (AVX needs ``-C target-cpu=native`` or the like); every build for aarch64 has NEON.
    """
    if sum_order == "sequential":
        return _one_by_one(values)
    whole = values.size // STEP * STEP
    if not whole:
        return _one_by_one(values)
    lanes = np.add.accumulate(values[:whole].reshape(-1, *REGISTERS[sum_order]), axis=0, dtype=np.float32)[-1]
    while len(lanes) > 1:
        lanes = lanes[0::2] + lanes[1::2]
    four = lanes[0] if lanes.shape[1] == 4 else lanes[0, :4] + lanes[0, 4:]
    pairs = four[0::2] + four[1::2]
    return _one_by_one(np.concatenate([pairs[:1] + pairs[1:], values[whole:]]))


def _one_by_one(values: Singles) -> np.float32:
    return np.add.accumulate(values, dtype=np.float32)[-1]
