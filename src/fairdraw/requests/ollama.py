"""The body of a request to Ollama, ``/api/generate`` or ``/api/chat``, with its ``options``.

Read: ollama fb30760, api/types.go and llm/llama_server.go.  Options that it does not know it passes over, with a
warning in its log.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.errors import PlanError
from fairdraw.requests.base import ASIDE, Asked, Format, LeftOut, sort_out
from fairdraw.requests.bodies import NOT_SAMPLING, body

_RUNNER = MappingProxyType(
    dict.fromkeys(
        ("num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread", "draft_num_predict"),
        "how the model is loaded",
    )
    | {"num_keep": "what a full context keeps"}
)
_ASIDE = MappingProxyType(
    {
        **NOT_SAMPLING,
        "keep_alive": "how long the model stays loaded",
        "raw": "how the prompt is written",
        "template": "how the prompt is written",
        "context": "the prompt",
        "think": "how the prompt is written",
    }
)


def read(text: str) -> Asked:
    """Read a body; the options may also be the whole of it.

    Raises
    ------
    PlanError
        A grammar, or options that are no object.
    """
    data = body(text, "ollama")
    options = data.pop("options", None)
    if options is None:
        options, data = {n: v for n, v in data.items() if n not in _ASIDE}, {n: data[n] for n in data if n in _ASIDE}
    if not isinstance(options, dict):
        raise PlanError(f"options must be a JSON object, got {type(options).__name__}")
    if data.get("format"):
        raise PlanError("ollama: format is a grammar, which is no stage", "pass what it allows as a mask")
    kept, left = sort_out(
        "ollama",
        options,
        aside=_RUNNER,
        unset={"seed": (-1,), "num_predict": (-1, -2)},
        unknown="ollama does not know it and passes over it",
    )
    beside = tuple(LeftOut(name=n, value=v, why=f"{ASIDE}: {_ASIDE.get(n, 'not an option')}") for n, v in data.items())
    return Asked(dialect="ollama", request=kept, left_out=(*beside, *left))


OLLAMA = Format(name="ollama", engine="ollama", meaning="JSON body of a generate or chat request", read=read)
