"""The noise is Exp(1), and independent over ids, positions, sample indices, purposes, seeds and the tree's levels.

Fewer than 40 tests of fixed seeds, each at a false-alarm level of 1e-8: below 1e-6 in all.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from fairdraw.streams.noise import Noise, Purpose

LEVEL = 1e-8


def positions(count: int) -> np.ndarray:
    return np.arange(count, dtype=np.uint64)


ALONG = {
    "ids": lambda: Noise(seed=1, position=2).exponentials(np.arange(200_000)),
    "ids of many groups": lambda: Noise(seed=1, position=3).exponentials(np.arange(0, 2**24, 4096)),
    "positions": lambda: Noise(seed=1, position=positions(50_000)).exponentials(np.array([100])).ravel(),
    "sample indices": lambda: (
        Noise(seed=1, position=2, sample_index=positions(50_000)).exponentials(np.array([5000])).ravel()
    ),
    "seeds": lambda: np.array([Noise(seed=s, position=2).exponentials(np.array([3])).item() for s in range(3000)]),
    "seeds that differ above 2^32": lambda: np.array(
        [Noise(seed=s << 32, position=2).exponentials(np.array([3])).item() for s in range(3000)]
    ),
    **{
        f"purpose {purpose.name}": lambda purpose=purpose: Noise(seed=1, position=2, purpose=purpose).exponentials(
            np.arange(30_000)
        )
        for purpose in Purpose
    },
}


@pytest.mark.parametrize("axis", ALONG)
def test_the_noise_is_exponential_along_every_axis(axis: str) -> None:
    assert stats.kstest(ALONG[axis](), "expon").pvalue > LEVEL


@pytest.fixture(scope="module")
def groups() -> np.ndarray:
    """Two whole groups at 3000 positions, shape (3000, 2, 1024)."""
    return Noise(seed=4, position=positions(3000)).exponentials(np.arange(2048)).reshape(3000, 2, 1024)


@pytest.mark.parametrize("span", [2, 64, 1024])
def test_the_least_of_n_ids_is_exponential_with_rate_n_and_the_next_is_as_far_again(
    groups: np.ndarray, span: int
) -> None:
    ordered = np.sort(groups[:, :, :span].reshape(-1, span), axis=-1)
    assert stats.kstest(ordered[:, 0] * span, "expon").pvalue > LEVEL
    assert stats.kstest((ordered[:, 1] - ordered[:, 0]) * (span - 1), "expon").pvalue > LEVEL


def test_each_id_of_a_group_is_equally_often_the_first(groups: np.ndarray) -> None:
    first = groups.argmin(axis=-1).ravel()
    assert stats.chisquare(np.bincount(first // 64, minlength=16)).pvalue > LEVEL
    assert stats.chisquare(np.bincount(first % 64, minlength=64)).pvalue > LEVEL


def test_who_is_first_in_a_block_does_not_depend_on_when(groups: np.ndarray) -> None:
    blocks = groups.reshape(-1, 64)
    early = blocks.min(axis=-1) < math.log(2) / 64
    table = [np.bincount(blocks[half].argmin(axis=-1), minlength=64) for half in (early, ~early)]
    assert stats.chi2_contingency(table).pvalue > LEVEL


def independent(columns: np.ndarray) -> float:
    """p-value of: the columns (independent rows of Exp(1)) are uncorrelated after mapping to normal scores.

    n r^2 is chi-square with one degree of freedom for each pair.
    """
    normal = stats.norm.ppf(-np.expm1(-np.clip(columns, 1e-15, 36)))
    correlation = np.corrcoef(normal, rowvar=False)
    pairs = correlation[np.triu_indices_from(correlation, 1)]
    return float(stats.chi2.sf(len(columns) * (pairs**2).sum(), pairs.size))


SETS_OF_IDS = {
    "of one block": np.arange(64),
    "of sixteen blocks of one group": np.arange(0, 1024, 16),
    "of many groups": np.arange(64) * 1024 + 17,
    "of all distances": np.concatenate([[0, 1, 2], 3 * 2 ** np.arange(17)]),
}


@pytest.mark.parametrize("name", SETS_OF_IDS)
def test_the_noise_of_ids_is_independent(name: str) -> None:
    assert independent(Noise(seed=6, position=positions(4000)).exponentials(SETS_OF_IDS[name])) > LEVEL


def test_the_noise_of_pairs_of_ids_is_independent_in_every_part_of_their_range() -> None:
    ids = np.array([0, 1, 63, 64, 1023, 1024])
    ranks = (-np.expm1(-Noise(seed=7, position=positions(20_000)).exponentials(ids)) * 8).astype(int)
    worst = 1.0
    for one, other in itertools.combinations(range(ids.size), 2):
        table = np.bincount(ranks[:, one] * 8 + ranks[:, other], minlength=64).reshape(8, 8)
        worst = min(worst, stats.chi2_contingency(table).pvalue)
    assert worst * 15 > LEVEL


def test_the_noise_is_independent_over_positions_sample_indices_seeds_purposes_and_rounds() -> None:
    places = [
        {"position": 7},
        {"position": 8},
        {"position": 0, "sample_index": 7},
        {"position": 7, "sample_index": 1},
        {"position": 1, "sample_index": 7},
        {"position": 7, "seed": 2**32 + 42},
        {"position": 7, "seed": 43},
        {"position": 7, "seed": 42 << 32},
        {"position": 7, "round": 1},
        {"position": 7, "round": 2},
        *({"position": 7, "purpose": purpose} for purpose in list(Purpose)[1:]),
    ]
    ids = np.arange(20_000)
    columns = [Noise(**({"seed": 42} | place)).exponentials(ids) for place in places]  # type: ignore[arg-type]
    assert independent(np.stack(columns, axis=-1)) > LEVEL


def test_the_noise_of_a_position_says_nothing_about_the_next_ones() -> None:
    line = Noise(seed=8, position=positions(50_000)).exponentials(np.array([9])).ravel()
    lags = np.stack([line[lag : 40_000 + lag] for lag in range(64)], axis=-1)
    assert independent(lags) > LEVEL


def test_a_lone_uniform_is_uniform_and_independent_of_the_ids_noise_and_of_its_neighbours() -> None:
    noise = Noise(seed=10, position=positions(20_000))
    lone = np.stack([noise.single_uniform(index) for index in range(8)], axis=-1)
    assert stats.kstest(lone.ravel(), "uniform").pvalue > LEVEL
    leaves = noise.leaf_uniforms(np.arange(8))
    assert stats.kstest(leaves.ravel(), "uniform").pvalue > LEVEL
    tree = Noise(seed=10, position=positions(20_000), purpose=Purpose.DRAFT).exponentials(np.arange(8))
    assert independent(np.concatenate([-np.log(lone), -np.log(leaves), tree], axis=-1)) > LEVEL


def test_the_uniforms_use_all_52_bits() -> None:
    bits = Noise(seed=11, position=positions(20_000)).single_bits(0)
    ones = [int((bits >> np.uint64(place) & np.uint64(1)).sum()) for place in range(52)]
    assert int(bits.max()) < 2**52
    assert min(stats.binomtest(count, 20_000).pvalue for count in ones) * 52 > LEVEL
