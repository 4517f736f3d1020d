"""The body of a request to vLLM's server: ``/v1/completions`` or ``/v1/chat/completions``.

Read: vllm at commit 002032ee2, entrypoints/openai/completion/protocol.py; chat as its documentation says.  The server
passes over names that it does not know, with a warning in its log.
Its defaults come from the model's generation_config.json unless it runs with ``--generation-config vllm``.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.requests.base import Asked, Format, LeftOut, sort_out
from fairdraw.requests.bodies import NOT_SAMPLING, PLAIN_TEXT, body, reported

ENGINE = "vllm"
ASIDE = MappingProxyType(
    {
        **NOT_SAMPLING,
        "reasoning_effort": "how the prompt is written",
        "include_reasoning": "how the answer is delivered",
        "return_token_ids": "how the answer is delivered",
        "return_tokens_as_token_ids": "how the answer is delivered",
        "truncate_prompt_tokens": "which part of the prompt is read",
        "continue_final_message": "how the prompt is written",
        "add_special_tokens": "how the prompt is written",
        "documents": "the prompt",
        "cache_salt": "whether a prompt is read again",
    }
)
CHAT_LENGTH = "unset; the chat server goes on to the context's end where the library stops after 16"


def read(text: str) -> Asked:
    """Read a body.

    Examples
    --------
    >>> asked = read('{"model": "m", "temperature": 0.7, "max_completion_tokens": 5, "mirostat": 2}')
    >>> dict(asked.request)
    {'temperature': 0.7, 'max_tokens': 5}
    >>> [(left.name, left.why) for left in asked.left_out][-1]
    ('mirostat', 'vllm does not know it and passes over it')
    """
    data, told = body(text, ENGINE)
    values = reported(data)
    chat = "messages" in values
    kept, left = sort_out(
        ENGINE,
        values,
        aside=ASIDE,
        renamed={"max_completion_tokens": "max_tokens", "response_format": "structured_outputs"},
        unset={**PLAIN_TEXT, "seed": (-1,), "logprobs": (0,) if not chat else ()},
        unknown="vllm does not know it and passes over it",
    )
    left = (*told, *left)
    if chat and "max_tokens" not in kept:
        left = (*left, LeftOut(name="max_tokens", value=None, why=CHAT_LENGTH))
    return Asked(dialect=ENGINE, request=kept, left_out=left)


VLLM_BODY = Format(name="vllm", engine=ENGINE, meaning="JSON body of a completion or chat request", read=read)
