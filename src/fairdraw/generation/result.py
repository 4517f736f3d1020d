"""What a generation gives: steps while it runs, a completion when it has ended."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fairdraw.generation.speculation.tally import Speculated
from fairdraw.logprobs import Alternative, TokenLogprobs
from fairdraw.plan import Plan
from fairdraw.streams.noise import STREAM_VERSION

FinishReason = Literal["stop", "length", "cancelled"]
"""Ended by an end token, a stop id or a stop string; by max_tokens or a full context; or by the caller."""
VERY_UNLIKELY = -9999.0
"""What JSON carries for a logprob of -inf, as in OpenAI's interface."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One drawn token, or the end."""

    text: str
    """New text that will never be taken back."""
    token: int | None
    """The token id; None in the last step when only held text is released."""
    logprobs: TokenLogprobs | None = None
    finish_reason: FinishReason | None = None
    """Set in the last step."""
    stop_reason: str | int | None = None
    """The stop string or stop id that ended the text; None for the model's own end and for "length"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A finished text, with all that is needed to draw it again."""

    text: str
    tokens: tuple[int, ...]
    """Every drawn id, the end token included."""
    finish_reason: FinishReason
    stop_reason: str | int | None
    logprobs: tuple[TokenLogprobs, ...]
    """One for each token if the plan asks for them, else empty."""
    prompt_logprobs: tuple[TokenLogprobs | None, ...]
    """For each token of the prompt, if they were asked for, else empty; None for the first, which follows nothing."""
    text_offsets: tuple[int, ...]
    """For each token, how many characters of the text were complete before it."""
    prompt_tokens: tuple[int, ...]
    seed: int
    sample_index: int
    model: str
    plan: Plan
    stream: str
    """Whose generator drew: "fairdraw", or an engine's."""
    doubts: tuple[tuple[int, str], ...] = ()
    """Replay alone: steps at which the engine's own rounding may have given another token, and why."""
    constraint: Mapping[str, object] | None = None
    """What the text had to be, as plain data."""
    fulfilled: bool | None = None
    """Whether the text is what the constraint asks for: False if max_tokens, a stop string or a stop id cut it short;
    one that is included, and the last that was drawn, cuts nothing. None without a constraint."""
    speculated: Speculated | None = None
    """What speculation was worth; None without it."""

    def to_json(self) -> dict[str, object]:
        """Plain data; a logprob of -inf becomes -9999.0."""
        return {
            "stream": self.stream,
            "stream_version": STREAM_VERSION,
            "model": self.model,
            "plan": self.plan.to_json(),
            "seed": self.seed,
            "sample_index": self.sample_index,
            "prompt_tokens": list(self.prompt_tokens),
            "tokens": list(self.tokens),
            "text": self.text,
            "text_offsets": list(self.text_offsets),
            "finish_reason": self.finish_reason,
            "stop_reason": self.stop_reason,
            "logprobs": [logprobs_json(entry) for entry in self.logprobs],
            "prompt_logprobs": [entry and logprobs_json(entry) for entry in self.prompt_logprobs],
            "doubts": [{"step": step, "why": why} for step, why in self.doubts],
            "constraint": None if self.constraint is None else dict(self.constraint),
            "fulfilled": self.fulfilled,
            "speculated": None if self.speculated is None else self.speculated.to_json(),
        }


def logprobs_json(entry: TokenLogprobs) -> dict[str, object]:
    """One token's report as plain data."""
    return {"meaning": entry.meaning, **_alternative(entry.chosen), "top": [_alternative(a) for a in entry.top]}


def logprob_json(logprob: float) -> float:
    """A logprob that JSON can carry."""
    return logprob if math.isfinite(logprob) else VERY_UNLIKELY


def _alternative(entry: Alternative) -> dict[str, object]:
    return {"token": entry.token, "logprob": logprob_json(entry.logprob), "rank": entry.rank}
