"""rand's ``WeightedIndex<f32>``: one uniform against running sums in float32."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairdraw.errors import LogitsError
from fairdraw.streams.rust_std import Words

Singles = NDArray[np.float32]

INVALID = "A weight is negative, too large or not a valid number"
EMPTY = "Weights sequence is empty/too long/unordered"
ALL_ZERO = "Not enough weights > zero"
"""What rand says."""


def engine_words(text: str) -> str:
    """The hint of an error that candle reports in another library's words."""
    return f"candle@0.11 itself says: {text!r}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedIndex:
    """A table from which one word draws a place.

    u = (word >> 9) * 2^-23, and the place is the number of running sums, the total left out, that are <= u * total.
    A weight of zero never wins.  Sums and product are float32, so a long row loses its light weights in the sum.

    Notes
    -----
    Source: rand 0.9.5, ``src/distr/weighted/weighted_index.rs`` and ``src/distr/uniform_float.rs``.  The scale of
    the uniform is the total itself: the loop that would lower it cannot run when the lower bound is 0.
    """

    sums: Singles = field(repr=False)
    """Running sums in the order of the weights, the total last."""

    @classmethod
    def of(cls, weights: Singles, where: str) -> WeightedIndex:
        """Sum the weights up; they need not add up to 1.

        Raises
        ------
        LogitsError
            A weight is negative or NaN, the total is infinite, or all are zero; ``where`` says which weights.
        """
        allowed = weights >= 0
        if not allowed.all():
            place = int(np.argmin(allowed))
            raise LogitsError(
                where, "be >= 0 everywhere", f"{weights[place]!s} as weight {place} of the draw", engine_words(INVALID)
            )
        with np.errstate(over="ignore"):
            sums = np.add.accumulate(weights, dtype=np.float32)
        if sums[-1] == 0:
            raise LogitsError(where, "have an entry above 0", "zeros alone", engine_words(ALL_ZERO))
        if sums[-1] == np.inf:
            raise LogitsError(where, "have a finite sum in float32", "inf", engine_words("NonFinite") + ", in a panic")
        return cls(sums=sums)

    def places(self, words: Words) -> NDArray[np.int64]:
        """The place that each word draws."""
        uniforms = (words >> np.uint32(9)).astype(np.float32) * np.float32(2.0**-23)
        return np.searchsorted(self.sums[:-1], uniforms * self.sums[-1], side="right")
