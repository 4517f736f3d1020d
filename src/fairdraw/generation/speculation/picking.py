"""How a draft's tokens are drawn from its logits: with the target's noise, or with its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.typing import ArrayLike

from fairdraw.draws import Race
from fairdraw.generation.speculation.chance import Chance, Reals
from fairdraw.generation.speculation.rounds import Siblings, draw_candidates
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.tree import Candidate
from fairdraw.plan import Plan
from fairdraw.sampling import law, sample
from fairdraw.without_replacement import arrivals


class Picker(Protocol):
    """Draws the candidates that follow a text."""

    def pick(self, logits: object, text: Tentative, count: int) -> list[Candidate]:
        """Up to ``count`` candidates, in the order drawn."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonNoise:
    """For match: the draft's stages and the target's noise, seed, sample index and position.

    So that both races agree as often as a coupling can.  Several candidates are the first arrivals of one race.
    """

    plan: Plan
    seed: int
    sample_index: int
    laws: bool
    """Whether the candidates carry their law, for a bound that is to be measured."""

    def pick(self, logits: object, text: Tentative, count: int) -> list[Candidate]:
        """As the target would, if these were its logits."""
        mask = text.mask()
        tokens = self._tokens(logits, text, mask, count)
        if not self.laws:
            return [Candidate(token=token) for token in tokens]
        own = law(self.plan, logits, history=text.history, mask=mask, memory=text.memory).probabilities
        return [Candidate(token=token, law=own) for token in tokens]

    def _tokens(self, logits: object, text: Tentative, mask: ArrayLike | None, count: int) -> list[int]:
        seed, position, sample_index = self.seed, text.position, self.sample_index
        # Arrivals know no memory, and only a race has a second one.
        if count == 1 or text.memory or type(self.plan.draw) is not Race:
            drawn = sample(
                self.plan,
                logits,
                seed=seed,
                position=position,
                sample_index=sample_index,
                history=text.history,
                mask=mask,
                memory=text.memory,
            )
            return [drawn.token]
        arrived = arrivals(
            self.plan,
            logits,
            n=count,
            seed=seed,
            position=position,
            sample_index=sample_index,
            history=text.history,
            mask=mask,
        )
        tokens: list[int] = arrived.tokens.tolist()
        return tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnNoise:
    """For accept and reject: noise of the draft's own, and each candidate with the law it was drawn from."""

    plan: Plan
    chance: Chance
    siblings: Siblings

    def pick(self, logits: object, text: Tentative, count: int) -> list[Candidate]:
        """Draw from the law after all the draft's stages."""
        known = law(self.plan, logits, history=text.history, mask=text.mask(), memory=text.memory)
        own: Reals = known.probabilities
        if self.siblings == "distinct":
            count = min(count, int((own > 0).sum()))
        tokens, laws = draw_candidates(own, count, self.siblings, self.chance, text.position)
        return [Candidate(token=int(token), law=row) for token, row in zip(tokens, laws, strict=True)]
