"""What every token weighs, in two exact arithmetics.  All that the law and the draw do not share is here.

A rule is written once, against a `Row`; its row measures in float64 (the law) or in integers (the draw), and the
same text means the same cut in both.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Scores = NDArray[np.float32]
Boundary = Literal["inclusive", "strict"]
"""A token stays while the mass before it is < the share (inclusive) or <= the share (strict)."""

LOG2E = float.fromhex("0x1.71547652b82fep+0")
"""log2(e): the exponent of base 2 for one nat at temperature 1."""
EXP2 = tuple(
    np.float32(float.fromhex(text))
    for text in (
        "0x1p+0", "0x1.62e430p-1", "0x1.ebfbdcp-3", "0x1.c6aee8p-5",
        "0x1.3b2d4cp-7", "0x1.5f3e54p-10", "0x1.41fbbcp-13",
    )
)  # fmt: skip
"""2^f for f in [-1/2, 1/2] as a float32 polynomial, constant term first."""
FRACTION_BITS = 40
"""Binary digits after the point of an integer mass: the peak weighs 2^40."""
LIGHTEST = np.float32(-62)
"""Powers of two below this weigh nothing."""


@dataclass(frozen=True, kw_only=True)
class Masses(ABC):
    """2 ** ((score - peak) * scale) of every id.  An edit makes new masses; a cut never does."""

    scores: Scores
    """The caller's logits after the edits so far."""
    scale: float
    """log2(e) / temperature."""
    peak: np.float32
    """The largest kept score at the last edit or temperature."""
    unit: ClassVar[int | float]
    """The mass at the peak."""

    @property
    @abstractmethod
    def values(self) -> NDArray[Any]:
        """Mass of every id, shape (vocab,)."""

    @property
    @abstractmethod
    def exponents(self) -> NDArray[Any]:
        """log2(mass / unit) of every id, in steps of this arithmetic, shape (vocab,)."""

    @abstractmethod
    def steps(self, exponent: float) -> int | float:
        """An exponent in those steps."""

    @abstractmethod
    def mean(self, ids: Ids) -> int | float:
        """Mean exponent of some ids under their masses."""

    @abstractmethod
    def threshold(self, share: float, total: Any, boundary: Boundary) -> int | float:
        """The x > 0 for which ``mass < x`` says: less than (strict: at most) this share of the total."""


class RealMasses(Masses):
    """float64: the law."""

    unit: ClassVar[int | float] = 1.0

    @cached_property
    def exponents(self) -> NDArray[np.float64]:
        """log2(mass), float64."""
        return (self.scores.astype(np.float64) - float(self.peak)) * self.scale

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Masses, float64; the peak's is 1."""
        # A removed id may lie far above the peak; its mass is never summed.
        return np.exp2(np.minimum(self.exponents, 1023.0))

    def steps(self, exponent: float) -> float:
        """The exponent itself."""
        return exponent

    def mean(self, ids: Ids) -> float:
        """Mean exponent, float64."""
        return float(self.values[ids] @ self.exponents[ids] / self.values[ids].sum())

    def threshold(self, share: float, total: float, boundary: Boundary) -> float:
        """``share * total``, or the next float above it."""
        limit = share * total
        return math.nextafter(limit, math.inf) if boundary == "strict" or limit == 0 else limit


class IntegerMasses(Masses):
    """int64 with 40 fractional bits: sums are exact in any order, on any device.

    t = (score - peak) * float32(scale) in float32, held in [-62, 0]; n = rint(t); the polynomial of t - n by
    Horner's rule in float32; mantissa = trunc(polynomial * 2^24); mass = mantissa << 16 >> -n.
    """

    unit: ClassVar[int | float] = 1 << FRACTION_BITS

    @cached_property
    def _powers(self) -> NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):
            powers = (self.scores - self.peak) * np.float32(self.scale)
        return np.clip(powers, LIGHTEST, np.float32(0))

    @cached_property
    def exponents(self) -> NDArray[np.int64]:
        """log2(mass / 2^40) * 2^24, int64."""
        return np.rint(self._powers.astype(np.float64) * 2.0**24).astype(np.int64)

    @cached_property
    def values(self) -> NDArray[np.int64]:
        """Masses, int64; the peak's is 2^40."""
        whole = np.rint(self._powers)
        fraction, value = self._powers - whole, EXP2[-1]
        for coefficient in EXP2[-2::-1]:
            value = value * fraction + coefficient
        mantissa = (value * np.float32(2**24)).astype(np.int64)
        return (mantissa << (FRACTION_BITS - 24)) >> (-whole).astype(np.int64)

    def steps(self, exponent: float) -> int:
        """The exponent in units of 2^-24, half to even; below -128 all are one."""
        return round(min(max(exponent, -128.0), 128.0) * 2.0**24)

    def mean(self, ids: Ids) -> int:
        """Mean exponent in steps, rounded down."""
        values, exponents = self.values[ids], self.exponents[ids]
        # Limbs of 13 bits: 13 + 30 (exponent) + 20 (vocabulary) bits fit into 63.
        limbs = (int((values >> shift & 0x1FFF) @ exponents) << shift for shift in (0, 13, 26, 39))
        return sum(limbs) // int(values.sum())

    def threshold(self, share: float, total: int, boundary: Boundary) -> int:
        """The smallest whole mass that reaches (strict: exceeds) the share, in unlimited precision, at least 1."""
        scaled = round(share * 2**53) * total
        return max(1, scaled // 2**53 + 1 if boundary == "strict" else -(-scaled // 2**53))


def deviation(scores: Scores) -> float:
    """Standard deviation of some finite scores from sums of integers: the same bits in any order and any shards.

    Distances from the largest score, in steps of 2^-40 of their size, and their squares are summed exactly; of the
    result, one division and one square root round.

    Examples
    --------
    >>> deviation(np.float32([0, 2, 2, 4]))
    1.4142135623730951
    """
    below = float(scores.max()) - scores.astype(np.float64)
    exponent = math.frexp(below.max())[1]
    steps = np.rint(np.ldexp(below, 40 - exponent)).astype(np.int64)
    # Limbs of 20 bits: their products leave 22 bits for the vocabulary.
    high, low = steps >> 20, steps & 0xFFFFF
    squares = (int(high @ high) << 40) + (int(high @ low) << 21) + int(low @ low)
    count, total = steps.size, int(steps.sum())
    return math.ldexp(math.sqrt(count * squares - total * total) / count, exponent - 40)
