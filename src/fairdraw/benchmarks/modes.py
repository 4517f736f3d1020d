"""The ways of sampling that are measured: one fairdraw plan each, and the numbers that the peers take."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way of sampling."""

    temperature: float = 0.8
    """0 is greedy."""
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None

    @property
    def plan(self) -> str:
        """The same as a fairdraw plan.

        Examples
        --------
        >>> Mode(top_k=50, top_p=0.9).plan
        'fairdraw: temperature=0.8 top_k=50 top_p=0.9'
        """
        cuts = {"top_k": self.top_k, "top_p": self.top_p, "min_p": self.min_p}
        given = [f"{name}={value}" for name, value in cuts.items() if value is not None]
        return " ".join(["fairdraw:", f"temperature={self.temperature:g}", *given])


MODES = MappingProxyType(
    {
        "greedy": Mode(temperature=0),
        "temperature": Mode(),
        "top_k": Mode(top_k=50),
        "top_k_top_p": Mode(top_k=50, top_p=0.9),
        "top_p": Mode(top_p=0.9),
        "min_p": Mode(min_p=0.05),
    }
)
"""Name to mode, in the order of the tables."""
