"""candle's algorithm, written anew and compiled; the loops stand in `fairdraw.benchmarks.peers.candle_loops`.

float32 softmax of the whole row; a stable sort of all ids (top-p) or a selection of k (top-k); running sums of the
weights one by one; one uniform of 23 bits.  Top-p after top-k is a share of the whole row.  Rows come one by one:
there is no batch and no second thread.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from fairdraw.benchmarks.contenders import SEED, Contender, Job, Work
from fairdraw.benchmarks.modes import Mode


def _prepare(work: Work) -> Job:
    loops = importlib.import_module("fairdraw.benchmarks.peers.candle_loops")
    draw, numbers = _way(loops, work.mode)
    rows = list(work.rows)
    draw(rows[0], *numbers, np.float32(0))  # compiled, or read from the disk, before anything is measured
    if work.batch > 1:
        return lambda turn, step: [draw(row, *numbers, uniform(step, i)) for i, row in enumerate(rows)]
    return lambda turn, step: draw(rows[turn % len(rows)], *numbers, uniform(step, 0))


def _way(loops: Any, mode: Mode) -> tuple[Any, tuple[object, ...]]:
    """The function of a mode and its numbers before the uniform."""
    if mode.temperature == 0:
        return loops.take_best, ()
    factor = np.float32(1 / mode.temperature)
    k, p = mode.top_k, None if mode.top_p is None else np.float32(mode.top_p)
    if k is not None:
        return (loops.draw_top_k, (factor, k)) if p is None else (loops.draw_top_k_top_p, (factor, k, p))
    return (loops.draw_all, (factor,)) if p is None else (loops.draw_top_p, (factor, p))


def uniform(step: int, row: int) -> np.float32:
    """A uniform of 23 bits in [0, 1), a function of its two counters (SplitMix64: Steele, Lea, Flood 2014)."""
    word = (SEED + (step << 10 | row) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & 0xFFFFFFFFFFFFFFFF
    word = (word ^ word >> 27) * 0x94D049BB133111EB & 0xFFFFFFFFFFFFFFFF
    return np.float32((word ^ word >> 31) >> 41) * np.float32(2.0**-23)


CANDLE = Contender(
    name="candle",
    role="peer",
    meaning="candle's algorithm, written anew; row by row in one thread",
    prepare=_prepare,
    packages=("numba",),
    lacks=("min_p",),
)
