"""exllamav2's min-p: a candidate too many passes, or comes back after it had been cut."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, Choice
from fairdraw.masses import Ids
from fairdraw.rows import Row, log2_of
from fairdraw.stages.base import Domains, FilterStage
from fairdraw.stages.checkpoint import CHECKPOINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class SpareMinP(FilterStage):
    """Min-p, as two pointers that sort the candidates in place and may take one candidate too many.

    If all n candidates pass, the one behind them in the array joins: candidate n, counted from 0, of the row before
    the last cut.  It brings the probability that it had there, beside the n others' new ones that add up to 1;
    should it be one of them, it counts twice.  If some fail and the candidates are not sorted, one of those that
    fail may stay.  Sorted candidates of which some fail are cut as by min-p.  One token alone is left alone.

    Notes
    -----
    ``mass`` is a checkpoint before the last cut that removed something; ``order`` is how the engine's array stood
    there: by id before any cut, by score after one.  After that cut it stands by score.  Where no cut left anything
    behind the candidates the engine reads beyond its array; here nothing joins.  The new weight is a float32 score.
    Source: exllamav2 0.3.2 @da07fac, exllamav2_ext/cpp/sampling.cpp, ``min_p_cpu`` with ``keep_threshold``; its
    top_a has the same fault.

    Examples
    --------
    Top-k left two of four; id 2 comes back with its 0.2 beside their 1.

    >>> from fairdraw.masses import RealMasses
    >>> from fairdraw.stages.top_k import TopK
    >>> row = TopK(k=2).apply(Row.of(np.log(np.float32([0.4, 0.3, 0.2, 0.1])), RealMasses).checkpoint("raw"), Context())
    >>> SpareMinP(p=0.1).apply(row, Context()).probabilities.round(4).tolist()
    [0.4762, 0.3571, 0.1667, 0.0]
    """

    name: ClassVar[str] = "spare_min_p"
    domains: ClassVar[Domains] = MappingProxyType(
        {"p": PROBABILITY, "mass": Choice(("current", *CHECKPOINTS)), "order": Choice(("id", "score"))}
    )

    p: float
    """Share of the best token's mass. In [0, 1]."""
    mass: str = "raw"
    """The row before the last cut."""
    order: Literal["id", "score"] = "id"
    """In which order its candidates stood."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the tokens above the threshold, and perhaps one more."""
        if row.kept.size == 1:
            return row
        before = row.at(self.mass)
        earlier = before.kept if self.order == "id" else before.order
        candidates = earlier if row.kept.size == earlier.size else row.order
        reach = row.at_least(self.p, "best", "inclusive")
        # Equal scores stay or go together, so a count of the best says which pass.
        after = row.cut(reach, lambda count: (taken(candidates, row.order[: max(count, 1)]), ()))
        if earlier.size <= row.kept.size:
            return after
        more = _joined(row, before, int(earlier[row.kept.size]))
        main, *others = (
            more if reading.kept.size == row.kept.size else reading
            for reading in (replace(after, others=()), *after.others)
        )
        return replace(main, others=tuple(others))


def taken(candidates: Ids, passing: Ids) -> Ids:
    """What two pointers over an array leave in front when entries that pass are brought there.

    Examples
    --------
    Of 0 1 2 3 4 5, the ids 2 and 5 fail; 2 ends up in front all the same.

    >>> taken(np.arange(6), np.array([0, 1, 3, 4])).tolist()
    [0, 1, 2, 3, 4]
    """
    passes = [*np.isin(candidates, passing).tolist(), False]
    array = list(range(candidates.size + 1))
    left, right = 0, candidates.size - 1
    while right >= left:
        while passes[array[left]] and right >= left:
            left += 1
        if passes[array[right]]:
            array[left], array[right] = array[right], array[left]
            left += 1
        right -= 1
    return np.sort(candidates[[place for place in array[:left] if place < candidates.size]])


def _joined(row: Row, before: Row, spare: int) -> Row:
    """The row with one more candidate, which has the probability that it had before beside the others' total of 1."""
    then, now = before.integers, row.integers
    share = int(then.values[spare]) / int(then.values[before.kept].sum())
    mass = share * int(now.values[row.kept].sum())
    if spare in row.kept:
        mass += int(now.values[spare])
    if mass < 1:  # too light for an integer mass
        return row
    score = float(now.peak) + log2_of(mass / now.unit) / now.scale
    return replace(row, kept=np.union1d(row.kept, spare), others=()).edited(
        np.array([spare]), np.array([score], np.float32)
    )
