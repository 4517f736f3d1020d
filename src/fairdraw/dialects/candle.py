"""candle's ``LogitsProcessor``, with the caller's repeat penalty before it.

Read: candle-transformers 0.11.0, src/generation/mod.rs and src/utils.rs; candle-nn 0.11.0, src/sampling.rs.

- Six variants, written as in Rust: ``ArgMax All TopK TopP TopKThenTopP GumbelSoftmax``.  Without a variant the plan
  is ``LogitsProcessor::new(seed, temperature, top_p)``: no temperature, or one below 1e-7, is ArgMax.
- Temperature is float32 x * float32(1 / T).  A cut keeps raw probabilities: in TopKThenTopP, p is a share of the
  whole row.  p is rounded to float32; p outside (0, 1) is off.
- candle sums in sequential float32: on flat rows of 32768 ids or more its running mass is off by up to 6e-5, so that
  top-p may take or leave a token more than the exact sum says; the law here is the exact sum's.
- top-k keeps exactly k; which of several equal tokens is left to Rust's selection on rows of more than 16.
- GumbelSoftmax draws its uniforms in [1e-7, 0.999): its law is not softmax.
- ``closure_top_k`` is the closure that gives transformers' meaning through ``sample_f``: keep the k best,
  renormalise, and only then the variant's own cut.
- ``repeat_penalty`` and ``repeat_last_n`` are ``apply_repeat_penalty`` as the examples call it, on the last n ids.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, off_if
from fairdraw.domains import Real, Whole
from fairdraw.draws import ClippedGumbel, Draw, Greedy, Race
from fairdraw.errors import ParameterError
from fairdraw.params import SamplingParams
from fairdraw.stages import Checkpoint, Mask, RepetitionPenalty, Temperature, TopK, TopP

_NOT_A_NUMBER = "A weight is negative, too large or not a valid number"
_EMPTY = "Weights sequence is empty/too long/unordered"
_ALL_ZERO = "Not enough weights > zero"


def _temperature_words(value: object) -> str:
    if isinstance(value, (int, float)) and value < 0:
        return "nothing; it would multiply by 1 / T and prefer the least probable tokens"
    if value == float("inf"):
        return "nothing; it would draw every token alike"
    return f"{_NOT_A_NUMBER!r}, without naming the temperature"


_TEMPERATURE = Parameter(
    name="temperature", domain=Real(0, open="low"), canonical="temperature", refusal=_temperature_words, required=True,
    meaning="multiplies the logits by float32(1 / T)",
)  # fmt: skip
_NEW_TEMPERATURE = replace(
    _TEMPERATURE,
    domain=Real(),
    required=False,
    meaning="multiplies the logits by float32(1 / T); unset or below 1e-7 is ArgMax",
)
_GUMBEL_TEMPERATURE = replace(
    _TEMPERATURE, domain=Real(), meaning="multiplies the logits by float32(1 / T); 0 or less is ArgMax"
)
_K = Parameter(
    name="k", domain=Whole(1), canonical="top_k", meaning="keep exactly the k best", required=True,
    refusal=lambda value: f"{_EMPTY!r}" if value == 0 else "",
)  # fmt: skip
_P = Parameter(
    name="p", domain=Real(), canonical="top_p", required=True,
    meaning="keep the shortest prefix with this share of the whole row; outside (0, 1) it is off",
)  # fmt: skip
_NEW_P = replace(_P, name="top_p", required=False)
_CLOSURE = Parameter(
    name="closure_top_k", domain=Whole(1),
    meaning="a closure for sample_f: keep the k best and renormalise before the cut; unset is off",
)  # fmt: skip
_PENALTY = (
    Parameter(
        name="repeat_penalty", domain=Real(0, open="low"), default=1.0, canonical="repetition_penalty",
        default_source="no default in the library; the examples skip a penalty of 1.0",
        meaning="divides the logits of ids seen, once an id; 1.0 is off",
    ),
    Parameter(
        name="repeat_last_n", domain=Whole(0), default=64, canonical="penalty_last_n",
        default_source="candle-examples, most of them", meaning="how many of the last ids count as seen; 0 is off",
    ),
)  # fmt: skip


# What float32 makes of p: 0 up to here, and 1 from there on.
_ROUNDS_TO_0, _ROUNDS_TO_1 = 2.0**-150, 1 - 2.0**-25


def _single(name: str, p: float) -> float:
    if p <= _ROUNDS_TO_0:
        hint = f"candle@0.11 itself says: {_ALL_ZERO!r}: float32 makes 0 of it, and nothing stays"
        raise ParameterError(name, p, f"0 or less (off), or above {_ROUNDS_TO_0:.3g}", hint)
    # float32 may make 1 of it: not off, and a running sum that rounds to 1 stops there.  The law says: in doubt.
    return min(float(np.float32(p)), 1 - 2.0**-53)


def _p(values: Values, facts: ModelFacts | None) -> object:
    return _single("p", float(values["p"]))  # type: ignore[arg-type]


def _top_p(values: Values, facts: ModelFacts | None) -> object:
    return _single("top_p", float(values["top_p"]))  # type: ignore[arg-type]


_BEFORE = (
    Step(stage=Mask),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "repeat_penalty", "window": "repeat_last_n"},
        switches={"unknown_ids": "ignore"},
        off=(off_if("repeat_penalty", "is", 1.0), off_if("repeat_last_n", "is", 0)),
    ),
)
_SCALE = Step(
    stage=Temperature,
    fields={"value": "temperature"},
    switches={"operation": "multiply"},
    off=(off_if("temperature", "is", 1.0),),
)
_CLOSE = Step(
    stage=TopK,
    fields={"k": "closure_top_k"},
    switches={"ties": "any", "beyond": "refuse_whole"},
    off=(off_if("closure_top_k", "is", None),),
)
_SOFTMAX = (*_BEFORE, _SCALE, _CLOSE)
_TOP_K = Step(stage=TopK, fields={"k": "k"}, switches={"ties": "any"})
# k >= V skips the test of p in TopKThenTopP, and p <= 0 then leaves nothing to draw from.
_TOP_K_GUARDED = (
    replace(_TOP_K, off=(off_if("p", "<=", _ROUNDS_TO_0),)),
    replace(_TOP_K, switches={"ties": "any", "beyond": "refuse_whole"}, off=(off_if("p", ">", _ROUNDS_TO_0),)),
)
_TOP_P = Step(stage=TopP, fields={"p": _p}, reads=("p",), off=(off_if("p", "<=", 0.0), off_if("p", ">=", 1.0)))
_NEW_TOP_P = Step(
    stage=TopP,
    fields={"p": _top_p},
    reads=("top_p",),
    off=(off_if("top_p", "is", None), off_if("top_p", "<=", 0.0), off_if("top_p", ">=", 1.0)),
)
# Here p is rounded before it is tested.
_RAW_TOP_P = replace(
    _TOP_P, switches={"mass": "raw"}, off=(off_if("p", "<=", _ROUNDS_TO_0), off_if("p", ">=", _ROUNDS_TO_1))
)


def _sampling(
    own: tuple[Parameter, ...], steps: tuple[Step, ...], meaning: str, name: str, draw: Draw = Race()
) -> Variant:
    return Variant(
        parameters=(*own, *_PENALTY, _CLOSURE),
        modes=(Mode(name=name, steps=(*_SOFTMAX, *steps), draw=draw),),
        meaning=meaning,
    )


def _is_small(values: Values) -> bool:
    temperature = values["temperature"]
    return temperature is None or temperature < 1e-7  # type: ignore[operator]


_NEW = Variant(
    parameters=(_NEW_TEMPERATURE, _NEW_P, *_PENALTY, _CLOSURE),
    modes=(
        Mode(
            name="ArgMax", steps=_BEFORE, when=_is_small, draw=Greedy(), reads=("temperature",),
            ignores="no temperature, or one below 1e-7, is ArgMax",
        ),
        Mode(
            name="TopP", steps=(*_SOFTMAX, _NEW_TOP_P), when=lambda values: values["top_p"] is not None,
            reads=("temperature", "top_p"),
        ),
        Mode(name="All", steps=_SOFTMAX, reads=("temperature", "top_p")),
    ),
    meaning="LogitsProcessor::new(seed, temperature, top_p)",
)  # fmt: skip
_GUMBEL = Variant(
    parameters=(_GUMBEL_TEMPERATURE, *_PENALTY),
    modes=(
        Mode(
            name="ArgMax", steps=_BEFORE, when=lambda values: values["temperature"] <= 0,  # type: ignore[operator]
            draw=Greedy(), reads=("temperature",),
        ),
        Mode(name="GumbelSoftmax", steps=(*_BEFORE, _SCALE), draw=ClippedGumbel()),
    ),
    meaning="noise of a clipped Gumbel law on every logit, then the largest",
)  # fmt: skip

VARIANTS = MappingProxyType(
    {
        "": _NEW,
        "ArgMax": Variant(
            parameters=_PENALTY,
            modes=(Mode(name="ArgMax", steps=_BEFORE, draw=Greedy()),),
            meaning="the best token",
        ),
        "All": _sampling((_TEMPERATURE,), (), "every token", "All"),
        "TopK": _sampling((_K, _TEMPERATURE), (_TOP_K,), "the k best", "TopK"),
        "TopP": _sampling((_P, _TEMPERATURE), (_TOP_P,), "the shortest prefix of mass p", "TopP"),
        "TopKThenTopP": _sampling(
            (_K, _P, _TEMPERATURE),
            (Step(stage=Checkpoint), *_TOP_K_GUARDED, _RAW_TOP_P),
            "the k best, of them the shortest prefix of mass p of the whole row",
            "TopKThenTopP",
        ),
        "GumbelSoftmax": _GUMBEL,
    }
)


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    """The variant that a caller picks by which of temperature, top_k and top_p are set."""
    temperature = 1.0 if params.temperature is None else params.temperature
    variant = {
        (False, False): "All",
        (True, False): "TopK",
        (False, True): "TopP",
        (True, True): "TopKThenTopP",
    }[bool(params.top_k), params.top_p is not None]
    request: dict[str, object] = {}
    if temperature < 1e-7:
        variant = "ArgMax"
    else:
        own = {"temperature": temperature, "k": params.top_k or None, "p": params.top_p}
        names = {parameter.name for parameter in VARIANTS[variant].parameters}
        request = {name: value for name, value in own.items() if name in names and value is not None}
    known = {"repetition_penalty": "repeat_penalty", "penalty_last_n": "repeat_last_n"}
    for name, value in params.given():
        if name in known:
            request[known[name]] = value
        elif name not in ("temperature", "top_k", "top_p", "seed"):
            raise ParameterError(name, value, "unset for candle, which has no such parameter")
    return variant, request


CANDLE = Dialect(
    engine="candle",
    version="0.11",
    summary="p measures the whole row; exactly k; the clipped Gumbel is not softmax; penalty window 64",
    source="candle 0.11.0: candle-transformers/src/generation/mod.rs, utils.rs; candle-nn/src/sampling.rs",
    variants=VARIANTS,
    from_params=_from_params,
    elsewhere=MappingProxyType(
        {
            "repetition_penalty": "repeat_penalty",
            "penalty_last_n": "repeat_last_n",
            "top_k": "k, in the variants TopK and TopKThenTopP",
            "top_p": "p, in the variants TopP and TopKThenTopP",
            "p": "top_p, without a variant",
            "k": "in the variants TopK and TopKThenTopP",
            "do_sample": "the variant (ArgMax is greedy)",
            "seed": "not part of the plan: pass it where a token is drawn",
        }
    ),
)
