"""Bad words: sequences of ids that must not be completed."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import TokenSequences
from fairdraw.history import Scope
from fairdraw.masses import Ids
from fairdraw.stages.base import SCOPE, Domains, ForbidStage, known_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class BadWords(ForbidStage):
    """Forbid the last id of a sequence whenever the ids before it have just been seen.

    A sequence of one id forbids it always; of a longer one, no id is forbidden by itself.  Every spelling counts
    as its own sequence: a word at the start of a line and after a space are two.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> words = BadWords(sequences=[[3, 10, 6], [7]])
    >>> [words.forbidden(12, Context(history=History(prompt=seen))).tolist() for seen in ([3], [3, 10])]
    [[7], [6, 7]]
    """

    name: ClassVar[str] = "bad_words"
    domains: ClassVar[Domains] = MappingProxyType({"sequences": TokenSequences(), "scope": SCOPE})

    sequences: tuple[tuple[int, ...], ...]
    """The sequences that must not be completed."""
    scope: Scope = "all"
    """Where a sequence may have begun."""

    def forbidden(self, vocab: int, context: Context) -> Ids:
        """Last ids of the sequences that only lack them."""
        known_ids("bad_words", np.array([i for ids in self.sequences for i in ids], np.int64), vocab)
        last = {s[-1] for s in self.sequences if context.history.ends_with(s[:-1], self.scope)}
        return np.array(sorted(last), np.int64)
