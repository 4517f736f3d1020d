"""What one request asks for, in the names everybody knows (vLLM's, which follow OpenAI's)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from fairdraw.domains import (
    PROBABILITY,
    SEED,
    BiasMap,
    Domain,
    Real,
    Texts,
    TokenIds,
    TokenSequences,
    Truth,
    Whole,
    ZeroOr,
    require,
)

DOMAINS: MappingProxyType[str, Domain] = MappingProxyType(
    {
        "temperature": ZeroOr(1e-38, 1e38),
        "top_k": Whole(0),
        "top_p": PROBABILITY,
        "min_p": PROBABILITY,
        "typical_p": PROBABILITY,
        "repetition_penalty": Real(0, open="low"),
        "presence_penalty": Real(),
        "frequency_penalty": Real(),
        "penalty_last_n": Whole(0),
        "logit_bias": BiasMap(),
        "allowed_token_ids": TokenIds(),
        "bad_words": Texts(),
        "bad_words_ids": TokenSequences(),
        "min_tokens": Whole(0),
        "max_tokens": Whole(0),
        "stop": Texts(),
        "stop_token_ids": TokenIds(),
        "include_stop_str_in_output": Truth(),
        "ignore_eos": Truth(),
        "seed": SEED,
        "n": Whole(1, 2**32 - 1),
        "logprobs": Whole(0),
    }
)
"""What each field may be, when it is not None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingParams:
    """One request's sampling parameters.

    ``None`` means "the dialect decides"; a field's off value means off; any other value means that value.  These
    are three different things, and none is ever rewritten.

    Raises
    ------
    ParameterError
        A value lies outside its field's domain.

    Examples
    --------
    >>> SamplingParams(temperature=0.7, top_k=40)
    SamplingParams(temperature=0.7, top_k=40)
    >>> SamplingParams(top_p=1.5)
    Traceback (most recent call last):
    fairdraw.errors.ParameterError: top_p must be a number in [0, 1], got 1.5
    """

    temperature: float | None = None
    """Divides the logits: below 1 sharper, above 1 flatter. 0 is greedy; off: 1."""
    top_k: int | None = None
    """Keep this many of the most probable tokens. Off: 0."""
    top_p: float | None = None
    """Keep the shortest prefix, most probable first, with at least this mass. In [0, 1]; off: 1."""
    min_p: float | None = None
    """Keep tokens with at least this share of the most probable one. In [0, 1]; off: 0."""
    typical_p: float | None = None
    """Keep the tokens whose surprise is nearest to the entropy, up to this mass. In [0, 1]; off: 1."""
    repetition_penalty: float | None = None
    """Divides (negative logits: multiplies) each id seen in prompt and output. Above 0; off: 1."""
    presence_penalty: float | None = None
    """Subtracted once from each id of the output. Off: 0."""
    frequency_penalty: float | None = None
    """Subtracted from each id of the output, once for each time. Off: 0."""
    penalty_last_n: int | None = None
    """How many of the last tokens the three penalties look at. 0: all."""
    logit_bias: dict[str, float] | None = None
    """Token id (keys may be strings, as in JSON) to a number added to its logit. Off: {}."""
    allowed_token_ids: Sequence[int] | None = None
    """The only ids that may be drawn. None or empty: all."""
    bad_words: Sequence[str] | None = None
    """Texts that must not be completed; needs the model's tokenizer. Off: []."""
    bad_words_ids: Sequence[Sequence[int]] | None = None
    """Sequences of ids that must not be completed. Off: []."""
    min_tokens: int | None = None
    """No end or stop before this many tokens. Off: 0."""
    max_tokens: int | None = None
    """At most this many tokens. None: the caller decides."""
    stop: Sequence[str] | None = None
    """Texts that end the output. Off: []."""
    stop_token_ids: Sequence[int] | None = None
    """Token ids that end the output, beside the model's own. Off: []."""
    include_stop_str_in_output: bool | None = None
    """Whether the stop text that matched stays in the output. Off: false."""
    ignore_eos: bool | None = None
    """Whether to go on after the model's end token. Off: false."""
    seed: int | None = None
    """Chooses the noise. 0 to 2^64-1; None: a fresh one, recorded in the result."""
    n: int | None = None
    """How many answers to draw; they are sample indices 0 to n-1. Off: 1."""
    logprobs: int | None = None
    """How many of the best alternatives to report for each token. None: no report."""

    def __post_init__(self) -> None:
        for name, value in self.given():
            object.__setattr__(self, name, require(name, value, DOMAINS[name]))

    def given(self) -> Iterator[tuple[str, Any]]:
        """The fields that were set, in order, with their values."""
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                yield field.name, value

    def __repr__(self) -> str:
        return f"SamplingParams({', '.join(f'{name}={value!r}' for name, value in self.given())})"
