"""vLLM, one token of one request, on either of its model runners.

Read: vllm 0.33.0, sampling_params.py; v1/worker/gpu/sample/{sampler,states,min_p,penalties,logit_bias,bad_words}.py;
v1/sample/sampler.py; v1/sample/ops/{topk_topp_sampler,topk_topp_triton}.py.

- Order: grammar mask, allowed ids, bias, min tokens; repetition (prompt and output), frequency and presence (output);
  bad words; temperature (float32 division); **min-p, then top-k, then top-p** of what they left.
- Greedy at a temperature of exactly 0, which also resets the cuts; **0 < T < 0.01 is raised to 0.01**.
- Three back ends cut, and they differ on equal tokens.  ``torch`` (no Triton): top-k keeps all that equal the k-th;
  which of the equals stays at the edge of top-p is left to a sort.  ``triton``: exactly k, exactly the prefix, lower
  ids first, and nothing at all on a row of equals.  ``flashinfer``: all equals stay, in both.
- Without a variant: a request alone on a CUDA GPU.  FlashInfer, or Triton once the request sets its own ``seed``.
  In a batch one greedy or seeded neighbour, or processed logprobs, sends all of it to Triton.
- The Triton kernel's search ends after 18 steps and takes probabilities within 1e-9 for equal: where tokens at the
  cut are that near, it may keep some more than the law here.
- A word of ``bad_words`` after a space is forbidden too, if it has as many ids there and begins with another one.
- Defaults are the offline ones; a server takes temperature, the cuts and the repetition penalty from the model's
  generation_config.json, and no ``max_tokens`` of 16.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from fairdraw.context import ModelFacts
from fairdraw.dialects import fairdraw
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, by_our_names, off_if
from fairdraw.dialects.steps import in_float32
from fairdraw.dialects.text_parameters import COUNT, IGNORE_EOS, INCLUDE_STOP, LOGPROBS, STOP, STOP_TOKEN_IDS
from fairdraw.domains import BiasMap, Real, Texts, TokenIds, Whole
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.stages import (
    AllowedIds,
    BadWords,
    LogitBias,
    Mask,
    MinP,
    MinTokens,
    PivotCut,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
)

_SOURCE = "sampling_params.py"
LEAST_TEMPERATURE, LARGEST_BIAS = 0.01, 100.0


def _penalty(name: str) -> Parameter:
    return Parameter(
        name=name, domain=Real(-2, 2), default=0.0, default_source=_SOURCE, canonical=name,
        refusal=f"{name} must be in [-2, 2], got {{value}}.",
        meaning=f"subtracted from ids of the output, {'once' if name[0] == 'p' else 'for each time'}; 0 is off",
    )  # fmt: skip


def _top_k_words(value: object) -> str:
    if isinstance(value, float):
        return "top_k must be an integer, got float"
    return f"top_k must be 0 (disable), or at least 1, got {value}."


PARAMETERS = (
    Parameter(
        name="temperature", domain=Real(0, 2), default=1.0, default_source=_SOURCE, canonical="temperature",
        refusal=lambda value: (
            f"temperature must be {'in [0, 2]' if isinstance(value, (int, float)) and value > 2 else 'non-negative'}, "
            f"got {value}."
        ),
        meaning="divides the logits in float32; 0 is greedy, less than 0.01 is taken as 0.01, 1 is off",
    ),
    Parameter(
        name="top_k", domain=Whole(-1), default=0, default_source=_SOURCE, canonical="top_k", refusal=_top_k_words,
        meaning="keep the k best; 0, -1 or the whole vocabulary is off",
    ),
    Parameter(
        name="top_p", domain=Real(0, 1, open="low"), default=1.0, default_source=_SOURCE, canonical="top_p",
        refusal="top_p must be in (0, 1], got {value}.",
        meaning="keep the shortest prefix with this share of what is left; 1 is off",
    ),
    Parameter(
        name="min_p", domain=Real(0, 1), default=0.0, default_source=_SOURCE, canonical="min_p",
        refusal="min_p must be in [0, 1], got {value}.",
        meaning="keep tokens with at least this share of the best one, before top_k; 0 is off",
    ),
    Parameter(
        name="repetition_penalty", domain=Real(0, open="low"), default=1.0, default_source=_SOURCE,
        canonical="repetition_penalty", refusal="repetition_penalty must be greater than zero, got {value}.",
        meaning="divides the logits of ids seen in prompt and output; 1 is off",
    ),
    _penalty("presence_penalty"),
    _penalty("frequency_penalty"),
    Parameter(
        name="logit_bias", domain=BiasMap(), canonical="logit_bias",
        meaning="added to the logits of a few ids; what lies beyond -100 or 100 is taken as that",
    ),
    Parameter(
        name="allowed_token_ids", domain=TokenIds(), canonical="allowed_token_ids",
        meaning="the only ids that may be drawn, at least one; unset is all",
    ),
    Parameter(
        name="bad_words", domain=Texts(), canonical="bad_words",
        refusal="bad_words cannot contain an empty string.", meaning="texts that must not be completed in the output",
    ),
    Parameter(
        name="min_tokens", domain=Whole(0), default=0, default_source=_SOURCE, canonical="min_tokens",
        limit="min_tokens", refusal="min_tokens must be greater than or equal to 0, got {value}.",
        meaning="no end or stop token before this many tokens; 0 is off",
    ),
    Parameter(
        name="max_tokens", domain=Whole(1), default=16, default_source=_SOURCE, canonical="max_tokens",
        limit="max_tokens", refusal="max_tokens must be at least 1, got {value}.",
        meaning="at most this many tokens; a server's default is the context's end",
    ),
    replace(STOP, refusal="stop cannot contain an empty string."),
    STOP_TOKEN_IDS,
    replace(INCLUDE_STOP, default_source=_SOURCE),
    replace(IGNORE_EOS, default_source=_SOURCE),
    Parameter(
        name="seed", domain=Whole(0, 2**63 - 1), canonical="seed", limit="seed",
        refusal="nothing of a negative seed; it takes -1 as unset, so leave it out",
        meaning="chooses the noise, and the Triton back end; unset: a fresh one",
    ),
    replace(COUNT, default_source=_SOURCE, refusal="n must be at least 1, got {value}."),
    replace(LOGPROBS, refusal="nothing of -1, which is the whole vocabulary: write its size"),
)  # fmt: skip


def _is_greedy(values: Values) -> bool:
    greedy = values["temperature"] == 0
    if greedy and values["n"] != 1:
        hint = f"vllm@0.33 itself says: n must be 1 when using greedy sampling, got {values['n']}."
        raise ParameterError("n", values["n"], "1 at a temperature of 0", hint)
    return greedy


def _temperature(values: Values, facts: ModelFacts | None) -> object:
    return max(float(values["temperature"]), LEAST_TEMPERATURE)  # type: ignore[arg-type]


def _bias(values: Values, facts: ModelFacts | None) -> object:
    pairs = values["logit_bias"]
    return tuple((token, min(LARGEST_BIAS, max(-LARGEST_BIAS, bias))) for token, bias in pairs)  # type: ignore[attr-defined]


def _allowed(values: Values, facts: ModelFacts | None) -> object:
    if values["allowed_token_ids"] == ():
        hint = "vllm@0.33 itself says: allowed_token_ids is not None and empty!"
        raise ParameterError("allowed_token_ids", (), "unset, or at least one id", hint)
    return values["allowed_token_ids"]


def _end_ids(values: Values, facts: ModelFacts | None) -> object:
    least, most = values["min_tokens"], values["max_tokens"]
    if most is not None and least > most:  # type: ignore[operator]
        hint = f"vllm@0.33 itself says: min_tokens must be less than or equal to max_tokens={most}, got {least}."
        raise ParameterError("min_tokens", least, f"at most max_tokens, {most}", hint)
    return fairdraw.end_ids(values, facts)


def _spellings(values: Values, facts: ModelFacts | None) -> object:
    texts = tuple(dict.fromkeys(values["bad_words"]))  # type: ignore[call-overload]
    if facts is None or facts.encode is None:
        raise ParameterError("bad_words", list(texts), "unset where no tokenizer is known", "pass facts of a model")
    sequences = []
    for text in texts:
        plain, spaced = (tuple(facts.encode(space + text.lstrip())) for space in ("", " "))
        if not plain:
            hint = "vllm@0.33 itself says: bad_words entries must tokenize to at least one token."
            raise ParameterError("bad_words", text, "words that have a token", hint)
        sequences.append(plain)
        if len(spaced) == len(plain) and spaced[0] != plain[0]:
            sequences.append(spaced)
    return tuple(sequences)


def _share(values: Values, facts: ModelFacts | None) -> object:
    """What a comparison with float32(1 - float32(p)) makes of p."""
    return 1.0 - float(np.float32(1) - np.float32(values["top_p"]))  # type: ignore[arg-type]


_EDITS = (
    Step(stage=Mask),
    Step(
        stage=AllowedIds,
        fields={"ids": _allowed},
        reads=("allowed_token_ids",),
        off=(off_if("allowed_token_ids", "is", None),),
    ),
    Step(stage=LogitBias, fields={"bias": _bias}, reads=("logit_bias",), off=(off_if("logit_bias", "is", None, ()),)),
    Step(
        stage=MinTokens,
        fields={"count": "min_tokens", "end_ids": _end_ids},
        reads=("stop_token_ids", "max_tokens"),
        off=(off_if("min_tokens", "is", 0),),
    ),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "repetition_penalty"},
        off=(off_if("repetition_penalty", "is", 1.0),),
    ),
    Step(
        stage=PresenceFrequencyPenalty,
        fields={"presence": "presence_penalty", "frequency": "frequency_penalty"},
        off=(off_if("presence_penalty", "falsy with", "frequency_penalty"),),
    ),
    Step(
        stage=BadWords,
        fields={"sequences": _spellings},
        switches={"scope": "output"},
        reads=("bad_words",),
        off=(off_if("bad_words", "is", None, ()),),
    ),
)  # fmt: skip
_WARM = (
    Step(
        stage=Temperature,
        fields={"value": _temperature},
        switches={"operation": "divide"},
        reads=("temperature",),
        off=(off_if("temperature", "is", 1.0),),
    ),
    Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "is", 0.0),)),
)
_NO_K, _NO_P = off_if("top_k", "is", 0, -1), off_if("top_p", ">=", 1.0)
_ONLY_K, _ONLY_P = off_if("top_k", ">", 0), off_if("top_p", "<=", 1 - 2.0**-53)
_TOP_K_ALL = Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "all"}, off=(_NO_K,))


def _top_p(fill: object, ties: str) -> Step:
    return Step(stage=TopP, fields={"p": fill}, switches={"ties": ties}, reads=("top_p",), off=(_NO_P,))  # type: ignore[dict-item]


_CUTS = MappingProxyType(
    {
        "torch": (_TOP_K_ALL, _top_p(_share, "any")),
        "triton": (
            # One search for both: k alone, p alone, or the two together.
            Step(stage=PivotCut, fields={"k": "top_k"}, off=(_NO_K, _ONLY_P)),
            Step(stage=PivotCut, fields={"p": in_float32("top_p")}, reads=("top_p",), off=(_NO_P, _ONLY_K)),
            Step(stage=PivotCut, fields={"k": "top_k", "p": in_float32("top_p")}, reads=("top_p",), off=(_NO_K, _NO_P)),
        ),
        "flashinfer": (_TOP_K_ALL, _top_p(in_float32("top_p"), "all")),
    }
)
_GREEDY = Mode(
    name="greedy",
    steps=_EDITS,
    when=_is_greedy,
    draw=Greedy(),
    reads=("temperature", "n"),
    ignores="temperature 0 is greedy; the engine resets top_p, top_k and min_p",
)


def _sampling(back_end: str) -> Mode:
    return Mode(name=back_end, steps=(*_EDITS, *_WARM, *_CUTS[back_end]))


def _variant(meaning: str, *modes: Mode) -> Variant:
    return Variant(parameters=PARAMETERS, modes=(_GREEDY, *modes), meaning=meaning)


_SEEDED = replace(_sampling("triton"), when=lambda values: values["seed"] is not None, reads=("seed",))
VARIANTS = MappingProxyType(
    {
        "": _variant("the request alone on a CUDA GPU", _SEEDED, _sampling("flashinfer")),
        "torch": _variant("PyTorch's sort: where there is no Triton", _sampling("torch")),
        "triton": _variant("the Triton kernel: seeded, greedy or mixed batches, AMD GPUs", _sampling("triton")),
        "flashinfer": _variant("FlashInfer's rejection sampler", _sampling("flashinfer")),
    }
)


VLLM = Dialect(
    engine="vllm",
    version="0.33",
    summary="min-p before top-k before top-p; 0 < T < 0.01 is 0.01; equal tokens depend on the back end",
    source="vllm 0.33.0: sampling_params.py, v1/worker/gpu/sample/, v1/sample/ops/topk_topp_{sampler,triton}.py",
    variants=VARIANTS,
    from_params=by_our_names("vllm", PARAMETERS),
    unmodelled=MappingProxyType(
        {
            "use_beam_search": "beam search, no sampling",
            "length_penalty": "acts with beams alone",
            "structured_outputs": "a grammar; pass what it allows as a mask",
            "prompt_logprobs": "a report on the prompt; changes no law",
            "logprob_token_ids": "which logprobs are reported; changes no law",
            "flat_logprobs": "the form of the report; changes no law",
            "thinking_token_budget": "forces the end of thinking after so many tokens; unset is off",
            "repetition_detection": "ends a text that repeats itself; unset is off",
            "watermarking": "the engine's watermark, where it has one configured",
            "trace_decode_token_ids": "forces given tokens; unset is off",
            "extra_args": "arguments of custom processors; unset is off",
            "detokenize": "whether there is a text at all; changes no law",
            "skip_special_tokens": "how the text is written; changes no law",
            "spaces_between_special_tokens": "how the text is written; changes no law",
            "output_kind": "how the answer is delivered; changes no law",
            "stream_interval": "how the answer is delivered; changes no law",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "max_new_tokens": "max_tokens",
            "min_new_tokens": "min_tokens",
            "repeat_penalty": "repetition_penalty",
            "temp": "temperature",
            "do_sample": "temperature (0 is greedy)",
            "typical_p": "not there; no stage of vLLM's does it",
            "penalty_last_n": "not there; penalties see everything",
        }
    ),
)
