"""Logit bias: a number added to the logits of a few ids."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import BiasMap
from fairdraw.masses import Scores
from fairdraw.stages.base import Domains, Edits, EditStage, known_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class LogitBias(EditStage):
    """Add a number to the logits of a few ids, in float32.  A forbidden id stays forbidden.

    Examples
    --------
    >>> LogitBias(bias={"1": -2}).edits(np.float32([0, 1]), Context())
    (array([1]), array([-1.], dtype=float32))
    """

    name: ClassVar[str] = "logit_bias"
    domains: ClassVar[Domains] = MappingProxyType({"bias": BiasMap()})

    bias: tuple[tuple[int, float], ...]
    """Pairs (id, what is added); a mapping is taken too."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The listed ids and their new scores."""
        ids = np.array([token for token, _ in self.bias], np.int64)
        known_ids("logit_bias", ids, scores.size)
        with np.errstate(over="ignore", invalid="ignore"):
            return ids, scores[ids] + np.array([bias for _, bias in self.bias], np.float32)
