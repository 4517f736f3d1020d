"""mlx-lm: ``make_logits_processors`` and ``make_sampler``, as ``generate`` and its server call them.

Read and run: mlx-lm 0.32.2 on mlx 0.32.4 (CPU), mlx_lm/sample_utils.py, generate.py, server.py.

- Nothing asked for is greedy: ``temp`` is 0 unless it is set.
- Order: bias, repetition, presence, frequency; then **top-p, min-p, XTC, top-k, and temperature last**: the cuts see
  temperature 1, and top-p the whole row.
- Each penalty sees the **last 20 tokens** of prompt and output, unless its ``..._context_size`` says otherwise; 0 is
  everything.  With a prompt cache the engine has only seen what the cache did not hold.
- top-p keeps all that equal the crossing token; top-k keeps exactly k, and which of equals is left to a partition.
  A top_k of the vocabulary's size or more is an error.
- A repetition penalty of 0 is off, like None; ``top_p`` outside (0, 1) is off.
- The engine computes in the model's own float type, often bfloat16; the law here is that of float32 logits.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Fill, Mode, Parameter, Step, Values, Variant, canonical_reading, off_if
from fairdraw.dialects.steps import in_float32
from fairdraw.dialects.text_parameters import SEED_PARAMETER
from fairdraw.domains import BiasMap, Real, Texts, TokenIds, Whole
from fairdraw.draws import Greedy
from fairdraw.params import SamplingParams
from fairdraw.stages import (
    LogitBias,
    Mask,
    MinP,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
    Xtc,
)

_SAMPLER, _PROCESSORS = "sample_utils.py, make_sampler", "sample_utils.py, make_logits_processors"


def _window(name: str) -> Parameter:
    return Parameter(
        name=name, domain=Whole(0), default=20, default_source=_PROCESSORS, canonical="penalty_last_n",
        refusal=lambda value: (
            "nothing; it would leave out the first tokens" if isinstance(value, int) and value < 0 else ""
        ),
        meaning="how many of the last ids count as seen; 0 is all",
    )  # fmt: skip


PARAMETERS = (
    Parameter(
        name="temp", domain=Real(0), default=0.0, default_source=_SAMPLER, canonical="temperature",
        aliases=("temperature",), refusal="nothing; it would prefer the least probable tokens",
        meaning="multiplies the logits by float32(1 / T) after all cuts; 0 is greedy, 1 is off",
    ),
    Parameter(
        name="top_p", domain=Real(), default=0.0, default_source=_SAMPLER, canonical="top_p",
        meaning="keep the shortest prefix with this share of the whole row, and all that equal its last; "
        "outside (0, 1) it is off",
    ),
    Parameter(
        name="min_p", domain=Real(0, 1), default=0.0, default_source=_SAMPLER, canonical="min_p",
        refusal="`min_p` has to be a float in the [0, 1] interval, but is {value}",
        meaning="keep tokens with at least this share of the best one; 0 is off",
    ),
    Parameter(
        name="top_k", domain=Whole(), default=0, default_source=_SAMPLER, canonical="top_k",
        meaning="keep exactly the k best of what the other cuts left; 0 or less is off",
    ),
    Parameter(
        name="xtc_probability", domain=Real(0, 1), default=0.0, default_source=_SAMPLER, canonical="xtc_probability",
        refusal="`probability` has to be a float in the [0, 1] interval, but is {value}",
        meaning="how often the likely tokens but the least of them are left out, before top_k; 0 is off",
    ),
    Parameter(
        name="xtc_threshold", domain=Real(0, 0.5), default=0.1, default_source=_SAMPLER, canonical="xtc_threshold",
        refusal="`threshold` has to be a float in the [0, 0.5] interval, but is {value}",
        meaning="a token with more than this probability is a likely one",
    ),
    Parameter(
        name="xtc_special_tokens", domain=TokenIds(), default=(), default_source=_SAMPLER,
        meaning="ids that are never left out; the server has the newline and the end ids here",
    ),
    Parameter(name="logit_bias", domain=BiasMap(), canonical="logit_bias", meaning="added to the logits of a few ids"),
    Parameter(
        name="repetition_penalty", domain=Real(0), canonical="repetition_penalty",
        refusal="penalty must be a non-negative float, got {value}",
        meaning="divides the logits of ids seen, once an id; unset, 0 or 1 is off",
    ),
    _window("repetition_context_size"),
    Parameter(
        name="presence_penalty", domain=Real(), canonical="presence_penalty",
        meaning="subtracted once from ids seen; unset or 0 is off",
    ),
    _window("presence_context_size"),
    Parameter(
        name="frequency_penalty", domain=Real(), canonical="frequency_penalty",
        meaning="subtracted from ids seen for each time; unset or 0 is off",
    ),
    _window("frequency_context_size"),
    Parameter(
        name="max_tokens", domain=Whole(1), canonical="max_tokens", limit="max_tokens",
        meaning="at most this many tokens; unset: 256 in generate, 512 in the server",
    ),
    Parameter(
        name="stop", domain=Texts(), canonical="stop", limit="stop", meaning="texts that end the output, in the server"
    ),
    SEED_PARAMETER,
)  # fmt: skip


def _last(name: str) -> Fill:
    def fill(values: Values, facts: ModelFacts | None) -> object:
        return values[name] or None

    return fill


def _additive(field: str) -> Step:
    window = f"{field}_context_size"
    return Step(
        stage=PresenceFrequencyPenalty,
        fields={field: f"{field}_penalty", "window": _last(window)},
        switches={"scope": "all"},
        reads=(window,),
        off=(off_if(f"{field}_penalty", "is", None, 0.0),),
    )


_EDITS = (
    Step(stage=Mask),
    Step(stage=LogitBias, fields={"bias": "logit_bias"}, off=(off_if("logit_bias", "is", None, ()),)),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "repetition_penalty", "window": _last("repetition_context_size")},
        reads=("repetition_context_size",),
        off=(off_if("repetition_penalty", "is", None, 0.0, 1.0),),
    ),
    _additive("presence"),
    _additive("frequency"),
)
_SAMPLING = (
    Step(
        stage=TopP,
        fields={"p": in_float32("top_p")},
        switches={"ties": "all"},
        reads=("top_p",),
        off=(off_if("top_p", "<=", 0.0), off_if("top_p", ">=", 1.0)),
    ),
    Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "is", 0.0),)),
    Step(
        stage=Xtc,
        fields={"probability": "xtc_probability", "threshold": "xtc_threshold", "protected": "xtc_special_tokens"},
        switches={"boundary": "strict", "ties": "all"},
        off=(off_if("xtc_probability", "is", 0.0),),
    ),
    Step(
        stage=TopK,
        fields={"k": "top_k"},
        switches={"ties": "any", "beyond": "refuse_whole"},
        off=(off_if("top_k", "<=", 0),),
    ),
    Step(
        stage=Temperature,
        fields={"value": "temp"},
        switches={"operation": "multiply"},
        off=(off_if("temp", "is", 1.0),),
    ),
)


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    """Drawing is the default of our names; the window of the three penalties is one field."""
    request = canonical_reading("mlx_lm", PARAMETERS, params)
    if params.penalty_last_n is not None:
        request |= {p.name: params.penalty_last_n for p in PARAMETERS if p.canonical == "penalty_last_n"}
    return "", {"temp": 1.0, **request}


MLX_LM = Dialect(
    engine="mlx_lm",
    version="0.32",
    summary="greedy unless temp is set; cuts at temperature 1, top-p first and top-k last; penalties see 20 tokens",
    source="mlx-lm 0.32.2 on mlx 0.32.4: mlx_lm/sample_utils.py, generate.py, server.py",
    variants=MappingProxyType(
        {
            "": Variant(
                parameters=PARAMETERS,
                modes=(
                    Mode(
                        name="greedy",
                        steps=_EDITS,
                        when=lambda values: values["temp"] == 0,
                        draw=Greedy(),
                        reads=("temp",),
                        unread=("top_p", "min_p", "top_k", "xtc_probability", "xtc_threshold"),
                        ignores="temp 0 is greedy: no other sampling parameter is looked at",
                    ),
                    Mode(name="sample", steps=(*_EDITS, *_SAMPLING), reads=("temp",)),
                ),
            )
        }
    ),
    from_params=_from_params,
    unmodelled=MappingProxyType(
        {
            "min_tokens_to_keep": "how many tokens min_p leaves at least; 1 is what the law has",
            "num_draft_tokens": "speculative decoding; without a draft model it is off",
            "logprobs": "whether logprobs are reported; changes no law",
            "top_logprobs": "how many logprobs are reported; changes no law",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "repeat_penalty": "repetition_penalty",
            "repeat_last_n": "repetition_context_size",
            "penalty_last_n": "repetition_context_size, presence_context_size and frequency_context_size",
            "max_new_tokens": "max_tokens",
            "do_sample": "temp (0 is greedy)",
        }
    ),
)
