"""The draws: one rule, one file, and the table of all of them."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.draws.base import Draw
from fairdraw.draws.clipped_gumbel import ClippedGumbel
from fairdraw.draws.exponential_race import ExponentialRace
from fairdraw.draws.greedy import Greedy
from fairdraw.draws.inverse_cdf import InverseCdf
from fairdraw.draws.race import Race
from fairdraw.draws.truncated import Truncated
from fairdraw.draws.undocumented import Undocumented

DRAWS: MappingProxyType[str, type[Draw]] = MappingProxyType(
    {draw.name: draw for draw in (Race, Greedy, InverseCdf, ExponentialRace, ClippedGumbel, Truncated, Undocumented)}
)
"""Name to draw."""

__all__ = [
    "DRAWS",
    "ClippedGumbel",
    "Draw",
    "ExponentialRace",
    "Greedy",
    "InverseCdf",
    "Race",
    "Truncated",
    "Undocumented",
]
