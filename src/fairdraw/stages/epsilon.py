"""Epsilon: a threshold at a fixed probability (Hewitt, Manning and Liang, "Truncation sampling", 2022)."""

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
class Epsilon(CutStage):
    """Keep tokens with at least (strict: more than) this probability, as a share of what is kept now.

    Equal tokens stay or go together.  The best one, and what equals it, always stays.

    Notes
    -----
    Source: transformers 5.24.0, generation/logits_process.py, ``EpsilonLogitsWarper``; inclusive.

    Examples
    --------
    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.6, 0.3, 0.1])), RealMasses)
    >>> [Epsilon(epsilon=epsilon).apply(row, Context()).kept.tolist() for epsilon in (0.05, 0.2, 0.9)]
    [[0, 1, 2], [0, 1], [0]]
    """

    name: ClassVar[str] = "epsilon"
    domains: ClassVar[Domains] = MappingProxyType({"epsilon": PROBABILITY, "boundary": BOUNDARY})

    epsilon: float
    """Smallest probability. In [0, 1]; off: 0."""
    boundary: Boundary = "inclusive"
    """Whether a token with exactly that probability stays ("inclusive") or goes ("strict")."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the tokens above the threshold."""
        return row.keep(row.best, row.at_least(self.epsilon, "total", self.boundary), "all")
