"""The first arrivals of a race, without the noise of those that cannot be among them.

The noise of a group or block is at least its smallest, and its scores at most the largest; a rounded sum is not below
a summand, and rounding keeps order.  The polynomial of log2 need not keep order, but its error is far below `MARGIN`.
So no arrival of a node exceeds its bound, and nodes whose bound is below the arrivals found so far stay closed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairdraw.masses import Ids
from fairdraw.rows import Row
from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import BLOCK, GROUP, Noise

MARGIN = 1e-9
FEW = 2048
"""So many ids are raced at once: looking for the ones that may be left out would cost more."""


class Arrivals(NamedTuple):
    """Ids in the order in which they arrive, and their scores in the race."""

    ids: Ids
    scores: NDArray[np.float64]
    """z * c - log2(E), descending; equal scores: the lower id first."""


def first_arrivals(row: Row, noise: Noise, count: int) -> Arrivals:
    """The first arrivals among the kept ids.

    Parameters
    ----------
    row : Row
        What is raced.
    noise : Noise
        Of one draw.
    count : int, at least 1
        How many; all if there are fewer.
    """
    if row.kept.size <= max(FEW, 16 * count):
        return _ordered(row.kept, _scores(row, noise, row.kept), count)
    padded = np.full(-(-row.vocab // GROUP) * GROUP, -np.inf, np.float32)
    padded[row.kept] = row.scores[row.kept]
    in_blocks = padded.reshape(-1, BLOCK).max(axis=1)
    in_groups = in_blocks.reshape(-1, GROUP // BLOCK).max(axis=1)
    every_group, found = np.arange(in_groups.size), Arrivals(row.kept[:0], np.empty(0))
    # A few nodes first, to know what all others have to beat; then whatever may beat it, those few included.
    for most in (4, None) if count == 1 else (4 + count // 4, 16 + 2 * count, None):
        worst = found.scores[-1] if found.ids.size == count else -np.inf
        groups = _promising(every_group, in_groups, GROUP, row, noise, worst)[:most]
        blocks = _promising(_inside(groups, GROUP // BLOCK), in_blocks, BLOCK, row, noise, worst)[:most]
        ids = _inside(blocks, BLOCK)
        ids = ids[padded[ids] > -np.inf]
        found = _ordered(ids, _scores(row, noise, ids), count)
    return found


def _promising(nodes: Ids, peaks: NDArray[np.float32], span: int, row: Row, noise: Noise, worst: float) -> Ids:
    """Blocks or groups whose bound reaches the score, the largest bound first."""
    nodes = nodes[peaks[nodes] > -np.inf]
    bounds = peaks[nodes].astype(np.float64) * row.masses.scale - (log2(noise.minima(nodes, span)) - MARGIN)
    order = np.argsort(-bounds, kind="stable")
    return nodes[order[bounds[order] >= worst]]


def _inside(nodes: Ids, count: int) -> Ids:
    """The children of some nodes, each having so many."""
    return (nodes[:, np.newaxis] * count + np.arange(count)).ravel()


def _scores(row: Row, noise: Noise, ids: Ids) -> NDArray[np.float64]:
    return row.scores[ids].astype(np.float64) * row.masses.scale - log2(noise.exponentials(ids))


def _ordered(ids: Ids, scores: NDArray[np.float64], count: int) -> Arrivals:
    order = np.lexsort((ids, -scores))[:count]
    return Arrivals(ids[order], scores[order])
