"""What one request asks for, in the names everybody knows (vLLM's, which follow OpenAI's)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

from fairdraw.domains import (
    PROBABILITY,
    SEED,
    BiasMap,
    Domain,
    Real,
    SequenceBiasMap,
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
        "top_n_sigma": Real(0),
        "top_a": PROBABILITY,
        "tfs": PROBABILITY,
        "epsilon_cutoff": PROBABILITY,
        "eta_cutoff": ZeroOr(1e-38, 1),
        "top_h": PROBABILITY,
        "xtc_probability": PROBABILITY,
        "xtc_threshold": PROBABILITY,
        "mirostat": Whole(0, 2),
        "mirostat_tau": Real(0),
        "mirostat_eta": Real(0),
        "adaptive_target": PROBABILITY,
        "adaptive_decay": Real(0, 0.99),
        "dynatemp_range": Real(0, 1e37),
        "dynatemp_exponent": Real(0),
        "smoothing_factor": Real(0),
        "repetition_penalty": Real(0, open="low"),
        "presence_penalty": Real(),
        "frequency_penalty": Real(),
        "penalty_last_n": Whole(0),
        "dry_multiplier": Real(0),
        "dry_base": Real(1),
        "dry_allowed_length": Whole(0),
        "dry_penalty_last_n": Whole(0),
        "dry_sequence_breakers": Texts(),
        "no_repeat_ngram_size": Whole(0),
        "guidance_scale": Real(),
        "logit_bias": BiasMap(),
        "sequence_bias": SequenceBiasMap(),
        "suppress_tokens": TokenIds(),
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
    top_n_sigma: float | None = None
    """Keep logits within this many standard deviations of the best one. At least 0; off: 0."""
    top_a: float | None = None
    """Keep tokens with this multiple of the best one's squared probability. In [0, 1]; off: 0."""
    tfs: float | None = None
    """Tail-free: keep the most probable tokens up to this share of their curvature. In [0, 1]; off: 1."""
    epsilon_cutoff: float | None = None
    """Keep tokens with at least this probability. In [0, 1]; off: 0."""
    eta_cutoff: float | None = None
    """The same with a threshold that falls as the entropy grows. 0 or in [1e-38, 1]; off: 0."""
    top_h: float | None = None
    """Keep the most probable tokens up to this share of the entropy of the best 100. In [0, 1]; off: None."""
    xtc_probability: float | None = None
    """How often the likely tokens but the last of them are removed. In [0, 1]; off: 0."""
    xtc_threshold: float | None = None
    """Probability from which XTC calls a token likely. In [0, 1]."""
    mirostat: int | None = None
    """Version of mirostat, 1 or 2. Off: 0."""
    mirostat_tau: float | None = None
    """Surprise that mirostat aims at, in bits. At least 0."""
    mirostat_eta: float | None = None
    """How fast mirostat follows. At least 0."""
    adaptive_target: float | None = None
    """Probability that adaptive-p aims at. In [0, 1]; off: None."""
    adaptive_decay: float | None = None
    """How much of the past counts for adaptive-p. In [0, 0.99]."""
    dynatemp_range: float | None = None
    """The temperature follows the entropy, so far to both sides. At least 0; off: 0."""
    dynatemp_exponent: float | None = None
    """Above 1: cold for longer. At least 0."""
    smoothing_factor: float | None = None
    """Squares the distance of each logit from the best one, times this. At least 0; off: 0."""
    repetition_penalty: float | None = None
    """Divides (negative logits: multiplies) each id seen in prompt and output. Above 0; off: 1."""
    presence_penalty: float | None = None
    """Subtracted once from each id of the output. Off: 0."""
    frequency_penalty: float | None = None
    """Subtracted from each id of the output, once for each time. Off: 0."""
    penalty_last_n: int | None = None
    """How many of the last tokens the three penalties look at. 0: all."""
    dry_multiplier: float | None = None
    """DRY: subtracted from an id that would lengthen the shortest repetition that counts. At least 0; off: 0."""
    dry_base: float | None = None
    """DRY: by what the penalty grows with each token more. At least 1."""
    dry_allowed_length: int | None = None
    """DRY: length from which a repetition counts."""
    dry_penalty_last_n: int | None = None
    """DRY: how many of the last tokens are looked at. 0: all."""
    dry_sequence_breakers: Sequence[str] | None = None
    """DRY: texts that no repetition reaches across; needs the model's tokenizer. Off: []."""
    no_repeat_ngram_size: int | None = None
    """No sequence of so many ids twice. Off: 0."""
    guidance_scale: float | None = None
    """How far to go from the logits without the prompt, a second row. Off: 1."""
    logit_bias: dict[str, float] | None = None
    """Token id (keys may be strings, as in JSON) to a number added to its logit. Off: {}."""
    sequence_bias: Mapping[Sequence[int] | str, float] | None = None
    """Sequence of ids (keys may be JSON: "[1, 2]") to a number added to the logit of the id that completes it."""
    suppress_tokens: Sequence[int] | None = None
    """Ids that are never drawn. Off: []."""
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
