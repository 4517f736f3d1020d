"""Undocumented: a hosted service draws, and nobody outside knows how."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import Choice, Domain
from fairdraw.draws.base import Draw
from fairdraw.errors import PlanError
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Undocumented(Draw):
    """Refuse to draw and to say a law: the service documents names and ranges, not what it does with them.

    A plan with this draw can be read, printed and stored; its settings and limits hold.  Its law would be a guess.

    Raises
    ------
    PlanError
        Whenever a law or a token is asked for.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> Undocumented(service="openai").law(Row.of(np.float32([1, 0]), RealMasses))
    Traceback (most recent call last):
    fairdraw.errors.PlanError: openai does not document what it samples from, so there is no law to compute
    hint: write down the law you assume, for instance: fairdraw: temperature=0.7 top_p=0.9
    """

    name: ClassVar[str] = "undocumented"
    domains: ClassVar[MappingProxyType[str, Domain]] = MappingProxyType({"service": Choice(("openai", "anthropic"))})

    service: str = "openai"
    """Whose draw it is."""

    def law(self, row: Row) -> NDArray[np.float64]:
        """Raise; there is none to compute."""
        raise self._refusal()

    def log_law(self, row: Row) -> NDArray[np.float64]:
        """Raise; there is none to compute."""
        raise self._refusal()

    def choose(self, row: Row, noise: Noise) -> NDArray[np.int64]:
        """Raise; any token would be a guess."""
        raise self._refusal()

    def _refusal(self) -> PlanError:
        return PlanError(
            f"{self.service} does not document what it samples from, so there is no law to compute",
            "write down the law you assume, for instance: fairdraw: temperature=0.7 top_p=0.9",
        )
