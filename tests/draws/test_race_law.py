"""Draws follow the law: chi-square of every draw, over short rows and long tails; a forbidden token never comes.

Fewer than 50 tests of fixed seeds, each at a false-alarm level of 1e-8: below 1e-6 in all.  Cells are pooled by the
law alone, to about 25 expected draws, and never fewer than 12.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from scipy import stats

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.draws import Draw, ExponentialRace, InverseCdf, Race
from fairdraw.readings import drawn_row
from fairdraw.stages import Checkpoint, Mask, MinP, Stage, Temperature, TopK, TopP, Typical
from fairdraw.streams.logarithms import log2, minus_log
from fairdraw.streams.noise import Noise
from fairdraw.streams.philox import philox

LEVEL = 1e-8
EXPECTED = 25.0


def p_value(tokens: np.ndarray, probabilities: np.ndarray) -> float:
    """Pearson's chi-square of tokens against a law; 0 if one came that the law forbids."""
    counts = np.bincount(tokens, minlength=probabilities.size)
    if counts[probabilities == 0].any():
        return 0.0
    order = np.argsort(-probabilities, kind="stable")
    cell = np.floor(np.cumsum(probabilities[order]) * tokens.size / EXPECTED - 1e-9)
    # A heavy token fills several steps and is a cell of its own; light ones share a step; the last may be half full.
    cell = np.minimum(np.unique(cell, return_inverse=True)[1], max(0, np.unique(cell).size - 2))
    expected = np.bincount(cell, weights=probabilities[order]) * tokens.size
    observed = np.bincount(cell, weights=counts[order])
    if expected.size == 1:
        return 1.0
    return float(stats.chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue)


def test_the_chi_square_sees_a_law_that_is_off_by_two_in_a_hundred_and_passes_the_right_one() -> None:
    rng, right = np.random.default_rng(1), np.full(100, 0.01)
    wrong = right * np.where(np.arange(100) < 50, 1.02, 0.98)
    tokens = rng.choice(100, 400_000, p=wrong)
    assert p_value(tokens, wrong) > 1e-3
    assert p_value(tokens, right) < LEVEL
    assert p_value(tokens, np.eye(100)[0]) == 0.0


# Short rows: 10^5 draws, the noise computed once for each position.

DRAWS, WIDTH = 100_000, 256


@dataclass(frozen=True)
class Table:
    """The noise of many draws, remembered."""

    values: np.ndarray
    draws: tuple[int, ...] = (DRAWS,)

    def exponentials(self, ids: np.ndarray) -> np.ndarray:
        """As `Noise.exponentials`."""
        return self.values[:, ids]


@pytest.fixture(scope="module")
def table() -> Table:
    parts = [np.arange(first, first + 10_000, dtype=np.uint64) for first in range(0, DRAWS, 10_000)]
    ids = np.arange(WIDTH)
    return Table(np.concatenate([Noise(seed=101, position=part).exponentials(ids) for part in parts]))


NORMAL = (np.random.default_rng(2).standard_normal(WIDTH) * 2).astype(np.float32)
ZIPF = (-1.1 * np.log(np.random.default_rng(3).permutation(WIDTH) + 2.0)).astype(np.float32)
ROWS = {
    "six": np.float32([2, 1.5, 1, 0.5, 0, -1]),
    "normal": NORMAL,
    "Zipf": ZIPF,
    "equal": np.zeros(WIDTH, np.float32),
    "ties": np.round(NORMAL),
    "half forbidden": np.where(np.arange(WIDTH) % 2, NORMAL, np.float32(-np.inf)),
}
CUTS: dict[str, tuple[Stage, ...]] = {
    "temperature 0.7": (Temperature(value=0.7),),
    "temperature 1.3, top-k 20, top-p 0.8 of the raw mass": (
        Temperature(value=1.3),
        Checkpoint(),
        TopK(k=20),
        TopP(p=0.8, mass="raw"),
    ),
    "top-p 0.9, then temperature 2": (TopP(p=0.9), Temperature(value=2.0, operation="divide")),
    "strict top-p 0.5": (TopP(p=0.5, boundary="strict", ties="all"),),
    "typical 0.7, then temperature 1.5": (Typical(p=0.7), Temperature(value=1.5)),
    "min-p 0.05 at temperature 1.2": (Temperature(value=1.2), MinP(p=0.05)),
}
SHORT = [
    *(("normal", cut, Race()) for cut in CUTS),
    ("Zipf", "temperature 0.7", Race()),
    ("Zipf", "top-p 0.9, then temperature 2", Race()),
    ("ties", "temperature 1.3, top-k 20, top-p 0.8 of the raw mass", Race()),
    ("normal", "temperature 0.7", ExponentialRace()),
    ("Zipf", "min-p 0.05 at temperature 1.2", ExponentialRace()),
    *((row, "", Race()) for row in ("six", "equal", "half forbidden")),
]


@pytest.mark.parametrize(("row", "cut", "draw"), SHORT, ids=lambda part: getattr(part, "name", part))
def test_a_hundred_thousand_draws_follow_the_law(row: str, cut: str, draw: Draw, table: Table) -> None:
    plan, logits = fd.Plan.of(*CUTS.get(cut, ()), draw=draw), ROWS[row]
    kept = drawn_row(plan.stages, logits, Context(), Noise(seed=101, position=0))
    tokens = np.concatenate(
        [draw.choose(kept, Table(table.values[i : i + 10_000])) for i in range(0, DRAWS, 10_000)]  # type: ignore[arg-type]
    )
    assert tokens[:50].tolist() == fd.sample_many(plan, logits, seed=101, positions=np.arange(50)).tolist()
    assert p_value(tokens, fd.law(plan, logits).probabilities) > LEVEL


@pytest.mark.parametrize("row", ["six", "normal", "Zipf", "half forbidden"])
def test_a_hundred_thousand_inverse_cdf_draws_follow_the_law(row: str) -> None:
    plan = fd.Plan.of(Temperature(value=0.9), TopP(p=0.95), draw=InverseCdf())
    tokens = fd.sample_many(plan, ROWS[row], seed=102, positions=np.arange(DRAWS))
    assert p_value(tokens, fd.law(plan, ROWS[row]).probabilities) > LEVEL


def test_the_samples_of_one_position_follow_the_law_too() -> None:
    plan = fd.Plan.of(Temperature(value=0.8))
    tokens = fd.sample_many(plan, ROWS["six"], seed=103, positions=5, sample_indices=np.arange(DRAWS))
    assert p_value(tokens, fd.law(plan, ROWS["six"]).probabilities) > LEVEL


def test_seeds_follow_the_law_too() -> None:
    plan, seeds = fd.Plan.of(Temperature(value=0.8)), range(0, 3000 << 31, 1 << 31)
    tokens = np.array([fd.sample(plan, ROWS["six"], seed=seed, position=5).token for seed in seeds])
    assert p_value(tokens, fd.law(plan, ROWS["six"]).probabilities) > LEVEL


def test_pairs_of_successive_tokens_follow_the_product_of_the_law() -> None:
    plan = fd.Plan.of()
    tokens = fd.sample_many(plan, ROWS["six"], seed=104, positions=np.arange(DRAWS))
    p = fd.law(plan, ROWS["six"]).probabilities
    assert p_value(tokens[:-1:2] * 6 + tokens[1::2], np.outer(p, p).ravel()) > LEVEL


def test_a_masked_token_never_comes_in_ten_million_draws() -> None:
    row, mask = np.float32([9, 1, 0, 0.5, 20, -1, 0.7, 3]), np.array([0, 1, 1, 0, 0, 1, 0, 0], bool)
    plan, counts = fd.Plan.of(Mask()), np.zeros(8, np.int64)
    for first in range(0, 10_000_000, 1_000_000):
        positions = np.arange(first, first + 1_000_000)
        counts += np.bincount(fd.sample_many(plan, row, seed=105, positions=positions, mask=mask), minlength=8)
    assert counts.sum() == 10_000_000
    assert not counts[~mask].any()
    p = fd.law(plan, row, mask=mask).probabilities
    assert stats.chisquare(counts[mask], p[mask] * 10_000_000).pvalue > LEVEL


# Long tails: V >= 32768, 2 * 10^4 draws.  The minima of blocks say which ids cannot win, exactly.

LONG_DRAWS, SEED, BLOCK = 20_000, 106, 64
SLACK = 1e-9
"""Far above the rounding of log2 and of the sums, which are near 1e-14."""


def node(indices: np.ndarray, level: int, span: int) -> tuple[np.ndarray, np.ndarray]:
    """Own noise of groups or blocks for all draws, and their holders, straight from the specification."""
    position = np.arange(LONG_DRAWS, dtype=np.uint64)
    zero, tag = np.zeros(1, np.uint64), np.array([level << 16], np.uint64)
    high, low, spare, _ = philox((indices.astype(np.uint64)[:, np.newaxis], position, zero, tag), (SEED, 0))
    uniform = ((high << np.uint64(32) | low) >> np.uint64(12)).astype(np.float64) * 2.0**-52 + 2.0**-53
    return minus_log(uniform) / span, indices[:, np.newaxis] * span + (spare % np.uint64(span)).astype(np.int64)


@dataclass(frozen=True)
class Minima:
    """Of each block and draw, -log2 of the least noise, and the id that holds it; both of shape (blocks, draws)."""

    gain: np.ndarray
    holder: np.ndarray

    @classmethod
    def of(cls, blocks: int) -> "Minima":
        gain, holder = np.empty((blocks, LONG_DRAWS)), np.empty((blocks, LONG_DRAWS), np.int32)
        for group in range(blocks // 16):
            (least,), (group_holder,) = node(np.array([group]), 0, 1024)
            mine = np.arange(group * 16, (group + 1) * 16)
            excess, own_holder = node(mine, 1, BLOCK)
            inherits = group_holder // BLOCK == mine[:, np.newaxis]
            gain[mine] = -log2(least + np.where(inherits, 0.0, excess))
            holder[mine] = np.where(inherits, group_holder, own_holder)
        return cls(gain, holder)


@pytest.fixture(scope="module")
def minima() -> Minima:
    return Minima.of(768)


def test_the_least_noise_of_a_block_is_where_and_what_the_upper_levels_say(minima: Minima) -> None:
    noise = Noise(seed=SEED, position=np.arange(20, dtype=np.uint64)).exponentials(np.arange(49152))
    blocks = noise.reshape(20, 768, BLOCK)
    assert (minima.gain[:, :20] == -log2(blocks.min(axis=-1)).T).all()
    assert (minima.holder[:, :20] == (blocks.argmin(axis=-1) + np.arange(768) * BLOCK).T).all()


def race_by_blocks(scores: np.ndarray, minima: Minima) -> np.ndarray:
    """The race's tokens: a block is left out where its best score and least noise cannot beat an arrival known."""
    best = scores.reshape(-1, BLOCK).max(axis=-1)
    open_blocks = np.flatnonzero(best > -np.inf).tolist()
    arrival, token = np.full(LONG_DRAWS, -np.inf), np.full(LONG_DRAWS, -1)
    for block in open_blocks:
        np.maximum(arrival, scores[minima.holder[block]] + minima.gain[block] - SLACK, out=arrival)
    for block in open_blocks:
        draws = np.flatnonzero(best[block] + minima.gain[block] + SLACK >= arrival)
        if not draws.size:
            continue
        ids = block * BLOCK + np.flatnonzero(scores[block * BLOCK : (block + 1) * BLOCK] > -np.inf)
        arrivals = scores[ids] - log2(Noise(seed=SEED, position=draws.astype(np.uint64)).exponentials(ids))
        # Blocks come in the order of their ids, and the first of equals is the lower id.
        better = arrivals.max(axis=-1) > arrival[draws]
        arrival[draws[better]] = arrivals.max(axis=-1)[better]
        token[draws[better]] = ids[arrivals.argmax(axis=-1)][better]
    assert (token >= 0).all()
    return token


ROWS_FILE = Path(__file__).parents[1] / "golden" / "smollm2_rows.safetensors"
REAL = load_file(ROWS_FILE)["logits"]
LONG_ZIPF = (-np.log(np.random.default_rng(7).permutation(32768) + 2.7)).astype(np.float32)
LONG_ROWS = {"flat real row": REAL[8], "German real row": REAL[6], "Zipf": LONG_ZIPF}
LONG_CUTS: dict[str, tuple[Stage, ...]] = {
    "nothing": (),
    "temperature 0.7": (Temperature(value=0.7),),
    "temperature 1.5": (Temperature(value=1.5),),
    "top-p 0.95": (TopP(p=0.95),),
    "min-p 0.01, then temperature 2": (MinP(p=0.01), Temperature(value=2.0)),
    "top-k 1000": (TopK(k=1000),),
}


@pytest.mark.parametrize("cut", LONG_CUTS)
@pytest.mark.parametrize("row", LONG_ROWS)
def test_twenty_thousand_draws_from_a_long_tail_follow_the_law(row: str, cut: str, minima: Minima) -> None:
    plan, logits = fd.Plan.of(*LONG_CUTS[cut]), LONG_ROWS[row]
    kept = drawn_row(plan.stages, logits, Context(), Noise(seed=SEED, position=0))
    scores = np.full(logits.size, -np.inf)
    scores[kept.kept] = kept.scores[kept.kept].astype(np.float64) * kept.masses.scale
    tokens = race_by_blocks(scores, minima)
    assert tokens[:20].tolist() == fd.sample_many(plan, logits, seed=SEED, positions=np.arange(20)).tolist()
    assert p_value(tokens, fd.law(plan, logits).probabilities) > LEVEL
