"""Temperature: divide the logits, in float64 or as one engine's float32 operation."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import TEMPERATURE, Choice
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Temperature(Stage):
    """Divide every logit by the temperature: below 1 the law gets sharper, above 1 flatter; the order stays.

    Notes
    -----
    ``"exact"`` touches no logit: masses and race divide, in float64.  ``"divide"`` is float32 x / float32(T)
    (PyTorch); ``"multiply"`` is float32 x * float32(1 / T) (candle).  Both round, and may overflow for a tiny T.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.float32([2, 0]), RealMasses)
    >>> Temperature(value=0.5).apply(row, Context()).probabilities.round(4).tolist()
    [0.982, 0.018]
    """

    name: ClassVar[str] = "temperature"
    domains: ClassVar[Domains] = MappingProxyType(
        {"value": TEMPERATURE, "operation": Choice(("exact", "divide", "multiply"))}
    )

    value: float
    """What the logits are divided by. In [1e-38, 1e38]; off: 1."""
    operation: Literal["exact", "divide", "multiply"] = "exact"
    """Whose arithmetic divides."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row at this temperature."""
        if self.operation == "exact":
            return row.at_temperature(self.value)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if self.operation == "divide":
                scores = row.scores / np.float32(self.value)
            else:
                scores = row.scores * np.float32(1.0 / self.value)
        return row.rescored(scores + np.float32(0))
