"""FlashInfer's sampling operators, as an engine calls them: ``softmax``, then one operator that cuts and draws.

Read: flashinfer 0.7.4, flashinfer/sampling.py and include/flashinfer/sampling.cuh.

- ``softmax(logits, temperature)`` multiplies by float32(1 / T); **T = 0 multiplies by 0 and draws every token alike**
  (a forbidden token then gives NaN; here it stays forbidden).
- Without a variant: ``top_k_top_p_sampling_from_probs`` with one k a row in a tensor, or the operator of k or of p
  alone.  ``filter_apply_order`` says what p measures: ``top_k_first`` what k left, ``joint`` the whole row.
- All equal tokens stay: a token stays when fewer than k are larger, and when those that are larger have less than p.
  Equal are tokens whose float32 probabilities are, not only those whose logits are.
- ``exact_k``: a Python int k of at most 256 on rows of 65536 or more takes a fast path that keeps exactly k, and which
  of the equals is left to its selection.
- ``min_p_sampling``: ``min_p_sampling_from_probs``, which does nothing else.
- The operators draw by rejection: the law is exactly proportional, but a float32 sum of the tokens above may reach 1
  before the last ones, so that p = 1 can refuse a token at the far end.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, canonical_reading, off_if
from fairdraw.dialects.steps import in_float32
from fairdraw.dialects.text_parameters import SEED_PARAMETER
from fairdraw.domains import TEMPERATURE, Choice, Real, Whole
from fairdraw.errors import ParameterError
from fairdraw.params import SamplingParams
from fairdraw.stages import Checkpoint, Mask, MinP, Temperature, TopK, TopP

_SCALE_WORDS = "nothing; it would multiply by 1 / T and prefer the least probable tokens"
_TEMPERATURE = Parameter(
    name="temperature", domain=Real(0), default=1.0, default_source="sampling.py, softmax", canonical="temperature",
    refusal=_SCALE_WORDS, meaning="multiplies the logits by float32(1 / T); 0 makes all tokens alike, 1 is off",
)  # fmt: skip
_TOP_K = Parameter(
    name="top_k", domain=Whole(1), canonical="top_k",
    meaning="keep the k best and all that equal the last; unset is off",
    refusal="nothing; no token has fewer than 0 above it, so that none is valid",
)  # fmt: skip
_TOP_P = Parameter(
    name="top_p", domain=Real(0, 1, open="low"), canonical="top_p",
    meaning="keep tokens with less than this mass above them, and all that equal the last; unset or 1 is off",
)  # fmt: skip
_ORDER = Parameter(
    name="filter_apply_order", domain=Choice(("top_k_first", "joint")), default="top_k_first",
    default_source="sampling.py, top_k_top_p_sampling_from_probs", refusal="Invalid filter_apply_order: {value}",
    meaning="whether p measures what k left, or the whole row",
)  # fmt: skip
_EXACT_K = Parameter(
    name="top_k", domain=Whole(1, 256), default=256, default_source="the largest k of the fast path",
    canonical="top_k", meaning="keep exactly the k best; a k of the vocabulary's size or more is off",
)  # fmt: skip
_WARM_TEMPERATURE = Parameter(
    name="temperature", domain=Real(0, open="low"), default=1.0, default_source="sampling.py, softmax",
    canonical="temperature", refusal="nothing; at 0 it draws any k tokens alike",
    meaning="multiplies the logits by float32(1 / T); 1 is off",
)  # fmt: skip
_MIN_P = Parameter(
    name="min_p", domain=Real(0, 1), default=0.0, default_source="no default; 0 keeps all", canonical="min_p",
    meaning="keep tokens with at least this share of the best one; 0 is off",
)  # fmt: skip
PARAMETERS = (_TEMPERATURE, _TOP_K, _TOP_P, _ORDER, SEED_PARAMETER)


def _alike(values: Values, facts: ModelFacts | None) -> object:
    """The largest temperature there is: the law is uniform to the last bit."""
    return TEMPERATURE.high


_SCALE = Step(
    stage=Temperature,
    fields={"value": "temperature"},
    switches={"operation": "multiply"},
    off=(off_if("temperature", "is", 1.0),),
)
_BEST = Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "all"}, off=(off_if("top_k", "is", None),))
_NO_P = (off_if("top_p", "is", None), off_if("top_p", ">=", 1.0))


def _nucleus(**switches: str) -> Step:
    return Step(
        stage=TopP, fields={"p": in_float32("top_p")}, switches={"ties": "all", **switches}, reads=("top_p",), off=_NO_P
    )


_UNIFORM = Mode(
    name="uniform",
    steps=(Step(stage=Mask), Step(stage=Temperature, fields={"value": _alike}, reads=("temperature",))),
    when=lambda values: values["temperature"] == 0,
    reads=("temperature",),
    ignores="at temperature 0 all tokens are equal, and equal tokens all stay",
)
VARIANTS = MappingProxyType(
    {
        "": Variant(
            parameters=PARAMETERS,
            modes=(
                _UNIFORM,
                Mode(
                    name="joint",
                    steps=(Step(stage=Mask), _SCALE, Step(stage=Checkpoint, off=_NO_P), _BEST, _nucleus(mass="raw")),
                    when=lambda values: values["filter_apply_order"] == "joint",
                    reads=("filter_apply_order",),
                ),
                Mode(
                    name="top_k_first",
                    steps=(Step(stage=Mask), _SCALE, _BEST, _nucleus()),
                    reads=("filter_apply_order",),
                ),
            ),
            meaning="top_k_top_p_sampling_from_probs, or the operator of k or p alone",
        ),
        "exact_k": Variant(
            parameters=(_WARM_TEMPERATURE, _EXACT_K, _TOP_P, SEED_PARAMETER),
            modes=(
                Mode(
                    name="top_k_first",
                    steps=(
                        Step(stage=Mask),
                        _SCALE,
                        Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "any"}),
                        _nucleus(),
                    ),
                ),
            ),
            meaning="the fast path of a Python int k on rows of 65536 tokens or more",
        ),
        "min_p_sampling": Variant(
            parameters=(_TEMPERATURE, _MIN_P, SEED_PARAMETER),
            modes=(
                _UNIFORM,
                Mode(
                    name="min_p",
                    steps=(
                        Step(stage=Mask),
                        _SCALE,
                        Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "is", 0.0),)),
                    ),
                ),
            ),
            meaning="min_p_sampling_from_probs",
        ),
    }
)


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    if params.temperature == 0:
        hint = "its softmax at 0 draws every token alike; greedy is top_k=1"
        raise ParameterError("temperature", params.temperature, "above 0 for flashinfer", hint)
    if not params.min_p:
        request = canonical_reading("flashinfer", (*PARAMETERS, _MIN_P), params)
        return "", {name: value for name, value in request.items() if name != "min_p" and (name, value) != ("top_k", 0)}
    if params.top_k or params.top_p not in (None, 1.0):
        hint = "no operator of flashinfer does both; sglang runs one after the other"
        raise ParameterError("min_p", params.min_p, "unset beside top_k or top_p for flashinfer", hint)
    request = canonical_reading("flashinfer", (*VARIANTS["min_p_sampling"].parameters, _TOP_K, _TOP_P), params)
    return "min_p_sampling", {name: value for name, value in request.items() if name not in ("top_k", "top_p")}


FLASHINFER = Dialect(
    engine="flashinfer",
    version="0.7",
    summary="all equal tokens stay; p of what k left or, joint, of the whole row; temperature 0 is uniform",
    source="flashinfer 0.7.4: flashinfer/sampling.py, include/flashinfer/sampling.cuh",
    variants=VARIANTS,
    from_params=_from_params,
    unmodelled=MappingProxyType(
        {
            "top_k_max": "a bound on k that opens the fast path; the variant exact_k is that path",
            "deterministic": "the order of the kernel's sums; changes no law",
            "check_nan": "whether NaN is looked for; fairdraw always does",
            "generator": "where the seed comes from; changes no law",
            "offset": "which numbers of the stream are used; changes no law",
            "indices": "which row a request reads; changes no law",
        }
    ),
    elsewhere=MappingProxyType(
        {
            "temp": "temperature",
            "min_p": "in the variant min_p_sampling",
            "k": "top_k",
            "p": "top_p",
            "do_sample": "always sampling; greedy is top_k=1",
        }
    ),
)
