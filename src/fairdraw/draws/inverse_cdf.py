"""Inverse CDF: one uniform number walks along the masses in id order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.draws.base import Draw
from fairdraw.masses import IntegerMasses
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise, Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseCdf(Draw):
    """The first id, ascending, whose running integer mass exceeds x = floor((2k + 1) * total / 2^53).

    k are the 52 bits of the draw's uniform (purpose 6, level 3, index 0).  The law is the row's integer masses,
    within 1.5e-7 of softmax in total variation; a token lighter than 2^-40 of the best is never drawn.

    Notes
    -----
    One small change of the logits moves every boundary after it, so the token changes 5 to 100 times as often as
    the race's.  It is here for comparison, and for those who need one uniform a token.
    """

    name: ClassVar[str] = "inverse_cdf"

    def noise_values(self, row: Row) -> int:
        """One uniform."""
        return 1

    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """The ids in which the uniforms fall."""
        masses = IntegerMasses(scores=row.scores, scale=row.masses.scale, peak=row.masses.peak)
        sums = np.cumsum(masses.values[row.kept])
        bits = replace(noise, purpose=Purpose.INVERSE_CDF).single_bits(0)
        total = int(sums[-1])
        # 53 + 58 bits: Python's own integers.
        targets = np.array([(2 * int(k) + 1) * total >> 53 for k in bits.ravel()], np.int64)
        return row.kept[np.searchsorted(sums, targets, side="right")].reshape(bits.shape)
