"""mistral.rs, one token of one request.

Read: mistral.rs 0.9.2 (9e92262), mistralrs-core/src/sampler.rs and engine/add_request.rs;
mistralrs-server-core/src/openai.rs and chat_completion.rs.  Its GPU paths follow the same formula.

- Order: DRY (the whole context, repeats of at most 50 tokens), frequency and presence (generated tokens), repetition
  (prompt too), bias; temperature (float32 x * float32(1 / T)); top-k, top-p of what it left, min-p.
- No temperature is 1; one below 1e-7, a negative one too, is argmax.
- top-k keeps exactly k; which of equals, there and at the edge of top-p, is left to Rust's selection.  **min-p is
  strict**: a token with exactly that share goes.  Each of top_p and min_p is off outside (0, 1): **min_p=1 is off**.
- Nothing else is checked: there are no ranges to be out of.  fairdraw refuses what has no law (NaN, a repetition
  penalty of 0 or less).
- A grammar is no mask there: a token is drawn without it, and only a forbidden one is drawn again, now masked.  So
  P(t) = f(t) + f(forbidden) g(t), f the law without and g the law with the mask; a mask passed here has the law g.
- The engine has one generator, seeded with a constant, and no seed of a request.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, by_our_names, off_if
from fairdraw.dialects.steps import in_float32, or_zero
from fairdraw.dialects.text_parameters import COUNT, IGNORE_EOS, STOP, STOP_TOKEN_IDS
from fairdraw.domains import BiasMap, Real, Texts, Whole
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.stages import (
    Dry,
    LogitBias,
    Mask,
    MinP,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
)

LEAST_TEMPERATURE = 1e-7
_REQUEST, _SAMPLER = "engine/add_request.rs", "sampler.rs, DrySamplingParams"

PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(), default=1.0, default_source=_REQUEST, canonical="temperature",
        meaning="multiplies the logits by float32(1 / T); below 1e-7 is argmax, 1 is off",
    ),
    Parameter(name="top_k", domain=Whole(0), canonical="top_k", meaning="keep exactly the k best; unset or 0 is off"),
    Parameter(
        name="top_p", domain=Real(), default=1.0, default_source=_REQUEST, canonical="top_p",
        meaning="keep the shortest prefix with this share of what is left; outside (0, 1) it is off",
    ),
    Parameter(
        name="min_p", domain=Real(), default=0.0, default_source=_REQUEST, canonical="min_p",
        meaning="keep tokens with more than this share of the best one; outside (0, 1) it is off",
    ),
    Parameter(
        name="frequency_penalty", domain=Real(), canonical="frequency_penalty",
        meaning="subtracted from ids of the output for each time; unset or 0 is off",
    ),
    Parameter(
        name="presence_penalty", domain=Real(), canonical="presence_penalty",
        meaning="subtracted once from ids of the output; unset or 0 is off",
    ),
    Parameter(
        name="repetition_penalty", domain=Real(0, open="low"), canonical="repetition_penalty",
        refusal="nothing; it would divide by it", meaning="divides the logits of all ids seen; unset or 1 is off",
    ),
    Parameter(
        name="dry_multiplier", domain=Real(0), canonical="dry_multiplier",
        refusal="nothing; it would reward what repeats",
        meaning="subtracted from an id that would lengthen a repeat; unset or 0 is off",
    ),
    Parameter(
        name="dry_base", domain=Real(1), default=1.75, default_source=_SAMPLER, canonical="dry_base",
        refusal="nothing", meaning="by what that grows with each token more",
    ),
    Parameter(
        name="dry_allowed_length", domain=Whole(0), default=2, default_source=_SAMPLER,
        canonical="dry_allowed_length", meaning="length from which a repeat counts",
    ),
    Parameter(
        name="dry_sequence_breakers", domain=Texts(), default=("\n", ":", '"', "*"), default_source=_SAMPLER,
        canonical="dry_sequence_breakers",
        meaning="texts that no repeat reaches across; with dry_multiplier fairdraw takes [] alone",
    ),
    Parameter(name="logit_bias", domain=BiasMap(), canonical="logit_bias", meaning="added to the logits of a few ids"),
    Parameter(
        name="max_tokens", domain=Whole(1), canonical="max_tokens", limit="max_tokens",
        aliases=("max_completion_tokens",), refusal="max_tokens must be at least 1.",
        meaning="at most this many tokens; unset: the context's end",
    ),
    STOP,
    STOP_TOKEN_IDS,
    replace(IGNORE_EOS, default_source="mistralrs-server-core/src/openai.rs"),
    replace(COUNT, default_source="mistralrs-server-core/src/openai.rs"),
    Parameter(
        name="top_logprobs", domain=Whole(0), canonical="logprobs", limit="logprobs",
        meaning="how many of the best alternatives are reported; unset: no report",
    ),
)  # fmt: skip


def _no_breakers(values: Values, facts: ModelFacts | None) -> object:
    """A text that ends in a breaker goes on repeating in this engine, and not in the stage: refuse the difference."""
    if values["dry_sequence_breakers"]:
        hint = "a text that ends in a breaker still counts as a repeat here, which fairdraw does not model yet"
        raise ParameterError("dry_sequence_breakers", values["dry_sequence_breakers"], "[] beside dry_multiplier", hint)
    return ()


_EDITS = (
    Step(stage=Mask),
    Step(
        stage=Dry,
        fields={
            "multiplier": "dry_multiplier",
            "base": "dry_base",
            "allowed_length": "dry_allowed_length",
            "breakers": _no_breakers,
        },
        switches={"longest": 50, "unknown_ids": "ignore"},
        reads=("dry_sequence_breakers",),
        off=(off_if("dry_multiplier", "is", None, 0.0),),
    ),
    Step(
        stage=PresenceFrequencyPenalty,
        fields={"presence": or_zero("presence_penalty"), "frequency": or_zero("frequency_penalty")},
        switches={"unknown_ids": "ignore"},
        reads=("presence_penalty", "frequency_penalty"),
        off=(off_if("presence_penalty", "falsy with", "frequency_penalty"),),
    ),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "repetition_penalty"},
        switches={"unknown_ids": "ignore"},
        off=(off_if("repetition_penalty", "is", None, 1.0),),
    ),
    Step(stage=LogitBias, fields={"bias": "logit_bias"}, off=(off_if("logit_bias", "is", None, ()),)),
)
_CUTS = (
    Step(
        stage=Temperature,
        fields={"value": "temperature"},
        switches={"operation": "multiply"},
        off=(off_if("temperature", "is", 1.0),),
    ),
    Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "any"}, off=(off_if("top_k", "is", None, 0),)),
    Step(
        stage=TopP,
        fields={"p": in_float32("top_p")},
        switches={"ties": "any"},
        reads=("top_p",),
        off=(off_if("top_p", "<=", 0.0), off_if("top_p", ">=", 1.0)),
    ),
    Step(
        stage=MinP,
        fields={"p": "min_p"},
        switches={"boundary": "strict"},
        off=(off_if("min_p", "<=", 0.0), off_if("min_p", ">=", 1.0)),
    ),
)


MISTRAL_RS = Dialect(
    engine="mistral_rs",
    version="0.9",
    summary="exactly k, p of what it left, a strict min-p that is off at 1; frequency and presence before repetition",
    source="mistral.rs 0.9.2 (9e92262): mistralrs-core/src/sampler.rs, engine/add_request.rs",
    variants=MappingProxyType(
        {
            "": Variant(
                parameters=PARAMETERS,
                modes=(
                    Mode(
                        name="greedy",
                        steps=_EDITS,
                        when=lambda values: values["temperature"] < LEAST_TEMPERATURE,  # type: ignore[operator]
                        draw=Greedy(),
                        reads=("temperature",),
                        ignores="a temperature below 1e-7 is argmax",
                    ),
                    Mode(name="sample", steps=(*_EDITS, *_CUTS), reads=("temperature",)),
                ),
            )
        }
    ),
    from_params=by_our_names("mistral_rs", PARAMETERS),
    unmodelled=MappingProxyType(
        {
            "grammar": "a second draw with a mask where the first one broke the grammar; unset is off",
            "response_format": "a second draw with a mask where the first one broke the grammar; unset is off",
            "logprobs": "whether logprobs are reported; top_logprobs says how many",
            "best_of": "how many texts are drawn for n; changes no law of one step",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "max_new_tokens": "max_tokens",
            "max_len": "max_tokens",
            "stop_seqs": "stop",
            "n_choices": "n",
            "logits_bias": "logit_bias",
            "repeat_penalty": "repetition_penalty",
            "temp": "temperature",
            "seed": "not part of a request; pass it where a token is drawn",
        }
    ),
)
