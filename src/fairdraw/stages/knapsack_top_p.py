"""exllamav2's top-p: the token that crosses p goes, and lighter ones fill what is left."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, Choice
from fairdraw.masses import Ids
from fairdraw.rows import DOUBT, Reach, Row
from fairdraw.stages.base import CutStage, Domains

LIGHTEST_SHARE = 1e-6
"""Lighter tokens are passed over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnapsackTopP(CutStage):
    """Put tokens into a bag one after another, and whenever it weighs more than p, take out its lightest ones.

    One token stays in any case.  The token that crosses p is itself the lightest then, so it goes, and lighter ones
    after it may fit: the result is no prefix.  A token lighter than 1e-6 never goes in.

    Notes
    -----
    The result depends on the order in which tokens come: by id, or, after a top-k, by score.  Of equal tokens the
    lower id goes out first.  Integer masses decide for the law as well.
    Source: exllamav2 0.3.2 @da07fac, exllamav2_ext/cpp/sampling.cpp, ``top_p_cpu``; off at 0 and 1 there.

    Examples
    --------
    0.5 + 0.3 is too much, 0.5 + 0.1 + 0.05 is not.

    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.1, 0.05, 0.05])), RealMasses)
    >>> KnapsackTopP(p=0.68).apply(row, Context()).kept.tolist()
    [0, 2, 4]
    """

    name: ClassVar[str] = "knapsack_top_p"
    domains: ClassVar[Domains] = MappingProxyType({"p": PROBABILITY, "order": Choice(("score", "id"))})

    p: float
    """Mass that the bag may have. In [0, 1]."""
    order: Literal["score", "id"] = "score"
    """The order in which tokens come."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with what is in the bag."""
        total = int(row.integers.values[row.kept].sum())
        limit, doubt = self.p * total, DOUBT * total
        # Not numbers of tokens: which of the three limits is meant.
        return row.cut(Reach(-1, 0, 1), lambda side: (self._bag(row, limit + side * doubt, total), ()))

    def _bag(self, row: Row, limit: float, total: int) -> Ids:
        ids = row.order if self.order == "score" else row.kept
        bag: list[tuple[int, int]] = []
        weight = 0
        for token, mass in zip(ids.tolist(), row.integers.values[ids].tolist(), strict=True):
            if mass < LIGHTEST_SHARE * total or (bag and weight > limit and mass < bag[0][0]):
                continue
            heappush(bag, (mass, token))
            weight += mass
            while weight > limit and len(bag) > 1:
                weight -= heappop(bag)[0]
        return np.array(sorted(token for _, token in bag), np.int64)
