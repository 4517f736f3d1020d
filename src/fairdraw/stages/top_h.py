"""Top-h: a prefix with a share of the row's entropy (Baghaei Potraghloo et al., "Top-H decoding", 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, Whole
from fairdraw.rows import DOUBT, Reach, Row, Ties, log2_of
from fairdraw.stages.base import TIES, CutStage, Domains


@dataclass(frozen=True, slots=True, kw_only=True)
class TopH(CutStage):
    """Keep the most probable tokens while their entropy, together, is at most a share h of all of it.

    Entropy is of the ``most`` best tokens kept, with probabilities among these alone: the sum of -p log p.  No token
    after them is kept; the best one always is.

    Notes
    -----
    A sum that hits the share exactly still counts as inside.
    Source: transformers 5.24.0, generation/logits_process.py, ``TopHLogitsWarper`` (most = 100, ties
    left to ``torch.topk``: "any").

    Examples
    --------
    In bits the four add 0.5, 0.5, 0.375 and 0.375 to an entropy of 1.75.

    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.25, 0.125, 0.125])), RealMasses)
    >>> [TopH(h=h).apply(row, Context()).kept.tolist() for h in (0.2, 0.6, 0.8)]
    [[0], [0, 1], [0, 1, 2]]
    """

    name: ClassVar[str] = "top_h"
    domains: ClassVar[Domains] = MappingProxyType({"h": PROBABILITY, "most": Whole(1), "ties": TIES})

    h: float
    """Share of the entropy. In [0, 1]."""
    most: int = 100
    """How many of the best tokens are looked at, at least 1."""
    ties: Ties = "lowest"
    """Which of several equal tokens at the cut stay."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the prefix."""
        ids, masses = row.order[: self.most], row.masses
        # Python's own numbers: a mass of 41 bits times a surprise of 31 does not fit into int64.
        values, exponents = masses.values[ids].astype(object), masses.exponents[ids].astype(object)
        total = values.sum()
        sums = np.cumsum(values * (masses.steps(log2_of(total / masses.unit)) - exponents))
        need = self.h * float(sums[-1])
        doubt = DOUBT * (float(sums[-1]) + float(total) * float(masses.steps(1.0)))
        counts = (int(np.count_nonzero(sums <= x)) for x in (need - doubt, need, need + doubt))
        return row.keep(row.best, Reach(*counts), self.ties)
