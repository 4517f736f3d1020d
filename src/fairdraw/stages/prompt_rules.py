"""Rules about the prompt alone: a factor on its ids, and none of its sequences again."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Real, Whole
from fairdraw.masses import Ids, Scores
from fairdraw.stages.base import Domains, Edits, EditStage, ForbidStage, known_ids


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPenalty(EditStage):
    """Divide the logit of each id of the prompt by the penalty, or multiply it where it is negative; once an id.

    Below 1 it is a bonus: the ids of the prompt rise.  The output does not count, left padding does.

    Notes
    -----
    float32.  A logit of exactly 0 stays 0.
    Source: transformers 5.24.0, generation/logits_process.py, ``EncoderRepetitionPenaltyLogitsProcessor``, whose
    number is 1 / penalty and which a model without an encoder gives its prompt.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> seen = Context(history=History(prompt=[0, 1], output=[2]))
    >>> PromptPenalty(penalty=0.5).edits(np.float32([2, -2, 0.5]), seen)[1].tolist()
    [4.0, -1.0]
    """

    name: ClassVar[str] = "prompt_penalty"
    domains: ClassVar[Domains] = MappingProxyType({"penalty": Real(0, open="low")})

    penalty: float
    """Above 0; off: 1."""

    def edits(self, scores: Scores, context: Context) -> Edits:
        """The ids of the prompt and their new scores."""
        ids = np.unique(np.array(context.history.prompt, np.int64))
        known_ids("prompt", ids, scores.size)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            old, penalty = scores[ids], np.float32(self.penalty)
            return ids, np.where(old < 0, old * penalty, old / penalty)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoPromptNgram(ForbidStage):
    """Forbid each id that would complete a sequence of ``size`` ids which stands in the prompt.

    Notes
    -----
    A size of 1 forbids every id of the prompt.  The text's last ids may lie in the prompt or in the output; left
    padding counts.  Cost O(prompt * size).
    Source: transformers 5.24.0, generation/logits_process.py, ``EncoderNoRepeatNGramLogitsProcessor``, which a model
    without an encoder gives its prompt.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> context = Context(history=History(prompt=[1, 2, 3], output=[1, 2, 4, 1]))
    >>> [NoPromptNgram(size=size).forbidden(9, context).tolist() for size in (1, 2, 3)]
    [[1, 2, 3], [2], []]
    """

    name: ClassVar[str] = "no_prompt_ngram"
    domains: ClassVar[Domains] = MappingProxyType({"size": Whole(1)})

    size: int
    """How many ids a sequence has, at least 1."""

    def forbidden(self, vocab: int, context: Context) -> Ids:
        """The ids that followed, in the prompt, a copy of the text's last ``size - 1`` ids."""
        prompt = np.array(context.history.prompt, np.int64)
        if prompt.size < self.size:
            return np.zeros(0, np.int64)
        windows = np.lib.stride_tricks.sliding_window_view(prompt, self.size)
        last = context.history.tail("padded", self.size - 1)
        ids = np.unique(windows[(windows[:, :-1] == last).all(axis=1), -1])
        known_ids("prompt", ids, vocab)
        return ids
