"""One round of speculation from beginning to end: draft, verify, and go on to a given length.

Target and draft are functions from the tokens so far to rows, and every array has one leading axis, the rounds that
are played at once.  With `KeyedChance` that is a million rounds of real noise; with `outcomes`, every way a round
can go.  The loop over a model (`fairdraw.generation.speculation.verifying`) uses the same rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from fairdraw.generation.speculation.chance import Chance, Reals, Tokens
from fairdraw.generation.speculation.siblings import Coin, TokenWise, without
from fairdraw.streams.noise import Purpose

Conditional = Callable[[Tokens], Reals]
"""From tokens (..., n) to the law of the next one (..., vocab)."""
Siblings = Literal["distinct", "independent"]
"""Without replacement, the arrivals of one race; or each drawn anew."""


class ChainRule(Protocol):
    """A rule that verifies a chain."""

    def verify_chain(self, target: Reals, laws: Reals, tokens: Tokens, coin: Coin) -> tuple[Tokens, Reals]:
        """How many tokens stand, and what the next one is drawn from."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What came of it."""

    tokens: Tokens
    """shape (rounds, length): accepted, corrected, then drawn from the target."""
    accepted: Tokens
    """shape (rounds,): how many proposals stand."""


def draw_candidates(law: Reals, count: int, siblings: Siblings, chance: Chance, position: int) -> tuple[Tokens, Reals]:
    """Draw the candidates of one position, and the law that each was drawn from.

    Returns
    -------
    tokens : int64, shape (rounds, count)
    laws : float64, shape (rounds, count, vocab)
    """
    if siblings == "distinct":
        tokens = chance.tokens(law, count, purpose=Purpose.DRAFT, position=position)
        laws = [without(law, tokens[..., :index]) if index else law for index in range(count)]
    else:
        drawn = [chance.token(law, purpose=Purpose.DRAFT, position=position) for _ in range(count)]
        tokens, laws = np.stack(drawn, axis=-1), [law] * count
    rows = [np.broadcast_to(row, (*tokens.shape[:-1], law.shape[-1])) for row in laws]
    return tokens, np.stack(rows, axis=-2)


def play_chain(
    rule: ChainRule, target: Conditional, draft: Conditional, count: int, chance: Chance, *, position: int = 0
) -> Round:
    """Draft a chain, verify it, and draw what is missing up to ``count + 1`` tokens from the target.

    Examples
    --------
    >>> from fairdraw.generation.speculation.outcomes import joint_law, outcomes
    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.2])
    >>> round_, chances = outcomes(lambda chance: play_chain(TokenWise(), lambda _: p, lambda _: q, 1, chance))
    >>> joint_law(round_.tokens, chances, 3).sum(axis=1).round(12).tolist()
    [0.5, 0.3, 0.2]
    """
    chain, laws = np.zeros((1, 0), np.int64), []
    for index in range(count):
        token, law = draw_candidates(draft(chain), 1, "independent", chance, position + index)
        chain = np.concatenate([np.broadcast_to(chain, (token.shape[0], index)), token], axis=-1)
        laws.append(law[..., 0, :])
    rows = [np.broadcast_to(target(chain[..., :index]), laws[0].shape) for index in range(count + 1)]
    accepted, rest = rule.verify_chain(
        np.stack(rows, axis=-2),
        np.stack(laws, axis=-2),
        chain,
        lambda probability, index: chance.coin(probability, position=position + index),
    )
    tokens = np.zeros((chain.shape[0], 0), np.int64)
    for index in range(count + 1):
        left = np.where((accepted == index)[..., np.newaxis], rest, target(tokens))
        purpose = Purpose.BONUS if index == count else Purpose.RESIDUAL
        drawn = chance.token(left, purpose=purpose, position=position + index)
        chosen = np.where(index < accepted, chain[..., min(index, count - 1)], drawn)
        tokens = np.concatenate([tokens, chosen[..., np.newaxis]], axis=-1)
    return Round(tokens=tokens, accepted=accepted)


def play_tree(
    rule: TokenWise,
    target: Conditional,
    draft: Conditional,
    widths: Sequence[int],
    siblings: Siblings,
    chance: Chance,
    *,
    position: int = 0,
) -> Round:
    """Draft a tree, ``widths[d]`` candidates after every node of depth d, verify it, and go on from the target.

    Only the candidates after accepted ones are looked at, so the others are not drawn: their noise is independent.
    """
    tokens = np.zeros((1, 0), np.int64)
    alive, accepted = np.ones(1, np.bool_), np.zeros(1, np.int64)
    for depth, width in enumerate(widths):
        here = position + depth
        candidates, laws = draw_candidates(draft(tokens), width, siblings, chance, here)
        chosen, rest = rule.verify(
            np.broadcast_to(target(tokens), (candidates.shape[0], laws.shape[-1])),
            laws,
            candidates,
            lambda probability, _, here=here: chance.coin(probability, position=here),
        )
        stands = alive & (chosen < width)
        taken = np.take_along_axis(candidates, np.minimum(chosen, width - 1)[..., np.newaxis], axis=-1)[..., 0]
        left = np.where(alive[..., np.newaxis], rest, target(tokens))
        drawn = chance.token(left, purpose=Purpose.RESIDUAL, position=here)
        token = np.where(stands, taken, drawn)
        tokens = np.concatenate([np.broadcast_to(tokens, (token.size, depth)), token[..., np.newaxis]], axis=-1)
        alive, accepted = stands, accepted + stands
    last = chance.token(target(tokens), purpose=Purpose.BONUS, position=position + len(widths))
    return Round(tokens=np.concatenate([tokens, last[..., np.newaxis]], axis=-1), accepted=accepted)


def play_match(
    target: Conditional, draft: Conditional, count: int, chance: Chance, draft_chance: Chance, *, position: int = 0
) -> Round:
    """Let the target draw by itself, and count how long a draft says the same.

    With two `KeyedChance` of one seed, target and draft race with common noise.  The tokens are the target's own
    whatever the draft is.
    """
    tokens, agrees, accepted = np.zeros((1, 0), np.int64), np.ones(1, np.bool_), np.zeros(1, np.int64)
    for index in range(count + 1):
        here = position + index
        token = chance.token(target(tokens), purpose=Purpose.TARGET, position=here)
        if index < count:
            # As long as it agrees, the draft goes on from the same tokens.
            agrees = agrees & (draft_chance.token(draft(tokens), purpose=Purpose.TARGET, position=here) == token)
            accepted = accepted + agrees
        tokens = np.concatenate([np.broadcast_to(tokens, (token.size, index)), token[..., np.newaxis]], axis=-1)
    return Round(tokens=tokens, accepted=accepted)
