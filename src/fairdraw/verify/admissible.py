"""The laws that one reading of a plan admits, where an engine does not say which of several equal tokens it keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdraw.masses import Ids
from fairdraw.weights import Weights


@dataclass(frozen=True, kw_only=True)
class Admissible:
    """Certain ids, and any ``count`` of the tied ones: every such choice is a law that the engine may follow.

    Examples
    --------
    >>> import fairdraw as fd
    >>> exactly_two = fd.law(fd.Plan.parse("candle: TopK k=2 temperature=1"), [3.0, 2.0, 2.0, 1.0])
    >>> admitted = Admissible.of(exactly_two)
    >>> admitted.certain.tolist(), admitted.tied.tolist(), admitted.count
    ([0], [1, 2], 1)
    """

    value: NDArray[np.float64]
    """Probability of each id if it is kept, shape (vocab,)."""
    certain: Ids
    """Ids that every choice has, ascending."""
    tied: Ids
    """Ids of which the engine keeps an unspecified part, ascending."""
    count: int
    """How many of them."""

    @classmethod
    def of(cls, weights: Weights) -> Admissible:
        """The laws that a reading admits; ties that a later stage settled do not count."""
        value, tied = weights.probabilities.copy(), np.zeros(0, np.int64)
        for tie in weights.open_ties:
            kept = np.count_nonzero(weights.probabilities[tie.group])
            if 0 < kept < tie.group.size:
                value[tie.group] = weights.probabilities[tie.group].max()
                tied = np.union1d(tied, tie.group)
        certain = np.setdiff1d(weights.support, tied)
        return cls(value=value, certain=certain, tied=tied, count=weights.support.size - certain.size)

    def meets(self, other: Admissible, tolerance: float) -> bool:
        """Whether both admit a law that is the same within a total variation.

        A common set has every certain id of either side and else only ids that both sides leave open; so many of
        them as fill it are taken, the best matching ones.
        """
        size = self.certain.size + self.count
        needed = np.union1d(self.certain, other.certain)
        possible = np.intersect1d(self._possible, other._possible)
        free = np.setdiff1d(possible, needed)
        missing = size - needed.size
        if size != other.certain.size + other.count or not 0 <= missing <= free.size:
            return False
        # An id that one side needs and the other cannot have weighs 0 there, which shows here.
        apart = np.abs(self.value - other.value)
        return bool(apart[needed].sum() + np.sort(apart[free])[:missing].sum() <= 2 * tolerance)

    @property
    def _possible(self) -> Ids:
        return np.union1d(self.certain, self.tied)
