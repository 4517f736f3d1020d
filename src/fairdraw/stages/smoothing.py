"""Smoothing: a quadratic fall from the best token, flat at the top and steep below (kalomaze, 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Real
from fairdraw.masses import LOG2E
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Smoothing(Stage):
    """Replace each score by -factor * (its distance from the best one) ^ 2.

    Distances are at the temperature so far; a temperature after it divides the squares.  Tokens nearer than
    1 / factor come closer together, the others fall away.

    Notes
    -----
    float32: the square, then the product.  What falls beyond float32 is removed.
    Source: exllamav2 0.3.2 @da07fac, exllamav2_ext/ext_sampling.cpp and cpp/sampling.cpp, ``softmax_cpu`` with
    exponent 2, where the temperature, divided by the factor, acts on the squares.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.float32([5, 4.5, 2]), RealMasses)
    >>> Smoothing(factor=0.5).apply(row, Context()).scores.tolist()
    [0.0, -0.125, -4.5]
    """

    name: ClassVar[str] = "smoothing"
    domains: ClassVar[Domains] = MappingProxyType({"factor": Real(0, open="low")})

    factor: float
    """What the square is multiplied by, above 0."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the smoothed scores."""
        with np.errstate(over="ignore", invalid="ignore"):
            below = row.scores - row.scores[row.kept].max()
            if row.masses.scale != LOG2E:
                below = (below.astype(np.float64) * (row.masses.scale / LOG2E)).astype(np.float32)
            return row.reweighted(np.float32(0) - below * below * np.float32(self.factor))
