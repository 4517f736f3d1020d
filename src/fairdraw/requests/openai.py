"""The body of a request to OpenAI's service, which refuses names that it does not know."""

from __future__ import annotations

from fairdraw.requests.base import Asked, Format, sort_out
from fairdraw.requests.bodies import NOT_SAMPLING, PLAIN_TEXT, body, reported

ENGINE = "openai"


def read(text: str) -> Asked:
    """Read a body.

    Examples
    --------
    >>> dict(read('{"messages": [], "temperature": 1, "max_tokens": 5}').request)
    {'temperature': 1, 'max_completion_tokens': 5}
    """
    values, told = body(text, ENGINE)
    kept, left = sort_out(
        ENGINE, reported(values), aside=NOT_SAMPLING, renamed={"logprobs": "top_logprobs"}, unset=PLAIN_TEXT
    )
    return Asked(dialect=ENGINE, request=kept, left_out=(*told, *left))


OPENAI_BODY = Format(name="openai", engine=ENGINE, meaning="JSON body of a completion or chat request", read=read)
