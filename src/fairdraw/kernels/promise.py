"""What each kernel promises: how far its answers equal those of `fairdraw.readings`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal

Level = Literal["same token", "same set", "same weights", "same law"]

PROMISES: MappingProxyType[str, Level] = MappingProxyType(
    {
        "greedy": "same token",
        "temperature": "same token",
        "min_p": "same token",
        "top_k": "same token",
        "top_p": "same token",
        "inverse_cdf": "same token",
        "many": "same token",
        "report": "same weights",
    }
)
"""Mode to level.  ``many`` draws all tokens of one row, ``report`` weighs what tokens were drawn from; one test over
this table draws random rows in both ways."""
