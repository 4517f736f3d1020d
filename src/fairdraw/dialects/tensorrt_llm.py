"""TensorRT-LLM, one token of one request without beams.

Read, in 2026, at the commits that were at hand, which are not one tree: _torch/pyexecutor/sampler/ops/vanilla.py
(09009fb), ops/penalties.py (12bd1e2), sampler_strategy.py (029e223), sampling_utils.py (053c42c, the older one);
tensorrt_llm/sampling_params.py (000a01d); cpp/tensorrt_llm/kernels/samplingTopKKernels.cu (0396172),
samplingTopPKernels.cu (03cff08), penaltyKernels.cu (249d93d).

- **Greedy when temperature, top_k and top_p are all unset**; also with top_k 1, top_p 0 or temperature 0.
- ``torch`` (the default): repetition, presence and frequency, all three over **prompt and output**; temperature
  (float32 division, at least 1e-5); top-k with all equals; top-p of what it left, the crossing token stays, which of
  equals is left to a sort.
- ``torch_old``: the same with a **strict** top-p: one token more where p is hit exactly.
- ``cpp``: temperature **before** the penalties, as float32 x * float32(1 / (T + 1e-6)); exactly k of at most 1024;
  and no top-p cut at all: the uniform number is shortened by p, so that **the crossing token has only what is left
  of p**.  Its engine defaults are top_k 0 and top_p 0, which is greedy; top_k with top_p 0 is top_p 1.
- A mask and the bans come first in the engine; the C++ minimum length comes last and bans one end id.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from fairdraw.context import ModelFacts
from fairdraw.dialects import fairdraw
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, canonical_reading, off_if
from fairdraw.dialects.steps import in_float32, or_zero
from fairdraw.dialects.text_parameters import (
    COUNT,
    IGNORE_EOS,
    INCLUDE_STOP,
    LOGPROBS,
    SEED_PARAMETER,
    STOP,
    STOP_TOKEN_IDS,
)
from fairdraw.domains import Real, Whole
from fairdraw.draws import Draw, Greedy, Truncated
from fairdraw.errors import ParameterError
from fairdraw.params import SamplingParams
from fairdraw.stages import (
    Mask,
    MinTokens,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
)

_SOURCE = "tensorrt_llm/sampling_params.py"
LEAST_TEMPERATURE, TEMPERATURE_OFFSET, LARGEST_K = 1e-5, np.float32(1e-6), 1024

PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(0), canonical="temperature",
        meaning="divides the logits in float32; 0 is greedy, less than 1e-5 is taken as that, 1 is off",
    ),
    Parameter(
        name="top_k", domain=Whole(0), canonical="top_k",
        meaning="keep the k best and their equals; 0 is off, 1 is greedy",
    ),
    Parameter(
        name="top_p", domain=Real(0, 1), canonical="top_p",
        meaning="keep the shortest prefix with this share of what is left; 1 is off, 0 is greedy",
    ),
    Parameter(
        name="repetition_penalty", domain=Real(0, open="low"), canonical="repetition_penalty",
        meaning="divides the logits of ids seen in prompt and output; unset or 1 is off",
    ),
    Parameter(
        name="presence_penalty", domain=Real(), canonical="presence_penalty",
        meaning="subtracted once from ids of prompt and output; unset or 0 is off",
    ),
    Parameter(
        name="frequency_penalty", domain=Real(), canonical="frequency_penalty",
        meaning="subtracted from ids of prompt and output for each time; unset or 0 is off",
    ),
    Parameter(
        name="min_tokens", domain=Whole(0), default=0, default_source="no default; less than 1 has no effect",
        canonical="min_tokens", limit="min_tokens", meaning="no end before this many tokens; 0 is off",
    ),
    Parameter(
        name="max_tokens", domain=Whole(1), default=32, default_source=_SOURCE, canonical="max_tokens",
        limit="max_tokens", meaning="at most this many tokens",
    ),
    STOP,
    STOP_TOKEN_IDS,
    replace(INCLUDE_STOP, default_source=_SOURCE),
    replace(IGNORE_EOS, default_source=_SOURCE),
    SEED_PARAMETER,
    replace(COUNT, default_source=_SOURCE),
    LOGPROBS,
)  # fmt: skip
_CPP = MappingProxyType(
    {
        "temperature": "multiplies the logits by float32(1 / (T + 1e-6)), before the penalties; 1 is off",
        "top_k": "keep exactly the k best, at most 1024; 0 is off, 1 is greedy",
        "top_p": "draw from this share of what is left; 1 or, with top_k, 0 is off; 0 alone is greedy",
    }
)
CPP_PARAMETERS = tuple(
    replace(p, meaning=_CPP[p.name], domain=Whole(0, LARGEST_K) if p.name == "top_k" else p.domain)
    if p.name in _CPP
    else p
    for p in PARAMETERS
)


def _one_text(values: Values) -> None:
    """Refuse what the API does: several equal texts."""
    if values["n"] != 1:
        hint = "tensorrt_llm itself says: Greedy decoding in the LLM API does not allow multiple returns."
        raise ParameterError("n", values["n"], "1 where decoding is greedy", hint)


def _is_greedy(values: Values) -> bool:
    temperature, k, p = (values[name] for name in ("temperature", "top_k", "top_p"))
    greedy = (temperature is None and k is None and p is None) or k == 1 or p == 0 or temperature == 0
    if greedy:
        _one_text(values)
    return greedy


def _share(values: Values) -> float:
    """The p of the C++ kernels: 0 when unset."""
    return float(np.float32(values["top_p"] or 0.0))  # type: ignore[arg-type]


def _is_greedy_in_cpp(values: Values) -> bool:
    greedy = values["top_k"] == 1 or (not values["top_k"] and not _share(values))
    if greedy:
        _one_text(values)
    return greedy


def _temperature(values: Values, facts: ModelFacts | None) -> object:
    return max(float(values["temperature"]), LEAST_TEMPERATURE)  # type: ignore[arg-type]


def _cpp_temperature(values: Values, facts: ModelFacts | None) -> object:
    return float(np.float32(values["temperature"]) + TEMPERATURE_OFFSET)  # type: ignore[arg-type]


def _truncated(values: Values) -> Draw:
    return Truncated(p=_share(values) or 1.0)


_MASK = Step(stage=Mask)
_MIN_TOKENS = Step(
    stage=MinTokens,
    fields={"count": "min_tokens", "end_ids": fairdraw.end_ids},
    reads=("stop_token_ids",),
    off=(off_if("min_tokens", "is", 0),),
)
_PENALTIES = (
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "repetition_penalty"},
        switches={"unknown_ids": "ignore"},
        off=(off_if("repetition_penalty", "is", None, 1.0),),
    ),
    Step(
        stage=PresenceFrequencyPenalty,
        fields={"presence": or_zero("presence_penalty"), "frequency": or_zero("frequency_penalty")},
        switches={"scope": "all", "operation": "together", "unknown_ids": "ignore"},
        reads=("presence_penalty", "frequency_penalty"),
        off=(off_if("presence_penalty", "falsy with", "frequency_penalty"),),
    ),
)
_READS = ("temperature", "top_k", "top_p", "n")
_EDITS = (_MASK, _MIN_TOKENS, *_PENALTIES)
_CPP_EDITS = (
    _MASK,
    Step(
        stage=Temperature,
        fields={"value": _cpp_temperature},
        switches={"operation": "multiply"},
        reads=("temperature",),
        off=(off_if("temperature", "is", None, 1.0),),
    ),
    *_PENALTIES,
    _MIN_TOKENS,
)


def _top_k(ties: str) -> Step:
    return Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": ties}, off=(off_if("top_k", "is", None, 0),))


def _torch(meaning: str, boundary: str) -> Variant:
    cuts = (
        Step(
            stage=Temperature,
            fields={"value": _temperature},
            switches={"operation": "divide"},
            reads=("temperature",),
            off=(off_if("temperature", "is", None, 1.0),),
        ),
        _top_k("all"),
        Step(
            stage=TopP,
            fields={"p": in_float32("top_p")},
            switches={"ties": "any", "boundary": boundary},
            reads=("top_p",),
            off=(off_if("top_p", "is", None), off_if("top_p", ">=", 1.0)),
        ),
    )
    greedy = Mode(
        name="greedy", steps=_EDITS, when=_is_greedy, draw=Greedy(), reads=_READS,
        ignores="nothing asked for, top_k 1, top_p 0 and temperature 0 are greedy",
    )  # fmt: skip
    return Variant(
        parameters=PARAMETERS,
        modes=(greedy, Mode(name="sample", steps=(*_EDITS, *cuts), reads=_READS)),
        meaning=meaning,
    )


_NEW = _torch("the PyTorch sampler: a prefix that lands exactly on p stops there", "inclusive")
VARIANTS = MappingProxyType(
    {
        "": _NEW,
        "torch": _NEW,
        "torch_old": _torch("the PyTorch sampler before ops/vanilla.py: one token more on an exact hit", "strict"),
        "cpp": Variant(
            parameters=CPP_PARAMETERS,
            modes=(
                Mode(
                    name="greedy", steps=_CPP_EDITS, when=_is_greedy_in_cpp, draw=Greedy(), reads=_READS,
                    ignores="top_k 1, or neither top_k nor top_p, is greedy",
                ),
                Mode(name="sample", steps=(*_CPP_EDITS, _top_k("any")), draw=_truncated, reads=_READS),
            ),
            meaning="the C++ sampler: top-p shortens the uniform number",
        ),
    }
)  # fmt: skip


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    """Drawing is the default of our names."""
    request = canonical_reading("tensorrt_llm", PARAMETERS, params)
    return "", {"temperature": 1.0, **request}


TENSORRT_LLM = Dialect(
    engine="tensorrt_llm",
    version="",
    summary="greedy when nothing is asked for; penalties see the prompt too; in C++ p shortens the uniform number",
    source="TensorRT-LLM, read in 2026: ops/vanilla.py 09009fb, ops/penalties.py 12bd1e2, sampling_utils.py 053c42c, "
    "samplingTopKKernels.cu 0396172, samplingTopPKernels.cu 03cff08, penaltyKernels.cu 249d93d",
    variants=VARIANTS,
    from_params=_from_params,
    unmodelled=MappingProxyType(
        {
            "min_p": "read by the newest PyTorch files alone; unset or 0 is off",
            "top_p_decay": "p that shrinks with every token; unset is off",
            "top_p_min": "the least p of top_p_decay; without that it is off",
            "top_p_reset_ids": "ids that reset top_p_decay; without that they are off",
            "embedding_bias": "a bias for every id of the vocabulary; unset is off",
            "bad": "texts that must not be completed; unset is off",
            "bad_token_ids": "ids that must not be drawn; unset is off",
            "no_repeat_ngram_size": "no sequence of so many ids twice; unset is off",
            "prompt_ignore_length": "how much of the prompt presence and frequency leave out; 0 is off",
            "end_id": "the end id is the model's: pass facts",
            "guided_decoding": "a grammar; pass what it allows as a mask",
            "logits_processor": "the caller's own code; unset is off",
            "use_beam_search": "beam search; false is off",
            "best_of": "how many texts are drawn for n; changes no law of one step",
            "beam_search_diversity_rate": "acts with beams alone",
            "length_penalty": "acts with beams alone",
            "early_stopping": "acts with beams alone",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "max_new_tokens": "max_tokens",
            "repeat_penalty": "repetition_penalty",
            "temp": "temperature",
            "do_sample": "temperature, top_k or top_p (all unset is greedy)",
            "logit_bias": "embedding_bias, which fairdraw does not model yet",
        }
    ),
)
