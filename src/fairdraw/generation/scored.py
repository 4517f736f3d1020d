"""What scoring a text gives: a logprob and a rank for each token, and what they add up to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairdraw.generation.result import logprob_json, logprobs_json
from fairdraw.logprobs import Meaning, TokenLogprobs
from fairdraw.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What is read at once: the tokens from ``begin``; of them, those from ``first`` up to ``end`` are scored."""

    begin: int
    first: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """How probable a text is."""

    model: str
    plan: Plan | None
    meaning: Meaning
    """Raw, after temperature, or under the law that the plan draws from."""
    tokens: tuple[int, ...]
    """Prompt and text."""
    first: int
    """Index of the first token that is scored."""
    entries: tuple[TokenLogprobs, ...]
    """One for each token from there on: logprob, rank, and the best ones if they were asked for."""
    named: Mapping[int, NDArray[np.float64]] = field(compare=False)
    """For each id that was asked for, its logprob at each of these places."""
    bytes: int
    """Of the tokens that are scored."""

    @property
    def logprobs(self) -> NDArray[np.float64]:
        """Natural logarithms, shape (scored,); -inf where the plan could not have drawn the token."""
        return np.array([entry.chosen.logprob for entry in self.entries])

    @property
    def ranks(self) -> NDArray[np.int64]:
        """1 for the most probable token of its place, shape (scored,); of equal ones the lower id first."""
        return np.array([entry.chosen.rank for entry in self.entries])

    @property
    def outside(self) -> tuple[int, ...]:
        """Indices into `tokens` of those that the plan could not have drawn."""
        return tuple(self.first + i for i, entry in enumerate(self.entries) if entry.chosen.logprob == -math.inf)

    @property
    def total(self) -> float:
        """Log-likelihood of the text, in nats: the sum of its logprobs, rounded once."""
        return -math.inf if self.outside else math.fsum(entry.chosen.logprob for entry in self.entries)

    @property
    def perplexity(self) -> float:
        """exp(-total / scored tokens): among how many equally probable tokens the model seems to choose."""
        # From 0, so that certainty is 0 and not -0.
        mean = (0.0 - self.total) / len(self.entries)
        # Beyond the largest float: a mean of 710 nats a token.
        return math.exp(mean) if mean < 709 else math.inf

    @property
    def bits_per_byte(self) -> float:
        """-total in bits for each byte of UTF-8: comparable between models of different tokens."""
        return (0.0 - self.total) / math.log(2) / self.bytes if self.bytes else math.nan

    def to_json(self) -> dict[str, object]:
        """Plain data; a logprob of -inf becomes -9999.0, and a sum that it makes infinite becomes null."""
        return {
            "model": self.model,
            "plan": None if self.plan is None else self.plan.to_json(),
            "meaning": self.meaning,
            "tokens": list(self.tokens),
            "first": self.first,
            "logprobs": [logprobs_json(entry) for entry in self.entries],
            "named": {str(token): [logprob_json(float(v)) for v in values] for token, values in self.named.items()},
            "outside": list(self.outside),
            "scored": len(self.entries),
            "bytes": self.bytes,
            "total": _finite(self.total),
            "perplexity": _finite(self.perplexity),
            "bits_per_byte": _finite(self.bits_per_byte),
        }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
