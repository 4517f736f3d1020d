"""Pivot cut: vLLM's Triton kernel, which looks for a score at which to cut by top-k and top-p."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, Whole
from fairdraw.masses import Ids
from fairdraw.rows import Reach, Row, first_of
from fairdraw.stages.base import CutStage, Domains

SAMPLE = 8192
"""The kernel guesses where to look from the mean and the deviation of the first ids of the row."""
LOW_GUESSES = ((0.995, -3.813 * 1.25), (0.99, -0.110 * 1.25))
"""From which p on it looks below the mean, and how many deviations."""
HALF = 0.495
"""From this share of the vocabulary on a k makes it look below the mean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PivotCut(CutStage):
    """Keep the k best and, of them, the shortest prefix of mass p, lower ids first, except at the row's least score.

    Notes
    -----
    The kernel searches between the least and the largest score for one that leaves the right number above it.  It
    never lands on the least score itself, so a cut that reaches it comes out differently:

    - all scores equal: nothing is cut, neither by k nor by p;
    - the k-th is one of several with the least score: all of those go, and fewer than k stay;
    - p needs a token with the least score: without k the whole row stays; with a k that cuts nothing (a mask or
      min-p has left k tokens or fewer) all tokens with that score go, so less than p is kept.

    On a whole vocabulary no cut reaches so far; behind a mask, allowed ids or min-p it does.  From p = 0.99 on the
    search may begin below the least score, and then it lands.  Otherwise this is `TopK` and `TopP` with
    ``ties="lowest"``, with one reservation: where k and p stand together, the kernel finds the tokens equal to the
    last one by a logarithm of an exponential, and where rounding hides them from it, all of them stay.  That set is
    then another reading of the row.

    Source: vllm 0.33.0, v1/sample/ops/topk_topp_triton.py, run in Triton's interpreter; batches of at most 64.

    Examples
    --------
    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> rows = [Row.of(np.float32(scores), RealMasses) for scores in ([3, 2, 2, 1], [3, 2, 2, 2, 2], [0, 0, 0, 0])]
    >>> [PivotCut(k=2).apply(row, Context()).kept.tolist() for row in rows]
    [[0, 1], [0], [0, 1, 2, 3]]
    >>> row = Row.of(np.float32([3, 2, 2, -np.inf]), RealMasses)
    >>> [PivotCut(k=k, p=0.9).apply(row, Context()).kept.tolist() for k in (None, 3)]
    [[0, 1, 2], [0]]
    """

    name: ClassVar[str] = "pivot_cut"
    domains: ClassVar[Domains] = MappingProxyType({"k": Whole(1), "p": PROBABILITY})

    k: int | None = None
    """How many tokens stay, at least 1; None: all."""
    p: float | None = None
    """Mass that the prefix of what k left must reach, in [0, 1]; None or 1: off."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with what the search keeps."""
        least = row.scores[row.kept].min()
        above = int(np.count_nonzero(row.scores[row.kept] > least))
        if not above:
            return row
        k = None if self.k is None or self.k >= row.vocab else self.k
        if k is not None and k < row.kept.size:
            lost = above < k < HALF * row.vocab
            cut = row.keep(row.best, above if lost else k, "lowest")
            return cut if self._keeps_all else _or_all_equals(cut.keep(cut.best, self._reach(cut), "lowest"), row)
        if self._keeps_all:
            return row
        lands = k is not None and self._starts_below(row, float(least))

        def choose(count: int) -> tuple[Ids, tuple[Ids, ...]]:
            if count <= above or lands:
                return first_of(row.best, count, "lowest")
            return row.best.ids[: above if k is not None else None], ()

        cut = row.cut(self._reach(row), choose)
        return cut if k is None else _or_all_equals(cut, row)

    @property
    def _keeps_all(self) -> bool:
        return self.p is None or self.p >= 1

    def _reach(self, row: Row) -> Reach:
        return row.reach(row.best, self.p or 0.0, "inclusive")

    def _starts_below(self, row: Row, least: float) -> bool:
        """Whether the search for p begins below the least score."""
        sample = row.scores[row.kept[row.kept < SAMPLE]].astype(np.float64)
        if not sample.size:
            return least > 0
        deviations = next((low for p, low in LOW_GUESSES if self.p is not None and self.p >= p), 0.0)
        return bool(sample.mean() + deviations * sample.std() < least)


def _or_all_equals(cut: Row, row: Row) -> Row:
    """The row cut, with every token that equals its last one as another reading."""
    equal = int(np.count_nonzero(row.scores[row.kept] >= cut.scores[cut.kept].min()))
    if equal == cut.kept.size:
        return cut
    return replace(cut, others=(*cut.others, row.keep(row.best, equal, "lowest")))
