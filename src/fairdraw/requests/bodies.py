"""What the JSON bodies of chat and completion servers have in common."""

from __future__ import annotations

import json
from types import MappingProxyType

from fairdraw.errors import PlanError
from fairdraw.requests.base import LeftOut

NOT_SAMPLING = MappingProxyType(
    {
        "model": "which model answers",
        "messages": "the prompt",
        "prompt": "the prompt",
        "system": "the prompt",
        "suffix": "the prompt",
        "images": "the prompt",
        "tools": "what the model may call",
        "tool_choice": "what the model may call",
        "parallel_tool_calls": "what the model may call",
        "chat_template": "how the prompt is written",
        "chat_template_kwargs": "how the prompt is written",
        "add_generation_prompt": "how the prompt is written",
        "stream": "how the answer is delivered",
        "stream_options": "how the answer is delivered",
        "echo": "how the answer is delivered",
        "user": "who asks",
        "metadata": "who asks",
        "store": "whether the service keeps the answer",
        "service_tier": "who is served first",
        "priority": "who is served first",
        "request_id": "who asks",
    }
)
"""Names that are no part of any law, and what they are about."""


PLAIN_TEXT = MappingProxyType({"response_format": ({"type": "text"},)})
"""The answer's form by which a body says: no grammar."""
WRAPPED = "taken as the Python client sends it, unwrapped; in a raw body no server reads it"
"""What is said of an `extra_body`."""


def body(text: str, form: str) -> tuple[dict[str, object], tuple[LeftOut, ...]]:
    """A request body as a mapping; `extra_body`, in which clients wrap what they do not know, is unwrapped and told.

    Raises
    ------
    PlanError
        It is no JSON object, or its `extra_body` is none.

    Examples
    --------
    >>> values, told = body('{"temperature": 1, "extra_body": {"top_k": 20}}', "vllm")
    >>> values
    {'temperature': 1, 'top_k': 20}
    >>> told[0].why
    'taken as the Python client sends it, unwrapped; in a raw body no server reads it'
    """
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise PlanError(f"a request of the form {form} must be JSON: {problem}") from None
    if not isinstance(data, dict):
        raise PlanError(f"a request of the form {form} must be a JSON object, got {type(data).__name__}")
    extra = data.pop("extra_body", None)
    if extra is None:
        return data, ()
    if not isinstance(extra, dict):
        raise PlanError(f"extra_body must be a JSON object, got {type(extra).__name__}")
    return {**data, **extra}, (LeftOut(name="extra_body", value=extra, why=WRAPPED),)


def reported(values: dict[str, object]) -> dict[str, object]:
    """The chat form of logprobs, a switch and a number, as one number."""
    if not isinstance(values.get("logprobs"), bool):
        return values
    asked = values.pop("logprobs")
    most = values.pop("top_logprobs", None)
    return {**values, "logprobs": most or 0} if asked else values
