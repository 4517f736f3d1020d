"""Min-p: a threshold relative to the most probable token (Nguyen et al., "Turning up the heat", 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY
from fairdraw.masses import Boundary
from fairdraw.rows import Row
from fairdraw.stages.base import BOUNDARY, CutStage, Domains


@dataclass(frozen=True, slots=True, kw_only=True)
class MinP(CutStage):
    """Keep tokens with at least (strict: more than) this share of the most probable one's mass.

    Equal tokens stay or go together.  The best one always stays.

    Examples
    --------
    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.6, 0.3, 0.1])), RealMasses)
    >>> MinP(p=0.25).apply(row, Context()).kept.tolist()
    [0, 1]
    """

    name: ClassVar[str] = "min_p"
    domains: ClassVar[Domains] = MappingProxyType({"p": PROBABILITY, "boundary": BOUNDARY})

    p: float
    """Share of the best token's mass. In [0, 1]; off: 0."""
    boundary: Boundary = "inclusive"
    """Whether a token with exactly that share stays ("inclusive") or goes ("strict")."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the tokens above the threshold."""
        return row.keep(row.best, row.at_least(self.p, "best", self.boundary), "all")
