"""What every stage is: a frozen rule with a pure ``apply``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Context
from fairdraw.domains import Choice, Domain, require
from fairdraw.errors import ParameterError
from fairdraw.masses import Ids, Scores
from fairdraw.rows import Row

Edits = tuple[Ids, Scores]
"""Ids and their new scores."""
Domains = Mapping[str, Domain]

TIES = Choice(("all", "lowest", "highest", "any"))
BOUNDARY = Choice(("inclusive", "strict"))
SCOPE = Choice(("all", "output", "padded"))
UNKNOWN_IDS = Choice(("error", "ignore"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A rule.  ``apply`` is a pure function of row and context; fields are numbers, switches (words) or ids."""

    name: ClassVar[str] = ""
    """The name in texts, tables and JSON."""
    domains: ClassVar[Domains] = MappingProxyType({})
    """What each field may be."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            clean = require(f"{self.name}.{field.name}", value, self.domains[field.name])
            object.__setattr__(self, field.name, clean)

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row after this rule; a rule with chance leaves it to its branches."""
        raise NotImplementedError(f"{self.name} is applied by its branches")

    def branches(self) -> tuple[tuple[float, Stage], ...]:
        """Pairs (probability, rule without chance): the law sums them, a draw tosses for one."""
        return ((1.0, self),)


@dataclass(frozen=True, slots=True, kw_only=True)
class EditStage(Stage, ABC):
    """A rule that changes a few scores: the ids and their new values, and nothing else.

    ``edits`` reads only ``scores[ids]``, so a kernel may call it with the few scores that it has read.
    """

    @abstractmethod
    def edits(self, scores: Scores, context: Context) -> Edits:
        """Ids and their new scores."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the new scores."""
        ids, values = self.edits(row.scores, context)
        return row.edited(ids, values) if ids.size else row


@dataclass(frozen=True, slots=True, kw_only=True)
class ForbidStage(EditStage):
    """A rule that forbids a few ids."""

    @abstractmethod
    def forbidden(self, vocab: int, context: Context) -> Ids:
        """Ids that may not be drawn now, ascending."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """Those ids, with -inf."""
        ids = self.forbidden(scores.size, context)
        return ids, np.full(ids.size, -np.inf, np.float32)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterStage(Stage):
    """A rule that decides by rank or mass.  What a row weighs "before any cut" is before the first of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CutStage(FilterStage):
    """A filter that removes tokens and changes no weight; one with chance does so in each of its branches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatefulStage(FilterStage, ABC):
    """A filter with a memory of the tokens drawn so far: plain data that the context carries under its name.

    ``apply`` reads it and ``advance`` makes the next one; the stage itself never changes, so a text can be resumed,
    forked or drawn again.
    """

    @abstractmethod
    def start(self) -> object:
        """The memory before the first token: a number, or a tuple of them."""

    @abstractmethod
    def advance(self, row: Row, context: Context, token: int) -> object:
        """The memory for the next token: ``row`` and ``context`` as for ``apply``, and what was then drawn."""

    def memory(self, context: Context) -> Any:
        """What the context remembers for this stage, or its start."""
        return context.memory.get(self.name, self.start())


def known_ids(parameter: str, ids: NDArray[np.int64], vocab: int, unknown: str = "error") -> NDArray[np.bool_]:
    """Which ids exist in a vocabulary; by default one that does not is an error.

    Raises
    ------
    ParameterError
        An id is not below ``vocab`` and ``unknown`` is "error".  Nothing wraps to the last token.
    """
    exists = ids < vocab
    if unknown == "error" and not exists.all():
        raise ParameterError(
            parameter, int(ids[~exists][0]), f"a token id in 0..{vocab - 1}", "the logits row ends there"
        )
    return exists
