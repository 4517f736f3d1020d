"""What every draw is: a rule that chooses one token from a row, and the law that it follows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import Domain, require
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw(ABC):
    """A rule that chooses one token.  ``choose`` is a pure function of row and noise."""

    name: ClassVar[str] = ""
    """The name in texts, tables and JSON."""
    domains: ClassVar[Mapping[str, Domain]] = MappingProxyType({})
    """What each field may be."""

    def __post_init__(self) -> None:
        for field in fields(self):
            clean = require(f"{self.name}.{field.name}", getattr(self, field.name), self.domains[field.name])
            object.__setattr__(self, field.name, clean)

    def law(self, row: Row) -> NDArray[np.float64]:
        """Probability of every id; most draws follow the row's own weights.  float64, shape (vocab,)."""
        return row.probabilities

    def log_law(self, row: Row) -> NDArray[np.float64]:
        """Natural logarithm of the law, from the scores themselves and not from rounded masses; shape (vocab,)."""
        return row.log2_weights * math.log(2.0)

    def noise_values(self, row: Row) -> int:
        """How many numbers of noise one draw needs."""
        return row.kept.size

    @abstractmethod
    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """Token ids, one for each of the noise's draws; shape ``noise.draws``."""
