"""vLLM's seeded tokens, against its own kernel (0.33.0, in Triton's interpreter) and a second writing of its hash."""

import math
import struct

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay.vllm import draw, noise, replay

ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])


def murmur3(data: bytes, state: int) -> int:
    """murmur3_x86_32 of whole words, in Python's integers."""
    for (word,) in struct.iter_unpack("<I", data):
        word = word * 0xCC9E2D51 & 0xFFFFFFFF
        word = (word << 15 | word >> 17) * 0x1B873593 & 0xFFFFFFFF
        state ^= word
        state = ((state << 13 | state >> 19) & 0xFFFFFFFF) * 5 + 0xE6546B64 & 0xFFFFFFFF
    state ^= len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        state = (state ^ state >> shift) * factor & 0xFFFFFFFF
    return state ^ state >> 16


def hashed(seed: int, place: int, token: int, start: int = 0) -> int:
    return murmur3(struct.pack("<qII" if seed < 0 else "<QII", seed, place, token), start)


def test_the_second_writing_is_murmur3():
    """murmur3_x86_32 of b"test" with seed 0 is ba6bd213: a known answer."""
    assert murmur3(b"test", 0) == 0xBA6BD213


@pytest.mark.parametrize("seed", [0, 42, 2**40 + 7, 2**63 - 1, -5, -(2**63)])
def test_float32_noise_is_that_of_the_hash(seed):
    ids = np.array([0, 1, 63, 49151, 151935])
    exact = [-math.log(-math.log1p(-(hashed(seed, 16, int(token)) + 0.5) / 2**32)) for token in ids]
    assert noise(seed, 17, ids).dtype == np.float32
    np.testing.assert_allclose(noise(seed, 17, ids), exact, rtol=0, atol=4e-6)


def test_float64_noise_takes_a_second_hash_for_the_high_word():
    words = (hashed(42, 0, 3, 0x9E3779B9) << 32 | hashed(42, 0, 3)) >> 11
    exact = -math.log(-math.log((words + 0.5) / 2**53))
    assert noise(42, 1, np.array([3]), "float64")[0] == pytest.approx(exact, rel=1e-14)


def test_the_noise_of_an_id_does_not_depend_on_the_others():
    assert noise(7, 9, np.array([5, 70000]))[1] == noise(7, 9, np.array([70000]))[0]


def test_gumbel_noise_has_its_mean_and_its_variance():
    """False alarm 1e-9 each: six standard errors; the mean is Euler's constant, the variance pi^2 / 6."""
    values = noise(3, 4, np.arange(200_000)).astype(np.float64)
    variance = math.pi**2 / 6
    assert abs(values.mean() - 0.5772156649) < 6 * math.sqrt(variance / values.size)
    # The fourth central moment of a Gumbel number is 5.4 times its squared variance.
    assert abs(values.var() - variance) < 6 * variance * math.sqrt(4.4 / values.size)


@pytest.mark.parametrize(
    ("seed", "tokens"),
    [
        (42, [0, 2, 2, 3, 1, 2, 0, 2, 1, 0, 0, 1, 0, 0, 2, 0]),
        (-5, [2, 0, 4, 0, 1, 1, 0, 0, 1, 2, 0, 1, 2, 0, 0, 0]),
        (2**40 + 7, [0, 2, 0, 1, 2, 1, 0, 1, 2, 1, 0, 3, 3, 1, 0, 1]),
    ],
)
def test_sixteen_tokens_are_those_of_the_engine_s_kernel(seed, tokens):
    assert [step.token for step in replay([ROW] * 16, seed=seed, position=1)] == tokens


def test_sixteen_float64_tokens_are_those_of_the_engine_s_kernel():
    steps = replay([ROW] * 16, seed=42, position=1, precision="float64")
    assert [step.token for step in steps] == [1, 0, 1, 0, 0, 0, 0, 4, 5, 2, 2, 1, 3, 0, 0, 0]


def test_tokens_over_49152_ids_are_those_of_the_engine_s_kernel(real_rows):
    steps = replay(real_rows, seed=2026, position=100, temperature=0.8)
    assert [step.token for step in steps] == [504, 34, 29883, 30746, 56, 7365, 501, 3000, 8753, 45278]
    assert [step.doubt for step in steps] == [""] * 10


def test_a_mask_moves_no_other_token_s_noise():
    free = [draw(ROW, seed=1, position=place).token for place in range(1, 101)]
    mask = np.array([True, True, True, False, False, False])
    bound = [draw(ROW, seed=1, position=place, mask=mask).token for place in range(1, 101)]
    assert all(one == other for one, other in zip(free, bound, strict=True) if one < 3)
    assert max(free) > 2 >= max(bound)


def test_the_temperature_divides_in_float32():
    """Where no noise comes near: at 0.01 a lead of 1 becomes one of 100."""
    assert {draw([1.0, 0.0], seed=seed, position=1, temperature=0.01).token for seed in range(50)} == {0}
    assert {draw([1.0, 0.0], seed=seed, position=1, temperature=2.0).token for seed in range(50)} == {0, 1}


def test_a_tiny_temperature_counts_as_a_hundredth_and_zero_is_greedy():
    row = [0.02, 0.0]
    tiny, least = ([draw(row, seed=s, position=1, temperature=t).token for s in range(60)] for t in (1e-5, 0.01))
    assert tiny == least
    assert {*tiny} == {0, 1}
    assert {draw(row, seed=s, position=1, temperature=0).token for s in range(60)} == {0}


def test_equal_scores_at_temperature_zero_give_the_lower_id():
    assert draw([1.0, 3.0, 3.0], seed=0, position=1, temperature=0).token == 1


def test_a_lead_within_rounding_raises_a_doubt():
    g = noise(42, 1, np.arange(2))
    level = np.float32([2e-6, g[0] - g[1]])
    assert draw(level, seed=42, position=1).doubt == "ids [0, 1] arrive within a GPU's rounding of each other"
    assert draw(level + np.float32([0.001, 0]), seed=42, position=1).doubt == ""


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("seed", {"seed": -1}),
        ("seed", {"seed": 2**63}),
        ("position", {"position": 0}),
        ("temperature", {"temperature": 2.5}),
        ("precision", {"precision": "float16"}),
    ],
)
def test_a_value_outside_its_range_is_refused_by_name(name, values):
    with pytest.raises(fd.ParameterError, match=f"^{name} must be"):
        draw(ROW, **{"seed": 0, "position": 1, **values})


def test_a_mask_that_leaves_nothing_is_refused():
    with pytest.raises(fd.LogitsError, match="nothing but -inf"):
        draw([1.0, -np.inf], seed=0, position=1, mask=np.array([False, True]))
