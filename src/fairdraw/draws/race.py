"""The keyed race: fairdraw's own draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.draws.base import Draw
from fairdraw.draws.first_arrivals import first_arrivals
from fairdraw.rows import Row
from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Race(Draw):
    """The kept token with the largest score z * c - log2(E); equal scores: the lower id.

    z is the float32 score after all edits, c = log2(e) / T, E the token's own Exp(1) noise; float64, each operation
    rounded once.  By the Gumbel-max rule the law is the row's softmax, to about 1e-16 * |z| / T: 1e-12 in use, while
    a temperature of 1e-15 leaves nothing but the rounding of z * c.

    Notes
    -----
    The token depends on the kept set and the noise alone.  Removing a token that did not win changes nothing, and
    when every logit moves a little the token rarely does: with probability at most 2 TV / (1 + TV).
    """

    name: ClassVar[str] = "race"

    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """The winners."""
        if not noise.draws:
            return first_arrivals(row, noise, 1).ids[0]
        arrivals = row.scores[row.kept].astype(np.float64) * row.masses.scale - log2(noise.exponentials(row.kept))
        return row.kept[np.argmax(arrivals, axis=-1)]
