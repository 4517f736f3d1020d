"""What an engine is asked, as the flags say it: a plan, a request's body or command line, and what stands behind it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from fairdraw.cli.inputs import parse_plan
from fairdraw.context import ModelFacts
from fairdraw.dialects.finding import find_dialect
from fairdraw.dialects.reading import did_you_mean
from fairdraw.errors import PlanError
from fairdraw.models import Model
from fairdraw.plan import CUSTOM, Plan
from fairdraw.plan_format import parse_parameters, split_engine
from fairdraw.requests import FORMATS
from fairdraw.requests.base import Asked, LeftOut, plan_of_request
from fairdraw.requests.generation_config import end_ids, read_generation_config, text_of
from fairdraw.requests.gguf import read_gguf_sampling


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Where the parameters come from beside the plan."""

    request: str | None = None
    """Instead of a plan: a request's body (JSON) or command line, or a file with it. Needs --form."""
    form: str | None = None
    """Whose form the request has: vllm, openai, llama_server, ollama or llama_cli."""
    server: str | None = None
    """The server's own defaults as a JSON object, or a file with it; a request comes before them."""
    generation_config: str | None = None
    """The model's generation_config.json; request and server come before it."""
    gguf: str | None = None
    """A GGUF file, for the sampling parameters in its metadata (llama_cpp)."""

    def plan(self, text: str | None, model: Model | None) -> tuple[Plan, tuple[LeftOut, ...]]:
        """The plan, and what was said and is no part of it.

        Raises
        ------
        PlanError, ParameterError, UnavailableError
            As in `Plan.parse` and the readers; or the flags do not fit together.
        """
        if text is not None and self == PLAIN:
            return parse_plan(text, model), ()
        asked = self._asked(text)
        left = asked.left_out
        facts = model.facts if model else None
        if self.server is not None:
            asked = replace(asked, server=_mapping("--server", self.server))
        if self.generation_config is not None:
            config = text_of(self.generation_config)
            values, others = read_generation_config(config, asked.dialect)
            asked, left = replace(asked, model_file=values), (*left, *others)
            if facts is None and end_ids(config):
                facts = ModelFacts(vocab_size=max(end_ids(config)) + 1, end_token_ids=end_ids(config))
        if self.gguf is not None:
            if find_dialect(asked.dialect).engine not in ("llama_cpp", "ollama"):
                raise PlanError(f"--gguf is for llama_cpp, not for {asked.dialect}", "no other engine reads it there")
            values, others = read_gguf_sampling(self.gguf)
            asked, left = replace(asked, model_file={**asked.model_file, **values}), (*left, *others)
        return plan_of_request(asked, facts=facts), left

    def _asked(self, text: str | None) -> Asked:
        if (text is None) == (self.request is None):
            raise PlanError("explain needs a plan, or --request with --form", f"forms: {', '.join(FORMATS)}")
        if self.request is not None:
            if self.form not in FORMATS:
                hint = did_you_mean(self.form or "", FORMATS) or f"one of {', '.join(FORMATS)}"
                raise PlanError("--request needs --form" if self.form is None else f"no form is {self.form!r}", hint)
            return FORMATS[self.form].read(_text("--request", self.request))
        if self.form is not None:
            raise PlanError("--form needs --request", "a plan names its engine itself")
        engine, rest = split_engine(text or "")
        if engine == CUSTOM:
            raise PlanError("a composed plan has no defaults", "leave out --server, --generation-config and --gguf")
        variant, request = parse_parameters(rest, find_dialect(engine).variants)
        return Asked(dialect=engine, variant=variant, request=request)


PLAIN = Asking()
"""A plan and nothing else."""


def _text(flag: str, text: str) -> str:
    """The text itself, or that of the file that it names."""
    looks_like_a_path = len(text) < 1024 and "\n" not in text and not text.lstrip().startswith(("{", "-"))
    if looks_like_a_path and Path(text).is_file():
        return text_of(text)
    if looks_like_a_path and Path(text).suffix in (".json", ".txt", ".sh") and " " not in text:
        raise PlanError(f"{flag}: {text} is no file")
    return text


def _mapping(flag: str, text: str) -> dict[str, object]:
    try:
        data = json.loads(_text(flag, text))
    except ValueError as problem:
        raise PlanError(f"{flag} must be a JSON object: {problem}") from None
    if not isinstance(data, dict):
        raise PlanError(f"{flag} must be a JSON object, got {type(data).__name__}")
    return data
