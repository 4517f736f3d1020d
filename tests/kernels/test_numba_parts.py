"""The parts of the kernels, each against the plain NumPy text of the same rule."""

import numpy as np
import pytest

from fairdraw.masses import LOG2E, IntegerMasses

masses = pytest.importorskip("fairdraw.kernels.numba_cpu.masses")
cuts = pytest.importorskip("fairdraw.kernels.numba_cpu.cuts")
inverse = pytest.importorskip("fairdraw.kernels.numba_cpu.inverse")
summary = pytest.importorskip("fairdraw.kernels.numba_cpu.summarise")


@pytest.mark.parametrize("temperature", [0.01, 0.8, 1.0, 37.0])
def test_masses_are_the_integers_of_the_numpy_masses(temperature: float) -> None:
    rng = np.random.default_rng(3)
    row = np.concatenate([rng.standard_normal(20_000) * 9, [-np.inf, -0.0, 0.0, 1e-40, -3e38]]).astype(np.float32)
    scale = LOG2E / temperature
    expected = IntegerMasses(scores=row, scale=scale, peak=row.max())
    single = [int(masses.mass(score, row.max(), np.float32(scale))) for score in row]
    assert single == expected.values.tolist()
    total, above = masses.mass_and_above(row, np.float32(1.5), row.max(), np.float32(scale))
    assert (int(total), int(above)) == (int(expected.values.sum()), int(expected.values[row > 1.5].sum()))


def test_the_threshold_is_exact_in_unlimited_precision() -> None:
    rng = np.random.default_rng(4)
    for i in range(3000):
        share, total = int(rng.integers(0, 2**53)), int(rng.integers(1, 2 ** int(rng.integers(1, 63))))
        if i % 3 == 0:  # exact hits
            share, total = share >> 30 << 30, max(total >> 23 << 23, 1)
        product = share * total
        assert int(masses.threshold(np.uint64(share), np.uint64(total), False)) == max(1, -(-product // 2**53))
        assert int(masses.threshold(np.uint64(share), np.uint64(total), True)) == product // 2**53 + 1


def test_the_point_of_the_inverse_cdf_is_exact_in_unlimited_precision() -> None:
    rng = np.random.default_rng(5)
    for _ in range(2000):
        bits, total = int(rng.integers(0, 2**52)), int(rng.integers(1, 2**58))
        assert int(inverse.point(np.uint64(bits), np.uint64(total))) == (2 * bits + 1) * total >> 53


@pytest.mark.parametrize("vocab", [1, 63, 64, 65, 1023, 1024, 1025, 5000])
@pytest.mark.parametrize("shift", [-20.0, 0.0, 20.0])
def test_maxima_of_groups_and_blocks_are_those_of_numpy(vocab: int, shift: float) -> None:
    row = (np.random.default_rng(vocab).standard_normal(vocab) * 3 + shift).astype(np.float32)
    row[:: 7 if vocab > 7 else 2] = -np.inf
    row[vocab // 2] = -0.0
    maxima = np.empty((vocab + 1023) // 1024, np.float32)
    peak, status = summary.summarise(row.view(np.int32), maxima)
    assert status == summary.USABLE
    assert peak == row.max()
    assert maxima.tolist() == [row[i : i + 1024].max() for i in range(0, vocab, 1024)]
    blocks = np.empty(16, np.float32)
    count = summary.block_maxima(row.view(np.int32), 0, blocks)
    assert blocks[:count].tolist() == [row[i : i + 64].max() for i in range(0, min(vocab, 1024), 64)]


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("place", [0, 500, 1999])
def test_a_nan_of_either_sign_anywhere_makes_the_row_broken(sign: int, place: int) -> None:
    for bits in (0x7F800001, 0x7FC00000, 0x7FFFFFFF):
        row = np.linspace(-5, 5, 2000).astype(np.float32)
        row.view(np.uint32)[place] = bits | sign << 31
        assert summary.summarise(row.view(np.int32), np.empty(2, np.float32))[1] == summary.BROKEN


def test_codes_ascend_in_the_total_order_and_come_back() -> None:
    scores = np.float32([np.inf, 3, 1e-45, 0.0, -1e-45, -2, -3e38, -np.inf])
    codes = [int(cuts.code(score, i)) for score in scores for i in (0, 1, 262143)]
    assert codes == sorted(codes)
    assert cuts.decode(np.uint64(codes[4])) == (3.0, 1)
    assert int(cuts.code(np.float32(-0.0), 5)) == int(cuts.code(np.float32(0.0), 5))


@pytest.mark.parametrize("k", [1, 2, 17, 64, 500, 2999, 3000])
@pytest.mark.parametrize("kind", ["random", "rounded", "ascending", "equal"])
def test_the_best_k_are_the_first_of_a_stable_sort(k: int, kind: str) -> None:
    row = np.random.default_rng(k).standard_normal(3000).astype(np.float32)
    row = {"random": row, "rounded": np.round(row), "ascending": np.sort(row), "equal": row * 0 + 1}[kind]
    maxima = np.empty(3, np.float32)
    summary.summarise(row.view(np.int32), maxima)
    found = [cuts.decode(code)[1] for code in cuts.best_codes(row, row.view(np.int32), maxima, k)]
    assert found == np.argsort(-row, kind="stable")[:k].tolist()
