"""DRY, don't repeat yourself: a penalty on tokens that would go on with a repetition (p-e-w, 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Context
from fairdraw.domains import Real, TokenSequences, Whole
from fairdraw.history import Scope
from fairdraw.masses import Scores
from fairdraw.stages.base import SCOPE, UNKNOWN_IDS, Domains, Edits, EditStage, known_ids

LARGEST_LOG = 88.7228391
"""About ln of the largest float32: no power of the base goes beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dry(EditStage):
    """Subtract multiplier * base ^ (length - allowed_length) from each id that would lengthen a repetition.

    The length is that of the longest end of the text that stood before this id earlier on; shorter ones than
    ``allowed_length`` are free.  It reaches back at most to the last breaker, a sequence of ids; an id that is a
    breaker by itself is never penalised.

    Notes
    -----
    One float32 subtraction of a product worked out in float64.  The exponent is held where base ^ exponent would
    leave float32.  ``longest`` is mistral.rs's bound of 50.  Cost O(tokens), more in text that repeats itself.
    Source: llama.cpp 0c1e57098, src/llama-sampler.cpp, ``llama_sampler_dry_apply`` (window 64 there; the whole
    context in mistral.rs 0.9.2).  Where a short breaker lies inside a longer one, the one that begins last counts.

    Examples
    --------
    The text ends as it began, with 1 2 3; then came 4, whose third token is one too many.

    >>> from fairdraw.history import History
    >>> context = Context(history=History(prompt=[1, 2, 3, 4, 9, 1, 2, 3]))
    >>> Dry(multiplier=1.0, base=2.0).edits(np.zeros(10, np.float32), context)
    (array([4]), array([-2.], dtype=float32))
    """

    name: ClassVar[str] = "dry"
    domains: ClassVar[Domains] = MappingProxyType(
        {
            "multiplier": Real(0),
            "base": Real(1),
            "allowed_length": Whole(0),
            "window": Whole(1),
            "breakers": TokenSequences(),
            "longest": Whole(1),
            "scope": SCOPE,
            "unknown_ids": UNKNOWN_IDS,
        }
    )

    multiplier: float
    """Penalty of the shortest repetition that counts. At least 0; off: 0."""
    base: float = 1.75
    """By what it grows with each token more. At least 1."""
    allowed_length: int = 2
    """Length from which a repetition counts."""
    window: int | None = None
    """How many of the last tokens of the scope are looked at; None: all."""
    breakers: tuple[tuple[int, ...], ...] = ()
    """Sequences of ids that no repetition reaches across."""
    longest: int | None = None
    """Repetitions are followed so far back at most; None: without end."""
    scope: Scope = "all"
    """Which tokens are looked at."""
    unknown_ids: Literal["error", "ignore"] = "error"
    """What happens to a penalised id that the row does not have."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The ids that would lengthen a repetition, and their new scores."""
        ids, lengths = self._repetitions(context.history.tail(self.scope, self.window))
        known = known_ids("history", ids, scores.size, self.unknown_ids)
        ids, lengths = ids[known], lengths[known]
        exponents = (lengths - self.allowed_length).tolist()
        if self.base > 1.000001:
            most = int(LARGEST_LOG / math.log(self.base))
            exponents = [min(exponent, most) if most else exponent for exponent in exponents]
        base, multiplier = float(np.float32(self.base)), float(np.float32(self.multiplier))
        with np.errstate(over="ignore", invalid="ignore"):
            penalties = np.array([multiplier * base**exponent for exponent in exponents], np.float64)
            return ids, scores[ids] - penalties.astype(np.float32)

    def _repetitions(self, tokens: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids, ascending, that stood after an earlier copy of the text's end, and the longest such copy's length."""
        nothing = np.zeros(0, np.int64), np.zeros(0, np.int64)
        reach = self._tokens_since_breaker(tokens)
        if tokens.size <= self.allowed_length or reach < self.allowed_length:
            return nothing
        limit = min(reach, self.longest or reach)
        lengths = np.zeros(tokens.size - 1, np.int64)
        # Where an earlier copy may end: before the text's end.
        ends = np.arange(tokens.size - 1)
        for length in range(limit):
            ends = ends[ends >= length]
            ends = ends[tokens[ends - length] == tokens[-1 - length]]
            if not ends.size:
                break
            lengths[ends] = length + 1
        counts = lengths >= self.allowed_length
        ids, place = np.unique(tokens[1:][counts], return_inverse=True)
        best = np.zeros(ids.size, np.int64)
        np.maximum.at(best, place, lengths[counts])
        penalised = ~np.isin(ids, [breaker[0] for breaker in self.breakers if len(breaker) == 1])
        return ids[penalised], best[penalised]

    def _tokens_since_breaker(self, tokens: NDArray[np.int64]) -> int:
        """How many tokens stand behind the breaker that begins last, all if there is none."""
        if not self.breakers:
            return tokens.size
        heads = np.flatnonzero(np.isin(tokens, [breaker[0] for breaker in self.breakers]))
        for head in heads[::-1].tolist():
            whole = [b for b in self.breakers if tokens[head : head + len(b)].tolist() == list(b)]
            if whole:
                return tokens.size - head - max(len(breaker) for breaker in whole)
        return tokens.size
