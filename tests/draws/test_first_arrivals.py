"""The first arrivals found by leaving out what cannot be among them are those of the whole race."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairdraw.draws.first_arrivals import FEW, first_arrivals
from fairdraw.masses import IntegerMasses
from fairdraw.rows import Row
from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import BLOCK, GROUP, Noise


def whole_race(row: Row, noise: Noise, count: int) -> list[int]:
    """Every kept id is raced; the best first, the lower id among equals."""
    scores = row.scores[row.kept].astype(np.float64) * row.masses.scale - log2(noise.exponentials(row.kept))
    return row.kept[np.lexsort((row.kept, -scores))[:count]].tolist()


def long_row(kind: str, vocab: int, rng: np.random.Generator) -> Row:
    zipf = -1.1 * np.log(rng.permutation(vocab) + 2.7) + 0.3 * rng.standard_normal(vocab)
    values = {
        "peaky": 2.5 * zipf,
        "long tail": 1.2 * zipf,
        "flat": rng.standard_normal(vocab),
        "equal": np.zeros(vocab),
        "two steps": rng.integers(0, 2, vocab) * 8.0,
        "far below": np.where(np.arange(vocab) == 5, 0.0, -1e6),
        "half forbidden": np.where(rng.random(vocab) < 0.5, -np.inf, rng.standard_normal(vocab)),
    }[kind]
    return Row.of(values.astype(np.float32), IntegerMasses)


KINDS = ("peaky", "long tail", "flat", "equal", "two steps", "far below", "half forbidden")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 5, 300])
def test_they_are_those_of_the_whole_race(kind, count):
    rng = np.random.default_rng([KINDS.index(kind), count])
    row = long_row(kind, 40_001, rng)
    for position in range(6):
        noise = Noise(seed=position, position=position, sample_index=1)
        assert first_arrivals(row, noise, count).ids.tolist() == whole_race(row, noise, count)


@settings(max_examples=40, deadline=None)
@given(st.integers(FEW + 1, 9000), st.integers(0, 2**32), st.integers(1, 40), st.sampled_from(KINDS))
def test_they_are_those_of_the_whole_race_at_any_width(vocab, seed, count, kind):
    row = long_row(kind, vocab, np.random.default_rng(seed))
    noise = Noise(seed=seed, position=2)
    assert first_arrivals(row, noise, count).ids.tolist() == whole_race(row, noise, count)


def test_more_than_there_are_gives_all():
    row = long_row("flat", 3000, np.random.default_rng(0))
    assert sorted(first_arrivals(row, Noise(seed=1, position=1), 4000).ids.tolist()) == list(range(3000))


@pytest.mark.parametrize("span", [BLOCK, GROUP])
def test_the_smallest_noise_of_a_node_is_the_smallest_of_its_ids(span):
    noise = Noise(seed=3, position=np.arange(4, dtype=np.uint64))
    ids = np.arange(5 * GROUP)
    nodes = np.arange(ids.size // span)
    smallest = noise.exponentials(ids).reshape(4, nodes.size, span).min(axis=-1)
    assert np.array_equal(noise.minima(nodes, span), smallest)
