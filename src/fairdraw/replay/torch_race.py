"""What PyTorch's ``softmax`` and ``multinomial`` make of a row on the CPU, and how sure that is.

``multinomial(p, 1)`` takes the first largest p / q, with q ~ Exp(1) for every id of the row, kept or not, all in
float32.  Our softmax is within a few units of torch's last place (its exponential and the order of its sum depend
on the processor), so a token is certain unless two arrivals are closer than that.

Source: torch 2.13.0, ATen/native/Distributions.cpp (``multinomial_out``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdraw.masses import Ids, Scores
from fairdraw.replay.result import Replayed

CLOSE = np.float32(1 - 2.0**-20)
"""Two arrivals with at least this ratio may change places by float32 rounding: 8 units in the last place."""


def softmax(scores: Scores, kept: Ids) -> NDArray[np.float32]:
    """Probabilities in float32: exponentials rounded once, a float64 sum rounded once, one division.

    Parameters
    ----------
    scores : float32, shape (vocab,)
        The row.
    kept : int64, shape (n,)
        The ids that count; the others are as good as -inf.

    Returns
    -------
    float32, shape (n,)
        Of the kept ids.
    """
    kept_scores = scores[kept]
    weights = np.exp((kept_scores - kept_scores.max()).astype(np.float64)).astype(np.float32)
    return weights / np.float32(weights.sum(dtype=np.float64))


def race(scores: Scores, kept: Ids, noise: NDArray[np.float32]) -> Replayed:
    """The first largest probability / noise.

    Parameters
    ----------
    scores : float32, shape (vocab,)
        The row.
    kept : int64, shape (n,)
        The ids that may be drawn, ascending.
    noise : float32, shape (vocab,)
        Exp(1) numbers, one for every id of the row.

    Examples
    --------
    >>> row, noise = np.float32([2.0, 1.0, 0.0]), np.float32([4.0, 1.0, 0.5])
    >>> race(row, np.arange(3), noise)
    Replayed(token=1, doubt='')
    """
    with np.errstate(over="ignore", divide="ignore"):
        arrivals = softmax(scores, kept) / noise[kept]
    first = int(np.argmax(arrivals))
    best = arrivals[first]
    near = np.flatnonzero(arrivals >= best * CLOSE)
    doubt = f"ids {kept[near].tolist()} arrive within float32 rounding of each other" if near.size > 1 else ""
    return Replayed(token=int(kept[first]), doubt=doubt)
