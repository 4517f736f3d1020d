"""Hugging Face transformers, ``generate(...)`` on one row without beams.

Read and run: transformers 5.22.0 and 5.24.0, generation/logits_process.py, generation/configuration_utils.py
(``_get_default_generation_params``) and generation/utils.py (``_get_logits_processor``); torch 2.13.0 on the CPU.

- Nothing asked for is greedy; ``do_sample=True`` brings **top_k=50** unasked.
- Processors first (repetition, bad words, minimum lengths, the caller's own), in both modes; then, when sampling,
  temperature (float32 division), top-k (ties all stay), top-p of what top-k left (the set of an ascending walk;
  which of several equal tokens stays at the edge is left to an unstable sort), min-p, typical.
- top-p compares with float32(1 - p), so the share that counts is 1 - float32(1 - p).
- The two versions differ in the repetition penalty: 5.22 penalises left padding, 5.24 skips it.
- The engine sums in float32.  top-p's sums and min-p's comparison stay within the 2^-20 in which a cut is reported as
  a boundary tie, up to a vocabulary of 151936 (measured).  typical's float32 entropy does not on flat rows of 32768
  ids or more: there the engine's set may differ from ours at the cut, by a total variation of 1e-7 to 1e-4, and by more
  where a large group of equal tokens stands at the cut.
- None counts as unset here, as in a ``GenerationConfig``; passed to ``generate`` itself, None switches a stage off.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, canonical_reading, off_if
from fairdraw.dialects.steps import DIVIDED_TEMPERATURE
from fairdraw.domains import Real, StrictReal, Texts, TokenIds, TokenSequences, Truth, Whole
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.history import Scope
from fairdraw.params import SamplingParams
from fairdraw.stages import (
    BadWords,
    Mask,
    MinP,
    MinTokens,
    RepetitionPenalty,
    TopK,
    TopP,
    Typical,
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
        name="repetition_penalty", domain=StrictReal(0, open="low"), default=1.0, default_source=_DEFAULTS,
        canonical="repetition_penalty", refusal="`penalty` has to be a strictly positive float, but is {value}",
        meaning="divides the logits of every id in input_ids, the prompt included; 1.0 is off",
    ),
    Parameter(
        name="bad_words_ids", domain=TokenSequences(least=1), canonical="bad_words_ids", refusal=_bad_words_refusal,
        meaning="sequences of ids that must not be completed; an end id alone is dropped from the list",
    ),
    Parameter(
        name="min_length", domain=Whole(0), default=0, default_source=_DEFAULTS,
        refusal="`min_length` has to be a non-negative integer, but is {value}",
        meaning="no end before prompt and output have this many ids",
    ),
    Parameter(
        name="min_new_tokens", domain=Whole(0), canonical="min_tokens", limit="min_tokens",
        refusal="`min_length` has to be a non-negative integer, but is {value}",
        meaning="no end before this many new ids",
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


def _end_ids(values: Values, facts: ModelFacts | None) -> tuple[int, ...]:
    own = facts.end_token_ids if facts else ()
    return tuple(dict.fromkeys((*own, *(values["eos_token_id"] or ()))))  # type: ignore[misc]


def _required_end_ids(values: Values, facts: ModelFacts | None) -> object:
    ids = _end_ids(values, facts)
    if not ids:
        hint = "pass facts=ModelFacts(vocab_size=..., end_token_ids=...), or eos_token_id"
        name = "min_new_tokens" if values["min_new_tokens"] else "min_length"
        raise ParameterError(name, values[name], "0 where no end id is known", hint)
    return ids


def _words(values: Values, facts: ModelFacts | None) -> object:
    ends = {(token,) for token in _end_ids(values, facts)}
    return tuple(words for words in values["bad_words_ids"] if words not in ends)  # type: ignore[attr-defined]


def _share(values: Values, facts: ModelFacts | None) -> object:
    """What a comparison with float32(1 - p) makes of p."""
    return max(0.0, 1.0 - float(np.float32(1.0 - float(values["top_p"]))))  # type: ignore[arg-type]


def _processors(scope: Scope) -> tuple[Step, ...]:
    return (
        Step(
            stage=RepetitionPenalty,
            fields={"penalty": "repetition_penalty"},
            switches={"scope": scope, "unknown_ids": "ignore"},
            off=(off_if("repetition_penalty", "is", 1.0),),
        ),
        Step(
            stage=BadWords,
            fields={"sequences": _words},
            reads=("bad_words_ids", "eos_token_id"),
            off=(off_if("bad_words_ids", "is", None),),
        ),
        Step(
            stage=MinTokens,
            fields={"count": "min_length", "end_ids": _required_end_ids},
            switches={"scope": "padded"},
            reads=("eos_token_id",),
            off=(off_if("min_length", "is", 0),),
        ),
        Step(
            stage=MinTokens,
            fields={"count": "min_new_tokens", "end_ids": _required_end_ids},
            reads=("eos_token_id",),
            off=(off_if("min_new_tokens", "is", None, 0),),
        ),
        Step(stage=Mask),
    )


_WARPERS = (
    DIVIDED_TEMPERATURE,
    Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "all"}, off=(off_if("top_k", "is", 0),)),
    Step(
        stage=TopP,
        fields={"p": _share},
        switches={"ties": "any"},
        reads=("top_p",),
        off=(off_if("top_p", ">=", 1.0),),
    ),
    Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "is", None, 0.0),)),
    Step(stage=Typical, fields={"p": "typical_p"}, off=(off_if("typical_p", ">=", 1.0),)),
)

UNMODELLED = MappingProxyType(
    {
        "top_h": "a cut by entropy; unset is off",
        "epsilon_cutoff": "a cut at a fixed probability; 0.0 is off",
        "eta_cutoff": "a cut that follows the entropy; 0.0 is off",
        "encoder_repetition_penalty": "a bonus for ids of the prompt; 1.0 is off",
        "no_repeat_ngram_size": "no sequence of so many ids twice; 0 is off",
        "encoder_no_repeat_ngram_size": "the same for sequences of the prompt; 0 is off",
        "sequence_bias": "a bias for ids and sequences; unset is off",
        "forced_bos_token_id": "forces the first id; unset is off",
        "forced_eos_token_id": "forces the last id; unset is off",
        "remove_invalid_values": "replaces NaN and infinities; false is off",
        "exponential_decay_length_penalty": "a growing bonus for the end; unset is off",
        "suppress_tokens": "ids that are never drawn; unset is off",
        "begin_suppress_tokens": "ids that are not drawn first; unset is off",
        "guidance_scale": "classifier-free guidance; unset or 1 is off",
        "watermarking_config": "a watermark; unset is off",
        "renormalize_logits": "changes no law",
        "num_beams": "beam search; 1 is off",
        "num_return_sequences": "changes no law of one step",
        "length_penalty": "acts with beams alone",
        "early_stopping": "acts with beams alone",
        "penalty_alpha": "contrastive search, removed in version 5",
        "max_length": "counts the prompt; use max_new_tokens",
        "pad_token_id": "padding is History(left_padding=...)",
        "token_healing": "changes the prompt",
    }
)
"""Names that change what generate does, or that people set, without a stage here yet."""


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    request = canonical_reading("transformers", PARAMETERS, params)
    request["do_sample"] = params.temperature != 0
    if params.temperature == 0:
        del request["temperature"]
    return "", request


def _dialect(version: str, scope: Scope, padding: str) -> Dialect:
    processors = _processors(scope)
    return Dialect(
        engine="transformers",
        version=version,
        summary=f"greedy unless do_sample; then top_k=50 unasked, top-p inside top-k, ties all; {padding}",
        source=f"transformers {version}.0: generation/logits_process.py, configuration_utils.py, utils.py",
        variants=MappingProxyType(
            {
                "": Variant(
                    parameters=PARAMETERS,
                    fixed_limits=MappingProxyType({"include_stop_str_in_output": True}),
                    modes=(
                        Mode(
                            name="greedy",
                            steps=processors,
                            when=lambda values: not values["do_sample"],
                            draw=Greedy(),
                            reads=("do_sample",),
                            unread=("temperature", "top_k", "top_p", "min_p", "typical_p"),
                            ignores="do_sample is false; the engine itself only warns that the flag may be ignored",
                        ),
                        Mode(name="sample", steps=(*processors, *_WARPERS), reads=("do_sample",)),
                    ),
                )
            }
        ),
        from_params=_from_params,
        unmodelled=UNMODELLED,
        elsewhere=MappingProxyType(
            {
                "max_tokens": "max_new_tokens",
                "min_tokens": "min_new_tokens",
                "stop": "stop_strings",
                "stop_token_ids": "eos_token_id",
                "repeat_penalty": "repetition_penalty",
                "bad_words": "bad_words_ids",
                "temp": "temperature",
                "k": "top_k",
                "p": "top_p",
            }
        ),
    )


TRANSFORMERS_5_22 = _dialect("5.22", "padded", "left padding is penalised")
TRANSFORMERS_5_24 = _dialect("5.24", "all", "left padding is not penalised")
