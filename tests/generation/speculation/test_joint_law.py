"""The joint law of K + 1 tokens, summed over every outcome."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairdraw.generation.speculation.block import Block
from fairdraw.generation.speculation.bounds import coupled_bound, lossless_bound
from fairdraw.generation.speculation.inexact import InexactTypical
from fairdraw.generation.speculation.outcomes import joint_law, outcomes
from fairdraw.generation.speculation.rounds import play_chain, play_tree
from fairdraw.generation.speculation.siblings import TokenWise, certain
from generation.speculation import mutants
from generation.speculation.laws import adversarial, joint, table, total_variation

V, K = 4, 2
TARGETS = [table(seed, V, K + 1, sharpness) for seed, sharpness in ((0, 1.0), (1, 2.0), (2, 0.3))]
DRAFTS = {
    "another": lambda target: table(50, V, K + 1),
    "adversarial": adversarial,
    "the target itself": lambda target: target,
    "certain": lambda target: lambda tokens: np.eye(V)[(tokens.sum(axis=-1) + 1) % V],
}
TREES = [(widths, siblings) for widths in ((2, 2), (1, 2), (3, 1)) for siblings in ("distinct", "independent")]


def chain(rule, target, draft, count=K):
    played, chances = outcomes(lambda chance: play_chain(rule, target, draft, count, chance))
    return joint_law(played.tokens, chances, V), float((played.accepted * chances).sum())


def tree(rule, target, draft, widths, siblings):
    played, chances = outcomes(lambda chance: play_tree(rule, target, draft, widths, siblings, chance))
    return joint_law(played.tokens, chances, V), float((played.accepted * chances).sum())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("rule", [TokenWise(), Block()])
def test_a_chain_has_the_joint_law_of_the_target(rule, target, draft):
    law, _ = chain(rule, target, DRAFTS[draft](target))
    assert total_variation(law, joint(target, V, K + 1)) <= 1e-12


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("draft", ["another", "adversarial", "the target itself"])
@pytest.mark.parametrize(("widths", "siblings"), TREES)
def test_a_tree_has_the_joint_law_of_the_target(target, draft, widths, siblings):
    law, _ = tree(TokenWise(), target, DRAFTS[draft](target), widths, siblings)
    assert total_variation(law, joint(target, V, K + 1)) <= 1e-12


def test_certain_siblings_have_the_law_of_the_target():
    p = TARGETS[0](np.zeros((1, 0), np.int64))

    def play(chance):
        tokens, laws = np.array([[2, 0]]), np.stack([certain(2, V), certain(0, V)])[None]
        accepted, rest = TokenWise().verify(p, laws, tokens, lambda chances, _: chance.coin(chances, position=0))
        return np.where(accepted < 2, tokens[0][np.minimum(accepted, 1)], chance.token(rest, purpose=3, position=0))

    tokens, chances = outcomes(play)
    assert total_variation(joint_law(tokens[:, None], chances, V), p[0]) <= 1e-12


def test_in_fractions_the_law_is_the_targets_exactly():
    p = np.array([Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)])
    q = np.array([Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)])

    def rows(row):
        return lambda tokens: np.broadcast_to(row, (*tokens.shape[:-1], 3))

    for rule in (TokenWise(), Block()):
        played, chances = outcomes(lambda chance, rule=rule: play_chain(rule, rows(p), rows(q), 2, chance))
        law = joint_law(played.tokens, chances, 3)
        assert law.tolist() == [[[a * b * c for c in p] for b in p] for a in p]


@st.composite
def rows_with_gaps(draw):
    """Two laws of three tokens at each of three positions; some tokens cannot be drawn."""
    weights = draw(st.lists(st.integers(0, 5), min_size=18, max_size=18))
    rows = np.array(weights, float).reshape(2, 3, 3)
    rows[rows.sum(axis=-1) == 0] = 1.0
    return rows / rows.sum(axis=-1, keepdims=True)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(rows_with_gaps(), st.sampled_from([TokenWise(), Block()]))
def test_tokens_that_one_side_cannot_draw_change_nothing(rows, rule):
    def at_position(which):
        return lambda tokens: np.broadcast_to(rows[which][tokens.shape[-1]], (*tokens.shape[:-1], 3))

    played, chances = outcomes(lambda chance: play_chain(rule, at_position(0), at_position(1), 2, chance))
    first, second, third = rows[0]
    exact = first[:, None, None] * second[:, None] * third
    assert total_variation(joint_law(played.tokens, chances, 3), exact) <= 1e-12


def test_a_long_tail_keeps_its_law_token_by_token():
    ranks = np.arange(32768)
    p = (ranks + 2.7) ** -1.1 / ((ranks + 2.7) ** -1.1).sum()
    for q in (p[::-1].copy(), np.roll(p, 7), (ranks + 5.0) ** -1.5 / ((ranks + 5.0) ** -1.5).sum()):
        accepted = q * TokenWise().acceptance(p, q, ranks)
        law = accepted + (1 - accepted.sum()) * TokenWise().residual(p, q)
        assert total_variation(law, p) <= 1e-12
        assert accepted.sum() == pytest.approx(float(lossless_bound(p, q)), abs=1e-12)


@pytest.mark.parametrize("target", TARGETS)
def test_one_token_is_accepted_as_often_as_the_bound_allows(target):
    draft = table(50, V, K + 1)
    nothing = np.zeros(0, np.int64)
    bound = float(lossless_bound(target(nothing), draft(nothing)))
    for rule in (TokenWise(), Block()):
        assert chain(rule, target, draft, 1)[1] == pytest.approx(bound, abs=1e-12)
    assert coupled_bound(target(nothing), draft(nothing)) < bound


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("draft", ["another", "adversarial"])
def test_a_block_accepts_more_than_tokens_do_and_a_tree_more_than_a_chain(target, draft):
    guess = DRAFTS[draft](target)
    single = chain(TokenWise(), target, guess)[1]
    assert chain(Block(), target, guess)[1] > single
    assert tree(TokenWise(), target, guess, (2, 2), "independent")[1] > single
    assert tree(TokenWise(), target, guess, (2, 2), "distinct")[1] > single


@pytest.mark.parametrize(
    "mutant",
    [
        mutants.ResidualIsTarget(),
        mutants.AcceptIfLarger(),
        mutants.InvertedRatio(),
        mutants.BonusFromTheRowBefore(),
        mutants.RawDraftLaw(),
        mutants.BlockWithoutSurplus(),
        mutants.BlockWithTheWholeTarget(),
        mutants.BlockWithTheRowBefore(),
        InexactTypical(),
    ],
    ids=lambda mutant: type(mutant).__name__,
)
def test_the_enumeration_refuses_a_wrong_chain_rule(mutant):
    distances = [total_variation(chain(mutant, p, table(50, V, K + 1))[0], joint(p, V, K + 1)) for p in TARGETS]
    assert min(distances) > 0.002


def test_a_bonus_from_the_wrong_row_leaves_the_first_token_exact():
    law, _ = chain(mutants.BonusFromTheRowBefore(), TARGETS[0], table(50, V, K + 1))
    exact = joint(TARGETS[0], V, K + 1)
    assert total_variation(law.sum(axis=(1, 2)), exact.sum(axis=(1, 2))) <= 1e-12
    assert total_variation(law, exact) > 0.02


@pytest.mark.parametrize(
    ("mutant", "siblings"),
    [
        (mutants.ReusedResidual(), "distinct"),
        (mutants.ReusedResidual(), "independent"),
        (mutants.EverySiblingAgainstTheTarget(), "distinct"),
        (mutants.EverySiblingAgainstTheTarget(), "independent"),
        (mutants.LawsNotRenormalised(), "distinct"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_the_enumeration_refuses_a_wrong_tree_rule(mutant, siblings):
    distances = [
        total_variation(tree(mutant, p, table(50, V, K + 1), (2, 2), siblings)[0], joint(p, V, K + 1)) for p in TARGETS
    ]
    assert max(distances) > 0.002
    assert min(distances) > 1e-6
