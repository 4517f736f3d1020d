"""How often a draft can be accepted: what the laws allow, whatever rule is used."""

from __future__ import annotations

import numpy as np

from fairdraw.generation.speculation.chance import Reals


def lossless_bound(target: Reals, law: Reals) -> Reals:
    """1 - TV, the sum of min(p, q): no rule that keeps the target's law accepts one draft more often.

    Parameters
    ----------
    target, law : float64, shape (..., vocab)
        p and q, each summing to 1.

    Returns
    -------
    float64, shape (...)

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.2])
    >>> float(lossless_bound(p, q).round(12)), float(coupled_bound(p, q).round(12))
    (0.7, 0.538461538462)
    """
    return np.minimum(target, law).sum(axis=-1)


def coupled_bound(target: Reals, law: Reals) -> Reals:
    """(1 - TV) / (1 + TV): two races with common noise agree at least so often.

    No rule in which neither side knows the other's law does better for all pairs of laws.  Source: Daliri, Musco,
    Suresh, "Coupling without Communication and Drafter-Invariant Speculative Decoding" (2024).
    """
    overlap = lossless_bound(target, law)
    return overlap / (2 - overlap)
