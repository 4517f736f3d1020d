"""Keyed noise: what the specification says, bit by bit; and that nothing but its coordinates decides it."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.errors import ParameterError
from fairdraw.streams.noise import BLOCK, GROUP, STREAM_VERSION, Noise, Purpose

IDS = np.array([0, 1, 63, 64, 65, 127, 1023, 1024, 5000, 49151, 131071, 262143])


@cache
def written_out_words(c0: int, c1: int, c2: int, c3: int, seed: int) -> tuple[int, ...]:
    """Philox4x32-10 in whole numbers, from the paper."""
    counter, key = [c0, c1, c2, c3], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        left, right = counter[0] * 0xD2511F53, counter[2] * 0xCD9E8D57
        counter = [
            right >> 32 ^ counter[1] ^ key[0],
            right & 0xFFFFFFFF,
            left >> 32 ^ counter[3] ^ key[1],
            left & 0xFFFFFFFF,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return tuple(counter)


def written_out_node(index: int, level: int, span: int, where: dict[str, int]) -> tuple[float, int]:
    tag = where["purpose"] << 24 | level << 16 | where["round"]
    w0, w1, w2, _ = written_out_words(index, where["position"], where["sample_index"], tag, where["seed"])
    k = (w0 << 32 | w1) >> 12
    # (k + 1/2) / 2^52, and log1p where k is near 2^52: the library's logarithm, not ours.
    distance_to_1 = (2**52 - k) - 0.5
    log = math.log((k + 0.5) / 2**52) if k < 2**51 else math.log1p(-distance_to_1 / 2**52)
    return -log / span, index * span + w2 % span


def written_out(token: int, **where: int) -> float:
    """The noise of one id, straight from the rules in the docstring of ``noise.py``."""
    minimum, holder = written_out_node(token // 1024, 0, 1024, where)
    excess, own_holder = written_out_node(token // 64, 1, 64, where)
    if holder // 64 != token // 64:
        minimum, holder = minimum + excess, own_holder
    excess, _ = written_out_node(token, 2, 1, where)
    return minimum if holder == token else minimum + excess


def test_the_stream_is_version_1() -> None:
    assert (STREAM_VERSION, BLOCK, GROUP) == (1, 64, 1024)


PLACES = [
    {"seed": 0, "position": 0, "sample_index": 0, "purpose": 0, "round": 0},
    {"seed": 42, "position": 7, "sample_index": 3, "purpose": 0, "round": 0},
    {"seed": 2**32 + 42, "position": 7, "sample_index": 3, "purpose": 0, "round": 0},
    {"seed": 2**64 - 1, "position": 2**32 - 1, "sample_index": 2**32 - 1, "purpose": 6, "round": 2**16 - 1},
    {"seed": 1, "position": 2, "sample_index": 3, "purpose": 4, "round": 5},
]


def at(where: dict[str, int]) -> Noise:
    return Noise(**{**where, "purpose": Purpose(where["purpose"])})  # type: ignore[arg-type]


@pytest.mark.parametrize("where", PLACES, ids=lambda where: f"seed={where['seed']}")
def test_the_noise_is_what_the_specification_says_for_every_id_of_some_groups(where: dict[str, int]) -> None:
    ids = np.r_[0:2048, 48 * 1024 : 49 * 1024, 2**18 - 64 : 2**18]
    expected = [written_out(int(token), **where) for token in ids]
    np.testing.assert_allclose(at(where).exponentials(ids), expected, rtol=5e-15, atol=0)


@pytest.mark.parametrize("where", PLACES, ids=lambda where: f"seed={where['seed']}")
def test_a_lone_uniform_is_what_the_specification_says(where: dict[str, int]) -> None:
    for index in (0, 1, 9):
        tag = where["purpose"] << 24 | 3 << 16 | where["round"]
        w0, w1, _, _ = written_out_words(index, where["position"], where["sample_index"], tag, where["seed"])
        k = (w0 * 2**32 + w1) >> 12
        assert int(at(where).single_bits(index)) == k
        assert float(at(where).single_uniform(index)) == (2 * k + 1) / 2**53


def test_leaf_uniforms_are_the_words_of_the_third_level() -> None:
    got = Noise(seed=42, position=7, sample_index=3).leaf_uniforms(IDS)
    words = [written_out_words(int(token), 7, 3, 2 << 16, 42) for token in IDS]
    assert got.tolist() == [(2 * ((w0 << 32 | w1) >> 12) + 1) / 2**53 for w0, w1, *_ in words]


def test_a_uniform_is_never_0_and_never_1(monkeypatch: pytest.MonkeyPatch) -> None:
    noise = Noise(seed=0, position=0)
    for bits, uniform in ((0, 2.0**-53), (2**52 - 1, 1 - 2.0**-53)):
        monkeypatch.setattr(Noise, "single_bits", lambda self, index, bits=bits: np.uint64(bits))
        assert float(noise.single_uniform(0)) == uniform


def test_an_id_has_the_same_noise_whichever_ids_are_asked_for_and_in_any_order() -> None:
    noise, rng = Noise(seed=5, position=6), np.random.default_rng(1)
    whole = noise.exponentials(np.arange(5000))
    for size in (1, 2, 100, 4999):
        some = rng.permutation(5000)[:size]
        assert noise.exponentials(some).tolist() == whole[some].tolist()
    assert noise.exponentials(np.array([7, 7, 3])).tolist() == whole[[7, 7, 3]].tolist()


@pytest.mark.parametrize("vocab", [1, 6, 63, 64, 65, 1023, 1025, 4096])
def test_a_larger_vocabulary_leaves_the_noise_of_the_earlier_ids_alone(vocab: int) -> None:
    noise = Noise(seed=5, position=6)
    assert noise.exponentials(np.arange(vocab)).tolist() == noise.exponentials(np.arange(5000))[:vocab].tolist()


def test_many_draws_at_once_have_the_noise_of_each_alone() -> None:
    positions = np.array([0, 7, 2**32 - 1, 8], np.uint64)
    samples = np.array([0, 3, 1, 3], np.uint64)
    together = Noise(seed=9, position=positions, sample_index=samples)
    pairs = list(zip(positions, samples, strict=True))
    alone = [Noise(seed=9, position=int(p), sample_index=int(s)) for p, s in pairs]
    assert together.draws == (4,)
    assert together.exponentials(IDS).tolist() == [noise.exponentials(IDS).tolist() for noise in alone]
    assert together.leaf_uniforms(IDS).tolist() == [noise.leaf_uniforms(IDS).tolist() for noise in alone]
    assert together.single_bits(3).tolist() == [int(noise.single_bits(3)) for noise in alone]


def test_every_coordinate_changes_the_noise_of_every_id() -> None:
    base = {"seed": 42, "position": 7, "sample_index": 3, "purpose": 0, "round": 1}
    changed = [
        {"seed": 43}, {"seed": 2**32 + 42}, {"seed": 2**63 + 42}, {"position": 6}, {"position": 8},
        {"position": 7 + 2**31}, {"sample_index": 2}, {"sample_index": 3 + 2**31}, {"round": 0}, {"round": 2},
        {"position": 3, "sample_index": 7}, *({"purpose": purpose} for purpose in range(1, 7)),
    ]  # fmt: skip
    values = [at(base | change).exponentials(IDS) for change in ({}, *changed)]
    for one, other in itertools.combinations(values, 2):
        assert (one != other).all()


@pytest.mark.parametrize(
    "change",
    [
        {"seed": -1}, {"seed": 2**64}, {"position": -1}, {"position": 2**32}, {"sample_index": 2**32},
        {"round": 2**16}, {"position": np.array([0, 2**32], np.uint64)}, {"seed": 1.5},
    ],
    ids=str,
)  # fmt: skip
def test_no_coordinate_wraps(change: dict[str, object]) -> None:
    with pytest.raises(ParameterError, match=next(iter(change))):
        Noise(**({"seed": 0, "position": 0} | change))  # type: ignore[arg-type]


def test_the_least_noise_of_a_group_is_the_groups_own_number_and_sits_where_the_hash_says() -> None:
    for position in range(50):
        where = {"seed": 3, "position": position, "sample_index": 0, "purpose": 0, "round": 0}
        values = Noise(seed=3, position=position).exponentials(np.arange(1024, 2048))
        least, holder = written_out_node(1, 0, 1024, where)
        assert 1024 + int(values.argmin()) == holder
        np.testing.assert_allclose(values.min(), least, rtol=2e-15)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.int64, np.uint64])
def test_a_numpy_seed_is_the_same_seed(kind):
    ids = np.arange(5)
    same = Noise(seed=kind(42), position=3).exponentials(ids)
    np.testing.assert_array_equal(same, Noise(seed=42, position=3).exponentials(ids))
    plan = fd.Plan.parse("fairdraw:")
    tokens = fd.sample_many(plan, [1.0, 2.0, 0.5], seed=kind(42), positions=range(9))
    assert tokens.tolist() == [fd.sample(plan, [1.0, 2.0, 0.5], seed=42, position=i).token for i in range(9)]
