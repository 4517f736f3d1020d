"""Log-softmax: scores as logarithms of their own probabilities."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.masses import LOG2E, IntegerMasses, Scores
from fairdraw.rows import Row, log2_of
from fairdraw.stages.base import Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSoftmax(Stage):
    """Subtract one number from all scores, so that their exponentials sum to 1.

    In real numbers that changes no law.  In float32 scores that differed may become equal, which greedy shows.

    Notes
    -----
    The best score is subtracted first, then the logarithm of the sum, each rounded to float32.  The sum is of integer
    masses, so law and draw have the same scores.
    Source: transformers 5.24.0, generation/logits_process.py, ``LogitNormalization``; torch 2.13.0, CPU.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.float32([0, 0]), RealMasses)
    >>> np.exp(LogSoftmax().apply(row, Context()).scores).tolist()
    [0.5, 0.5]
    """

    name: ClassVar[str] = "log_softmax"

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with its logarithms."""
        scores = np.full(row.vocab, -np.inf, np.float32)
        scores[row.kept] = row.scores[row.kept]
        return row.rescored(log_softmax(scores))


def log_softmax(scores: Scores) -> Scores:
    """Scores less the best one, less the logarithm of the sum of what remains as exponentials; float32.

    Examples
    --------
    >>> log_softmax(np.float32([2, 2])).tolist()
    [-0.6931471824645996, -0.6931471824645996]
    """
    masses = IntegerMasses(scores=scores, scale=LOG2E, peak=scores.max())
    total = int(masses.values[scores > -np.inf].sum())
    return scores - masses.peak - np.float32(log2_of(total / masses.unit) * math.log(2.0))
