"""llama.cpp's typical: a token at -inf among the candidates turns its order into one that depends on nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, Whole
from fairdraw.masses import Ids
from fairdraw.rows import Ranking, Reach, Row, log2_of
from fairdraw.stages.base import CutStage, Domains
from fairdraw.stages.typical import Typical

SHORTEST_SORTED = 16
"""libstdc++'s sort inserts one by one up to here, and partitions above."""
LIGHTEST_BITS = -150.0
"""log2 of the probability from which float32 rounds to 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateTypical(CutStage):
    """Keep the tokens whose surprise is nearest to the entropy, nearest first, until their mass is more than p.

    Where one of the candidates is at -inf, forbidden or out by top-n-sigma, or has a float32 probability of 0 (a bias
    of -100), the entropy is NaN, no distance is less than another, and the order is what a sort makes of that: up to
    16 candidates the order of the scores, as in top-p; above, what libstdc++'s ``std::sort`` leaves of it.

    Notes
    -----
    At least ``least`` tokens stay.  Which of two at the same distance stays is left to the sort.
    Source: llama.cpp 0c1e57098, src/llama-sampler.cpp, ``llama_sampler_typical_apply``.

    Examples
    --------
    The second and third are the most typical of five; beside a token at -inf it is the best one.

    >>> from fairdraw.masses import RealMasses
    >>> scores = np.log(np.float32([0.4, 0.25, 0.15, 0.12, 0.08]))
    >>> rule = CandidateTypical(p=0.39)
    >>> rule.apply(Row.of(scores, RealMasses), Context()).kept.tolist()
    [1, 2]
    >>> rule.apply(Row.of(np.append(scores, np.float32(-np.inf)), RealMasses), Context()).kept.tolist()
    [0]
    """

    name: ClassVar[str] = "candidate_typical"
    domains: ClassVar[Domains] = MappingProxyType({"p": PROBABILITY, "least": Whole(1), "candidates": Whole(0)})

    p: float
    """Mass the set must exceed. In [0, 1]; off: 1."""
    least: int = 1
    """At least so many stay."""
    candidates: int = 2**31 - 1
    """How many candidates there are at most, those at -inf included; 0: those at -inf are none."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the most typical tokens, or those that the sort leaves in front."""
        if self.p >= 1:
            return row
        size = min(self.candidates, row.vocab)
        if row.kept.size < size or (size and lightest_bits(row) < LIGHTEST_BITS):
            size = max(size, row.kept.size)
            places = order_without_comparisons(size)
            ids = row.order[places[places < row.kept.size]]
            return self._first(row, Ranking(ids, np.arange(ids.size)))
        if self.least > 1:
            # One order for law and draw: a count has no threshold that could be in doubt.
            ids, keys, _ = Row(masses=row.integers, kept=row.kept).typical
            return self._first(row, Ranking(ids, keys))
        return Typical(p=self.p, boundary="strict", ties="any").apply(row, context)

    def _first(self, row: Row, ranking: Ranking) -> Row:
        reach = row.reach(ranking, self.p, "strict")
        return row.keep(ranking, Reach(*(min(max(count, self.least), row.kept.size) for count in reach)), "any")


def lightest_bits(row: Row) -> float:
    """log2 of the least probability of those kept."""
    masses = row.integers
    below = (float(row.scores[row.kept].min()) - float(masses.peak)) * masses.scale
    return below - log2_of(int(masses.values[row.kept].sum()) / masses.unit)


@lru_cache(maxsize=64)
def order_without_comparisons(size: int) -> Ids:
    """Where libstdc++'s ``std::sort`` brings entries of which none is less than another.

    Introsort on (first, last) of more than 16: the middle entry becomes the first, the rest is turned round, and both
    halves go on.

    Examples
    --------
    >>> order_without_comparisons(16).tolist() == list(range(16))
    True
    >>> order_without_comparisons(20).tolist()
    [10, 19, 18, 17, 16, 15, 14, 13, 12, 11, 0, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    """
    places = np.arange(size)
    parts = [(0, size)]
    while parts:
        first, last = parts.pop()
        if last - first <= SHORTEST_SORTED:
            continue
        middle = first + (last - first) // 2
        places[[first, middle]] = places[[middle, first]]
        places[first + 1 : last] = places[first + 1 : last][::-1].copy()
        cut = first + 1 + (last - first - 1) // 2
        parts += [(first, cut), (cut, last)]
    places.flags.writeable = False
    return places
