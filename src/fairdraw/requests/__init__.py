"""Requests as engines get them: one format, one file, and the table of all of them."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.requests.base import Format
from fairdraw.requests.llama_cli import LLAMA_CLI
from fairdraw.requests.llama_server import LLAMA_SERVER
from fairdraw.requests.ollama import OLLAMA
from fairdraw.requests.openai import OPENAI_BODY
from fairdraw.requests.vllm import VLLM_BODY

FORMATS: MappingProxyType[str, Format] = MappingProxyType(
    {form.name: form for form in (VLLM_BODY, OPENAI_BODY, LLAMA_SERVER, OLLAMA, LLAMA_CLI)}
)
"""Name to format."""
