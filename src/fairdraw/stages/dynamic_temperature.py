"""Dynamic temperature: one that follows the entropy (kalomaze, koboldcpp pull request 464, 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import Choice, Real, Whole
from fairdraw.rows import Row, log2_of
from fairdraw.stages.base import Domains, Stage

COLDEST = 1e-6
"""Below this a temperature leaves the best token alone anyway; 0 itself cannot divide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicTemperature(Stage):
    """Divide by low + (high - low) * (entropy / largest possible entropy) ^ exponent: sharp where the row is sure.

    Both entropies are those of the tokens kept, at the temperature so far.  With one token left nothing happens.

    Notes
    -----
    The temperature is rounded to float32 and never below 1e-6, where the best token is as good as certain.
    llama.cpp 0c1e57098 (src/llama-sampler.cpp, ``llama_sampler_temp_ext_apply``): low = max(0, temp - range), high =
    temp + range; it takes the best token for a temperature of 0, and counts tokens at -inf among the candidates.
    exllamav2 0.3.2 @da07fac (cpp/sampling.cpp, ``post_softmax_temperature``): min_temp and max_temp, after the cuts.

    Examples
    --------
    Two equal tokens have all the entropy they can have; a certain one has none.

    >>> from fairdraw.masses import LOG2E, RealMasses
    >>> stage = DynamicTemperature(low=0.5, high=1.5)
    >>> rows = [Row.of(np.float32(scores), RealMasses) for scores in ([1, 1], [100, 0])]
    >>> [LOG2E / stage.apply(row, Context()).masses.scale for row in rows]
    [1.5, 0.5]
    """

    name: ClassVar[str] = "dynamic_temperature"
    domains: ClassVar[Domains] = MappingProxyType(
        {
            "low": Real(0, 1e38),
            "high": Real(0, 1e38),
            "exponent": Real(0),
            "candidates": Whole(2),
            "operation": Choice(("exact", "divide")),
        }
    )

    low: float
    """Temperature of a row without entropy. In [0, 1e38]."""
    high: float
    """Temperature of a flat row. In [0, 1e38]."""
    exponent: float = 1.0
    """Above 1: cold for longer. At least 0."""
    candidates: int | None = None
    """The largest possible entropy is that of so many tokens, removed ones among them; None: of those kept."""
    operation: Literal["exact", "divide"] = "exact"
    """Whether masses and race divide, in float64, or the scores are divided, in float32."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row at its own temperature."""
        if row.kept.size == 1:
            return row
        among = row.kept.size if self.candidates is None else max(row.kept.size, min(self.candidates, row.vocab))
        share = min(1.0, row.entropy_bits / log2_of(among))
        temperature = self.low + (self.high - self.low) * share**self.exponent
        temperature = max(COLDEST, float(np.float32(temperature)))
        if self.operation == "exact":
            return row.at_temperature(temperature)
        with np.errstate(over="ignore", invalid="ignore"):
            return row.rescored(row.scores / np.float32(temperature) + np.float32(0))
