"""Penalties on tokens that were seen: repetition (multiplied), presence and frequency (subtracted)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Choice, Real, Whole
from fairdraw.history import Scope
from fairdraw.masses import Scores
from fairdraw.stages.base import SCOPE, UNKNOWN_IDS, Domains, Edits, EditStage, known_ids

_WINDOW = Whole(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionPenalty(EditStage):
    """Divide the logit of each id that was seen by the penalty, or multiply it where it is negative; once an id.

    Keskar et al., "CTRL" (2019), with the sign rule that all engines added.  A logit of exactly 0 stays 0.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> seen = Context(history=History(prompt=[0, 1, 1, 1]))
    >>> RepetitionPenalty(penalty=2.0).edits(np.float32([2, -2, 0.5]), seen)[1].tolist()
    [1.0, -4.0]
    """

    name: ClassVar[str] = "repetition_penalty"
    domains: ClassVar[Domains] = MappingProxyType(
        {"penalty": Real(0, open="low"), "scope": SCOPE, "window": _WINDOW, "unknown_ids": UNKNOWN_IDS}
    )

    penalty: float
    """Above 0; off: 1."""
    scope: Scope = "all"
    """Which tokens count as seen."""
    window: int | None = None
    """How many of the last tokens of the scope; None: all."""
    unknown_ids: Literal["error", "ignore"] = "error"
    """What happens to a seen id that the row does not have."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The ids seen and their new scores."""
        ids, _ = context.history.counts(self.scope, self.window)
        ids = ids[known_ids("history", ids, scores.size, self.unknown_ids)]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            old, penalty = scores[ids], np.float32(self.penalty)
            return ids, np.where(old < 0, old * penalty, old / penalty)


@dataclass(frozen=True, slots=True, kw_only=True)
class PresenceFrequencyPenalty(EditStage):
    """Subtract a number from each id that was seen, and another for each time that it was.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> seen = Context(history=History(output=[1, 1]))
    >>> PresenceFrequencyPenalty(presence=0.5, frequency=0.25).edits(np.float32([2, -0.5]), seen)[1].tolist()
    [-1.5]
    """

    name: ClassVar[str] = "presence_frequency_penalty"
    domains: ClassVar[Domains] = MappingProxyType(
        {
            "presence": Real(),
            "frequency": Real(),
            "scope": SCOPE,
            "window": _WINDOW,
            "operation": Choice(("frequency_first", "together")),
            "unknown_ids": UNKNOWN_IDS,
        }
    )

    presence: float = 0.0
    """Subtracted once an id. Off: 0."""
    frequency: float = 0.0
    """Subtracted for each time. Off: 0."""
    scope: Scope = "output"
    """Which tokens count as seen."""
    window: int | None = None
    """How many of the last tokens of the scope; None: all."""
    operation: Literal["frequency_first", "together"] = "frequency_first"
    """Two float32 subtractions, or one of the sum."""
    unknown_ids: Literal["error", "ignore"] = "error"
    """What happens to a seen id that the row does not have."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The ids seen and their new scores."""
        ids, counts = context.history.counts(self.scope, self.window)
        known = known_ids("history", ids, scores.size, self.unknown_ids)
        ids, counts = ids[known], counts[known]
        with np.errstate(over="ignore", invalid="ignore"):
            often, once = counts.astype(np.float32) * np.float32(self.frequency), np.float32(self.presence)
            subtracted_once = self.operation == "together"
            values = scores[ids] - (often + once) if subtracted_once else scores[ids] - often - once
        return ids, values.astype(np.float32, copy=False)
