"""At least so many: what a cut took away comes back where it left too few (llama.cpp's ``min_keep``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Choice, Whole
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, FilterStage
from fairdraw.stages.checkpoint import CHECKPOINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class AtLeast(FilterStage):
    """Where fewer than ``count`` tokens are left, give back what a cut since the checkpoint has removed.

    ``"best"`` gives back the best ones until there are ``count``, for cuts from below: top-p, min-p.  ``"all"`` undoes
    the cut, for one from above: XTC.

    Notes
    -----
    The checkpoint's row is to be the one before that cut, with nothing but the cut between.  Of equal tokens the
    lower ids come back first.
    Source: llama.cpp 0c1e57098, src/llama-sampler.cpp, ``min_keep`` of top-p, min-p and XTC.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> from fairdraw.stages.min_p import MinP
    >>> row = Row.of(np.log(np.float32([0.6, 0.3, 0.1])), RealMasses).checkpoint("raw")
    >>> cut = MinP(p=0.9).apply(row, Context())
    >>> cut.kept.tolist(), AtLeast(count=2).apply(cut, Context()).kept.tolist()
    ([0], [0, 1])
    """

    name: ClassVar[str] = "at_least"
    domains: ClassVar[Domains] = MappingProxyType(
        {"count": Whole(1), "back": Choice(("best", "all")), "mass": Choice(CHECKPOINTS)}
    )

    count: int
    """How many are to be left."""
    back: Literal["best", "all"] = "best"
    """What comes back where there are fewer."""
    mass: str = "raw"
    """The row before the cut."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with enough tokens, if it had them."""
        before = row.at(self.mass)
        if row.kept.size >= min(self.count, before.kept.size):
            return row
        if self.back == "all":
            return replace(before, checkpoints=row.checkpoints)
        return replace(row, kept=np.sort(before.order[: self.count]), others=(), doubtful=())
