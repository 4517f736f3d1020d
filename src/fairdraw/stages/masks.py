"""Which ids may be drawn at all: the caller's mask, a fixed list, and no end too early."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import TokenIds, Whole
from fairdraw.history import Scope
from fairdraw.masses import Ids
from fairdraw.rows import Row
from fairdraw.stages.base import SCOPE, Domains, ForbidStage, Stage, known_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Mask(Stage):
    """Forbid what the context's mask does not allow; without a mask, nothing.  Its place in the plan is the point."""

    name: ClassVar[str] = "mask"

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row without the forbidden ids."""
        if context.mask is None:
            return row
        return row.rescored(np.where(context.mask, row.scores, np.float32(-np.inf)))


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedIds(Stage):
    """Forbid every id that is not in the list."""

    name: ClassVar[str] = "allowed_ids"
    domains: ClassVar[Domains] = MappingProxyType({"ids": TokenIds()})

    ids: tuple[int, ...]
    """The only ids that may be drawn."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the listed ids alone."""
        ids = np.array(self.ids, np.int64)
        known_ids("allowed_token_ids", ids, row.vocab)
        scores = np.full(row.vocab, -np.inf, np.float32)
        scores[ids] = row.scores[ids]
        return row.rescored(scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinTokens(ForbidStage):
    """Forbid the ids that end a text until enough tokens were drawn."""

    name: ClassVar[str] = "min_tokens"
    domains: ClassVar[Domains] = MappingProxyType({"count": Whole(0), "end_ids": TokenIds(), "scope": SCOPE})

    count: int
    """How many tokens there must be before the end may come."""
    end_ids: tuple[int, ...]
    """Ids that end the text."""
    scope: Scope = "output"
    """Which tokens count."""

    def forbidden(self, vocab: int, context: Context) -> Ids:
        """The end ids while the output is too short."""
        ids = np.array(sorted(set(self.end_ids)), np.int64)
        known_ids("end_ids", ids, vocab)
        return ids if context.history.length(self.scope) < self.count else ids[:0]
