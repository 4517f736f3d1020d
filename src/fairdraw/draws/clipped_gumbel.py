"""Clipped Gumbel noise: candle's GumbelSoftmax, whose law is not softmax."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial
from numpy.polynomial.legendre import leggauss
from numpy.typing import NDArray

from fairdraw.domains import Domain, Real
from fairdraw.draws.base import Draw
from fairdraw.errors import ParameterError
from fairdraw.rows import Row
from fairdraw.streams.logarithms import log2, minus_log
from fairdraw.streams.noise import Noise

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

NEGLIGIBLE = 40.0
"""The race is followed until -ln P(nobody has arrived) is surely above this: e^-40 = 4e-18."""
STEPS = 400
"""Parts of that fall, 0.1 each: no interval of integration is longer, and four Gauss points err by 1e-15."""
GAUSS_POINTS, GAUSS_WEIGHTS = (leggauss(4)[0] + 1) / 2, leggauss(4)[1] / 2
"""Gauss-Legendre on [0, 1]."""
LIGHT_LIMIT, DEGREE = 2.0, 12
"""On [0, min(2, e1 / 4)] a polynomial of this degree is ln S to 1e-14: the singularity at e1 is far off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClippedGumbel(Draw):
    """The kept token with the largest z * c - log2(-ln u), u uniform between two bounds inside (0, 1).

    z is the float32 score after all edits, c = log2(e) / T, u the token's own; equal: the lower id.

    Without the bounds this is the Gumbel-max rule, and the law is softmax.  With them it is not.  E = -ln u lies
    between e0 = -ln(high) and e1 = -ln(low), and a token of weight w (the best has 1) arrives at E / w: never
    before e0 / w, while the best is there by e1.  So a token of probability p is damped, by about exp(-e0 / p),
    and one with w <= e0 / e1 is never drawn: with candle's bounds, all that lies 9.69 T or more below the best.
    Six tokens hardly show it (total variation 0.002); the long tail of a language model does (up to 0.4 at T = 1).

    Parameters
    ----------
    low, high : float
        Bounds of u, in (0, 1), low < high.

    Raises
    ------
    ParameterError
        A bound lies outside (0, 1), or low is not below high.

    Notes
    -----
    Source: candle 0.11.0, ``candle-nn/src/sampling.rs``, ``gumbel_softmax``, with its ``rand(1e-7, 0.999)``.
    Here u is real; candle draws it in float32, in steps of 2^-23, which this draw and its law leave out.

    Examples
    --------
    The softmax of these two rows is [0.9975, 0.0025] and [0.99995, 0.00005].

    >>> from fairdraw.masses import RealMasses
    >>> ClippedGumbel().law(Row.of(np.float32([6, 0]), RealMasses)).round(4).tolist()
    [0.9983, 0.0017]
    >>> ClippedGumbel().law(Row.of(np.float32([10, 0]), RealMasses))[1].item()
    0.0
    """

    name: ClassVar[str] = "clipped_gumbel"
    domains: ClassVar[MappingProxyType[str, Domain]] = MappingProxyType(
        {"low": Real(0, 1, open="both"), "high": Real(0, 1, open="both")}
    )

    low: float = 1e-7
    """Smallest uniform."""
    high: float = 0.999
    """Largest uniform."""

    def __post_init__(self) -> None:
        Draw.__post_init__(self)
        earliest, latest = self._span
        if not earliest < latest:
            raise ParameterError(f"{self.name}.low", self.low, f"below {self.name}.high ({self.high!r})")

    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """Return the winners."""
        uniforms = self.low + (self.high - self.low) * noise.leaf_uniforms(row.kept)
        arrivals = row.scores[row.kept].astype(np.float64) * row.masses.scale - log2(minus_log(uniforms))
        return row.kept[np.argmax(arrivals, axis=-1)]

    def law(self, row: Row) -> Reals:
        """Probability of every id, float64, shape (vocab,).

        Let S(x) = P(E > x) = (e^-x - low) / (high - low) on [e0, e1], and G(t) = prod_j S(w_j t), the chance
        that nobody has arrived by t.  Token i wins with the integral of its hazard, -d/dt ln S(w_i t), times G.

        Notes
        -----
        Every time at which a token may first arrive ends an interval of integration, so no integrand jumps
        inside one.  With candle's bounds the absolute error is below 1e-12, without dividing by the sum, and the
        cost is a sort and a few dozen passes over the tokens.  Bounds nearer than 1e-4 lose digits, and a large low
        or a small high costs time.  A probability below 1e-17 may come as 0.
        """
        heights = row.scores[row.kept].astype(np.float64) * row.masses.scale
        weights = np.exp2(heights - heights.max())
        negated, place, counts = np.unique(-weights, return_inverse=True, return_counts=True)
        out = np.zeros(row.vocab)
        out[row.kept] = self._wins(-negated, counts)[place]
        return out

    @property
    def _span(self) -> tuple[float, float]:
        """e0 and e1, the smallest and the largest exponential."""
        return -math.log(self.high), -math.log(self.low)

    def _wins(self, weights: Reals, counts: Counts) -> Reals:
        """Probability that a token of each weight arrives first; the weights differ and descend from 1."""
        earliest, latest = self._span
        wins = np.zeros(weights.size)
        reachable = np.count_nonzero(weights > earliest / latest)
        weights, counts = weights[:reachable], counts[:reachable]

        edges = self._edges(weights, counts)
        widths = np.diff(edges)[:, np.newaxis]
        times, shares = edges[:-1, np.newaxis] + widths * GAUSS_POINTS, widths * GAUSS_WEIGHTS

        limit = min(LIGHT_LIMIT, latest / 4)
        # Few: each of them contributes limit - e0 or more to a fall of NEGLIGIBLE; with candle's bounds 20 at most.
        heavy = np.count_nonzero(weights * edges[-1] > limit)
        chebyshev = Chebyshev.interpolate(lambda x: np.log(self._survival(x)), DEGREE, [0.0, limit])
        polynomial = chebyshev.convert(kind=Polynomial)
        light = _LightTokens(
            weights=weights[heavy:],
            counts=counts[heavy:],
            starts=earliest / weights[heavy:],
            # 0 at the start to the last digit: 50000 tokens may share it.
            log_survival=np.asarray((polynomial - polynomial(earliest)).coef, np.float64),
        )
        nobody = np.exp(light.total_log_survival(edges, times))
        for weight, count in zip(weights[:heavy], counts[:heavy], strict=True):
            nobody *= self._clipped_survival(weight * times) ** count
        for index, weight in enumerate(weights[:heavy]):
            x = weight * times
            density = np.where(x > earliest, weight * np.exp(-x) / (self.high - self.low), 0.0)
            wins[index] = np.sum(shares * density * (nobody / self._clipped_survival(x)))
        wins[heavy:reachable] = light.wins(edges, times, shares * nobody)
        return wins

    def _survival(self, x: Reals) -> Reals:
        """S(x), continued above 1 for x < e0."""
        return (np.exp(-x) - self.low) / (self.high - self.low)

    def _clipped_survival(self, x: Reals) -> Reals:
        """S(x), never quite 0: what is multiplied by it may be divided by it, at e1 too."""
        return np.clip(self._survival(x), 1e-200, 1.0)

    def _edges(self, weights: Reals, counts: Counts) -> Reals:
        """Return the ends of the intervals: every time at which a token may first arrive, and a fine grid.

        A hazard grows from rate = high / (high - low), so -ln G(t) >= rate * sum of (w t - e0) over the tokens
        started.  Between starts that is linear in t; the grid is where it is a multiple of NEGLIGIBLE / STEPS.
        """
        earliest, latest = self._span
        rate = self.high / (self.high - self.low)
        mass, number = np.cumsum(counts * weights), np.cumsum(counts)
        knots = np.append(earliest / weights, latest)
        falls = rate * (knots * np.append(mass, mass[-1]) - earliest * np.append(number, number[-1]))
        grid = np.interp(np.linspace(0.0, min(NEGLIGIBLE, falls[-1]), STEPS + 1), falls, knots)
        return np.union1d(grid, knots[knots < grid[-1]])


@dataclass(frozen=True, slots=True, kw_only=True)
class _LightTokens:
    """Tokens whose x = w t stays where ln S(x) is a polynomial.

    A sum over the tokens started is then one of running sums of powers of the descending weights, an integral
    from a token's start on one of running sums of integrals of powers of t: no work of tokens times intervals.
    """

    weights: Reals
    counts: Counts
    starts: Reals
    log_survival: Reals
    """Coefficients of ln S(x), constant term first."""

    def total_log_survival(self, edges: Reals, times: Reals) -> Reals:
        """Sum of ln S(w t) over the tokens started before each interval, at the interval's times."""
        started = np.searchsorted(self.starts, edges[:-1], side="right")
        total, weight_powers, time_powers = (
            np.zeros_like(times),
            self.counts.astype(np.float64),
            np.ones_like(times),
        )
        for coefficient in self.log_survival:
            sums = np.concatenate([[0.0], np.cumsum(weight_powers)])
            total += coefficient * sums[started, np.newaxis] * time_powers
            weight_powers, time_powers = weight_powers * self.weights, time_powers * times
        return total

    def wins(self, edges: Reals, times: Reals, shares: Reals) -> Reals:
        """Integral of each token's hazard -d/dt ln S(w t) from its start on; ``shares`` is G(t) dt at the times."""
        first = np.minimum(np.searchsorted(edges, self.starts), edges.size - 1)
        wins, weight_powers = np.zeros_like(self.weights), self.weights
        for exponent, coefficient in enumerate(self.log_survival[1:], 1):
            tails = np.append(np.cumsum(shares.sum(axis=1)[::-1])[::-1], 0.0)
            wins -= exponent * coefficient * weight_powers * tails[first]
            weight_powers, shares = weight_powers * self.weights, shares * times
        return wins
