"""Greedy: the best token, always."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.draws.base import Draw
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Greedy(Draw):
    """The kept token with the largest score; equal scores: the lower id.  It uses no noise."""

    name: ClassVar[str] = "greedy"

    def law(self, row: Row) -> NDArray[np.float64]:
        """1 for the best token, 0 for the others."""
        out = np.zeros(row.vocab)
        out[_best(row)] = 1.0
        return out

    def log_law(self, row: Row) -> NDArray[np.float64]:
        """0 for the best token, -inf for the others."""
        with np.errstate(divide="ignore"):
            return np.log(self.law(row))

    def noise_values(self, row: Row) -> int:
        """None."""
        return 0

    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """The best token, once for each draw."""
        return np.full(noise.draws, _best(row))


def _best(row: Row) -> np.int64:
    return row.kept[np.argmax(row.scores[row.kept])]
