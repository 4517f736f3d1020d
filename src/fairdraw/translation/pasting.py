"""A translated plan as its engine's users write it, ready to paste."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from types import MappingProxyType

from fairdraw.dialects.reading import ENGINE_DEFAULT
from fairdraw.plan import Plan
from fairdraw.plan_format import plain_value

Values = Mapping[str, object]
_MLX_PROCESSORS = ("logit_bias", "repetition_", "presence_", "frequency_")


def pasted(plan: Plan) -> str:
    """What to paste: a call, flags or a JSON object, in the engine's own names.

    Examples
    --------
    >>> print(pasted(Plan.parse("candle: TopK k=50 temperature=0.7")))
    LogitsProcessor::from_sampling(seed, Sampling::TopK { k: 50, temperature: 0.7 })
    >>> print(pasted(Plan.parse("vllm: temperature=0.7 top_k=50")))
    SamplingParams(temperature=0.7, top_k=50)
    """
    values = {s.name: plain_value(s.value) for s in plan.settings if s.origin != ENGINE_DEFAULT}
    return FORMS.get(plan.dialect.partition("@")[0], _as_json)(values, plan.variant)


def _as_json(values: Values, variant: str) -> str:
    return json.dumps(dict(values), ensure_ascii=False)


def _keywords(values: Values) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in values.items())


def _call(function: str, before: str = "") -> Callable[[Values, str], str]:
    return lambda values, variant: f"{function}({', '.join(filter(None, (before, _keywords(values))))})"


def _sglang(values: Values, variant: str) -> str:
    return f"sampling_params={dict(values)!r}"


def _candle(values: Values, variant: str) -> str:
    own = {name: value for name, value in values.items() if not name.startswith(("repeat", "closure"))}
    if variant in ("", "All") and "top_p" not in own:
        variant = "All" if "temperature" in own else "ArgMax"
    elif variant == "":
        variant, own = "TopP", {"p" if name == "top_p" else name: value for name, value in own.items()}
    fields = ", ".join(f"{name}: {value}" for name, value in own.items())
    lines = [f"LogitsProcessor::from_sampling(seed, Sampling::{variant}{f' {{ {fields} }}' if fields else ''})"]
    if "closure_top_k" in values:
        k = values["closure_top_k"]
        lines.append(f"// and sample_f with a closure that keeps the {k} best probabilities and renormalises them")
    if values.get("repeat_penalty", 1.0) != 1.0:
        last = values.get("repeat_last_n", 64)
        lines.insert(0, f"// before: apply_repeat_penalty(&logits, {values['repeat_penalty']}, <the last {last} ids>)?")
    return "\n".join(lines)


def _llama_cpp(values: Values, variant: str) -> str:
    words = []
    for name, value in values.items():
        if name == "logit_bias" and isinstance(value, dict):
            words += [f"--logit-bias {token}{bias:+g}" for token, bias in value.items()]
        elif name == "stop":
            words.append(f"# and the body's stop: {json.dumps(value)}")
        elif isinstance(value, bool):
            words += [f"--{name.replace('_', '-')}"] if value else []
        else:
            flag = _LLAMA_FLAGS.get(name, name.replace("_", "-"))
            words.append(f"--{flag} {shlex.quote(';'.join(value)) if isinstance(value, list) else value}")
    return " ".join(words)


_LLAMA_FLAGS = {
    "temperature": "temp",
    "typical_p": "typical",
    "dynatemp_exponent": "dynatemp-exp",
    "mirostat_eta": "mirostat-lr",
    "mirostat_tau": "mirostat-ent",
}


def _mlx(values: Values, variant: str) -> str:
    processors = {name: value for name, value in values.items() if name.startswith(_MLX_PROCESSORS)}
    sampler = {name: value for name, value in values.items() if name not in processors}
    lines = [f"sampler = make_sampler({_keywords(sampler)})"]
    if processors:
        lines.append(f"logits_processors = make_logits_processors({_keywords(processors)})")
    return "\n".join(lines)


FORMS: Mapping[str, Callable[[Values, str], str]] = MappingProxyType(
    {
        "transformers": _call("model.generate", "**inputs"),
        "vllm": _call("SamplingParams"),
        "nano_vllm": _call("SamplingParams"),
        "tensorrt_llm": _call("SamplingParams"),
        "reference": _call("filter_logits", "logits"),
        "fairdraw": _call("SamplingParams"),
        "sglang": _sglang,
        "candle": _candle,
        "mlx_lm": _mlx,
        "llama_cpp": _llama_cpp,
    }
)
"""Engine to how its users write parameters; JSON for any other."""
