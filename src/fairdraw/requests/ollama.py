"""The body of a request to Ollama, ``/api/generate`` or ``/api/chat``, with its ``options``.

Read: ollama fb30760, api/types.go and llm/llama_server.go.  Options that it does not know it passes over, with a
warning in its log.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects.finding import find_dialect
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
        "truncate": "which part of the prompt is read",
        "shift": "what a full context drops",
    }
)


def read(text: str) -> Asked:
    """Read a body; without any field of a body, it is taken for the options alone.

    Raises
    ------
    PlanError
        A grammar, or options that are no object.
    """
    data, told = body(text, "ollama")
    options = data.pop("options", None)
    if options is None:
        bare = not {*_ASIDE, "format"} & data.keys()
        options, data = (data, {}) if bare else ({}, data)
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
    beside = tuple(LeftOut(name=n, value=v, why=_why_beside(n)) for n, v in data.items() if v is not None)
    return Asked(dialect="ollama", request=kept, left_out=(*told, *beside, *left))


def _why_beside(name: str) -> str:
    """Why what stands beside the options is no part of the plan."""
    if name in _ASIDE or name == "format":
        return f"{ASIDE}: {_ASIDE.get(name, 'the form of the answer')}"
    options = {n for p in find_dialect("ollama").variants[""].parameters for n in (p.name, *p.aliases)}
    if name in options or name in _RUNNER:
        return "ollama reads it under options alone"
    return "ollama does not know it and passes over it"


OLLAMA = Format(name="ollama", engine="ollama", meaning="JSON body of a generate or chat request", read=read)
