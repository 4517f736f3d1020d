"""Truncated: TensorRT-LLM's C++ kernels shorten the uniform number instead of cutting the row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import Domain, Real
from fairdraw.draws.base import Draw
from fairdraw.masses import IntegerMasses
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise, Purpose

ROUNDING = 2.0**-44
"""A share of the total below this is the rounding of a running sum, not mass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncated(Draw):
    """Walk down the masses, best first, until they exceed u * p * total; u is one uniform number.

    Without p this is the inverse CDF.  With it the tokens of the first p of the mass can be drawn: all of them in
    proportion, but for the one that crosses p, which has only what is left of p when its turn comes.  A top-p cut
    would give that token all its mass.

    Parameters
    ----------
    p : float
        Share of the mass that is drawn from.  In (0, 1]; 1 is the whole row.

    Raises
    ------
    ParameterError
        p lies outside (0, 1].

    Notes
    -----
    Order: score descending, id ascending (the kernel leaves the order of equal tokens open).  Integers:
    x = floor((2k + 1) * P * total / 2^106), k the 52 bits of the draw's uniform (purpose 6, level 3, index 0),
    P = p * 2^53 rounded half to even; the first running mass above x.

    Source: TensorRT-LLM, cpp/tensorrt_llm/kernels/samplingTopKKernels.cu and samplingTopPKernels.cu.

    Examples
    --------
    Top-p would give [0.625, 0.375].

    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.15, 0.05])), RealMasses)
    >>> Truncated(p=0.7).law(row).round(4).tolist()
    [0.7143, 0.2857, 0.0, 0.0]
    """

    name: ClassVar[str] = "truncated"
    domains: ClassVar[MappingProxyType[str, Domain]] = MappingProxyType({"p": Real(0, 1, open="low")})

    p: float = 1.0
    """Share of the mass that is drawn from. In (0, 1]; off: 1."""

    def law(self, row: Row) -> NDArray[np.float64]:
        """Probability of every id, float64, shape (vocab,)."""
        if self.p >= 1:
            return row.probabilities
        masses = row.probabilities[row.order]
        left = self.p - (np.cumsum(masses) - masses)
        out = np.zeros(row.vocab)
        out[row.order] = np.where(left > ROUNDING, np.minimum(masses, left), 0.0)
        # The best token is drawn however small p is.
        out[row.order[0]] = min(masses[0], self.p)
        return out / out.sum()

    def log_law(self, row: Row) -> NDArray[np.float64]:
        """Natural logarithm of the law; -inf where a token cannot be drawn."""
        with np.errstate(divide="ignore"):
            return np.log(self.law(row))

    def noise_values(self, row: Row) -> int:
        """One uniform."""
        return 1

    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """The ids in which the shortened uniforms fall."""
        masses = IntegerMasses(scores=row.scores, scale=row.masses.scale, peak=row.masses.peak)
        sums = np.cumsum(masses.values[row.order])
        bits = replace(noise, purpose=Purpose.INVERSE_CDF).single_bits(0)
        share = round(self.p * 2**53) * int(sums[-1])
        # 53 + 53 + 58 bits: Python's own integers.
        targets = np.array([(2 * int(k) + 1) * share >> 106 for k in bits.ravel()], np.int64)
        return row.order[np.searchsorted(sums, targets, side="right")].reshape(bits.shape)
