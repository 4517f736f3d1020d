"""The dialects: one engine, one file, and the table of all of them."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.dialects.base import Dialect
from fairdraw.dialects.fairdraw import FAIRDRAW

DIALECTS: MappingProxyType[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in (FAIRDRAW,)})
"""``engine@version`` to dialect; of one engine, the newest stands last."""
