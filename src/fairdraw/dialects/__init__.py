"""The dialects: one engine, one file, and the table of all of them."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects.base import Dialect
from fairdraw.dialects.candle import CANDLE
from fairdraw.dialects.fairdraw import FAIRDRAW
from fairdraw.dialects.nano_vllm import NANO_VLLM
from fairdraw.dialects.reference import REFERENCE
from fairdraw.dialects.transformers import TRANSFORMERS_5_22, TRANSFORMERS_5_24

DIALECTS: MappingProxyType[str, Dialect] = MappingProxyType(
    {
        dialect.name: dialect
        for dialect in (FAIRDRAW, CANDLE, TRANSFORMERS_5_22, TRANSFORMERS_5_24, REFERENCE, NANO_VLLM)
    }
)
"""``engine@version`` to dialect; of one engine, the newest stands last."""
