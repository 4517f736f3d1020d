"""Adaptive-p: weights that favour tokens near a target probability (MrJackSpade, llama.cpp pull request 17927)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, Real
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, StatefulStage

PEAK, SHARPNESS, WIDTH = 5.0, 10.0, 0.3
"""Score at the target; how steeply it falls; and the distance in probability that counts as 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptiveP(StatefulStage):
    """Give each token the score 5 - 10 d^2 / (1 + d), where d is its probability's distance from a target over 0.3.

    The memory is a running sum of the probabilities that the drawn tokens had before this stage, and its weight,
    both multiplied by ``decay`` before each new one; they start as if a long text had met the target.  The target of
    a step is 2 target - their average, in [0, 1]: after likely tokens it asks for unlikely ones.

    Notes
    -----
    What earlier stages removed stays removed; a temperature before counts for the probabilities alone.
    Source: llama.cpp, src/llama-sampler.cpp, ``llama_sampler_adaptive_p_apply`` and ``_accept`` (2026), where the
    stage draws as well, in float32.

    Examples
    --------
    The first is 0.3 away from the target, one width, so it loses 5 against the second.

    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.6, 0.3, 0.1])), RealMasses)
    >>> stage = AdaptiveP(target=0.3)
    >>> stage.apply(row, Context()).probabilities.round(4).tolist()
    [0.0063, 0.9292, 0.0646]
    >>> [round(number, 3) for number in stage.advance(row, Context(memory={"adaptive_p": (0.2, 1.0)}), 0)]
    [0.78, 1.9]
    """

    name: ClassVar[str] = "adaptive_p"
    domains: ClassVar[Domains] = MappingProxyType({"target": PROBABILITY, "decay": Real(0, 0.99)})

    target: float
    """Probability aimed at. In [0, 1]."""
    decay: float = 0.9
    """How much of the past counts at each step; its length is about 1 / (1 - decay). In [0, 0.99]."""

    def start(self) -> tuple[float, float]:
        """As after a long text that met the target."""
        return self.target / (1 - self.decay), 1 / (1 - self.decay)

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the new weights."""
        total, weight = self.memory(context)
        target = self.target if weight == 0 else min(max(2 * self.target - total / weight, 0.0), 1.0)
        distance = np.abs(self._probabilities(row) - target) / WIDTH
        scores = np.full(row.vocab, -np.inf, np.float32)
        scores[row.kept] = PEAK - SHARPNESS * distance * distance / (1 + distance)
        return row.reweighted(scores)

    def advance(self, row: Row, context: Context, token: int) -> tuple[float, float]:
        """The next sum and weight; a token that could not be drawn leaves them as they are."""
        total, weight = self.memory(context)
        place = np.searchsorted(row.kept, token)
        if place == row.kept.size or row.kept[place] != token:
            return float(total), float(weight)
        return float(self._probabilities(row)[place]) + self.decay * total, 1 + self.decay * weight

    @staticmethod
    def _probabilities(row: Row) -> NDArray[np.float64]:
        """Of the kept ids, from integers: division alone, so that every machine has the same scores."""
        values = row.integers.values[row.kept]
        return values / float(values.sum())
