"""The scalar noise of the kernels against `fairdraw.streams`: every bit."""

import numpy as np
import pytest

from fairdraw.streams import logarithms
from fairdraw.streams.noise import Noise

noise = pytest.importorskip("fairdraw.kernels.numba_cpu.noise")


def key_of(seed: int, position: int, sample_index: int = 0, tag: int = 0) -> tuple[np.uint64, ...]:
    return tuple(np.uint64(n) for n in (position, sample_index, seed & 0xFFFFFFFF, seed >> 32, tag))


@pytest.mark.parametrize("seed", [0, 1, 42, 2**32 - 1, 2**32, 2**63 + 5, 2**64 - 1])
@pytest.mark.parametrize("position", [0, 7, 2**32 - 1])
def test_an_ids_noise_has_the_same_bits(seed: int, position: int) -> None:
    rng = np.random.default_rng(seed)
    ids = np.unique(np.concatenate([np.arange(70), rng.integers(0, 262144, 300), [1023, 1024, 262143]]))
    expected = Noise(seed=seed, position=position, sample_index=3).exponentials(ids)
    key = key_of(seed, position, 3)
    got = np.array([noise.exponential(int(i), key) for i in ids])
    assert np.array_equal(got.view(np.int64), expected.view(np.int64))


def test_the_ids_that_hold_a_minimum_are_among_those_compared() -> None:
    everything = np.arange(4096)
    key = key_of(9, 5)
    expected = Noise(seed=9, position=5).exponentials(everything)
    assert [noise.exponential(int(i), key) for i in everything] == expected.tolist()


def test_both_logarithms_have_the_same_bits_from_subunit_to_huge() -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.random(20_000), 2.0 ** rng.uniform(-1000, 1000, 20_000), [1.0, 0.5, 2.0, 2.0**-52]])
    for name in ("minus_log", "log2"):
        scalar = np.array([getattr(noise, name)(value) for value in values])
        assert np.array_equal(scalar.view(np.int64), getattr(logarithms, name)(values).view(np.int64)), name
