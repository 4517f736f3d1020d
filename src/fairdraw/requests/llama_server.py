"""The body of a request to llama.cpp's server, ``/completion`` or ``/v1/chat/completions``.

Read: llama.cpp 0c1e57098, tools/server/server-schema.cpp.  The server passes over names that it does not know.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.domains import Real
from fairdraw.errors import ParameterError
from fairdraw.requests.base import Asked, Format, sort_out
from fairdraw.requests.bodies import NOT_SAMPLING, PLAIN_TEXT, body, reported

ENGINE = "llama_cpp"
ASIDE = MappingProxyType(
    {
        **NOT_SAMPLING,
        "verbose": "how the answer is delivered",
        "timings_per_token": "how the answer is delivered",
        "return_tokens": "how the answer is delivered",
        "return_progress": "how the answer is delivered",
        "response_fields": "how the answer is delivered",
        "sse_ping_interval": "how the answer is delivered",
        "id_slot": "where the request runs",
        "n_discard": "what a full context drops",
        "n_cache_reuse": "whether a prompt is read again",
        "n_indent": "code completion alone",
        "lora": "which weights answer",
        "reasoning_format": "how the answer is delivered",
        "parse_tool_calls": "how the answer is delivered",
    }
)
UNSET = MappingProxyType({**PLAIN_TEXT, "seed": (-1, 2**32 - 1), "n_predict": (-1,), "max_tokens": (-1,)})


def read(text: str) -> Asked:
    """Read a body.

    Raises
    ------
    PlanError, ParameterError
        As in `sort_out` and `bias_map`; or a window of less than no tokens.
    """
    data, told = body(text, "llama_server")
    values = reported(data)
    if "logit_bias" in values:
        values["logit_bias"] = bias_map(values["logit_bias"])
    window = values.get("repeat_last_n")
    if isinstance(window, (int, float)) and window < 0:
        hint = "llama.cpp's server refuses less; 0 is off"
        raise ParameterError("repeat_last_n", window, "a whole number >= 0", hint)
    if isinstance(values.get("samplers"), str):
        values["samplers"] = [values["samplers"]]
    kept, left = sort_out(
        ENGINE,
        values,
        aside=ASIDE,
        renamed={"n": "n_cmpl", "response_format": "json_schema"},
        unset=UNSET,
        unknown="llama.cpp's server does not know it and passes over it",
    )
    return Asked(dialect=ENGINE, request=kept, left_out=(*told, *left))


def bias_map(value: object) -> object:
    """A bias as a mapping: the server also takes pairs, and false for a token that is forbidden.

    Raises
    ------
    ParameterError
        A bias is no finite number, a token is given as text or twice, or forbidden: a mask does that.

    Examples
    --------
    >>> bias_map([[15, 1.5], [16, -2]])
    {'15': 1.5, '16': -2.0}
    """
    pairs = list(value.items()) if isinstance(value, dict) else value
    if not isinstance(pairs, list) or any(not isinstance(p, (list, tuple)) or len(p) != 2 for p in pairs):
        raise ParameterError("logit_bias", value, "an object, or a list of pairs of a token id and a number")
    for token, bias in pairs:
        if bias is False:
            raise ParameterError("logit_bias", value, "numbers", "false forbids the token: pass a mask instead")
        if isinstance(token, str) and not token.isdigit():
            raise ParameterError(
                "logit_bias", value, "by token id", "a text is as many tokens as the model makes of it"
            )
        if not Real().holds(bias):
            raise ParameterError("logit_bias", value, "finite numbers by token id")
    if len({str(token) for token, _ in pairs}) < len(pairs):
        raise ParameterError("logit_bias", value, "one number for each token id")
    return {str(token): float(bias) for token, bias in pairs}


LLAMA_SERVER = Format(
    name="llama_server", engine=ENGINE, meaning="JSON body of a completion or chat request", read=read
)
