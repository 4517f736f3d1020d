"""The parameters of transformers' ``GenerationConfig``: their domains, defaults, and what the engine says of others.

Read: transformers 5.22.0 and 5.24.0, generation/configuration_utils.py and generation/logits_process.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from fairdraw.dialects.base import Parameter
from fairdraw.domains import (
    Choice,
    Domain,
    Real,
    SequenceBiasMap,
    StrictReal,
    Texts,
    TokenIds,
    TokenSequences,
    Truth,
    Whole,
    require,
)

_DEFAULTS = "configuration_utils.py, _get_default_generation_params"


def _temperature_words(value: object) -> str:
    words = (
        f"`temperature` (={value}) has to be a strictly positive float, "
        "otherwise your next token scores will be invalid."
    )
    greedy = isinstance(value, float) and value == 0.0
    return f"{words} If you're looking for greedy decoding strategies, set `do_sample=False`." if greedy else words


def _bad_words_refusal(value: object) -> str:
    if not isinstance(value, list) or not value:
        return f"`bad_words_ids` has to be a non-empty list, but is {value}."
    if any(not isinstance(words, list) for words in value):
        return f"`bad_words_ids` has to be a list of lists, but is {value}."
    return f"Each list in `bad_words_ids` has to be a list of positive integers, but is {value}."


def _sequence_bias_refusal(value: object) -> str:
    if not isinstance(value, (dict, list)) or not value:
        return f"`sequence_bias` has to be a non-empty dictionary, or non-empty list of lists but is {value}."
    if isinstance(value, list):
        return (
            "Each element in `sequence_bias` has to be a non-empty list of lists of positive integers and float, "
            f"but is {value}."
        )
    if any(not isinstance(ids, tuple) for ids in value):
        return f"`sequence_bias` has to be a dict with tuples as keys, but is {value}."
    if any(not isinstance(bias, float) for bias in value.values()):
        return f"`sequence_bias` has to be a dict with floats as values, but is {value}."
    return f"Each key in `sequence_bias` has to be a non-empty tuple of positive integers, but is {value}."


@dataclass(frozen=True, slots=True)
class FloatSequenceBias(SequenceBiasMap):
    """Sequences of ids and what is added, written as floats; at least one."""

    text: str = "a mapping from non-empty lists of token ids to a finite number of type float, not empty"

    def holds(self, value: object) -> bool:
        """Whether there is a sequence, and every sequence and every bias is allowed."""
        if not SequenceBiasMap.holds(self, value):
            return False
        pairs = value.items() if isinstance(value, Mapping) else value
        biases = [bias for _, bias in pairs]  # type: ignore[union-attr]
        return bool(biases) and all(isinstance(bias, float) for bias in biases)


@dataclass(frozen=True, slots=True)
class StartAndFactor:
    """A pair: a whole number of tokens, and a factor above 0."""

    text: str = "a pair (whole number >= 0, finite number > 0)"

    def holds(self, value: object) -> bool:
        """Whether a value is such a pair."""
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            return False
        return Whole(0).holds(value[0]) and Real(0, open="low").holds(value[1])

    def clean(self, value: object) -> tuple[int, float]:
        """The pair as a tuple."""
        start, factor = value  # type: ignore[misc]
        return int(start), float(factor)


WATERMARK: Mapping[str, tuple[Domain, object]] = MappingProxyType(
    {
        "greenlist_ratio": (Real(0, 1, open="both"), 0.25),
        "bias": (Real(), 2.0),
        "hashing_key": (Whole(0, 2**63 - 1), 15_485_863),
        "seeding_scheme": (Choice(("lefthash", "selfhash")), "lefthash"),
        "context_width": (Whole(1), 1),
    }
)
"""Fields of ``WatermarkingConfig``, with their defaults."""


@dataclass(frozen=True, slots=True)
class WatermarkFields:
    """A watermark's fields: a mapping, pairs, or the engine's own ``WatermarkingConfig``."""

    text: str = "a mapping with some of greenlist_ratio, bias, hashing_key, seeding_scheme and context_width"

    def holds(self, value: object) -> bool:
        """Whether every field is known and every value is allowed."""
        fields = self._fields(value)
        return fields is not None and all(
            name in WATERMARK and WATERMARK[name][0].holds(item) for name, item in fields.items()
        )

    def clean(self, value: object) -> tuple[tuple[str, object], ...]:
        """Pairs of all fields, in the engine's order, with its defaults filled in."""
        fields = self._fields(value) or {}
        return tuple(
            (name, require(name, fields.get(name, default), domain)) for name, (domain, default) in WATERMARK.items()
        )

    def _fields(self, value: object) -> dict[str, object] | None:
        if hasattr(value, "to_dict"):
            value = value.to_dict()  # type: ignore[union-attr]
        try:
            return dict(value)  # type: ignore[call-overload]
        except (TypeError, ValueError):
            return None


PARAMETERS = (
    Parameter(
        name="do_sample", domain=Truth(), default=False, default_source=_DEFAULTS,
        meaning="draw, or take the best token; false is greedy and leaves out temperature and all cuts",
    ),
    Parameter(
        name="temperature", domain=StrictReal(0, open="low"), default=1.0, default_source=_DEFAULTS,
        canonical="temperature", refusal=_temperature_words, meaning="divides the logits in float32; 1.0 is off",
    ),
    Parameter(
        name="top_k", domain=Whole(0), default=50, default_source=_DEFAULTS, canonical="top_k",
        refusal="`top_k` has to be a strictly positive integer, but is {value}",
        meaning="keep the k best and all that equal the last of them; 0 is off",
    ),
    Parameter(
        name="top_p", domain=Real(0), default=1.0, default_source=_DEFAULTS, canonical="top_p",
        refusal="`top_p` has to be a float > 0 and < 1, but is {value}",
        meaning="keep the shortest prefix with this share of what is left; from 1 on it is off, 0 keeps one token",
    ),
    Parameter(
        name="min_p", domain=Real(0, 1), canonical="min_p",
        refusal="`min_p` has to be a float in the [0, 1] interval, but is {value}",
        meaning="keep tokens with at least this share of the best one; unset is off, 0 changes nothing",
    ),
    Parameter(
        name="typical_p", domain=Real(0, open="low"), default=1.0, default_source=_DEFAULTS, canonical="typical_p",
        refusal="`typical_p` has to be a float > 0 and < 1, but is {value}",
        meaning="keep the most typical tokens up to this mass; from 1 on it is off",
    ),
    Parameter(
        name="top_h", domain=Real(0, 1, open="low"), canonical="top_h",
        refusal="`top_h` must be in the range (0, 1].",
        meaning="before top_k: keep the best tokens, 100 at most, up to this share of their entropy; unset is off",
    ),
    Parameter(
        name="epsilon_cutoff", domain=Real(), default=0.0, default_source=_DEFAULTS, canonical="epsilon_cutoff",
        meaning="keep tokens with at least this probability; off unless above 0 and below 1",
    ),
    Parameter(
        name="eta_cutoff", domain=Real(), default=0.0, default_source=_DEFAULTS, canonical="eta_cutoff",
        meaning="keep tokens with at least this probability, less on flat rows; off unless above 0 and below 1",
    ),
    Parameter(
        name="repetition_penalty", domain=StrictReal(0, open="low"), default=1.0, default_source=_DEFAULTS,
        canonical="repetition_penalty", refusal="`penalty` has to be a strictly positive float, but is {value}",
        meaning="divides the logits of every id in input_ids, the prompt included; 1.0 is off",
    ),
    Parameter(
        name="encoder_repetition_penalty", domain=StrictReal(0, open="low"), default=1.0, default_source=_DEFAULTS,
        refusal="`penalty` has to be a strictly positive float, but is {value}",
        meaning="above 1 raises the ids of the prompt, padding included; 1.0 is off",
    ),
    Parameter(
        name="no_repeat_ngram_size", domain=Whole(), default=0, default_source=_DEFAULTS,
        canonical="no_repeat_ngram_size",
        refusal="`ngram_size` has to be a strictly positive integer, but is {value}",
        meaning="no sequence of so many ids twice, prompt and padding included; 0 or less is off",
    ),
    Parameter(
        name="encoder_no_repeat_ngram_size", domain=Whole(), default=0, default_source=_DEFAULTS,
        refusal="`encoder_ngram_size` has to be a strictly positive integer, but is {value}",
        meaning="no sequence of so many ids that stands in the prompt; 0 or less is off",
    ),
    Parameter(
        name="sequence_bias", domain=FloatSequenceBias(), canonical="sequence_bias", refusal=_sequence_bias_refusal,
        meaning="added to the logit of the id that completes a sequence; unset is off",
    ),
    Parameter(
        name="bad_words_ids", domain=TokenSequences(least=1), canonical="bad_words_ids", refusal=_bad_words_refusal,
        meaning="sequences of ids that must not be completed; an end id alone is dropped from the list",
    ),
    Parameter(
        name="min_length", domain=Whole(0), default=0, default_source=_DEFAULTS,
        refusal="`min_length` has to be a non-negative integer, but is {value}",
        meaning="no end before prompt and output have this many ids; min_new_tokens takes its place",
    ),
    Parameter(
        name="min_new_tokens", domain=Whole(0), canonical="min_tokens", limit="min_tokens",
        refusal="`min_length` has to be a non-negative integer, but is {value}",
        meaning="no end before this many new ids",
    ),
    Parameter(
        name="forced_bos_token_id", domain=TokenIds(),
        meaning="ids of which one must follow a text of one id, all alike; unset is off",
    ),
    Parameter(
        name="forced_eos_token_id", domain=TokenIds(),
        meaning="ids of which one must be the last of max_new_tokens, all alike; unset is off",
    ),
    Parameter(
        name="exponential_decay_length_penalty", domain=StartAndFactor(),
        meaning="(start, factor): from so many new ids on, the end's logit rises by the factor's powers; unset is off",
    ),
    Parameter(
        name="suppress_tokens", domain=TokenIds(), canonical="suppress_tokens",
        meaning="ids that are never drawn; unset is off",
    ),
    Parameter(
        name="begin_suppress_tokens", domain=TokenIds(),
        meaning="ids that are not drawn first; unset is off",
    ),
    Parameter(
        name="guidance_scale", domain=Real(), canonical="guidance_scale",
        meaning="how far to go from the logits without the prompt, a second row; unset or 1 is off",
    ),
    Parameter(
        name="watermarking_config", domain=WatermarkFields(),
        meaning="a bias on ids that the last ones and a key choose, after all cuts; unset is off",
    ),
    Parameter(
        name="remove_invalid_values", domain=Truth(), default=False, default_source=_DEFAULTS,
        meaning="forbidden ids get the smallest number instead of -inf; false is off",
    ),
    Parameter(
        name="renormalize_logits", domain=Truth(),
        meaning="log-softmax at the end: in real numbers it changes no law; unset or false is off",
    ),
    Parameter(
        name="max_new_tokens", domain=Whole(1), canonical="max_tokens", limit="max_tokens",
        refusal="`max_new_tokens` must be greater than 0, but is {value}.", meaning="at most this many new ids",
    ),
    Parameter(
        name="stop_strings", domain=Texts(), canonical="stop", limit="stop",
        meaning="texts that end the output; they stay in it",
    ),
    Parameter(
        name="eos_token_id", domain=TokenIds(), canonical="stop_token_ids", limit="stop_token_ids",
        meaning="ids that end the output, beside the model's own",
    ),
)  # fmt: skip

UNMODELLED = MappingProxyType(
    {
        "num_beams": "beam search; 1 is off",
        "num_return_sequences": "changes no law of one step",
        "length_penalty": "acts with beams alone",
        "early_stopping": "acts with beams alone",
        "penalty_alpha": "contrastive search, removed in version 5",
        "max_length": "counts the prompt; use max_new_tokens",
        "pad_token_id": "padding is History(left_padding=...)",
        "token_healing": "changes the prompt",
        "prefix_allowed_tokens_fn": "the caller's own code; mask=... acts later, just before temperature",
        "logits_processor": "the caller's own code; mask=... acts in its place, before temperature",
        "negative_prompt_ids": "the prompt of guidance's second row; give the row itself, second=...",
        "assistant_confidence_threshold": "speculation; changes no law",
        "prompt_lookup_num_tokens": "speculation; changes no law",
        "use_cache": "changes no law",
    }
)
"""Names that change what generate does, or that people set, and why no stage here stands for them.

A ``SynthIDTextWatermarkingConfig`` is refused too: it draws from a tournament, with a memory of the contexts seen.
"""
