"""No repeated n-grams: no sequence of so many ids twice (Paulus et al., "Deep reinforced summarization", 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Whole
from fairdraw.history import Scope
from fairdraw.masses import Ids
from fairdraw.stages.base import SCOPE, Domains, ForbidStage


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRepeatNgram(ForbidStage):
    """Forbid each id that would complete a sequence of ``size`` ids which stands in the text already.

    Notes
    -----
    A size of 1 forbids every id seen.  Ids that the row does not have are passed over.  Cost O(tokens * size).
    Source: transformers 5.24.0, generation/logits_process.py, ``NoRepeatNGramLogitsProcessor``, which looks at the
    left padding as well (scope "padded"); TensorRT-LLM has the same rule (read, not run).

    Examples
    --------
    >>> from fairdraw.history import History
    >>> context = Context(history=History(prompt=[1, 2, 3, 1, 2]))
    >>> [NoRepeatNgram(size=size).forbidden(9, context).tolist() for size in (1, 2, 3, 4)]
    [[1, 2, 3], [3], [3], []]
    """

    name: ClassVar[str] = "no_repeat_ngram"
    domains: ClassVar[Domains] = MappingProxyType({"size": Whole(1), "scope": SCOPE})

    size: int
    """How many ids a sequence has, at least 1."""
    scope: Scope = "all"
    """Which tokens are looked at."""

    def forbidden(self, vocab: int, context: Context) -> Ids:
        """The ids that followed an earlier copy of the text's last ``size - 1`` ids."""
        tokens, before = context.history.tail(self.scope, None), self.size - 1
        if tokens.size < self.size:
            return np.zeros(0, np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(tokens, self.size)
        matches = (windows[:, :-1] == tokens[tokens.size - before :]).all(axis=1)
        ids = np.unique(windows[matches, -1])
        return ids[ids < vocab]
