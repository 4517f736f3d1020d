"""Philox4x32-10 against its authors' known answers, and against another implementation."""

import numpy as np
import pytest
from randomgen import Philox

from fairdraw.streams.philox import philox

ALL_ONES = 0xFFFFFFFF
KNOWN_ANSWERS = {
    "zeros": ("00000000 00000000 00000000 00000000 00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    "all ones": ("ffffffff ffffffff ffffffff ffffffff ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    "digits of pi": ("243f6a88 85a308d3 13198a2e 03707344 a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
}
"""Random123, tests/kat_vectors, ``philox4x32 10``: four counter words and two key words, then the output."""


def words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def one(counter: list[int], key: list[int]) -> list[int]:
    arrays = tuple(np.array([word], np.uint64) for word in counter)
    return [int(word[0]) for word in philox(arrays, tuple(key))]


def oracle(counter: list[int], key: list[int]) -> list[int]:
    """What randomgen says; it counts up before its first block."""
    number = (sum(word << 32 * i for i, word in enumerate(counter)) - 1) % 2**128
    generator = Philox(key=sum(word << 32 * i for i, word in enumerate(key)), counter=number, number=4, width=32)
    return [int(word) for word in generator.random_raw(4)]


@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_philox_gives_the_known_answers_of_random123(name: str) -> None:
    question, answer = (words(text) for text in KNOWN_ANSWERS[name])
    assert one(question[:4], question[4:]) == answer


def test_philox_agrees_with_randomgen_on_random_counters_and_keys() -> None:
    rng = np.random.default_rng(20)
    for row in rng.integers(0, 2**32, (500, 6)).tolist():
        assert one(row[:4], row[4:]) == oracle(row[:4], row[4:])


def test_philox_agrees_with_randomgen_where_a_single_bit_is_set() -> None:
    for bit in range(192):
        row = [1 << (bit % 32) if word == bit // 32 else 0 for word in range(6)]
        assert one(row[:4], row[4:]) == oracle(row[:4], row[4:])


def test_philox_works_on_arrays_that_broadcast() -> None:
    first, second = np.arange(5, dtype=np.uint64), np.array([[0], [ALL_ONES]], np.uint64)
    zero = np.zeros(1, np.uint64)
    got = np.stack(philox((first, second, zero, zero), (1, 2)), axis=-1)
    assert got.shape == (2, 5, 4)
    assert got.tolist() == [[one([a, b, 0, 0], [1, 2]) for a in range(5)] for b in (0, ALL_ONES)]


def test_philox_leaves_its_arguments_alone() -> None:
    counter = tuple(np.arange(4, dtype=np.uint64) + word for word in range(4))
    before = [word.copy() for word in counter]
    philox(counter, (3, 4))
    assert all((now == then).all() for now, then in zip(counter, before, strict=True))
