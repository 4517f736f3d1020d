"""A grammar after the draw: only a token that breaks it is drawn again, now with the mask (llama.cpp, mistral.rs)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Context
from fairdraw.domains import Choice
from fairdraw.masses import LOG2E
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, FilterStage, Stage
from fairdraw.stages.checkpoint import LABELS
from fairdraw.streams.logarithms import log2

LIGHTEST = 2.0**-100
"""Share of a kept token too light for an integer mass."""
_DOMAINS: Domains = MappingProxyType({"label": Choice(LABELS)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Restart(Stage):
    """Go back to a remembered row, as if nothing had happened since; without one, stay.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> from fairdraw.stages.top_k import TopK
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.2])), RealMasses).checkpoint("begin")
    >>> Restart().apply(TopK(k=1).apply(row, Context()), Context()).kept.tolist()
    [0, 1, 2]
    """

    name: ClassVar[str] = "restart"
    domains: ClassVar[Domains] = _DOMAINS

    label: str = "begin"
    """The name of the row."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the remembered row."""
        return replace(row.checkpoints.get(self.label, row), checkpoints=row.checkpoints)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redraw(FilterStage):
    """Mix two laws: f, drawn without the mask and remembered, and g, this row's, drawn if f's token is forbidden.

    P(t) = f(t) + f(all forbidden) g(t) for an allowed t.  Without a mask, or a remembered row, nothing is forbidden.

    Notes
    -----
    The law of a step is the engine's, to the rounding of a float32 score.
    Source: llama.cpp 0c1e57098, common/sampling.cpp, ``common_sampler_sample``; mistral.rs 0.9.2 does the same.

    Examples
    --------
    f is 0.5, 0.3, 0.2; the first is forbidden; g has the two others, 0.6 and 0.4: 0.3 + 0.5 * 0.6 and 0.2 + 0.5 * 0.4.
    (Here g is made of f, so it is a plain mask's law; cuts before the mask make the difference.)

    >>> from fairdraw.masses import RealMasses
    >>> from fairdraw.stages.masks import Mask
    >>> context = Context(mask=np.array([False, True, True]))
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.2])), RealMasses).checkpoint("drawn")
    >>> Redraw().apply(Mask().apply(row, context), context).probabilities.round(6).tolist()
    [0.0, 0.6, 0.4]
    """

    name: ClassVar[str] = "redraw"
    domains: ClassVar[Domains] = _DOMAINS

    label: str = "drawn"
    """The name of the row that is drawn from first."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the mixed weights."""
        first = replace(row.checkpoints.get(self.label, row), checkpoints=row.checkpoints)
        if context.mask is None or context.mask[first.kept].all():
            return first
        shares = _shares(first)
        allowed = np.where(context.mask, shares, 0.0)
        mixed = allowed + (1.0 - float(allowed.sum())) * _shares(row)
        kept = np.union1d(first.kept[context.mask[first.kept]], row.kept)
        scores = np.full(row.vocab, -np.inf, np.float32)
        scores[kept] = log2(np.maximum(mixed[kept], LIGHTEST)) / LOG2E
        ties = (*first.open_ties, *row.open_ties)
        return replace(row, kept=kept, open_ties=ties, others=()).reweighted(scores)


def _shares(row: Row) -> NDArray[np.float64]:
    """Of every id, from integers: division alone, so that every machine has the same scores."""
    out, values = np.zeros(row.vocab), row.integers.values[row.kept]
    out[row.kept] = values / float(values.sum())
    return out
