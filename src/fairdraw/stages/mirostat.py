"""Mirostat 1 and 2: a cut that steers the surprise of a text (Basu et al., "Mirostat", 2021)."""

from __future__ import annotations

import math
from abc import ABC
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Real, Whole
from fairdraw.masses import LOG2E
from fairdraw.rows import DOUBT, Reach, Row, log2_of
from fairdraw.stages.base import Domains, StatefulStage
from fairdraw.streams.logarithms import log2

_TARGET, _RATE = Real(0), Real(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mirostat(StatefulStage, ABC):
    """What both versions share: the memory is mu, the surprise in bits that is let through.

    It starts at 2 tau; after each token it moves by eta * (tau - surprise of that token among those kept).
    """

    tau: float = 5.0
    """Surprise aimed at, in bits. At least 0."""
    eta: float = 0.1
    """How fast mu follows. At least 0."""

    def start(self) -> float:
        """Twice the target."""
        return 2 * self.tau

    def advance(self, row: Row, context: Context, token: int) -> float:
        """The next mu; a token that could not be drawn leaves it as it is."""
        after, mu = self.apply(row, context), float(self.memory(context))
        place = np.searchsorted(after.kept, token)
        if place == after.kept.size or after.kept[place] != token:
            return mu
        return mu - self.eta * (-float(after.log2_shares[place]) - self.tau)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirostat2(_Mirostat):
    """Keep tokens whose surprise, -log2(probability), is at most mu; then move mu towards the target.

    The memory, mu, starts at 2 tau; after each token it moves by eta * (tau - surprise of that token among those
    kept).  The best token, and what equals it, always stays.

    Notes
    -----
    Source: llama.cpp 0c1e57098, src/llama-sampler.cpp, ``llama_sampler_mirostat_v2_apply``, where the stage draws as
    well.  exllamav2 0.3.2 @da07fac (cpp/sampling.cpp, ``mirostat_pre_cpu``) has the same rule, and starts again at
    2 tau should mu come to be 0.

    Examples
    --------
    With mu = 2 bits a token needs a probability of 1/4.

    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.2])), RealMasses)
    >>> stage = Mirostat2(tau=1.0, eta=0.5)
    >>> stage.apply(row, Context()).kept.tolist()
    [0, 1]

    The first of two tokens of 5/8 and 3/8 has a surprise of 0.678 bits.

    >>> round(stage.advance(row, Context(), 0), 4)
    2.161
    """

    name: ClassVar[str] = "mirostat_2"
    domains: ClassVar[Domains] = MappingProxyType({"tau": _TARGET, "eta": _RATE})

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the tokens that surprise little enough."""
        return row.keep(row.best, row.at_least_bits(-self.memory(context), "total", "inclusive"), "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirostat1(_Mirostat):
    """Keep as many tokens as a Zipf law through the best ones says are within mu; then move mu.

    With s the slope of log probability over log rank among the best ``most`` tokens, and N the vocabulary,
    k = ((s - 1) 2^mu / (1 - N^(1 - s)))^(1 / s), rounded down, at least 1.  The memory, mu, is as in version 2.

    Notes
    -----
    Of tokens equal to the k-th the lower ids stay.  A row whose best tokens are all equal has no slope: it keeps all
    if 2^mu exceeds N - 1, else one.
    Source: llama.cpp 0c1e57098, src/llama-sampler.cpp, ``llama_sampler_mirostat_apply``, where the stage draws as
    well, and most is 100.

    Examples
    --------
    Probabilities of 1/rank^2 have s = 2; with N = 4 and mu = 2, k = sqrt(1 * 4 / (3/4)) = 2.3.

    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([1, 1 / 4, 1 / 9, 1 / 16])), RealMasses)
    >>> Mirostat1(tau=1.0).apply(row, Context()).kept.tolist()
    [0, 1]
    """

    name: ClassVar[str] = "mirostat_1"
    domains: ClassVar[Domains] = MappingProxyType({"tau": _TARGET, "eta": _RATE, "most": Whole(2)})

    most: int = 100
    """How many of the best tokens the slope is taken from, at least 2."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the best k tokens."""
        if row.kept.size == 1:
            return row
        ranks = log2(np.arange(1, row.kept.size + 1, dtype=np.float64))
        bits, slope = self._bits_and_slope(row, ranks[: self.most], float(self.memory(context)))
        doubt = DOUBT * (abs(bits) + 1)
        # log2(rank) * slope <= bits says rank <= 2^(bits / slope), and stands for a slope of 0 as well.
        counts = (int(np.count_nonzero(ranks * slope <= x)) for x in (bits - doubt, bits, bits + doubt))
        return row.keep(row.best, Reach(*counts), "lowest")

    @staticmethod
    def _bits_and_slope(row: Row, ranks: np.ndarray, mu: float) -> tuple[float, float]:
        """log2((s - 1) 2^mu / (1 - N^(1 - s))), and s."""
        scores = row.scores[row.order[: ranks.size]].astype(np.float64) * row.masses.scale
        steps, falls = np.diff(ranks), -np.diff(scores)
        # Exactly rounded sums: a slope must not depend on how a machine adds.
        slope = math.fsum(steps * falls) / math.fsum(steps * steps)
        excess, width = slope - 1, log2_of(row.vocab)
        if abs(excess) * width < 1e-9:
            return mu - log2_of(width / LOG2E), slope
        # Both ways of writing it are the same; neither overflows.
        if excess > 0:
            return mu + log2_of(excess) - log2_of(1 - 2.0 ** (-excess * width)), slope
        return mu + excess * width + log2_of(-excess) - log2_of(1 - 2.0 ** (excess * width)), slope
