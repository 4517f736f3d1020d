"""Sequence bias: a number added to an id's logit where it would complete a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Choice, SequenceBiasMap
from fairdraw.history import Scope
from fairdraw.masses import Scores
from fairdraw.stages.base import SCOPE, Domains, Edits, EditStage, known_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceBias(EditStage):
    """Add a number to the last id of each sequence whose other ids have just been seen; a lone id's always.

    Biases of sequences that end in the same id add up.  A forbidden id stays forbidden.

    Notes
    -----
    float32: single ids first, then longer sequences in the order given (``"by_length"``: those of equal length
    together); then one addition to the logit.
    Source: transformers 5.24.0, generation/logits_process.py, ``SequenceBiasLogitsProcessor``; 5.22.0 ("given").

    Examples
    --------
    >>> from fairdraw.history import History
    >>> stage = SequenceBias(bias={(3,): 1.0, (1, 2, 3): 0.5})
    >>> scores = np.zeros(4, np.float32)
    >>> [stage.edits(scores, Context(history=History(prompt=ids)))[1].tolist() for ids in ([1], [1, 2])]
    [[1.0], [1.5]]
    """

    name: ClassVar[str] = "sequence_bias"
    domains: ClassVar[Domains] = MappingProxyType(
        {"bias": SequenceBiasMap(), "scope": SCOPE, "order": Choice(("by_length", "given"))}
    )

    bias: tuple[tuple[tuple[int, ...], float], ...]
    """Pairs (sequence of ids, what is added); a mapping is taken too."""
    scope: Scope = "all"
    """Where a sequence may have begun."""
    order: Literal["by_length", "given"] = "by_length"
    """In which order the biases of longer sequences are added."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The ids that would complete a sequence, and their new scores."""
        known_ids("sequence_bias", np.array([i for ids, _ in self.bias for i in ids], np.int64), scores.size)
        sums: dict[int, np.float32] = {}
        for ids, bias in self._ordered():
            if context.history.ends_with(ids[:-1], self.scope):
                sums[ids[-1]] = sums.get(ids[-1], np.float32(0)) + np.float32(bias)
        changed = np.array(list(sums), np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            return changed, scores[changed] + np.array(list(sums.values()), np.float32)

    def _ordered(self) -> list[tuple[tuple[int, ...], float]]:
        places = {length: place for place, length in enumerate(dict.fromkeys(len(ids) for ids, _ in self.bias))}
        by_length = self.order == "by_length"
        return sorted(self.bias, key=lambda pair: (len(pair[0]) > 1, by_length and places[len(pair[0])]))
