"""The exponential race as PyTorch's multinomial runs it: weights divided by Exp(1) noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.draws.base import Draw
from fairdraw.masses import IntegerMasses
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class ExponentialRace(Draw):
    """The kept id with the largest mass / E, in float64; equal: the lower id.

    The same noise as the race's, divided instead of compared as logarithms, so it picks the race's token unless
    two arrivals are within the masses' rounding.  A token of mass 0 is never drawn.
    """

    name: ClassVar[str] = "exponential_race"

    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """The ids that arrive first."""
        masses = IntegerMasses(scores=row.scores, scale=row.masses.scale, peak=row.masses.peak)
        weights = masses.values[row.kept]
        ids, weights = row.kept[weights > 0], weights[weights > 0].astype(np.float64)
        return ids[np.argmax(weights / noise.exponentials(ids), axis=-1)]
