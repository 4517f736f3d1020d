"""Finite scores: what is forbidden gets the smallest number instead."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.rows import Row
from fairdraw.stages.base import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class FiniteScores(Stage):
    """Put float32's smallest number where a score is -inf: probability 0 still, yet allowed.

    Notes
    -----
    A rule that comes after can bring such an id back, and where all others are forbidden later these are drawn: by
    the law all alike, by the race the lowest id, since no noise shows beside a score of that size.  A row that holds
    NaN or ``+inf``, or nothing but -inf, is refused before any stage.
    Source: transformers 5.24.0, generation/logits_process.py, ``InfNanRemoveLogitsProcessor``.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.float32([1, -np.inf]), RealMasses)
    >>> FiniteScores().apply(row, Context()).scores.tolist()
    [1.0, -3.4028234663852886e+38]
    """

    name: ClassVar[str] = "finite_scores"

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with finite scores alone."""
        scores = np.full(row.vocab, np.finfo(np.float32).min)
        scores[row.kept] = row.scores[row.kept]
        fresh = row.restarted(scores)
        return replace(fresh, masses=replace(fresh.masses, scale=row.masses.scale))
