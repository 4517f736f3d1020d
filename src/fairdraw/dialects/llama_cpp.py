"""llama.cpp, one token of one request, as its server and its command line sample.

Read: llama.cpp 0c1e57098 (in the sdist of llama-cpp-python 0.3.36), src/llama-sampler.cpp, common/sampling.cpp,
common/common.h, tools/server/server-schema.cpp.  Run: the library and the server of xllamacpp 2026.10.11549.

- Order: bias and banned ends, then what ``samplers`` says; unless told otherwise penalties, DRY, top-n-sigma, top-k,
  typical, top-p, min-p, XTC, **temperature last**.  A sampler that is not in the list does nothing.
- The defaults cut: **top_k 40, top_p 0.95, min_p 0.05, temperature 0.8**.
- All three penalties see the last 64 tokens, **prompt included**; 0 or less is off (the server refuses less).
- top-k keeps exactly k; which of equals, there and at every other cut, is left to a sort.
- **A token at -inf (forbidden, or out by top-n-sigma) that is still among the candidates breaks typical**: the
  entropy is NaN, and the cut follows an order that the sort makes of nothing.  The law is that of libstdc++'s sort.
- XTC leaves the likely tokens out by a coin of its own.  With a dynamic temperature a temperature of 0 is not greedy.
- ``mirostat`` 1 and 2 know only bias and temperature.  adaptive-p runs last, if ``samplers`` names it.
- A grammar is no mask there: a token is drawn without it, and only a forbidden one is drawn again, now masked.  So
  P(t) = f(t) + f(forbidden) g(t), f the law without and g the law with the mask: the variant ``grammar_after_draw``.
  Without a variant a mask has the law g.
- DRY's breakers act through every token that contains one or begins in one, for which fairdraw has no table:
  ``dry_sequence_breakers`` has to be [] beside ``dry_multiplier``.
- The engine sums in float32.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Fill, Mode, Step, Values, Variant, canonical_reading, off_if
from fairdraw.dialects.llama_cpp_parameters import ALL, PARAMETERS, sampler_names
from fairdraw.dialects.steps import in_float32
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.params import SamplingParams
from fairdraw.stages import (
    AdaptiveP,
    AtLeast,
    CandidateTypical,
    Checkpoint,
    Dry,
    DynamicTemperature,
    LogitBias,
    Mask,
    MinP,
    Mirostat1,
    Mirostat2,
    PresenceFrequencyPenalty,
    Redraw,
    RepetitionPenalty,
    Restart,
    SuppressedTokens,
    Temperature,
    TopK,
    TopNSigma,
    TopP,
    Xtc,
)

LARGEST_THRESHOLD = 0.5
"""XTC is off above: two tokens cannot both reach it."""


def _inside(name: str, low: float, high: float) -> Fill:
    """A number clamped as the server does it, in float32."""
    exact = in_float32(name)

    def fill(values: Values, facts: ModelFacts | None) -> object:
        return min(high, max(low, exact(values, facts)))  # type: ignore[type-var]

    return fill


def _least(values: Values, facts: ModelFacts | None) -> object:
    return max(1, values["min_keep"])  # type: ignore[type-var]


def _ends(values: Values, facts: ModelFacts | None) -> object:
    if facts is None or not facts.end_token_ids:
        hint = "pass facts=ModelFacts(vocab_size=..., end_token_ids=...): the engine forbids these ids"
        raise ParameterError("ignore_eos", True, "false where no end id is known", hint)
    return facts.end_token_ids


def _breakers(values: Values, facts: ModelFacts | None) -> object:
    if values["dry_sequence_breakers"]:
        hint = "fairdraw has no table of the tokens that contain a breaker or begin in one"
        raise ParameterError("dry_sequence_breakers", values["dry_sequence_breakers"], "[] beside dry_multiplier", hint)
    return ()


def _candidates(sampler: str) -> Fill:
    """How many candidates, those at -inf included, stand before a sampler; 0 where an earlier one drops those."""

    def fill(values: Values, facts: ModelFacts | None) -> object:
        count = ALL
        for name in sampler_names(values):
            if name == sampler:
                return count
            if name == "top_k" and values["top_k"] > 0:  # type: ignore[operator]
                count = min(count, values["top_k"])  # type: ignore[type-var]
            dropped = {
                "top_p": values["top_p"] < 1,  # type: ignore[operator]
                "min_p": values["min_p"] > 0,  # type: ignore[operator]
                "typ_p": values["typical_p"] < 1,  # type: ignore[operator]
                "xtc": values["xtc_probability"] > 0,  # type: ignore[operator]
            }
            if dropped.get(name, False):
                return 0
        return 0

    return fill


def _at_two(fill: Fill) -> Fill:
    """A count of candidates of which an entropy can be taken, or None."""

    def filled(values: Values, facts: ModelFacts | None) -> object:
        count = fill(values, facts)
        return max(2, count) if count else None  # type: ignore[type-var]

    return filled


def _temperature_end(sign: int) -> Fill:
    def fill(values: Values, facts: ModelFacts | None) -> object:
        temperature = max(0.0, values["temperature"])  # type: ignore[type-var]
        return max(0.0, temperature + sign * values["dynatemp_range"])  # type: ignore[operator]

    return fill


def _kept_at_least(step: Step, back: str) -> tuple[Step, ...]:
    """A cut that ``min_keep`` may take back in part."""
    idle = (*step.off, off_if("min_keep", "<=", 1))
    return (
        Step(stage=Checkpoint, off=idle),
        step,
        Step(stage=AtLeast, fields={"count": "min_keep"}, switches={"back": back}, off=idle),
    )


_LAST_N = off_if("repeat_last_n", "<=", 0)
_NO_MIROSTAT, _STATIC = off_if("mirostat", "is", 0), off_if("dynatemp_range", "<=", 0.0)
_SAMPLERS: Mapping[str, tuple[Step, ...]] = MappingProxyType(
    {
        "penalties": (
            Step(
                stage=RepetitionPenalty,
                fields={"penalty": "repeat_penalty", "window": "repeat_last_n"},
                switches={"unknown_ids": "ignore"},
                off=(off_if("repeat_penalty", "is", 1.0), _LAST_N),
            ),
            Step(
                stage=PresenceFrequencyPenalty,
                fields={"presence": "presence_penalty", "frequency": "frequency_penalty", "window": "repeat_last_n"},
                switches={"scope": "all", "operation": "together", "unknown_ids": "ignore"},
                off=(off_if("presence_penalty", "falsy with", "frequency_penalty"), _LAST_N),
            ),
        ),
        "dry": (
            Step(
                stage=Dry,
                fields={
                    "multiplier": "dry_multiplier",
                    "base": "dry_base",
                    "allowed_length": "dry_allowed_length",
                    "window": "dry_penalty_last_n",
                    "breakers": _breakers,
                },
                switches={"unknown_ids": "ignore"},
                reads=("dry_sequence_breakers",),
                off=(off_if("dry_multiplier", "is", 0.0), off_if("dry_penalty_last_n", "<=", 0)),
            ),
        ),
        "top_n_sigma": (Step(stage=TopNSigma, fields={"n": "top_n_sigma"}, off=(off_if("top_n_sigma", "<=", 0.0),)),),
        "top_k": (Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "any"}, off=(off_if("top_k", "<=", 0),)),),
        "typ_p": (
            Step(
                stage=CandidateTypical,
                fields={"p": _inside("typical_p", 0.0, 1.0), "least": _least, "candidates": _candidates("typ_p")},
                reads=("typical_p", "min_keep"),
                off=(off_if("typical_p", ">=", 1.0),),
            ),
        ),
        "top_p": _kept_at_least(
            Step(
                stage=TopP,
                fields={"p": _inside("top_p", 0.0, 1.0)},
                switches={"ties": "any"},
                reads=("top_p",),
                off=(off_if("top_p", ">=", 1.0),),
            ),
            "best",
        ),
        "min_p": _kept_at_least(
            Step(
                stage=MinP,
                fields={"p": _inside("min_p", 0.0, 1.0)},
                reads=("min_p",),
                off=(off_if("min_p", "<=", 0.0),),
            ),
            "best",
        ),
        "xtc": _kept_at_least(
            Step(
                stage=Xtc,
                fields={
                    "probability": _inside("xtc_probability", 0.0, 1.0),
                    "threshold": _inside("xtc_threshold", 0.0, LARGEST_THRESHOLD),
                },
                switches={"ties": "any"},
                reads=("xtc_probability", "xtc_threshold"),
                off=(off_if("xtc_probability", "<=", 0.0), off_if("xtc_threshold", ">", LARGEST_THRESHOLD)),
            ),
            "all",
        ),
        "temperature": (
            Step(
                stage=Temperature,
                fields={"value": "temperature"},
                switches={"operation": "divide"},
                off=(off_if("temperature", "is", 1.0), off_if("dynatemp_range", ">", 0.0)),
            ),
            Step(
                stage=DynamicTemperature,
                fields={
                    "low": _temperature_end(-1),
                    "high": _temperature_end(1),
                    "exponent": "dynatemp_exponent",
                    "candidates": _at_two(_candidates("temperature")),
                },
                switches={"operation": "divide"},
                reads=("temperature", "dynatemp_range"),
                off=(_STATIC,),
            ),
        ),
        "adaptive_p": (
            Step(
                stage=AdaptiveP,
                fields={"target": "adaptive_target", "decay": "adaptive_decay"},
                off=(off_if("adaptive_target", "<=", -1e-45),),
            ),
        ),
    }
)
_EDITS = (
    Step(stage=Mask),
    Step(stage=LogitBias, fields={"bias": "logit_bias"}, off=(off_if("logit_bias", "is", None, ()),)),
    Step(
        stage=SuppressedTokens, fields={"ids": _ends}, reads=("ignore_eos",), off=(off_if("ignore_eos", "is", False),)
    ),
)
_MIROSTAT = (
    replace(_SAMPLERS["temperature"][0], off=(off_if("temperature", "is", 1.0),)),
    *(
        Step(
            stage=stage,
            fields={"tau": "mirostat_tau", "eta": "mirostat_eta"},
            off=(off_if("mirostat", "<=", version - 1), off_if("mirostat", ">", version)),
        )
        for version, stage in ((1, Mirostat1), (2, Mirostat2))
    ),
)
_SAMPLER_STEPS = tuple(step for steps in _SAMPLERS.values() for step in steps)


def _is_greedy(values: Values) -> bool:
    if values["temperature"] > 0:  # type: ignore[operator]
        return False
    if values["mirostat"]:
        return True
    return "temperature" in sampler_names(values) and values["dynatemp_range"] <= 0  # type: ignore[operator]


def _chain(values: Values) -> tuple[Step, ...]:
    """The steps in the request's order; adaptive-p draws by itself in the engine, so it is the last."""
    names = sampler_names(values)
    last = ("adaptive_p",) if "adaptive_p" in names else ()
    chain = (*(name for name in names if name != "adaptive_p"), *last)
    return (*_EDITS, *(step for name in chain for step in _SAMPLERS[name]))


def _drawn_twice(values: Values) -> tuple[Step, ...]:
    """The chain without the mask, then again with it."""
    stateful = "mirostat" if values["mirostat"] else "samplers" if "adaptive_p" in sampler_names(values) else ""
    if stateful:
        hint = "each of the two draws of a step moves the state of mirostat and adaptive_p: not modelled"
        raise ParameterError(stateful, values[stateful], "without a memory where a grammar comes after the draw", hint)
    mask, *chain = _chain(values)
    begin, drawn = (Step(stage=Checkpoint, switches={"label": label}) for label in ("begin", "drawn"))
    return (begin, *chain, drawn, Step(stage=Restart), mask, *chain, Step(stage=Redraw))


def _greedy_chain(values: Values) -> tuple[Step, ...]:
    """What a temperature of 0 picks the best of; nothing that comes after it matters."""
    if values["mirostat"]:
        return _EDITS
    names = sampler_names(values)
    return (*_EDITS, *(s for name in names[: names.index("temperature")] for s in _SAMPLERS[name]))


_READS = ("temperature", "dynatemp_range", "mirostat", "samplers")
_UNLISTED = "its sampler is not among samplers"
MODES = (
    Mode(
        name="greedy",
        steps=(*_EDITS, *_SAMPLER_STEPS),
        when=_is_greedy,
        draw=Greedy(),
        reads=_READS,
        arrange=_greedy_chain,
        ignores="a temperature of 0 leaves one token",
    ),
    Mode(
        name="mirostat",
        steps=(*_EDITS, *_MIROSTAT),
        when=lambda values: bool(values["mirostat"]),
        reads=_READS,
        ignores="mirostat knows only bias and temperature",
    ),
    Mode(name="sample", steps=(*_EDITS, *_SAMPLER_STEPS), reads=_READS, arrange=_chain, ignores=_UNLISTED),
)


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    """A target of adaptive-p asks for its sampler as well, which the engine does not run by itself."""
    request = canonical_reading("llama_cpp", PARAMETERS, params)
    return "", request


LLAMA_CPP = Dialect(
    engine="llama_cpp",
    version="0c1e57098",
    summary="top_k 40, top_p 0.95, min_p 0.05 and temperature 0.8 unless told otherwise; temperature last",
    source="llama.cpp 0c1e57098: src/llama-sampler.cpp, common/sampling.cpp, common/common.h, "
    "tools/server/server-schema.cpp; run: xllamacpp 2026.10.11549",
    variants=MappingProxyType(
        {
            "": Variant(parameters=PARAMETERS, modes=MODES, meaning="a mask comes first"),
            "grammar_after_draw": Variant(
                parameters=PARAMETERS,
                modes=(MODES[0], *(replace(mode, arrange=_drawn_twice) for mode in MODES[1:])),
                meaning="the engine's grammar: the mask acts where the first draw broke it",
            ),
        }
    ),
    from_params=_from_params,
    unmodelled=MappingProxyType(
        {
            "grammar": "a second draw with a mask where the first one broke the grammar; pass what it allows as a mask",
            "json_schema": "a grammar made of a schema; pass what it allows as a mask",
            "grammar_lazy": "a grammar that waits for a trigger",
            "post_sampling_probs": "which probabilities are reported; changes no law",
            "backend_sampling": "the chain on the accelerator; off by default",
            "reasoning_budget_tokens": "forces the end of thinking after so many tokens; unset is off",
            "n_cmpl": "how many texts are drawn; changes no law of one step",
            "n_keep": "what a full context keeps of its beginning; changes no law of one step",
            "t_max_predict_ms": "a limit of time on the text",
            "cache_prompt": "whether a prompt is read again; changes no law",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "repetition_penalty": "repeat_penalty",
            "penalty_last_n": "repeat_last_n",
            "max_new_tokens": "n_predict",
            "do_sample": "temperature (0 is greedy)",
            "tfs_z": "not there any more; no sampler of llama.cpp's does it",
            "top_a": "not there; no sampler of llama.cpp's does it",
        }
    ),
)
