"""Checkpoint: remember the row here, so that a later cut may measure mass on it."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import Choice
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, Stage

CHECKPOINTS = ("raw",)
"""Checkpoints on which a cut may measure mass."""
LABELS = (*CHECKPOINTS, "begin", "drawn")
"""Names a checkpoint may have; the others are those of a second draw."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Stage):
    """Remember the row under a name; it changes nothing by itself.

    candle and SGLang measure top-p's mass on the row before top-k: there a checkpoint named ``"raw"`` stands
    before top-k, and top-p has ``mass="raw"``.
    """

    name: ClassVar[str] = "checkpoint"
    domains: ClassVar[Domains] = MappingProxyType({"label": Choice(LABELS)})

    label: str = "raw"
    """The name under which a later stage finds the row."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row, which now remembers itself."""
        return row.checkpoint(self.label)
