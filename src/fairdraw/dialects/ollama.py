"""Ollama, one token of one request, in either of its runners.

Read: ollama fb30760, api/types.go, llm/llama_server.go, x/mlxrunner/sample/sample.go; its llama-server is llama.cpp
b10488, whose chain is the one of `fairdraw.dialects.llama_cpp`.

- The defaults cut: **top_k 40, top_p 0.9, temperature 0.8**; min_p is off.
- Without a variant, llama-server: penalties, top-k, typical, top-p, min-p, **temperature last**.
- ``mlx``, the MLX runner: penalties, top-k, **then temperature**, top-p, min-p: the same options have another law.
- Penalties see the last 64 tokens, prompt included.  ``repeat_last_n`` -1 is everything in ``mlx``, and refused by
  llama-server; 0 is off in both.
- Equal tokens at a cut are left to a sort or a partition in both.
- A grammar (``format``) acts after the draw in llama-server: see `fairdraw.dialects.llama_cpp`.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, by_our_names, off_if
from fairdraw.dialects.steps import in_float32
from fairdraw.dialects.text_parameters import STOP
from fairdraw.domains import Real, Whole
from fairdraw.draws import Greedy
from fairdraw.stages import (
    CandidateTypical,
    Mask,
    MinP,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
)

_SOURCE = "api/types.go, DefaultOptions"
WHOLE_CONTEXT = -1

PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(), default=0.8, default_source=_SOURCE, canonical="temperature",
        meaning="divides the logits in float32, after all cuts; 0 or less is greedy, 1 is off",
    ),
    Parameter(
        name="top_k", domain=Whole(), default=40, default_source=_SOURCE, canonical="top_k",
        meaning="keep exactly the k best; 0 or less is off",
    ),
    Parameter(
        name="top_p", domain=Real(), default=0.9, default_source=_SOURCE, canonical="top_p",
        meaning="keep the shortest prefix with this share of what is left; 1 or more is off, 0 or less leaves one",
    ),
    Parameter(
        name="min_p", domain=Real(0, 1), default=0.0, default_source=_SOURCE, canonical="min_p",
        meaning="keep tokens with this share of the best one; 0 is off",
    ),
    Parameter(
        name="typical_p", domain=Real(0), default=1.0, default_source=_SOURCE, canonical="typical_p",
        meaning="keep the tokens whose surprise is nearest to the entropy, up to more than this mass; 0 is not sent, "
        "and 1 or more is off",
    ),
    Parameter(
        name="repeat_last_n", domain=Whole(0), default=64, default_source=_SOURCE, canonical="penalty_last_n",
        refusal="Value must be between 0 <= value <= 2147483647, but got {value}",
        meaning="how many of the last tokens, prompt included, the penalties look at; 0 is off",
    ),
    Parameter(
        name="repeat_penalty", domain=Real(0, open="low"), default=1.0, default_source=_SOURCE,
        canonical="repetition_penalty", refusal="penalty_repeat must be finite and greater than 0",
        meaning="divides the logits of ids seen; 1 is off",
    ),
    Parameter(
        name="presence_penalty", domain=Real(), default=0.0, default_source=_SOURCE, canonical="presence_penalty",
        meaning="subtracted once from ids seen; 0 is off",
    ),
    Parameter(
        name="frequency_penalty", domain=Real(), default=0.0, default_source=_SOURCE, canonical="frequency_penalty",
        meaning="subtracted from ids seen for each time; 0 is off",
    ),
    Parameter(
        name="num_predict", domain=Whole(1), canonical="max_tokens", limit="max_tokens",
        meaning="at most this many tokens; unset, or the engine's -1: until a stop",
    ),
    STOP,
    Parameter(
        name="seed", domain=Whole(0, 2**32 - 2), canonical="seed", limit="seed",
        refusal="nothing; -1 asks for a fresh seed, and llama-server's has 32 bits",
        meaning="chooses the noise; unset, or the engine's -1: a fresh one",
    ),
)  # fmt: skip
_MLX = MappingProxyType(
    {
        "temperature": (Real(), "divides the logits in float32 after top_k; 0 or less is greedy, 1 is off"),
        "top_p": (
            Real(),
            "keep the shortest prefix with this share of what is left, at the temperature; outside (0, 1) it is off",
        ),
        "min_p": (Real(), "keep tokens with this share of the best one, at the temperature; outside (0, 1] it is off"),
        "repeat_last_n": (
            Whole(WHOLE_CONTEXT),
            "how many of the last tokens, prompt included, the penalties look at; 0 is off, -1 is the context",
        ),
        "repeat_penalty": (Real(), "divides the logits of ids seen; 1, and 0 or less, is off"),
    }
)
MLX_PARAMETERS = tuple(
    replace(p, domain=_MLX[p.name][0], meaning=_MLX[p.name][1], refusal="") if p.name in _MLX else p
    for p in PARAMETERS
    if p.name != "typical_p"
)


def _share(values: Values, facts: ModelFacts | None) -> object:
    return min(1.0, max(0.0, in_float32("top_p")(values, facts)))  # type: ignore[type-var]


def _window(values: Values, facts: ModelFacts | None) -> object:
    return None if values["repeat_last_n"] == WHOLE_CONTEXT else values["repeat_last_n"]


def _candidates(values: Values, facts: ModelFacts | None) -> object:
    return values["top_k"] if values["top_k"] > 0 else 2**31 - 1  # type: ignore[operator]


def _edits(operation: str) -> tuple[Step, ...]:
    none_seen = off_if("repeat_last_n", "is", 0)
    return (
        Step(stage=Mask),
        Step(
            stage=RepetitionPenalty,
            fields={"penalty": "repeat_penalty", "window": _window},
            switches={"unknown_ids": "ignore"},
            reads=("repeat_last_n",),
            off=(off_if("repeat_penalty", "is", 1.0), off_if("repeat_penalty", "<=", 0.0), none_seen),
        ),
        Step(
            stage=PresenceFrequencyPenalty,
            fields={"presence": "presence_penalty", "frequency": "frequency_penalty", "window": _window},
            switches={"scope": "all", "operation": operation, "unknown_ids": "ignore"},
            reads=("repeat_last_n",),
            off=(off_if("presence_penalty", "falsy with", "frequency_penalty"), none_seen),
        ),
    )


_TOP_K = Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "any"}, off=(off_if("top_k", "<=", 0),))
_TOP_P = Step(
    stage=TopP, fields={"p": _share}, switches={"ties": "any"}, reads=("top_p",), off=(off_if("top_p", ">=", 1.0),)
)
_MIN_P = Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "<=", 0.0),))
_TEMPERATURE = Step(
    stage=Temperature,
    fields={"value": "temperature"},
    switches={"operation": "divide"},
    off=(off_if("temperature", "is", 1.0),),
)
_TYPICAL = Step(
    stage=CandidateTypical,
    fields={"p": in_float32("typical_p"), "candidates": _candidates},
    reads=("typical_p", "top_k"),
    off=(off_if("typical_p", ">=", 1.0), off_if("typical_p", "is", 0.0)),
)
_LLAMA = (_TOP_K, _TYPICAL, _TOP_P, _MIN_P)
_MLX_STEPS = (
    _TOP_K,
    _TEMPERATURE,
    replace(_TOP_P, off=(*_TOP_P.off, off_if("top_p", "<=", 0.0))),
    replace(_MIN_P, off=(*_MIN_P.off, off_if("min_p", ">", 1.0))),
)


def _variant(
    parameters: tuple[Parameter, ...],
    edits: tuple[Step, ...],
    cuts: tuple[Step, ...],
    greedy: tuple[Step, ...],
    meaning: str,
) -> Variant:
    return Variant(
        parameters=parameters,
        modes=(
            Mode(
                name="greedy",
                steps=(*edits, *greedy),
                when=lambda values: values["temperature"] <= 0,  # type: ignore[operator]
                draw=Greedy(),
                reads=("temperature",),
                ignores="a temperature of 0 leaves one token",
            ),
            Mode(name="sample", steps=(*edits, *cuts), reads=("temperature",)),
        ),
        meaning=meaning,
    )


OLLAMA = Dialect(
    engine="ollama",
    version="fb30760",
    summary="top_k 40, top_p 0.9 and temperature 0.8 unless told otherwise; temperature last, but not in mlx",
    source="ollama fb30760: api/types.go, llm/llama_server.go, x/mlxrunner/sample/sample.go (read)",
    variants=MappingProxyType(
        {
            # typical may take the best token away before a temperature of 0 picks one
            "": _variant(
                PARAMETERS, _edits("together"), (*_LLAMA, _TEMPERATURE), _LLAMA, "llama-server: models in GGUF"
            ),
            "mlx": _variant(
                MLX_PARAMETERS, _edits("frequency_first"), _MLX_STEPS, (), "the MLX runner, on Apple's machines"
            ),
        }
    ),
    from_params=by_our_names("ollama", PARAMETERS),
    unmodelled=MappingProxyType(
        {
            "format": "a grammar; pass what it allows as a mask",
            "num_keep": "what a full context keeps of its beginning; changes no law of one step",
            "num_ctx": "the size of the context; changes no law of one step",
            "draft_num_predict": "how many tokens a draft model guesses; without one it is off",
            "logprobs": "whether logprobs are reported; changes no law",
            "top_logprobs": "how many logprobs are reported; changes no law",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "repetition_penalty": "repeat_penalty",
            "penalty_last_n": "repeat_last_n",
            "max_tokens": "num_predict",
            "max_new_tokens": "num_predict",
            "temp": "temperature",
            "mirostat": "not there any more",
            "tfs_z": "not there any more",
            "logit_bias": "not there",
        }
    ),
)
