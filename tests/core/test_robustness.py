"""Keyed noise couples draws: when every logit moves a little, the token rarely changes.

``benches/robustness.py`` runs the same with 10,000 seeds; 500 here, at false-alarm levels of 1e-8.
"""

import math
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.draws import InverseCdf
from fairdraw.readings import drawn_row
from fairdraw.rows import Row
from fairdraw.stages import Stage, Temperature, TopP
from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import Noise

SEEDS = 500
ROWS = load_file(Path(__file__).parents[1] / "golden" / "smollm2_rows.safetensors")["logits"]
MOVED = (ROWS + np.random.default_rng(0).normal(0.0, 0.02, ROWS.shape)).astype(np.float32)
STAGES: dict[str, tuple[Stage, ...]] = {
    "temperature 1": (),
    "temperature 0.7": (Temperature(value=0.7),),
    "top-p 0.9": (TopP(p=0.9),),
}


def prepare(stages: tuple[Stage, ...], logits: np.ndarray) -> Row:
    return drawn_row(stages, logits, Context(), Noise(seed=0, position=0))


@pytest.fixture(scope="module")
def tokens() -> dict[str, np.ndarray]:
    """Tokens of each plan; shape (seeds, rows, 2): the row as it is, and moved."""
    prepared = {}
    for name, stages in STAGES.items():
        drawn = [prepare(stages, row) for pair in zip(ROWS, MOVED, strict=True) for row in pair]
        prepared[name] = [(row.kept, row.scores[row.kept].astype(np.float64) * row.masses.scale) for row in drawn]
    out = {name: np.empty((SEEDS, 2 * len(ROWS)), np.int64) for name in STAGES}
    for seed in range(SEEDS):
        # The noise of an id depends on no logit: one array serves every row.
        noise = log2(Noise(seed=seed, position=0).exponentials(np.arange(ROWS.shape[1])))
        for name, rows in prepared.items():
            out[name][seed] = [kept[np.argmax(scores - noise[kept])] for kept, scores in rows]
    return {name: drawn.reshape(SEEDS, -1, 2) for name, drawn in out.items()}


def laws(name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    plan = fd.Plan.of(*STAGES[name])
    return [(fd.law(plan, a).probabilities, fd.law(plan, b).probabilities) for a, b in zip(ROWS, MOVED, strict=True)]


def chance_of_change(p: np.ndarray, q: np.ndarray) -> float:
    """Exact: both draw i with probability 1 / sum_j max(p_j / p_i, q_j / q_i), since the noise is the same Exp(1).

    The j for which q_j / p_j is the larger give Q / q_i, the others P / p_i.
    """
    order = np.argsort(np.divide(q, p, out=np.full(p.size, np.inf), where=p > 0), kind="stable")
    order = order[(p[order] > 0) | (q[order] > 0)]
    p, q = p[order], q[order]
    below, above = np.cumsum(p), np.append(np.cumsum(q[::-1])[::-1][1:], 0)
    both = (p > 0) & (q > 0)
    return float(1 - (1 / (below[both] / p[both] + above[both] / q[both])).sum())


def bound(p: np.ndarray, q: np.ndarray) -> float:
    tv = np.abs(p - q).sum() / 2
    return 2 * tv / (1 + tv)


def test_the_exact_chance_of_change_is_right_for_two_tokens() -> None:
    p, q = np.array([0.5, 0.5]), np.array([0.75, 0.25])
    # Both 0: 1 / max-sum = 1 / (1 + 1); both 1: 1 / (3 + 1).
    assert chance_of_change(p, q) == pytest.approx(1 - 1 / 2 - 1 / 4)
    assert chance_of_change(p, p) == pytest.approx(0)
    assert chance_of_change(np.array([1.0, 0]), np.array([0, 1.0])) == 1
    assert bound(p, q) == pytest.approx(0.4)


def test_the_tokens_are_those_that_sample_draws(tokens: dict[str, np.ndarray]) -> None:
    for name, stages in STAGES.items():
        plan = fd.Plan.of(*stages)
        for seed, row in ((0, 0), (1, 5), (2, 9)):
            drawn = [fd.sample(plan, version[row], seed=seed, position=0).token for version in (ROWS, MOVED)]
            assert tokens[name][seed, row].tolist() == drawn


@pytest.mark.parametrize("name", STAGES)
def test_the_chance_of_change_never_exceeds_2_tv_over_1_plus_tv(name: str) -> None:
    for p, q in laws(name):
        assert -1e-12 < chance_of_change(p, q) <= bound(p, q) + 1e-12


@pytest.mark.parametrize("name", STAGES)
def test_the_share_of_changed_tokens_stays_below_the_mean_of_2_tv_over_1_plus_tv(
    name: str, tokens: dict[str, np.ndarray]
) -> None:
    share = (tokens[name][..., 0] != tokens[name][..., 1]).mean()
    assert share < np.mean([bound(p, q) for p, q in laws(name)])


@pytest.mark.parametrize("name", STAGES)
def test_the_share_of_changed_tokens_is_the_exact_chance_at_level_1e_8(
    name: str, tokens: dict[str, np.ndarray]
) -> None:
    chances = [chance_of_change(p, q) for p, q in laws(name)]
    # The rows share a seed's noise: seeds, not draws, are independent. Bernstein's inequality, two-sided.
    changed = (tokens[name][..., 0] != tokens[name][..., 1]).mean(axis=1)
    reach, variance = math.log(2 / 1e-8), np.mean([c * (1 - c) for c in chances])
    tolerance = math.sqrt(2 * variance * reach / SEEDS) + reach / (3 * SEEDS)
    assert abs(changed.mean() - np.mean(chances)) < tolerance


@pytest.mark.parametrize("name", STAGES)
def test_an_inverse_cdf_changes_at_least_three_times_as_many(name: str) -> None:
    noise = Noise(seed=0, position=np.arange(20_000, dtype=np.uint64))
    shares = []
    for pair in zip(ROWS, MOVED, strict=True):
        before, after = (InverseCdf().choose(prepare(STAGES[name], row), noise) for row in pair)
        shares.append((before != after).mean())
    assert np.mean(shares) > 3 * np.mean([chance_of_change(p, q) for p, q in laws(name)])
