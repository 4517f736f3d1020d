"""Top-n-sigma: a threshold in standard deviations of the logits (Tang et al., "Top-n-sigma", 2024)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import Real
from fairdraw.rows import Row
from fairdraw.stages.base import CutStage, Domains


@dataclass(frozen=True, slots=True, kw_only=True)
class TopNSigma(CutStage):
    """Keep tokens whose logit is at most n standard deviations below the best one's.

    The deviation is that of the logits still kept, divided by their number, not by one less.  A temperature before
    or after makes no difference.  Equal tokens stay or go together; the best one always stays.

    Notes
    -----
    Source: llama.cpp 0c1e57098, src/llama-sampler.cpp, ``llama_sampler_top_n_sigma_apply``, where n <= 0 is off.
    It sums in float32; the deviation here is of exact sums (`fairdraw.masses.deviation`).

    Examples
    --------
    The deviation of these four is 1.118.

    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.float32([3, 2, 1, 0]), RealMasses)
    >>> [TopNSigma(n=n).apply(row, Context()).kept.tolist() for n in (0.5, 1.0, 2.0)]
    [[0], [0, 1], [0, 1, 2]]
    """

    name: ClassVar[str] = "top_n_sigma"
    domains: ClassVar[Domains] = MappingProxyType({"n": Real(0, open="low")})

    n: float
    """How many deviations below the best logit, above 0."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the tokens above the threshold."""
        return row.keep(row.best, row.within(self.n * row.deviation), "all")
