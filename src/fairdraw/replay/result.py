"""What a replay gives."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """A token that an engine drew, drawn again."""

    token: int
    """Token id."""
    doubt: str = ""
    """Why the engine's own rounding or sorting may have given another token; "" when nothing speaks against it."""
