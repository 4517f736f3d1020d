"""The dialects: one engine, one file, and the table of all of them."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects.anthropic import ANTHROPIC
from fairdraw.dialects.base import Dialect
from fairdraw.dialects.candle import CANDLE
from fairdraw.dialects.exllamav2 import EXLLAMAV2
from fairdraw.dialects.exllamav3 import EXLLAMAV3
from fairdraw.dialects.fairdraw import FAIRDRAW
from fairdraw.dialects.flashinfer import FLASHINFER
from fairdraw.dialects.llama_cpp import LLAMA_CPP
from fairdraw.dialects.mistral_rs import MISTRAL_RS
from fairdraw.dialects.mlx_lm import MLX_LM
from fairdraw.dialects.nano_vllm import NANO_VLLM
from fairdraw.dialects.ollama import OLLAMA
from fairdraw.dialects.openai import OPENAI
from fairdraw.dialects.reference import REFERENCE
from fairdraw.dialects.sglang import SGLANG
from fairdraw.dialects.tensorrt_llm import TENSORRT_LLM
from fairdraw.dialects.transformers import TRANSFORMERS_5_22, TRANSFORMERS_5_24
from fairdraw.dialects.vllm import VLLM

DIALECTS: MappingProxyType[str, Dialect] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (
            FAIRDRAW,
            CANDLE,
            TRANSFORMERS_5_22,
            TRANSFORMERS_5_24,
            REFERENCE,
            NANO_VLLM,
            VLLM,
            SGLANG,
            FLASHINFER,
            MLX_LM,
            MISTRAL_RS,
            TENSORRT_LLM,
            LLAMA_CPP,
            OLLAMA,
            EXLLAMAV2,
            EXLLAMAV3,
            OPENAI,
            ANTHROPIC,
        )
    }
)
"""``engine@version`` to dialect; of one engine, the newest stands last."""
