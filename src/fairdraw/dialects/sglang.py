"""SGLang, one token of one request.

Read: sglang 0.5.23, srt/sampling/sampling_params.py, sampling_batch_info.py and penaltylib/; srt/layers/sampler.py;
srt/arg_groups/overrides.py (the default back end).

- Order, overlap mode (the default): presence, frequency and min tokens, added up and added once; repetition; grammar
  mask; bias; temperature (float32 division); cuts.  **All penalties see the output alone.**  Without overlap the
  penalties run in the order of a Python set of classes, which differs between processes: no law can be given.
- Greedy: T < 1e-6 is taken as T = 1 and k = 1, and k = 1 is the best token.  In a batch with requests that draw, such
  a row goes through the cuts instead, and FlashInfer then draws among equals.
- ``flashinfer`` (CUDA's default; no seed): k and p **both measure the whole row**, all equals stay.  As soon as any
  request of the batch has min_p > 0 the batch is cut k, then p **of what k left**, then min-p: the same request has
  another law beside such a neighbour, which is the variant ``flashinfer_beside_min_p``.
- ``pytorch`` (no FlashInfer, or deterministic inference): exactly k, which of equals is left to a sort; p measures
  the whole row and is **strict** (a token goes when the mass before it is > p); then min-p.
- Defaults are the sampler's; a server takes temperature, cuts and repetition penalty from generation_config.json
  unless it runs with ``--sampling-defaults openai``.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, canonical_reading, off_if
from fairdraw.dialects.steps import DIVIDED_TEMPERATURE, in_float32
from fairdraw.dialects.text_parameters import COUNT, IGNORE_EOS, STOP, STOP_TOKEN_IDS
from fairdraw.domains import BiasMap, Real, Truth, Whole
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.params import SamplingParams
from fairdraw.stages import (
    Checkpoint,
    LogitBias,
    Mask,
    MinP,
    MinTokens,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    TopK,
    TopP,
)

_SOURCE = "srt/sampling/sampling_params.py"
LEAST_TEMPERATURE = 1e-6


def _penalty(name: str) -> Parameter:
    return Parameter(
        name=name, domain=Real(-2, 2), default=0.0, default_source=_SOURCE, canonical=name,
        refusal=f"{name} must be in [-2, 2], got {{value}}.",
        meaning=f"subtracted from ids of the output, {'once' if name[0] == 'p' else 'for each time'}; 0 is off",
    )  # fmt: skip


PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(0), default=1.0, default_source=_SOURCE, canonical="temperature",
        refusal="temperature must be a non-negative finite number, got {value}.",
        meaning="divides the logits in float32; less than 1e-6 is greedy, 1 is off",
    ),
    Parameter(
        name="top_k", domain=Whole(-1), default=-1, default_source=_SOURCE, canonical="top_k",
        refusal="top_k must be -1 (disable) or at least 1, got {value}.",
        meaning="keep the k best; -1 is off, 1 is greedy, 0 is refused",
    ),
    Parameter(
        name="top_p", domain=Real(0, 1, open="low"), default=1.0, default_source=_SOURCE, canonical="top_p",
        refusal="top_p must be in (0, 1], got {value}.",
        meaning="keep the shortest prefix with this share of the whole row; 1 is off",
    ),
    Parameter(
        name="min_p", domain=Real(0, 1), default=0.0, default_source=_SOURCE, canonical="min_p",
        refusal="min_p must be in [0, 1], got {value}.",
        meaning="keep tokens with at least this share of the best one; 0 is off",
    ),
    _penalty("frequency_penalty"),
    _penalty("presence_penalty"),
    Parameter(
        name="repetition_penalty", domain=Real(0, 2, open="low"), default=1.0, default_source=_SOURCE,
        canonical="repetition_penalty",
        refusal="repetition_penalty must be in (0, 2] (1.0 = no penalty), got {value}.",
        meaning="divides the logits of ids seen in the output; 1 is off",
    ),
    Parameter(
        name="logit_bias", domain=BiasMap(), canonical="logit_bias",
        meaning="added to the logits of a few ids, after all penalties",
    ),
    Parameter(
        name="min_new_tokens", domain=Whole(0), default=0, default_source=_SOURCE, canonical="min_tokens",
        limit="min_tokens", refusal="min_new_tokens must be in [0, max_new_tokens], got {value}.",
        meaning="no end or stop token before this many tokens; 0 is off",
    ),
    Parameter(
        name="max_new_tokens", domain=Whole(0), default=128, default_source=_SOURCE, canonical="max_tokens",
        limit="max_tokens", refusal="max_new_tokens must be at least 0, got {value}.",
        meaning="at most this many tokens; a chat server's default is the context's end",
    ),
    STOP,
    STOP_TOKEN_IDS,
    Parameter(
        name="no_stop_trim", domain=Truth(), default=False, default_source=_SOURCE,
        canonical="include_stop_str_in_output", limit="include_stop_str_in_output",
        meaning="whether the stop text that matched stays in the output",
    ),
    replace(IGNORE_EOS, default_source=_SOURCE),
    Parameter(
        name="sampling_seed", domain=Whole(0, 2**63 - 1), canonical="seed", limit="seed",
        refusal="nothing of a negative seed down to -2**63; fairdraw's begin at 0",
        meaning="chooses the noise; the engine heeds it in deterministic inference alone",
    ),
    replace(COUNT, default_source=_SOURCE),
)  # fmt: skip


def _is_cold(values: Values) -> bool:
    return values["temperature"] < LEAST_TEMPERATURE  # type: ignore[operator]


def _end_ids(values: Values, facts: ModelFacts | None) -> object:
    least, most = values["min_new_tokens"], values["max_new_tokens"]
    if most is not None and least > most:  # type: ignore[operator]
        hint = f"sglang@0.5.23 itself says: min_new_tokens must be in [0, max_new_tokens({most})], got {least}."
        raise ParameterError("min_new_tokens", least, f"at most max_new_tokens, {most}", hint)
    own = facts.end_token_ids if facts else ()
    ids = tuple(dict.fromkeys((*own, *(values["stop_token_ids"] or ()))))  # type: ignore[misc]
    if not ids:
        hint = "pass facts=ModelFacts(vocab_size=..., end_token_ids=...), or stop_token_ids"
        raise ParameterError("min_new_tokens", least, "0 where no end id is known", hint)
    return ids


def _k(values: Values, facts: ModelFacts | None) -> object:
    if values["top_k"] == 0:
        hint = "sglang@0.5.23 itself says: top_k must be -1 (disable) or at least 1, got 0."
        raise ParameterError("top_k", 0, "-1 (off) or at least 1", hint)
    return values["top_k"]


_EDITS = (
    Step(
        stage=PresenceFrequencyPenalty,
        fields={"presence": "presence_penalty", "frequency": "frequency_penalty"},
        switches={"operation": "together"},
        off=(off_if("presence_penalty", "falsy with", "frequency_penalty"),),
    ),
    Step(
        stage=MinTokens,
        fields={"count": "min_new_tokens", "end_ids": _end_ids},
        reads=("stop_token_ids", "max_new_tokens"),
        off=(off_if("min_new_tokens", "is", 0),),
    ),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "repetition_penalty"},
        switches={"scope": "output"},
        off=(off_if("repetition_penalty", "is", 1.0),),
    ),
    Step(stage=Mask),
    Step(stage=LogitBias, fields={"bias": "logit_bias"}, off=(off_if("logit_bias", "is", None, ()),)),
)
_RAW = Step(stage=Checkpoint, off=(off_if("top_p", ">=", 1.0),))
_MIN_P = Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "is", 0.0),))


def _top_k(ties: str) -> Step:
    off = (off_if("top_k", "is", -1),)
    return Step(stage=TopK, fields={"k": _k}, switches={"ties": ties}, reads=("top_k",), off=off)


def _top_p(**switches: str) -> Step:
    off = (off_if("top_p", ">=", 1.0),)
    return Step(stage=TopP, fields={"p": in_float32("top_p")}, switches=switches, reads=("top_p",), off=off)


_PYTORCH = (_RAW, _top_k("any"), _top_p(ties="any", boundary="strict", mass="raw"), _MIN_P)
_JOINT = (_RAW, _top_k("all"), _top_p(ties="all", mass="raw"))
_CHAIN = (_top_k("all"), _top_p(ties="all"), _MIN_P)
_GREEDY = (
    Mode(
        name="greedy",
        steps=_EDITS,
        when=_is_cold,
        draw=Greedy(),
        reads=("temperature",),
        unread=("top_k",),
        ignores="a temperature below 1e-6 is top_k=1 at temperature 1",
    ),
    Mode(
        name="greedy",
        # The k of 1 stands in the plan, but argmax is what runs.
        steps=(*_EDITS, _top_k("lowest")),
        when=lambda values: values["top_k"] == 1,
        draw=Greedy(),
        reads=("temperature",),
        ignores="top_k=1 is greedy",
    ),
)


def _mode(name: str, cuts: tuple[Step, ...]) -> Mode:
    return Mode(name=name, steps=(*_EDITS, DIVIDED_TEMPERATURE, *cuts), reads=("temperature",))


def _variant(meaning: str, *modes: Mode) -> Variant:
    return Variant(parameters=PARAMETERS, modes=(*_GREEDY, *modes), meaning=meaning)


_WITH_MIN_P = replace(
    _mode("min_p", _CHAIN), when=lambda values: values["min_p"] > 0, reads=("temperature", "min_p")  # type: ignore[operator]
)  # fmt: skip
_ALONE = (_WITH_MIN_P, _mode("joint", _JOINT))
VARIANTS = MappingProxyType(
    {
        "": _variant("the request alone on a CUDA GPU: flashinfer", *_ALONE),
        "flashinfer": _variant("FlashInfer, and no request of the batch but this one has min_p", *_ALONE),
        "flashinfer_beside_min_p": _variant(
            "FlashInfer in a batch with a request that has min_p: k, then p of what it left, then min-p",
            _mode("min_p", _CHAIN),
        ),
        "pytorch": _variant(
            "PyTorch's sort: without FlashInfer, and in deterministic inference", _mode("pytorch", _PYTORCH)
        ),
    }
)  # fmt: skip


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    request = canonical_reading("sglang", PARAMETERS, params)
    if request.get("top_k") == 0:
        request["top_k"] = -1
    return "", request


SGLANG = Dialect(
    engine="sglang",
    version="0.5.23",
    summary="penalties see the output alone; p measures the whole row, unless a neighbour has min_p; k=0 is refused",
    source="sglang 0.5.23: srt/sampling/, srt/layers/sampler.py, srt/arg_groups/overrides.py",
    variants=VARIANTS,
    from_params=_from_params,
    unmodelled=MappingProxyType(
        {
            "json_schema": "a grammar; pass what it allows as a mask",
            "regex": "a grammar; pass what it allows as a mask",
            "ebnf": "a grammar; pass what it allows as a mask",
            "structural_tag": "a grammar; pass what it allows as a mask",
            "custom_logit_processor": "the caller's own code; unset is off",
            "custom_params": "arguments of that code; unset is off",
            "watermark": "a watermark; unset is off",
            "stop_regex": "patterns that end the text; unset is off",
            "beam_width": "beam search; unset is off",
            "skip_special_tokens": "how the text is written; changes no law",
            "spaces_between_special_tokens": "how the text is written; changes no law",
            "stream_interval": "how the answer is delivered; changes no law",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "max_tokens": "max_new_tokens",
            "min_tokens": "min_new_tokens",
            "seed": "sampling_seed",
            "repeat_penalty": "repetition_penalty",
            "temp": "temperature",
            "include_stop_str_in_output": "no_stop_trim",
            "do_sample": "temperature (0 is greedy)",
            "typical_p": "not there; no stage of SGLang's does it",
        }
    ),
)
