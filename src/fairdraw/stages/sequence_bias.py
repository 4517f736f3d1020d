"""Sequence bias: a number added to an id's logit where it would complete a sequence."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import SequenceBiasMap
from fairdraw.masses import Scores
from fairdraw.stages.base import Domains, Edits, EditStage, known_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceBias(EditStage):
    """Add a number to the last id of each sequence whose other ids have just been seen; a lone id's always.

    Biases of sequences that end in the same id add up.  A forbidden id stays forbidden.

    Notes
    -----
    float32: single ids first, then longer sequences, those of equal length together, in the order given; then one
    addition to the logit.
    Source: transformers 5.24.0, generation/logits_process.py, ``SequenceBiasLogitsProcessor``.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> stage = SequenceBias(bias={(3,): 1.0, (1, 2, 3): 0.5})
    >>> scores = np.zeros(4, np.float32)
    >>> [stage.edits(scores, Context(history=History(prompt=ids)))[1].tolist() for ids in ([1], [1, 2])]
    [[1.0], [1.5]]
    """

    name: ClassVar[str] = "sequence_bias"
    domains: ClassVar[Domains] = MappingProxyType({"bias": SequenceBiasMap()})

    bias: tuple[tuple[tuple[int, ...], float], ...]
    """Pairs (sequence of ids, what is added); a mapping is taken too."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The ids that would complete a sequence, and their new scores."""
        known_ids("sequence_bias", np.array([i for ids, _ in self.bias for i in ids], np.int64), scores.size)
        sums: dict[int, np.float32] = {}
        lengths = list(dict.fromkeys(len(ids) for ids, _ in self.bias))
        for length in sorted(lengths, key=lambda length: length != 1):
            for ids, bias in self.bias:
                if len(ids) == length and context.history.ends_with(ids[:-1]):
                    sums[ids[-1]] = sums.get(ids[-1], np.float32(0)) + np.float32(bias)
        changed = np.array(list(sums), np.int64)
        with np.errstate(over="ignore", invalid="ignore"):
            return changed, scores[changed] + np.array(list(sums.values()), np.float32)
