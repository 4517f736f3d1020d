"""What speculation was worth on one text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from fairdraw.generation.speculation.bounds import lossless_bound
from fairdraw.generation.speculation.chance import Reals
from fairdraw.generation.speculation.tree import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculated:
    """Counts of one text."""

    draft: str
    """What guessed."""
    way: str
    """How it was verified."""
    tokens: int
    """How many tokens were drawn."""
    target_steps: int
    """How often the target was asked; without speculation as often as there are tokens."""
    proposed: int
    """How many tokens were guessed."""
    accepted: int
    """How many of them are in the text."""
    reached: int
    """At how many positions a guess stood when the token was drawn."""
    bound: float | None
    """Mean over these positions of the largest acceptance that any lossless rule can have: 1 - TV, or what the
    target gives to certain guesses. None: not measured, or several drawn guesses stood at one position."""

    @property
    def steps_saved(self) -> int:
        """Tokens less target steps."""
        return self.tokens - self.target_steps

    @property
    def acceptance(self) -> float:
        """Share of the positions with a guess at which one was right; NaN if there was none."""
        return self.accepted / self.reached if self.reached else math.nan

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True, kw_only=True)
class Tally:
    """The same counts while they grow."""

    tokens: int = 0
    target_steps: int = 0
    proposed: int = 0
    accepted: int = 0
    reached: int = 0
    bounds: list[float] = field(default_factory=list)
    measured: bool = True
    """False once a position came whose bound is not known."""

    def measure(self, target: Reals, candidates: Sequence[Candidate]) -> None:
        """Note the bound at a position."""
        drawn = [candidate.law for candidate in candidates if candidate.law is not None]
        if not candidates:
            return
        if not drawn:
            tokens = sorted({candidate.token for candidate in candidates})
            self.bounds.append(float(target[tokens].sum()))
        elif len(candidates) == 1:
            self.bounds.append(float(lossless_bound(target, drawn[0])))
        else:
            self.measured = False

    def report(self, draft: str, way: str) -> Speculated:
        """The counts as they are."""
        known = self.measured and len(self.bounds) == self.reached and self.bounds
        return Speculated(
            draft=draft,
            way=way,
            tokens=self.tokens,
            target_steps=self.target_steps,
            proposed=self.proposed,
            accepted=self.accepted,
            reached=self.reached,
            bound=sum(self.bounds) / len(self.bounds) if known else None,
        )
