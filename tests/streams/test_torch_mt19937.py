"""mt19937 and torch's exponentials, against values that others published or printed."""

import random

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.streams.torch_mt19937 import TorchGenerator, mt19937

SEEDS = (0, 1, 42, 5489, 2**31, 2**32 - 1)


def bits(values: np.ndarray) -> list[str]:
    return [f"{word:08x}" for word in values.view(np.uint32)]


def knuth(seed: int) -> list[int]:
    """Knuth's rule for the 624 words of the state, in Python's own integers."""
    state = [seed]
    for index in range(1, 624):
        state.append((1812433253 * (state[-1] ^ state[-1] >> 30) + index) & 0xFFFFFFFF)
    return state


@pytest.mark.parametrize("seed", SEEDS)
def test_words_are_those_of_python_s_mersenne_twister_started_by_knuth_s_rule(seed):
    other = random.Random()
    other.setstate((3, (*knuth(seed), 624), None))
    expected = [other.getrandbits(32) for _ in range(2000)]
    assert mt19937(seed).random_raw(2000).tolist() == expected


def test_the_ten_thousandth_word_is_the_one_the_cpp_standard_names():
    assert mt19937(5489).random_raw(10_000)[-1] == 4123659995


def test_exponentials_are_torch_s_bits():
    """Printed by torch 2.13.0: torch.manual_seed(seed); torch.empty(4).exponential_()."""
    assert bits(TorchGenerator(0).exponentials(4)) == TORCH_0
    assert bits(TorchGenerator(42).exponentials(4)) == TORCH_42


def test_only_the_low_32_bits_of_a_seed_count():
    assert bits(TorchGenerator(2**32 + 42).exponentials(4)) == TORCH_42
    assert bits(TorchGenerator(2**63 + 42).exponentials(4)) == TORCH_42


@pytest.mark.parametrize("seed", SEEDS)
def test_all_of_the_low_32_bits_count(seed):
    assert TorchGenerator(seed).words(3).tolist() == mt19937(seed).random_raw(3).tolist()


def test_the_state_is_carried_on():
    generator = TorchGenerator(42)
    parts = [generator.exponentials(count) for count in (1, 0, 2, 1)]
    assert bits(np.concatenate(parts)) == TORCH_42


def test_an_exponential_takes_two_words():
    generator = TorchGenerator(7)
    generator.exponentials(5)
    assert generator.words(1)[0] == mt19937(7).random_raw(11)[10]


def test_the_first_word_is_the_high_one():
    first, second = (int(word) for word in mt19937(1).random_raw(2))
    uniform = ((first << 32 | second) & (2**53 - 1)) / 2**53
    assert TorchGenerator(1).exponentials(1)[0] == np.float32(-np.log1p(-uniform))


def test_the_mean_and_the_share_above_one_are_those_of_an_exponential():
    """False alarm 1e-9 each: six standard errors."""
    values = TorchGenerator(11).exponentials(200_000).astype(np.float64)
    assert abs(values.mean() - 1) < 6 / np.sqrt(values.size)
    share = np.exp(-1)
    assert abs((values > 1).mean() - share) < 6 * np.sqrt(share * (1 - share) / values.size)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, True, "42", None])
def test_a_seed_outside_its_range_is_refused_by_name(seed):
    with pytest.raises(fd.ParameterError, match="seed must be a whole number"):
        TorchGenerator(seed)


def test_a_negative_count_is_refused_by_name():
    with pytest.raises(fd.ParameterError, match="count must be a whole number"):
        TorchGenerator(0).exponentials(-1)


TORCH_0 = ["4060886b", "3f9d7d3f", "3f1d7388", "40223f62"]
TORCH_42 = ["3d756866", "3d851234", "3e071531", "3d5d3caf"]
