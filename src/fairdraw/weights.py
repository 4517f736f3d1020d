"""The distribution after all stages, with how it came about."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairdraw.masses import Ids
from fairdraw.rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStep:
    """The row after one stage."""

    name: str
    """Name of the stage; "logits" for the row that came in."""
    detail: str
    """The stage with its numbers and switches; "" for the row that came in."""
    row: Row

    @property
    def kept(self) -> int:
        """How many tokens may be drawn."""
        return self.row.kept.size

    @property
    def mass(self) -> float:
        """Share of the mass of all tokens that no edit forbade."""
        return self.row.kept_share

    @property
    def entropy(self) -> float:
        """Entropy of the kept tokens, in nats."""
        return self.row.entropy


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTie:
    """Equal tokens of which the engine keeps an unspecified part."""

    certain: Ids
    """Ids that are kept whatever the engine does."""
    group: Ids
    """The equal ones."""
    count: int
    """How many of the group are kept."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """What a plan samples from.

    Two things can be open, and are reported instead of guessed.  ``open_ties``: the engine does not say which of
    several equal tokens it keeps; ``probabilities`` then has the lower ids.  ``others``: a cut lies within 2^-20
    of its threshold, so that rounding decides; ``probabilities`` has the set that `fairdraw.sample` draws from,
    ``others`` the distributions of the other sets.

    Examples
    --------
    >>> import numpy as np
    >>> import fairdraw as fd
    >>> weights = fd.law(fd.Plan.parse("fairdraw: top_k=2"), np.float32([3, 2, 2, 1]))
    >>> weights.support.tolist(), weights.probabilities.round(3).tolist()
    ([0, 1], [0.731, 0.269, 0.0, 0.0])
    """

    probabilities: NDArray[np.float64]
    """Of every id, float64, shape (vocab,); 0 where it cannot be drawn."""
    trace: tuple[TraceStep, ...]
    """The row that came in and the row after each stage."""
    open_ties: tuple[OpenTie, ...] = ()
    others: tuple[Weights, ...] = ()

    @cached_property
    def support(self) -> Ids:
        """Ids that can be drawn, ascending."""
        return np.flatnonzero(self.probabilities)

    @cached_property
    def log_weights(self) -> NDArray[np.float64]:
        """Natural logarithm of the probabilities; -inf where an id cannot be drawn."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities)

    @cached_property
    def entropy(self) -> float:
        """Entropy in nats."""
        p = self.probabilities[self.support]
        return float(-(p * np.log(p)).sum()) + 0.0

    @property
    def in_doubt(self) -> Ids:
        """Ids that another reading of a boundary tie would add or remove, ascending."""
        sets = [self.support, *(other.support for other in self.others)]
        every, common = sets[0], sets[0]
        for ids in sets[1:]:
            every, common = np.union1d(every, ids), np.intersect1d(common, ids)
        return np.setdiff1d(every, common)

    def total_variation(self, other: Weights) -> float:
        """Half the sum of the absolute differences: the largest difference in the probability of any event."""
        return float(np.abs(self.probabilities - other.probabilities).sum() / 2)
