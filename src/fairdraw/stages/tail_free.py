"""Tail-free sampling: cut where the curve of sorted probabilities turns flat (trentbrick, 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Real
from fairdraw.rows import DOUBT, Reach, Row
from fairdraw.stages.base import CutStage, Domains


@dataclass(frozen=True, slots=True, kw_only=True)
class TailFree(CutStage):
    """Keep the most probable tokens until their curvature, the absolute second difference, reaches a share z.

    With c_i = |p_i - 2 p_(i+1) + p_(i+2)| in order of probability, rank i + 1 is the last kept for the first i at
    which c_0 + ... + c_i exceeds z times the sum of all; never the whole row.  Fewer than three tokens stay.

    Notes
    -----
    On a row so flat that rounding makes the second differences, the cut is in doubt from end to end, and reported so.
    Source: exllamav2 0.3.2 @da07fac, exllamav2_ext/cpp/sampling.cpp, ``tfs_cpu``, which first drops probabilities
    below 1e-8.  llama.cpp had ``tail_free`` until 2024, with one token less.

    Examples
    --------
    The second differences are 0.2 and 0.1; the first one's share is 0.67.

    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.25, 0.2, 0.05])), RealMasses)
    >>> [TailFree(z=z).apply(row, Context()).kept.tolist() for z in (0.5, 0.9)]
    [[0], [0, 1]]
    """

    name: ClassVar[str] = "tail_free"
    domains: ClassVar[Domains] = MappingProxyType({"z": Real(0, 1)})

    z: float
    """Share of the curvature. In [0, 1]; off: 1."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row without its tail."""
        if self.z >= 1 or row.kept.size < 3:
            return row
        values = row.masses.values[row.order]
        sums = np.cumsum(np.abs(values[:-2] - 2 * values[1:-1] + values[2:]))
        # Each difference has four roundings of a mass in it.
        need, doubt = self.z * float(sums[-1]), 4 * DOUBT * float(row.total)
        return row.keep(row.best, Reach(*(self._count(sums, x) for x in (need - doubt, need, need + doubt))), "lowest")

    @staticmethod
    def _count(sums: np.ndarray, need: float) -> int:
        return int(np.count_nonzero(sums <= need)) + 1
