"""The law of three tokens under speculation, summed over every outcome: rules, and rules with a fault."""

import numpy as np

from fairdraw.generation.speculation.block import Block
from fairdraw.generation.speculation.bounds import coupled_bound, lossless_bound
from fairdraw.generation.speculation.chance import KeyedChance
from fairdraw.generation.speculation.inexact import InexactTypical
from fairdraw.generation.speculation.outcomes import joint_law, outcomes
from fairdraw.generation.speculation.rounds import play_chain, play_match, play_tree
from fairdraw.generation.speculation.siblings import TokenWise

P, Q = np.array([0.5, 0.25, 0.15, 0.1]), np.array([0.2, 0.4, 0.1, 0.3])
EXACT = P[:, None, None] * P[:, None] * P


class ResidualIsTarget(TokenWise):
    def residual(self, left, law):
        return left


class BonusFromTheRowBefore(TokenWise):
    def verify_chain(self, target, laws, tokens, coin):
        accepted, rest = super().verify_chain(target, laws, tokens, coin)
        return accepted, np.where((accepted == tokens.shape[-1])[:, None], laws[:, -1, :], rest)


def chain(rule):
    return lambda chance: play_chain(rule, lambda _: P, lambda _: Q, 2, chance)


def tree(siblings):
    return lambda chance: play_tree(TokenWise(), lambda _: P, lambda _: Q, (2, 2), siblings, chance)


def agreement(target, draft):
    return play_match(lambda _: P, lambda _: Q, 1, target, draft).accepted.mean()


ROUNDS = {
    "chain, token by token": chain(TokenWise()),
    "chain, block": chain(Block()),
    "tree 2 2, distinct siblings": tree("distinct"),
    "tree 2 2, independent siblings": tree("independent"),
    "fault: residual is the target": chain(ResidualIsTarget()),
    "fault: bonus from another row": chain(BonusFromTheRowBefore()),
    "inexact: typical acceptance": chain(InexactTypical()),
}
for name, play in ROUNDS.items():
    played, chances = outcomes(play)
    distance = np.abs(joint_law(played.tokens, chances, 4) - EXACT).sum() / 2
    print(f"{name:31} total variation {distance:.6f}, accepted {(played.accepted * chances).sum():.4f} of 2")
rounds = np.arange(100_000, dtype=np.uint64)
target, common, own = (KeyedChance(seed=seed, sample_index=rounds) for seed in (1, 1, 2))
print(f"one guess with common noise: {agreement(target, common):.4f}", end=", ")
print(f"between {coupled_bound(P, Q):.4f} and the bound {lossless_bound(P, Q):.4f}")
target = KeyedChance(seed=1, sample_index=rounds)
print(f"one guess with noise of its own: {agreement(target, own):.4f}, sum of p q {P @ Q:.4f}")
