"""Locally typical sampling (Meister et al., 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY
from fairdraw.masses import Boundary
from fairdraw.rows import Row, Ties
from fairdraw.stages.base import BOUNDARY, TIES, CutStage, Domains


@dataclass(frozen=True, slots=True, kw_only=True)
class Typical(CutStage):
    """Keep the tokens whose surprise is nearest to the entropy, nearest first, until their mass reaches p.

    Notes
    -----
    The most probable token may go.  ``ties="all"`` keeps every token as far from the entropy as the last one.

    Examples
    --------
    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.4, 0.25, 0.15, 0.12, 0.08])), RealMasses)
    >>> Typical(p=0.39).apply(row, Context()).kept.tolist()
    [1, 2]
    """

    name: ClassVar[str] = "typical"
    domains: ClassVar[Domains] = MappingProxyType({"p": PROBABILITY, "boundary": BOUNDARY, "ties": TIES})

    p: float
    """Mass the set must reach. In [0, 1]; off: 1."""
    boundary: Boundary = "inclusive"
    """Whether a token before which the mass is exactly p is left out or stays."""
    ties: Ties = "all"
    """What happens to tokens as near as the last one."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the most typical tokens."""
        if self.p >= 1:
            return row
        return row.keep_share(row.typical, self.p, self.boundary, self.ties)
