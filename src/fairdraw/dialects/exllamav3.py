"""exllamav3: ``ComboSampler``, ``DefaultSampler``, or steps in an order of one's own.

Read: exllamav3 1.6.5, generator/sampler/{presets,custom}.py; 1.4.1 (4f8ad01), exllamav3_ext/generator/rep_pen.cu.

- Without a variant ``ComboSampler``: bias, repetition, presence and frequency, DRY; temperature, min-p, top-k, top-p;
  with ``temp_last`` the temperature after them.  Temperature 0, top_k 1 and top_p 0 are argmax.
- By default its kernel works all that in one step and **keeps all equals at top-k's cut**; those at top-p's edge share
  the place of as many as the prefix needs (the law here reports them as a tie that is open).  ``step_by_step``
  (EXL3_FUSED_SAMPLER=0) keeps exactly k.
- ``DefaultSampler``, the generator's when none is given: min_p 0.08, then temperature 0.8.
- ``CustomSampler`` runs ``steps`` as they are listed: argmax temperature min_p top_k top_p xtc.  XTC is the exact
  average over its coin.
- Penalties see prompt and output; **of a range of n they see n - 1**: the test for its end is off by one.
- 1.4 and earlier drop the token that crosses p; 1.6 keeps it.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, by_our_names, off_if
from fairdraw.dialects.steps import in_float32
from fairdraw.domains import BiasMap, Domain, Real, Texts, TokenIds, Truth, Whole
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.stages import (
    AdaptiveP,
    Dry,
    LogitBias,
    Mask,
    MinP,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
    XtcAverage,
)

_SOURCE = "presets.py, ComboSampler"
EVERYTHING = 10**8
"""The range that the engine means by all."""


def _parameter(name: str, domain: Domain, default: object, meaning: str, canonical: str = "") -> Parameter:
    return Parameter(
        name=name,
        domain=domain,
        default=default,
        default_source=_SOURCE,
        canonical=canonical,
        meaning=meaning,
    )


_TEMPERATURE = _parameter(
    "temperature", Real(0), 1.0, "divides the logits in float32; 0 is argmax, 1 is off", "temperature"
)
_CUT_PARAMETERS = (
    _parameter("min_p", Real(0, 1), 0.0, "keep tokens with this share of the best one; 0 is off", "min_p"),
    _parameter("top_k", Whole(), 0, "keep the k best; 0 or less is off, 1 is argmax", "top_k"),
    _parameter(
        "top_p", Real(0, 1), 1.0, "keep the shortest prefix with this share of what is left; 1 is off, 0 leaves one",
        "top_p",
    ),
)  # fmt: skip
PARAMETERS = (
    _TEMPERATURE,
    *_CUT_PARAMETERS,
    _parameter("temp_last", Truth(), False, "whether the temperature comes after the cuts"),
    _parameter(
        "rep_p", Real(0, open="low"), 1.0, "divides the logits of ids seen in prompt and output; 1 is off",
        "repetition_penalty",
    ),
    _parameter("pres_p", Real(), 0.0, "subtracted once from ids seen; 0 is off", "presence_penalty"),
    _parameter("freq_p", Real(), 0.0, "subtracted from ids seen for each time; 0 is off", "frequency_penalty"),
    _parameter(
        "rep_sustain_range", Whole(0), EVERYTHING, "one more than how many of the last tokens the penalties look at"
    ),
    _parameter(
        "dry_multiplier", Real(0), 0.0, "subtracted from an id that would lengthen a repeat; 0 is off",
        "dry_multiplier",
    ),
    _parameter("dry_base", Real(1), 1.75, "by what that grows with each token more", "dry_base"),
    _parameter("dry_allowed_length", Whole(0), 2, "length from which a repeat counts", "dry_allowed_length"),
    _parameter("dry_range", Whole(0), 0, "how many of the last tokens DRY looks at; 0 is all", "dry_penalty_last_n"),
    Parameter(
        name="dry_sequence_breakers", domain=TokenIds(),
        meaning="ids that no repeat reaches across; unset, the engine takes all with punctuation: say which",
    ),
    _parameter(
        "adaptive_target", Real(0, 1), 1.0, "probability that adaptive-p aims at; 1 is off", "adaptive_target"
    ),
    _parameter("adaptive_decay", Real(0, 0.99), 0.9, "how much of the past counts for adaptive-p", "adaptive_decay"),
    Parameter(name="logit_bias", domain=BiasMap(), canonical="logit_bias", meaning="added to the logits of a few ids"),
)  # fmt: skip
STEP_PARAMETERS = (
    Parameter(
        name="steps", domain=Texts(), default=("temperature", "min_p", "top_k", "top_p"), default_source=_SOURCE,
        meaning="what runs, in this order: argmax temperature min_p top_k top_p xtc; argmax, if there, is the last",
    ),
    replace(_TEMPERATURE, domain=Real(0, open="low"), meaning="divides the logits in float32; 1 is off"),
    *_CUT_PARAMETERS,
    _parameter("probability", Real(0, 1), 0.0, "XTC: how much of a likely token's mass is taken; 0 is off"),
    _parameter(
        "threshold", Real(0, 1), 0.1, "XTC: a token with at least this probability is a likely one; above 0.5 it is off"
    ),
    _parameter("protected_token_ids", TokenIds(), (), "XTC: ids that lose nothing"),
)  # fmt: skip


def _last(values: Values, facts: ModelFacts | None) -> object:
    length = values["rep_sustain_range"]
    return None if length >= EVERYTHING else length - 1  # type: ignore[operator]


def _dry_last(values: Values, facts: ModelFacts | None) -> object:
    return values["dry_range"] or None


def _breakers(values: Values, facts: ModelFacts | None) -> object:
    ids = values["dry_sequence_breakers"]
    if ids is None:
        hint = "the engine derives its own from the tokenizer's pieces, for which fairdraw has no table"
        raise ParameterError("dry_sequence_breakers", None, "a list of ids beside dry_multiplier", hint)
    return tuple((token,) for token in ids)  # type: ignore[attr-defined]


def _temperature(*off: object) -> Step:
    return Step(
        stage=Temperature,
        fields={"value": "temperature"},
        switches={"operation": "divide"},
        off=(off_if("temperature", "is", 1.0), *off),  # type: ignore[arg-type]
    )


def _cuts(ties: str) -> tuple[Step, ...]:
    return (
        Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "is", 0.0),)),
        Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": ties}, off=(off_if("top_k", "<=", 0),)),
        Step(
            stage=TopP,
            fields={"p": in_float32("top_p")},
            switches={"ties": "any"},
            reads=("top_p",),
            off=(off_if("top_p", ">=", 1.0),),
        ),
    )


_ONE = off_if("rep_sustain_range", "<=", 1)
_EDITS = (
    Step(stage=Mask),
    Step(stage=LogitBias, fields={"bias": "logit_bias"}, off=(off_if("logit_bias", "is", None, ()),)),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "rep_p", "window": _last},
        switches={"unknown_ids": "ignore"},
        reads=("rep_sustain_range",),
        off=(off_if("rep_p", "is", 1.0), _ONE),
    ),
    Step(
        stage=PresenceFrequencyPenalty,
        fields={"presence": "pres_p", "frequency": "freq_p", "window": _last},
        switches={"scope": "all", "unknown_ids": "ignore"},
        reads=("rep_sustain_range",),
        off=(off_if("pres_p", "falsy with", "freq_p"), _ONE),
    ),
    Step(
        stage=Dry,
        fields={
            "multiplier": "dry_multiplier",
            "base": "dry_base",
            "allowed_length": "dry_allowed_length",
            "window": _dry_last,
            "breakers": _breakers,
        },
        switches={"unknown_ids": "ignore"},
        reads=("dry_range", "dry_sequence_breakers"),
        off=(off_if("dry_multiplier", "is", 0.0),),
    ),
)
_ADAPTIVE = Step(
    stage=AdaptiveP,
    fields={"target": "adaptive_target", "decay": "adaptive_decay"},
    off=(off_if("adaptive_target", "is", 1.0),),
)
_STEPS = MappingProxyType(
    {
        "temperature": _temperature(),
        **dict(zip(("min_p", "top_k", "top_p"), _cuts("any"), strict=True)),
        "xtc": Step(
            stage=XtcAverage,
            fields={
                "probability": "probability",
                "threshold": in_float32("threshold"),
                "protected": "protected_token_ids",
            },
            switches={"ties": "any"},
            reads=("threshold",),
            off=(off_if("probability", "is", 0.0), off_if("threshold", ">", 0.5)),
        ),
    }
)


def _listed(values: Values) -> tuple[Step, ...]:
    names = values["steps"]
    for place, name in enumerate(names, 1):  # type: ignore[arg-type]
        if name not in _STEPS and (name != "argmax" or place < len(names)):  # type: ignore[arg-type]
            hint = "the steps SS_Temperature, SS_MinP, SS_TopK, SS_TopP and SS_XTC, then perhaps SS_Argmax"
            raise ParameterError("steps", name, "a list of argmax (last), " + ", ".join(_STEPS), hint)
    return (_EDITS[0], *(_STEPS[name] for name in names if name != "argmax"))  # type: ignore[attr-defined]


def _combo(ties: str, meaning: str) -> Variant:
    reads = ("temperature", "top_k", "top_p")
    cuts = (_temperature(off_if("temp_last", "is", True)), *_cuts(ties), _temperature(off_if("temp_last", "is", False)))
    return Variant(
        parameters=PARAMETERS,
        modes=(
            Mode(
                name="argmax",
                steps=_EDITS,
                when=lambda values: values["temperature"] == 0 or values["top_k"] == 1,
                draw=Greedy(),
                reads=reads,
                ignores="temperature 0 and top_k 1 are argmax",
            ),
            Mode(name="sample", steps=(*_EDITS, *cuts, _ADAPTIVE), reads=reads),
        ),
        meaning=meaning,
    )


_DEFAULT = tuple(
    replace(p, default=value, default_source="presets.py, DefaultSampler", canonical="", meaning=meaning)
    for p, value, meaning in (
        (_CUT_PARAMETERS[0], 0.08, "keep tokens with this share of the best one, at temperature 1"),
        (replace(_TEMPERATURE, domain=Real(0, open="low")), 0.8, "divides the logits after min_p"),
    )
)
VARIANTS = MappingProxyType(
    {
        "": _combo("all", "ComboSampler in one kernel: equals of the k-th stay"),
        "step_by_step": _combo("any", "ComboSampler with EXL3_FUSED_SAMPLER=0: exactly k"),
        "DefaultSampler": Variant(
            parameters=_DEFAULT,
            modes=(Mode(name="sample", steps=(_EDITS[0], _STEPS["min_p"], _STEPS["temperature"])),),
            meaning="what the generator takes when no sampler is given",
        ),
        "CustomSampler": Variant(
            parameters=STEP_PARAMETERS,
            modes=(
                Mode(
                    name="argmax",
                    steps=(_EDITS[0], *_STEPS.values()),
                    when=lambda values: "argmax" in values["steps"],  # type: ignore[operator]
                    draw=Greedy(),
                    reads=("steps",),
                    arrange=_listed,
                    ignores="it is not among the steps",
                ),
                Mode(
                    name="sample",
                    steps=(_EDITS[0], *_STEPS.values()),
                    reads=("steps",),
                    arrange=_listed,
                    ignores="it is not among the steps",
                ),
            ),
            meaning="steps in an order of one's own",
        ),
    }
)


EXLLAMAV3 = Dialect(
    engine="exllamav3",
    version="1.6",
    summary="temperature, min-p, top-k, top-p; in one kernel equals of the k-th stay; a range of n sees n - 1 tokens",
    source="exllamav3 1.6.5: generator/sampler/presets.py, custom.py; 1.4.1 (4f8ad01): rep_pen.cu (read)",
    variants=VARIANTS,
    from_params=by_our_names("exllamav3", PARAMETERS),
    unmodelled=MappingProxyType(
        {
            "rep_decay_range": "how far the penalties fade after their range; 0 is off",
            "banned_strings": "texts that are taken back once they are complete; changes no law of one step",
            "filters": "grammars; pass what they allow as a mask",
            "token_healing": "whether the last token of the prompt is drawn again",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "repetition_penalty": "rep_p",
            "repeat_penalty": "rep_p",
            "presence_penalty": "pres_p",
            "frequency_penalty": "freq_p",
            "penalty_last_n": "rep_sustain_range (one more)",
            "token_repetition_penalty": "rep_p",
            "temperature_last": "temp_last",
            "temp": "temperature",
            "xtc_probability": "probability, of the variant CustomSampler",
            "xtc_threshold": "threshold, of the variant CustomSampler",
            "seed": "not part of a sampler; pass it where a token is drawn",
            "max_tokens": "not part of a sampler; pass it where a text is written",
        }
    ),
)
