"""A million rounds of real noise: what enumeration cannot see is noise that two questions share.

False alarms: six tests at 1e-7, of the 1e-6 of the suite's family; fixed seeds.
"""

from __future__ import annotations

import numpy as np
import pytest

from fairdraw.generation.speculation.block import Block
from fairdraw.generation.speculation.bounds import coupled_bound, lossless_bound
from fairdraw.generation.speculation.chance import KeyedChance
from fairdraw.generation.speculation.rounds import play_chain, play_match, play_tree
from fairdraw.generation.speculation.siblings import TokenWise
from fairdraw.verify.statistics import g_test
from generation.speculation.laws import adversarial, joint, softmax, table
from generation.speculation.mutants import SharedWithDraft

V, K, ROUNDS, LEVEL = 4, 2, 1_000_000, 1e-7
TARGET = table(0, V, K + 1)
DRAFT = adversarial(TARGET)
STEP = 1 << 17


def samples(play, chance=KeyedChance, rounds=ROUNDS):
    """Play in pieces, so that the noise of a million rounds is never in memory at once."""
    pieces = []
    for first in range(0, rounds, STEP):
        index = np.arange(first, min(first + STEP, rounds), dtype=np.uint64)
        pieces.append(play(chance(seed=11, sample_index=index)))
    return np.concatenate([piece.tokens for piece in pieces]), np.concatenate([piece.accepted for piece in pieces])


def p_value(tokens) -> float:
    counts = np.bincount(np.ravel_multi_index(tuple(tokens.T), (V,) * (K + 1)), minlength=V ** (K + 1))
    return g_test(counts, joint(TARGET, V, K + 1).ravel()).p_value


@pytest.mark.parametrize("rule", [TokenWise(), Block()])
def test_a_million_adversarial_chains_follow_the_target(rule):
    tokens, _ = samples(lambda chance: play_chain(rule, TARGET, DRAFT, K, chance))
    assert p_value(tokens) > LEVEL


@pytest.mark.parametrize("siblings", ["distinct", "independent"])
def test_a_million_adversarial_trees_follow_the_target(siblings):
    tokens, _ = samples(lambda chance: play_tree(TokenWise(), TARGET, DRAFT, (2, 2), siblings, chance))
    assert p_value(tokens) > LEVEL


@pytest.mark.parametrize("rule", [TokenWise(), Block()])
def test_noise_that_draft_and_residual_share_is_found(rule):
    tokens, _ = samples(lambda chance: play_chain(rule, TARGET, DRAFT, K, chance), SharedWithDraft, 100_000)
    assert p_value(tokens) < 1e-12


def two_blocks(chance: KeyedChance, remember: bool):
    """The next block begins after the token that corrected the first one; what is drafted again needs fresh noise."""
    first = play_chain(Block(), TARGET, DRAFT, K, chance)
    tokens = first.tokens.copy()
    rejected = np.flatnonzero(first.accepted == 0)
    again = KeyedChance(seed=11, sample_index=chance._sample_index[rejected])
    if remember:
        again._rounds = chance._rounds
    head = tokens[rejected, :1]

    def after(conditional):
        return lambda more: conditional(np.concatenate([np.broadcast_to(head, (len(rejected), 1)), np.broadcast_to(more, (len(rejected), more.shape[-1]))], axis=-1))  # fmt: skip  # noqa: E501

    second = play_chain(Block(), after(TARGET), after(DRAFT), K - 1, again, position=1)
    tokens[rejected, 1:] = second.tokens
    return type(first)(tokens=tokens, accepted=first.accepted)


def test_a_position_that_is_drafted_again_uses_fresh_noise():
    tokens, _ = samples(lambda chance: two_blocks(chance, remember=True))
    assert p_value(tokens) > LEVEL
    stale, _ = samples(lambda chance: two_blocks(chance, remember=False), rounds=300_000)
    assert p_value(stale) < 1e-12


LONG = 32768
ROW = softmax(-1.1 * np.log(np.arange(LONG) + 2.7))
NEAR = softmax(-1.3 * np.log(np.arange(LONG) + 5.0))


def pairs():
    """Pairs of laws, near and far; the last with a long tail."""
    generator = np.random.default_rng(4)
    for spread in (0.3, 1.0, 2.0):
        scores = generator.standard_normal(16)
        yield softmax(scores), softmax(scores + spread * generator.standard_normal(16)), 100_000
    yield ROW, NEAR, 400


def agreement(p, q, rounds, draft_chance) -> float:
    hits = 0
    step = 64 if p.size == LONG else STEP
    for first in range(0, rounds, step):
        index = np.arange(first, min(first + step, rounds), dtype=np.uint64)
        rows = [lambda tokens, law=law: law for law in (p, q)]
        played = play_match(*rows, 1, KeyedChance(seed=5, sample_index=index), draft_chance(index))
        hits += int(played.accepted.sum())
    return hits / rounds


@pytest.mark.parametrize(("p", "q", "rounds"), list(pairs()), ids=["near", "middle", "far", "long tail"])
def test_with_common_noise_a_draft_agrees_as_a_coupling_can_and_with_its_own_by_accident(p, q, rounds):
    common, own = (agreement(p, q, rounds, lambda index, seed=seed: KeyedChance(seed=seed, sample_index=index)) for seed in (5, 6))  # fmt: skip  # noqa: E501
    slack = 5.5 * np.sqrt(0.25 / rounds)
    assert coupled_bound(p, q) - slack < common < lossless_bound(p, q) + slack
    assert abs(own - float(p @ q)) < slack
    assert own + slack < common


def test_match_writes_the_targets_own_tokens_whatever_the_draft_is():
    index = np.arange(1000, dtype=np.uint64)
    played = [
        play_match(TARGET, draft, K, KeyedChance(seed=9, sample_index=index), KeyedChance(seed=9, sample_index=index))
        for draft in (TARGET, DRAFT, table(3, V, K + 1))
    ]
    for other in played[1:]:
        np.testing.assert_array_equal(played[0].tokens, other.tokens)
    assert played[0].accepted.min() == K
    assert played[1].accepted.mean() < 1
