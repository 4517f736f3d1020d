"""Classifier-free guidance: away from what the model says without the prompt (Sanchez et al., 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Choice, Real
from fairdraw.errors import ParameterError
from fairdraw.masses import Scores
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, Stage
from fairdraw.stages.log_softmax import log_softmax


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance(Stage):
    """Move each logit away from that of a second row: second + scale * (logit - second), both log-softmax first.

    The second row is the context's: the model's logits for the same text without the prompt, or with a prompt that
    says what is not wanted.  A scale of 1 changes nothing but the common constant, 0 takes the second row.

    Notes
    -----
    float32, in the written order (``"difference"``), or scale * logit + (1 - scale) * second (``"sum"``).  The
    log-softmax is the one of `LogSoftmax`, from integer masses, so law and draw have the same scores.  A
    token that only the second row forbids has no finite score: that is an error.
    Source: transformers 5.24.0, generation/logits_process.py, ``UnbatchedClassifierFreeGuidanceLogitsProcessor``;
    exllamav2 0.3.2 @da07fac, generator/sampler.py ("sum").

    Examples
    --------
    From odds of 2 over odds of 1, twice as far is odds of 4.

    >>> from fairdraw.masses import RealMasses
    >>> row, second = Row.of(np.log(np.float32([2, 1])), RealMasses), np.float32([0, 0])
    >>> Guidance(scale=2.0).apply(row, Context(second=second)).probabilities.round(4).tolist()
    [0.8, 0.2]
    """

    name: ClassVar[str] = "guidance"
    domains: ClassVar[Domains] = MappingProxyType({"scale": Real(), "operation": Choice(("difference", "sum"))})

    scale: float
    """How far to go. Off: 1."""
    operation: Literal["difference", "sum"] = "difference"
    """How the two rows are put together in float32."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row moved away from the second one."""
        if context.second is None:
            raise ParameterError("second", None, "a second row of logits for guidance", "pass second=logits")
        with np.errstate(over="ignore", invalid="ignore"):
            first, second = log_softmax(row.scores), log_softmax(context.second)
            scale, rest = np.float32(self.scale), np.float32(1.0 - self.scale)
            difference = self.operation == "difference"
            mixed = scale * (first - second) + second if difference else scale * first + rest * second
        scores: Scores = mixed.astype(np.float32, copy=False)
        scores[row.scores == -np.inf] = -np.inf
        return row.rescored(scores)
