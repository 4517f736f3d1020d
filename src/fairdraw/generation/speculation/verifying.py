"""How the loop draws a token where guesses stand: the ways to verify.

Each is called once for each token in turn, with the row and the text before it.  So penalties, masks, biases and
every other stage see the history that is really there; only a block, which is decided at once, tries its tokens on
the history first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from fairdraw.errors import LogitsError
from fairdraw.generation.constrained import constraint_named
from fairdraw.generation.speculation.chance import Chance, Reals
from fairdraw.generation.speculation.looking import LookAhead
from fairdraw.generation.speculation.rounds import ChainRule
from fairdraw.generation.speculation.siblings import TokenWise, certain
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.tree import ROOT, Candidate
from fairdraw.plan import Plan
from fairdraw.replay.result import Replayed
from fairdraw.sampling import law
from fairdraw.streams.noise import Purpose

Verifier = Callable[[object, Tentative], Replayed]
"""From logits and the text before them to a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptTokens:
    """Accept or reject the candidates of each position, one position after the other; trees and chains."""

    rule: TokenWise
    plan: Plan
    rows: LookAhead
    chance: Chance

    def __call__(self, logits: object, text: Tentative) -> Replayed:
        """Take a candidate, or draw what is left."""
        target = law_at(self.plan, logits, text)
        candidates, position = self.rows.candidates, text.position
        self.rows.tally.measure(target, candidates)
        if not candidates:
            return Replayed(token=int(self.chance.token(target, purpose=Purpose.BONUS, position=position)))
        tokens = np.array([candidate.token for candidate in candidates])
        accepted, rest = self.rule.verify(
            target,
            np.stack([_drawn_from(candidate, target.size) for candidate in candidates]),
            tokens,
            lambda probability, _: self.chance.coin(probability, position=position),
        )
        if accepted < tokens.size:
            return Replayed(token=int(tokens[accepted]))
        return Replayed(token=int(self.chance.token(rest, purpose=Purpose.RESIDUAL, position=position)))


@dataclass(slots=True, kw_only=True)
class AcceptBlock:
    """Decide over a whole chain at its first position, then hand its tokens out."""

    rule: ChainRule
    plan: Plan
    rows: LookAhead
    chance: Chance
    decided: list[tuple[int, Reals]] = field(default_factory=list)
    """Tokens that are drawn and not handed out yet, with the target's law at their positions."""

    def __call__(self, logits: object, text: Tentative) -> Replayed:
        """The next token of the block; a new one is decided where none is left."""
        if not self.decided:
            self.decided = self._decide(text)
        token, target = self.decided.pop(0)
        self.rows.tally.measure(target, self.rows.candidates)
        return Replayed(token=token)

    def _decide(self, text: Tentative) -> list[tuple[int, Reals]]:
        start, chain = text.position, self._chain()
        targets = self._laws(text, chain)
        # Where the stages leave nothing the text cannot go on, so any law will do there.
        filled = np.stack([*targets, *[targets[-1]] * (len(chain) + 1 - len(targets))])
        laws = np.reshape([_drawn_from(c, filled.shape[-1]) for c in chain], (len(chain), filled.shape[-1]))
        accepted, rest = self.rule.verify_chain(
            filled,
            laws,
            np.array([candidate.token for candidate in chain], np.int64),
            lambda probability, index: self.chance.coin(probability, position=start + index),
        )
        tokens = [candidate.token for candidate in chain[: int(accepted)]]
        purpose = Purpose.BONUS if accepted == len(chain) else Purpose.RESIDUAL
        tokens.append(int(self.chance.token(rest, purpose=purpose, position=start + int(accepted))))
        # Where no law is known there is no token: whoever draws there next meets the stages' error.
        return list(zip(tokens, targets, strict=False))

    def _chain(self) -> list[Candidate]:
        assert self.rows.tree.is_chain, "a block is a chain"
        return list(self.rows.tree.candidates) if self.rows.node == ROOT else []

    def _laws(self, text: Tentative, chain: list[Candidate]) -> list[Reals]:
        """The target's law at each position of the chain and after it, as far as the stages leave any."""
        first = law_at(self.plan, self.rows.row_after(self.rows.node), text)
        return [first, *self._laws_after(text, chain, 0, first)]

    def _laws_after(self, text: Tentative, chain: list[Candidate], index: int, before: Reals) -> list[Reals]:
        if index == len(chain):
            return []
        token = chain[index].token
        if before[token] == 0:
            # Never accepted, so what would follow is never drawn from: any law will do.
            return [before] * (len(chain) - index)
        with text.after(token):
            try:
                row = law_at(self.plan, self.rows.row_after(index), text)
            except LogitsError:
                return []
            return [row, *self._laws_after(text, chain, index + 1, row)]


def law_at(plan: Plan, logits: object, text: Tentative) -> Reals:
    """The target's law after a text."""
    with constraint_named(text.track):
        return law(plan, logits, history=text.history, mask=text.mask(), memory=text.memory).probabilities


def _drawn_from(candidate: Candidate, vocab: int) -> Reals:
    return certain(candidate.token, vocab) if candidate.law is None else candidate.law
