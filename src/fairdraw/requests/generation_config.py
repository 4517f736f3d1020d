"""A model's ``generation_config.json``, as each engine reads it.

Read: transformers 5.24.0 (generation/configuration_utils.py) takes every name; vllm 0.33.0 and sglang 0.5.23 a few.
Both add its ``eos_token_id`` to the ids that end a text; `end_ids` has it.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import MappingProxyType

from fairdraw.dialects.finding import find_dialect
from fairdraw.domains import TokenIds, require
from fairdraw.errors import PlanError, UnavailableError
from fairdraw.requests.base import LeftOut, sort_out

TAKEN = MappingProxyType(
    {
        "vllm": (
            "repetition_penalty",
            "presence_penalty",
            "frequency_penalty",
            "temperature",
            "top_k",
            "top_p",
            "min_p",
            "max_new_tokens",
        ),
        "sglang": ("repetition_penalty", "temperature", "top_k", "top_p", "min_p"),
    }
)
"""What an engine takes from the file, where it is not all."""
ABOUT_THE_MODEL = MappingProxyType(
    dict.fromkeys(("bos_token_id", "pad_token_id", "decoder_start_token_id", "eos_token_id"), "the model's own ids")
    | dict.fromkeys(("_from_model_config", "transformers_version", "cache_implementation", "use_cache"), "how it runs")
)


def read_generation_config(text: str, engine: str) -> tuple[dict[str, object], tuple[LeftOut, ...]]:
    """What an engine takes from the file's text, in its own names, and what it does not.

    Raises
    ------
    PlanError
        No JSON object; or, for transformers, a name that changes the law and is not modelled.

    Examples
    --------
    >>> text = '{"do_sample": true, "temperature": 0.6, "top_k": 20, "eos_token_id": [2, 3]}'
    >>> read_generation_config(text, "vllm")[0]
    {'temperature': 0.6, 'top_k': 20}
    >>> for left in read_generation_config(text, "vllm")[1]:
    ...     print(left.name, "|", left.why)
    do_sample | vllm does not take it from this file
    eos_token_id | a fact of the model; vllm adds it to the ids that end a text
    """
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise PlanError(f"a generation_config.json must be JSON: {problem}") from None
    if not isinstance(data, dict):
        raise PlanError(f"a generation_config.json must be a JSON object, got {type(data).__name__}")
    name = find_dialect(engine).engine
    if name == "transformers":
        return sort_out(engine, data, aside=ABOUT_THE_MODEL, unknown="transformers has no such parameter")
    if name not in TAKEN:
        why = {"eos_token_id": "taken for the ids that end a text"}
        other = f"{name} does not read this file"
        return {}, tuple(LeftOut(name=key, value=value, why=why.get(key, other)) for key, value in data.items())
    taken = {key: value for key, value in data.items() if key in TAKEN[name]}
    renamed = {"max_new_tokens": "max_tokens"} if name == "vllm" else {}
    kept, left = sort_out(engine, taken, renamed=renamed)
    why = {"eos_token_id": f"a fact of the model; {name} adds it to the ids that end a text"}
    other = f"{name} does not take it from this file"
    rest = {key: value for key, value in data.items() if key not in TAKEN[name]}
    others = (LeftOut(name=key, value=value, why=why.get(key, other)) for key, value in rest.items())
    return kept, (*left, *others)


def end_ids(text: str) -> tuple[int, ...]:
    """The ids that end a text, as the file has them.

    Raises
    ------
    ParameterError
        They are no token ids.
    """
    ids = json.loads(text).get("eos_token_id")
    return () if ids is None else require("eos_token_id", ids, TokenIds())  # type: ignore[return-value]


def text_of(path: str) -> str:
    """The text of a file.

    Raises
    ------
    PlanError
        There is no such file.
    UnavailableError
        It cannot be read.
    """
    if not Path(path).exists():
        raise PlanError(f"{path} is no file")
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UnavailableError(f"{path} cannot be read: {getattr(problem, 'strerror', None) or problem}") from None
