"""Eta: a threshold that falls with the entropy (Hewitt, Manning and Liang, "Truncation sampling", 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import Real
from fairdraw.masses import Boundary
from fairdraw.rows import Row, log2_of
from fairdraw.stages.base import BOUNDARY, CutStage, Domains


@dataclass(frozen=True, slots=True, kw_only=True)
class Eta(CutStage):
    """Keep tokens with at least (strict: more than) the probability min(epsilon, sqrt(epsilon) * exp(-entropy)).

    Both are of what is kept now.  Equal tokens stay or go together.  The best one, and what equals it, always stays.

    Notes
    -----
    Source: transformers 5.24.0, generation/logits_process.py, ``EtaLogitsWarper``; inclusive.

    Examples
    --------
    The entropy of these four is ln 4, so the threshold for 0.25 is min(0.25, 0.5 / 4): all stay.

    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.float32([0, 0, 0, 0]), RealMasses)
    >>> Eta(epsilon=0.25).apply(row, Context()).kept.tolist()
    [0, 1, 2, 3]
    """

    name: ClassVar[str] = "eta"
    domains: ClassVar[Domains] = MappingProxyType({"epsilon": Real(1e-38, 1), "boundary": BOUNDARY})

    epsilon: float
    """Largest threshold, reached by rows that are sure. In [1e-38, 1]."""
    boundary: Boundary = "inclusive"
    """Whether a token with exactly that probability stays ("inclusive") or goes ("strict")."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the tokens above the threshold."""
        bits = log2_of(self.epsilon)
        threshold = min(bits, bits / 2 - row.entropy_bits)
        return row.keep(row.best, row.at_least_bits(threshold, "total", self.boundary), "all")
