"""Top-p, the nucleus (Holtzman et al., "The curious case of neural text degeneration", 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, Choice
from fairdraw.masses import Boundary
from fairdraw.rows import Row, Ties
from fairdraw.stages.base import BOUNDARY, TIES, CutStage, Domains
from fairdraw.stages.checkpoint import CHECKPOINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class TopP(CutStage):
    """Keep the shortest prefix, most probable first, whose mass reaches p; the token that crosses p stays.

    Notes
    -----
    ``boundary``: a token stays while the mass before it is < p ("inclusive") or <= p ("strict", one more on an
    exact hit).  ``mass``: p is a share of what is kept now ("current"), or of a checkpoint's row ("raw").
    At least one token stays; p >= 1 keeps all, however light.

    Examples
    --------
    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.2])), RealMasses)
    >>> TopP(p=0.6).apply(row, Context()).kept.tolist()
    [0, 1]
    """

    name: ClassVar[str] = "top_p"
    domains: ClassVar[Domains] = MappingProxyType(
        {"p": PROBABILITY, "boundary": BOUNDARY, "mass": Choice(("current", *CHECKPOINTS)), "ties": TIES}
    )

    p: float
    """Mass the prefix must reach. In [0, 1]; off: 1."""
    boundary: Boundary = "inclusive"
    """Whether a token before which the mass is exactly p is left out or stays."""
    mass: str = "current"
    """Which row p is a share of."""
    ties: Ties = "lowest"
    """Which of the tokens equal to the crossing one stay."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the prefix."""
        if self.p >= 1:  # tokens too light to weigh anything stay
            return row
        reach = row.at(self.mass).reach(row.best, self.p, self.boundary)
        return row.keep(row.best, reach, self.ties)
