"""The total order (score descending, id ascending) as whole numbers: an id's code ascends in it.

::

    code = flipped << 32 | id        64 bits; flipped orders float32 scores from the largest to the smallest

So a cut is one number, the last code kept, and a search in the order is a search among whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdraw.masses import Ids, Scores

Codes = NDArray[np.uint64]
KEY = 1 << 32
"""Codes of one score: this many, of which those of existing ids are used."""
_SIGN, _MAGNITUDE = np.int32(31), np.int32(0x7FFFFFFF)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Cut:
    """A prefix of the total order.  The lesser of two cuts keeps less, so cuts merge by minimum.

    Examples
    --------
    >>> cut = Cut.at(1.5, 7)
    >>> cut.score, cut.id, cut < cut.with_ties() < Cut.at(1.25, 0) < NO_CUT
    (1.5, 7, True)
    """

    code: int
    """The last code that may be kept."""

    @classmethod
    def at(cls, score: float, token: int) -> Cut:
        """End with this id of this score."""
        return cls(code=int(encode(np.array([score], np.float32), np.array([token]))[0]))

    @property
    def score(self) -> float:
        """The lowest score of which anything is kept."""
        return float(decode(np.array([self.code], np.uint64))[0][0])

    @property
    def id(self) -> int:
        """The last id that is kept of that score."""
        return self.code % KEY

    def with_ties(self) -> Cut:
        """Keep every id of the last score."""
        return Cut(code=self.code | (KEY - 1))


NO_CUT = Cut(code=(1 << 64) - 1)
"""Keeps everything."""


def encode(scores: Scores, ids: Ids) -> Codes:
    """Codes of ids with these scores; -0.0 counts as 0.0.

    Examples
    --------
    >>> codes = encode(np.float32([2, -0.0, 0, -3]), np.arange(4))
    >>> bool((codes[:-1] < codes[1:]).all())
    True
    """
    bits = (scores + np.float32(0)).view(np.int32)
    flipped = (bits ^ ((bits >> _SIGN) & _MAGNITUDE)) ^ _MAGNITUDE
    return flipped.view(np.uint32).astype(np.uint64) << np.uint64(32) | ids.astype(np.uint64)


def decode(codes: Codes) -> tuple[Scores, Ids]:
    """Scores and ids of codes."""
    key = (codes >> np.uint64(32)).astype(np.uint32).view(np.int32) ^ _MAGNITUDE
    scores = (key ^ ((key >> _SIGN) & _MAGNITUDE)).view(np.float32)
    return scores, (codes & np.uint64(KEY - 1)).astype(np.int64)


def best_codes(codes: Codes, most: int) -> Codes:
    """The first codes in the total order, ascending; fewer if there are fewer."""
    return np.sort(codes if codes.size <= most else np.partition(codes, most - 1)[:most])
