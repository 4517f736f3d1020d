"""Forced and suppressed ids: what must come at one place of the text, and what must not."""

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
class ForcedTokens(Stage):
    """At one length of the text, allow these ids alone, all with the same weight; elsewhere, nothing.

    They are allowed whatever was forbidden before, and what comes after still acts on them.

    Notes
    -----
    Source: transformers 5.24.0, generation/logits_process.py, ``ForcedBOSTokenLogitsProcessor`` (a text of one id)
    and ``ForcedEOSTokenLogitsProcessor`` (one id before the last): every score -inf, these 0.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> from fairdraw.masses import RealMasses
    >>> row, stage = Row.of(np.float32([3, 2, -np.inf]), RealMasses), ForcedTokens(ids=[2], length=1)
    >>> [stage.apply(row, Context(history=History(prompt=ids))).kept.tolist() for ids in ([], [0])]
    [[0, 1], [2]]
    """

    name: ClassVar[str] = "forced_tokens"
    domains: ClassVar[Domains] = MappingProxyType({"ids": TokenIds(), "length": Whole(0), "scope": SCOPE})

    ids: tuple[int, ...]
    """What must come; none forces nothing."""
    length: int
    """How many tokens of the scope stand before them."""
    scope: Scope = "all"
    """Which tokens count."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with these ids alone, if this is the place."""
        ids = np.array(self.ids, np.int64)
        known_ids("forced_tokens.ids", ids, row.vocab)
        if not ids.size or context.history.length(self.scope) != self.length:
            return row
        scores = np.full(row.vocab, -np.inf, np.float32)
        scores[ids] = 0
        return row.restarted(scores)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuppressedTokens(ForbidStage):
    """Forbid these ids, always or at one length of the text alone.

    Notes
    -----
    Source: transformers 5.24.0, generation/logits_process.py, ``SuppressTokensLogitsProcessor`` (always) and
    ``SuppressTokensAtBeginLogitsProcessor`` (at one length); llama.cpp 0c1e57098 biases a model's own list by -inf.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> stage = SuppressedTokens(ids=[4, 1], length=0, scope="output")
    >>> [stage.forbidden(9, Context(history=History(output=ids))).tolist() for ids in ([], [7])]
    [[1, 4], []]
    """

    name: ClassVar[str] = "suppressed_tokens"
    domains: ClassVar[Domains] = MappingProxyType(
        {"ids": TokenIds(), "length": Whole(0), "scope": SCOPE, "shortest": Whole(0)}
    )

    ids: tuple[int, ...]
    """What must not come."""
    length: int | None = None
    """How many tokens of the scope stand before the place; None: everywhere."""
    scope: Scope = "all"
    """Which tokens count."""
    shortest: int = 0
    """How long the whole text must be, left padding included."""

    def forbidden(self, vocab: int, context: Context) -> Ids:
        """The ids, if this is the place."""
        ids = np.array(sorted(set(self.ids)), np.int64)
        known_ids("suppressed_tokens.ids", ids, vocab)
        here = self.length is None or context.history.length(self.scope) == self.length
        return ids if here and len(context.history) >= self.shortest else ids[:0]
