"""exllamav2: ``ExLlamaV2Sampler.Settings``, one token of one text.

Read and run (its sampling.cpp, compiled): exllamav2 0.3.2 @da07fac, generator/sampler.py,
exllamav2_ext/ext_sampling.cpp, exllamav2_ext/cpp/sampling.cpp.

- **The defaults change the law**: temperature 0.8, top_k 50, top_p 0.8, repetition penalty 1.025.
- Order: repetition, presence, frequency (all over prompt and output), bias; smoothing and temperature; top-k, top-p,
  top-a, min-p, tail-free, mirostat; with ``temperature_last`` the temperature, or the one of min_temp and max_temp,
  which follows the entropy; XTC.
- **top-p is no prefix**: the token that crosses p goes, and lighter ones fill what is left.
- **min-p may let one candidate too many pass**, or bring one back; top-a has the same fault, which is not modelled.
- A temperature below 0.01 is top_k 1.  top_k keeps exactly k; which of equals depends on their order.
- XTC is the exact average over its coin, **if the candidates are sorted**: after top-k, top-p, tail-free or mirostat.
  Otherwise its index is off by one, which is not modelled: such a request is refused.
- The uniform number is shortened to u * 0.9998, so that the last 0.02 % of the mass is never drawn: the variant
  ``short_draw``.  Without a variant the law is what the engine hands to its draw.
- typical has a score of its own, x + log x: not modelled.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, by_our_names, off_if
from fairdraw.dialects.steps import in_float32
from fairdraw.domains import BiasMap, Domain, Real, TokenIds, Truth, Whole
from fairdraw.draws import Draw, Race, Truncated
from fairdraw.errors import ParameterError
from fairdraw.stages import (
    Checkpoint,
    DynamicTemperature,
    KnapsackTopP,
    LogitBias,
    Mask,
    Mirostat2,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Smoothing,
    SpareMinP,
    TailFree,
    Temperature,
    TopA,
    TopK,
    XtcAverage,
)

_SOURCE = "generator/sampler.py, Settings"
LEAST_TEMPERATURE, LARGEST_HEAP, DRAWN = 0.01, 500, 0.9998
"""Below the first, top_k is 1; above the second top-k sorts its array; the last is the share of u."""
_UNIT = Real(0)


def _parameter(name: str, domain: Domain, default: object, meaning: str, canonical: str = "") -> Parameter:
    return Parameter(
        name=name,
        domain=domain,
        default=default,
        default_source=_SOURCE,
        canonical=canonical,
        meaning=meaning,
    )


PARAMETERS = (
    _parameter(
        "temperature", Real(0), 0.8, "divides the logits; below 0.01 it is top_k 1, 1 is off", "temperature"
    ),
    _parameter("temperature_last", Truth(), False, "whether the temperature comes after the cuts"),
    _parameter("min_temp", Real(0, 1e38), 0.0, "temperature of a row without entropy, if max_temp is above it"),
    _parameter("max_temp", Real(0, 1e38), 0.0, "temperature of a flat row; no more than min_temp is off"),
    _parameter("temp_exponent", Real(0), 1.0, "above 1: cold for longer", "dynatemp_exponent"),
    _parameter(
        "smoothing_factor", Real(0), 0.0, "squares each logit's distance from the best one, times this; 0 is off",
        "smoothing_factor",
    ),
    _parameter("top_k", Whole(), 50, "keep exactly the k best; 0 or less is off", "top_k"),
    _parameter(
        "top_p", Real(), 0.8, "fill a bag with tokens up to this share of what is left; outside (0, 1) it is off",
        "top_p",
    ),
    _parameter(
        "top_a", Real(0, 1), 0.0, "keep tokens with this multiple of the best one's squared share; 0 is off", "top_a"
    ),
    _parameter("min_p", Real(), 0.0, "keep tokens with this share of the best one; outside (0, 1) it is off", "min_p"),
    _parameter(
        "tfs", Real(), 0.0, "keep the best tokens up to this share of their curvature; outside (0, 1) it is off", "tfs"
    ),
    _parameter("mirostat", Truth(), False, "mirostat 2, beside the other cuts"),
    _parameter("mirostat_tau", _UNIT, 1.5, "surprise that mirostat aims at, in bits", "mirostat_tau"),
    _parameter("mirostat_eta", _UNIT, 0.1, "how fast mirostat follows", "mirostat_eta"),
    _parameter(
        "xtc_probability", Real(0, 1), 0.0, "how much of a likely token's mass is taken; 0 is off", "xtc_probability"
    ),
    _parameter(
        "xtc_threshold", Real(0, 1), 0.1, "a token with at least this probability is a likely one", "xtc_threshold"
    ),
    _parameter(
        "xtc_ignore_tokens", TokenIds(), (),
        "ids from which XTC takes nothing; unset, the engine takes those with a newline: say which",
    ),
    _parameter(
        "token_repetition_penalty", Real(0, open="low"), 1.025,
        "divides the logits of ids seen in prompt and output; 1 is off", "repetition_penalty",
    ),
    _parameter("token_presence_penalty", Real(), 0.0, "subtracted once from ids seen; 0 is off", "presence_penalty"),
    _parameter(
        "token_frequency_penalty", Real(), 0.0, "subtracted from ids seen for each time; 0 is off",
        "frequency_penalty",
    ),
    _parameter(
        "token_repetition_range", Whole(-1), -1, "how many of the last tokens the penalties look at; -1 is all, 0 none"
    ),
    Parameter(name="token_bias", domain=BiasMap(), canonical="logit_bias", meaning="added to the logits of a few ids"),
)  # fmt: skip


def _last(values: Values, facts: ModelFacts | None) -> object:
    length = values["token_repetition_range"]
    return None if length == -1 else length


def _is_cold(values: Values) -> bool:
    return not values["temperature_last"] and values["temperature"] < LEAST_TEMPERATURE  # type: ignore[operator]


def _cuts_k(values: Values, facts: ModelFacts | None) -> bool:
    """Whether top-k leaves its array sorted; a k of the whole row or more leaves it as it is."""
    k = values["top_k"]
    return k > 0 and (facts is None or k < facts.vocab_size)  # type: ignore[operator]


def _cuts_p(values: Values) -> bool:
    return 0 < values["top_p"] < 1  # type: ignore[operator]


def _order(values: Values, facts: ModelFacts | None) -> object:
    return "score" if _cuts_k(values, facts) else "id"


def _order_before_last_cut(values: Values, facts: ModelFacts | None) -> object:
    if _cuts_p(values):
        return _order(values, facts)
    return "score" if _cuts_k(values, facts) and values["top_k"] > LARGEST_HEAP else "id"  # type: ignore[operator]


def _threshold(values: Values, facts: ModelFacts | None) -> object:
    is_sorted = _cuts_k(values, facts) or _cuts_p(values) or 0 < values["tfs"] < 1 or values["mirostat"]  # type: ignore[operator]
    if not is_sorted:
        hint = (
            "without top_k, top_p, tfs or mirostat its candidates are not sorted, and the engine's index is off by one"
        )
        raise ParameterError("xtc_probability", values["xtc_probability"], "0 where nothing sorts", hint)
    return in_float32("xtc_threshold")(values, facts)


_NONE_SEEN = off_if("token_repetition_range", "is", 0)
_EDITS = (
    Step(stage=Mask),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "token_repetition_penalty", "window": _last},
        switches={"unknown_ids": "ignore"},
        reads=("token_repetition_range",),
        off=(off_if("token_repetition_penalty", "is", 1.0), _NONE_SEEN),
    ),
    Step(
        stage=PresenceFrequencyPenalty,
        fields={"presence": "token_presence_penalty", "frequency": "token_frequency_penalty", "window": _last},
        switches={"scope": "all", "unknown_ids": "ignore"},
        reads=("token_repetition_range",),
        off=(off_if("token_presence_penalty", "falsy with", "token_frequency_penalty"), _NONE_SEEN),
    ),
    Step(stage=LogitBias, fields={"bias": "token_bias"}, off=(off_if("token_bias", "is", None, ()),)),
)
_SMOOTHING = Step(stage=Smoothing, fields={"factor": "smoothing_factor"}, off=(off_if("smoothing_factor", "is", 0.0),))
_FIRST = Step(
    stage=Temperature,
    fields={"value": "temperature"},
    off=(off_if("temperature", "is", 1.0), off_if("temperature_last", "is", True)),
)
_NO_P = (off_if("top_p", "<=", 0.0), off_if("top_p", ">=", 1.0))
_NO_MIN_P = (off_if("min_p", "<=", 0.0), off_if("min_p", ">=", 1.0))
_BEFORE_LAST_CUT = Step(stage=Checkpoint, off=_NO_MIN_P)


def _top_k(one: bool) -> Step:
    if one:
        return Step(stage=TopK, switches={"k": 1, "ties": "any"})
    return Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "any"}, off=(off_if("top_k", "<=", 0),))


def _cuts(one: bool) -> tuple[Step, ...]:
    """From top-k on; a checkpoint stands before each of the cuts that may be the last before min-p."""
    return (
        _BEFORE_LAST_CUT,
        _top_k(one),
        Step(stage=Checkpoint, off=(*_NO_MIN_P, *_NO_P)),
        Step(
            stage=KnapsackTopP, fields={"p": in_float32("top_p"), "order": _order}, reads=("top_p", "top_k"), off=_NO_P
        ),
        Step(stage=TopA, fields={"a": "top_a"}, off=(off_if("top_a", "is", 0.0),)),
        Step(
            stage=SpareMinP,
            fields={"p": in_float32("min_p"), "order": _order_before_last_cut},
            reads=("min_p", "top_p", "top_k"),
            off=_NO_MIN_P,
        ),
        Step(stage=TailFree, fields={"z": "tfs"}, off=(off_if("tfs", "<=", 0.0), off_if("tfs", ">=", 1.0))),
        Step(
            stage=Mirostat2,
            fields={"tau": "mirostat_tau", "eta": "mirostat_eta"},
            off=(off_if("mirostat", "is", False),),
        ),
    )


_STATIC_LAST = Step(
    stage=Temperature,
    fields={"value": "temperature"},
    off=(off_if("temperature", "is", 1.0), off_if("temperature_last", "is", False)),
)
_DYNAMIC_LAST = Step(
    stage=DynamicTemperature, fields={"low": "min_temp", "high": "max_temp", "exponent": "temp_exponent"}
)
_XTC = Step(
    stage=XtcAverage,
    fields={"probability": "xtc_probability", "threshold": _threshold, "protected": "xtc_ignore_tokens"},
    switches={"ties": "any"},
    reads=("xtc_threshold", "top_k", "top_p", "tfs", "mirostat"),
    off=(off_if("xtc_probability", "is", 0.0),),
)
_ALL = (*_EDITS, _SMOOTHING, _FIRST, *_cuts(False), _STATIC_LAST, _DYNAMIC_LAST, _XTC)
_COLD = (*_EDITS, *_cuts(True), _STATIC_LAST, _DYNAMIC_LAST, _XTC)


def _follows_entropy(values: Values) -> bool:
    return values["max_temp"] > values["min_temp"]  # type: ignore[operator]


def _one_temperature(steps: tuple[Step, ...]) -> object:
    """The steps with the last temperature that holds: min_temp and max_temp override the static one."""

    def arrange(values: Values) -> tuple[Step, ...]:
        unused = _STATIC_LAST if _follows_entropy(values) else _DYNAMIC_LAST
        return tuple(step for step in steps if step is not unused)

    return arrange


_READS = ("temperature", "temperature_last", "min_temp", "max_temp")


def _variant(draw: Draw, meaning: str) -> Variant:
    return Variant(
        parameters=PARAMETERS,
        modes=(
            Mode(
                name="one token",
                steps=_COLD,
                when=_is_cold,
                draw=draw,
                reads=_READS,
                arrange=_one_temperature(_COLD),  # type: ignore[arg-type]
                ignores="a temperature below 0.01 is top_k 1",
            ),
            Mode(
                name="sample",
                steps=_ALL,
                draw=draw,
                reads=_READS,
                arrange=_one_temperature(_ALL),  # type: ignore[arg-type]
            ),
        ),
        meaning=meaning,
    )


EXLLAMAV2 = Dialect(
    engine="exllamav2",
    version="0.3.2",
    summary="T 0.8, top_k 50, top_p 0.8 and a repetition penalty unless told otherwise; top-p is no prefix",
    source="exllamav2 0.3.2 @da07fac: generator/sampler.py, exllamav2_ext/ext_sampling.cpp, cpp/sampling.cpp",
    variants=MappingProxyType(
        {
            "": _variant(Race(), "what the engine hands to its draw"),
            "short_draw": _variant(Truncated(p=DRAWN), "with the draw's u * 0.9998, where candidates are sorted"),
        }
    ),
    from_params=by_our_names("exllamav2", PARAMETERS),
    unmodelled=MappingProxyType(
        {
            "typical": "a typical cut with a score of its own; 0 and 1 are off",
            "skew": "bends the uniform number; 0 is off",
            "cfg_scale": "a second row, without the prompt; unset is off",
            "token_repetition_decay": "how far the penalties fade after their range; 0 is off",
            "dry_multiplier": "a DRY that counts how often a repeat came; 0 is off",
            "dry_base": "acts with dry_multiplier alone",
            "dry_allowed_length": "acts with dry_multiplier alone",
            "dry_range": "acts with dry_multiplier alone",
            "dry_max_ngram": "acts with dry_multiplier alone",
            "dry_sequence_breakers": "acts with dry_multiplier alone",
            "filters": "grammars; pass what they allow as a mask",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "repetition_penalty": "token_repetition_penalty",
            "repeat_penalty": "token_repetition_penalty",
            "presence_penalty": "token_presence_penalty",
            "frequency_penalty": "token_frequency_penalty",
            "penalty_last_n": "token_repetition_range",
            "repeat_last_n": "token_repetition_range",
            "logit_bias": "token_bias",
            "temp": "temperature",
            "temp_last": "temperature_last",
            "typical_p": "typical, which fairdraw does not model",
            "dynatemp_range": "min_temp and max_temp",
            "seed": "not part of the settings; pass it where a token is drawn",
            "max_tokens": "not part of the settings; pass it where a text is written",
        }
    ),
)
