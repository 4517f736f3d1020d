"""Top-a: a threshold at a multiple of the best token's squared probability (BlinkDL, RWKV-LM, 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY
from fairdraw.masses import Boundary
from fairdraw.rows import Row, log2_of
from fairdraw.stages.base import BOUNDARY, CutStage, Domains

SMALLEST = 1e-38
"""Anything below cuts nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopA(CutStage):
    """Keep tokens with at least (strict: more than) a times the square of the best one's probability.

    Equal tokens stay or go together.  The best one always stays.

    Notes
    -----
    Source: exllamav2 0.3.2 @da07fac, exllamav2_ext/cpp/sampling.cpp, ``top_a_cpu``; inclusive.

    Examples
    --------
    The threshold is 0.5 * 0.36 = 0.18.

    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.6, 0.25, 0.15])), RealMasses)
    >>> TopA(a=0.5).apply(row, Context()).kept.tolist()
    [0, 1]
    """

    name: ClassVar[str] = "top_a"
    domains: ClassVar[Domains] = MappingProxyType({"a": PROBABILITY, "boundary": BOUNDARY})

    a: float
    """What the squared probability is multiplied by. In [0, 1]; off: 0."""
    boundary: Boundary = "inclusive"
    """Whether a token with exactly that probability stays ("inclusive") or goes ("strict")."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the tokens above the threshold."""
        if self.a < SMALLEST:
            return row
        bits = log2_of(self.a) + float(row.log2_shares.max())
        return row.keep(row.best, row.at_least_bits(bits, "best", self.boundary), "all")
