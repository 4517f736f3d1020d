"""candle's six ways of sampling, with what each leaves of a row of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import Real, Whole, require
from fairdraw.errors import ParameterError
from fairdraw.replay.candle_softmax import Singles, total
from fairdraw.replay.rust_selection import select_nth
from fairdraw.replay.weighted_index import ALL_ZERO, EMPTY, INVALID, engine_words

Ids = NDArray[np.int64]
Kept = tuple[Ids | None, Singles]
"""Token ids and their weights, in the order of the running sums; None: all ids, ascending."""

_K = Whole(1)
_P = Real()
_NUMBER = "a number other than 0 whose inverse float32 can hold"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """One of candle's six ways: ``Sampling.ArgMax()``, ``Sampling.All(temperature=0.8)`` and so on.

    Fields are candle's, and like there none has a default.

    Notes
    -----
    Source: candle-transformers 0.11.0, ``src/generation/mod.rs``, ``enum Sampling``.
    """

    ArgMax: ClassVar[Callable[..., Sampling]]
    All: ClassVar[Callable[..., Sampling]]
    TopK: ClassVar[Callable[..., Sampling]]
    TopP: ClassVar[Callable[..., Sampling]]
    TopKThenTopP: ClassVar[Callable[..., Sampling]]
    GumbelSoftmax: ClassVar[Callable[..., Sampling]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgMax(Sampling):
    """The largest logit; of equal ones the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GumbelSoftmax(Sampling):
    """The largest logit after clipped Gumbel noise from the device; the processor's seed has no part in it.

    Parameters
    ----------
    temperature : float
        Factor of the noise; 0 or less is `ArgMax`.
    """

    temperature: float

    def __post_init__(self) -> None:
        hint = "candle@0.11 itself draws token 0 where it is NaN"
        require("temperature", self.temperature, Real(), hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing(Sampling):
    """One of the four ways that draw by weights, with the processor's own generator.

    Parameters
    ----------
    temperature : float
        The logits are multiplied by float32(1 / temperature).  Below 0 this turns the order of the tokens round,
        as in candle.

    Raises
    ------
    ParameterError
        0, NaN, or so near 0 that float32(1 / temperature) is infinite.
    """

    temperature: float

    def __post_init__(self) -> None:
        value = self.temperature
        if not is_number(value) or value != value or value == 0 or not np.isfinite(self.factor):
            hint = f"for the best token use Sampling.ArgMax(); {engine_words(INVALID)}, without naming the temperature"
            raise ParameterError("temperature", value, _NUMBER, hint)

    @property
    def factor(self) -> np.float32:
        """float32(1 / temperature)."""
        with np.errstate(over="ignore"):
            return np.float32(1.0 / float(self.temperature))

    def kept(self, probabilities: Singles) -> Kept:
        """The tokens that stay in the draw, and their weights."""
        return None, probabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class All(Weighing):
    """Every token by its probability.

    Parameters
    ----------
    temperature : float
        As in `Weighing`.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(Weighing):
    """The k best.

    Parameters
    ----------
    k : int, at least 1
        Exactly so many stay, of equal ones those that Rust's selection happens to leave; k >= vocab: all.
    temperature : float
        As in `Weighing`.

    Notes
    -----
    The weights are summed up in the order that the selection leaves, which is part of the token.
    """

    k: int

    def __post_init__(self) -> None:
        Weighing.__post_init__(self)
        require("k", self.k, _K, engine_words(EMPTY) if self.k == 0 else "")

    def kept(self, probabilities: Singles) -> Kept:
        """The tokens that stay in the draw, and their weights."""
        if self.k >= probabilities.size:
            return None, probabilities
        ids = _best(probabilities, self.k)
        return ids, probabilities[ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopP(Weighing):
    """The shortest prefix, by falling probability, whose mass reaches p.

    Parameters
    ----------
    p : float
        Share of the row, rounded to float32; 0 or less and 1 or more are off.
    temperature : float
        As in `Weighing`.

    Raises
    ------
    ParameterError
        Above 0, and 0 in float32: nothing would stay.

    Notes
    -----
    Equal tokens: the lower id first.  The mass is a running sum in float32.
    """

    p: float

    def __post_init__(self) -> None:
        Weighing.__post_init__(self)
        require("p", self.p, _P)
        if self.p > 0 and np.float32(self.p) == 0:
            raise ParameterError("p", self.p, "0 or less (off), or large enough for float32", engine_words(ALL_ZERO))

    def kept(self, probabilities: Singles) -> Kept:
        """The tokens that stay in the draw, and their weights."""
        off = self.p <= 0 or self.p >= 1
        return None, probabilities if off else _cut(probabilities, np.float32(self.p))


@dataclass(frozen=True, slots=True, kw_only=True)
class TopKThenTopP(Weighing):
    """The k best, and of them the shortest prefix whose mass reaches p.

    Parameters
    ----------
    k : int, at least 1
        As in `TopK`.
    p : float
        Share of the **whole row**, rounded to float32.  Where the k best have no more than this, or p is 0 or less,
        it is off.  Where k >= vocab there is no such test: p must be above 0.
    temperature : float
        As in `Weighing`.
    """

    k: int
    p: float

    def __post_init__(self) -> None:
        Weighing.__post_init__(self)
        require("k", self.k, _K, engine_words(EMPTY) if self.k == 0 else "")
        require("p", self.p, _P)

    def kept(self, probabilities: Singles) -> Kept:
        """The tokens that stay in the draw, and their weights."""
        with np.errstate(over="ignore"):
            p = np.float32(self.p)
        if self.k >= probabilities.size:
            if p <= 0:
                domain = f"above 0 in float32 where k ({self.k}) takes in the whole row ({probabilities.size})"
                raise ParameterError("p", self.p, domain, engine_words(ALL_ZERO))
            return None, _cut(probabilities, p)
        ids = _best(probabilities, self.k)
        weights = probabilities[ids]
        off = p <= 0 or p >= total(weights, "sequential")
        return ids, weights if off else _cut(weights, p)


for _way in (ArgMax, All, TopK, TopP, TopKThenTopP, GumbelSoftmax):
    setattr(Sampling, _way.__name__, _way)


def is_number(value: object) -> bool:
    """Whether a value is a number, infinities and NaN among them."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _best(probabilities: Singles, k: int) -> Ids:
    """The k best ids in the order of Rust's selection."""
    return select_nth(~_total_order(probabilities), k)[:k]


def _cut(weights: Singles, p: np.float32) -> Singles:
    """The weights with all set to zero before which, by falling weight, a mass of p stands."""
    falling = np.argsort(~_total_order(weights), kind="stable")
    before = np.add.accumulate(np.concatenate([np.zeros(1, np.float32), weights[falling][:-1]]), dtype=np.float32)
    reached = before >= p
    kept = weights.copy()
    if reached.any():
        kept[falling[np.argmax(reached) :]] = 0
    return kept


def _total_order(values: Singles) -> NDArray[np.int32]:
    """Integers in the order of Rust's ``f32::total_cmp``."""
    bits = np.ascontiguousarray(values).view(np.int32)
    return bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))
