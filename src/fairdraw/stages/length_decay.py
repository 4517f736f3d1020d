"""Exponential length decay: the end of a text gets likelier with each token beyond a length."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Real, TokenIds, Whole
from fairdraw.masses import Scores
from fairdraw.stages.base import Domains, Edits, EditStage, known_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class LengthDecay(EditStage):
    """Add |logit| * (factor ^ n - 1) to each end id, n being how many tokens the output is over ``start``.

    The size of the logit, not its sign, is multiplied, so that a negative one rises as well; one of 0 never does.

    Notes
    -----
    float32, with the factor's power worked out in float64 before.
    Source: transformers 5.24.0, generation/logits_process.py, ``ExponentialDecayLengthPenalty``.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> stage = LengthDecay(start=2, factor=2.0, end_ids=[0, 1])
    >>> scores = np.float32([1, -1, 5])
    >>> [stage.edits(scores, Context(history=History(output=[2] * n)))[1].tolist() for n in (2, 3, 4)]
    [[], [2.0, 0.0], [4.0, 2.0]]
    """

    name: ClassVar[str] = "length_decay"
    domains: ClassVar[Domains] = MappingProxyType(
        {"start": Whole(0), "factor": Real(0, open="low"), "end_ids": TokenIds()}
    )

    start: int
    """Length of the output up to which nothing happens."""
    factor: float
    """What the bonus grows by with each token. Above 0; off: 1."""
    end_ids: tuple[int, ...]
    """Ids that end the text."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The end ids and their new scores, once the output is long enough."""
        ids = np.array(sorted(set(self.end_ids)), np.int64)
        known_ids("end_ids", ids, scores.size)
        beyond = context.history.output_length - self.start
        if beyond <= 0:
            return ids[:0], scores[:0]
        with np.errstate(over="ignore", invalid="ignore"):
            bonus = np.abs(scores[ids]) * (np.float64(self.factor) ** beyond - 1).astype(np.float32)
            return ids, scores[ids] + np.where(np.isfinite(scores[ids]), bonus, np.float32(0))
