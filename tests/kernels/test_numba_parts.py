"""The parts of the kernels, each against the plain NumPy text of the same rule."""

import ast
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import fairdraw as fd
from fairdraw.arrays import address_of
from fairdraw.kernels import arena, slots
from fairdraw.kernels.drawing import draw_token
from fairdraw.kernels.fingerprint import fingerprint_of
from fairdraw.kernels.shapes import recognise
from fairdraw.masses import LOG2E, IntegerMasses

noise = pytest.importorskip("fairdraw.kernels.numba_cpu.noise")
race = pytest.importorskip("fairdraw.kernels.numba_cpu.race")
compiling = pytest.importorskip("fairdraw.kernels.numba_cpu.compiling")
entries = pytest.importorskip("fairdraw.kernels.numba_cpu.entries")

masses = pytest.importorskip("fairdraw.kernels.numba_cpu.masses")
weighing = pytest.importorskip("fairdraw.kernels.numba_cpu.weighing")
cuts = pytest.importorskip("fairdraw.kernels.numba_cpu.cuts")
inverse = pytest.importorskip("fairdraw.kernels.numba_cpu.inverse")
summary = pytest.importorskip("fairdraw.kernels.numba_cpu.summarise")
parts = pytest.importorskip("kernels.parts")


@pytest.mark.parametrize("temperature", [0.01, 0.8, 1.0, 37.0])
def test_masses_are_the_integers_of_the_numpy_masses(temperature: float) -> None:
    rng = np.random.default_rng(3)
    row = np.concatenate([rng.standard_normal(20_000) * 9, [-np.inf, -0.0, 0.0, 1e-40, -3e38]]).astype(np.float32)
    scale = LOG2E / temperature
    expected = IntegerMasses(scores=row, scale=scale, peak=row.max())
    single = [int(masses.mass(score, row.max(), np.float32(scale))) for score in row]
    assert single == expected.values.tolist()
    total, above = weighing.mass_and_above(row, np.float32(1.5), row.max(), np.float32(scale))
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
def test_maxima_of_groups_are_those_of_numpy(vocab: int, shift: float) -> None:
    row = (np.random.default_rng(vocab).standard_normal(vocab) * 3 + shift).astype(np.float32)
    row[:: 7 if vocab > 7 else 2] = -np.inf
    row[vocab // 2] = -0.0
    maxima, broken, _ = parts.read(row)
    assert not broken
    assert maxima.tolist() == [row[i : i + 1024].max() for i in range(0, vocab, 1024)]


@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("place", [0, 500, 1999])
def test_a_nan_of_either_sign_anywhere_makes_the_row_broken(sign: int, place: int) -> None:
    for bits in (0x7F800001, 0x7FC00000, 0x7FFFFFFF):
        row = np.linspace(-5, 5, 2000).astype(np.float32)
        row.view(np.uint32)[place] = bits | sign << 31
        assert parts.read(row)[1]


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
    found = [cuts.decode(code)[1] for code in parts.best_codes(row, k)]
    assert found == np.argsort(-row, kind="stable")[:k].tolist()


def test_every_half_widens_exactly() -> None:
    bits = np.arange(-(2**15), 2**15).astype(np.int16)
    half = np.array([summary.widen(number, slots.FLOAT16) for number in bits], np.float32)
    expected = bits.view(np.float16).astype(np.float32)
    assert np.array_equal(half, expected, equal_nan=True)
    brain = np.array([summary.widen(number, slots.BFLOAT16) for number in bits[::7]], np.float32)
    assert np.array_equal(brain, bits[::7].view(ml_dtypes.bfloat16).astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("vocab", [1, 31, 127, 128, 129, 255, 256, 1023, 1024, 1153, 2500])
def test_a_row_that_is_read_has_the_fingerprint_that_numpy_computes(vocab: int, kind: type) -> None:
    row = np.random.default_rng(vocab).standard_normal(vocab).astype(kind)
    place = {np.float32: slots.FLOAT32, np.float16: slots.FLOAT16}.get(kind, slots.BFLOAT16)
    _, fingerprint, _ = draw_token(recognise(fd.Plan.of()), entries.temperature, row, place, (1, 0, 0))
    assert fingerprint == fingerprint_of(row)


def test_a_fingerprint_notices_a_changed_entry_a_swap_and_a_sign() -> None:
    row = np.random.default_rng(3).standard_normal(5000).astype(np.float32)
    first = fingerprint_of(row)
    for i in (0, 1, 1023, 1024, 4999):
        for change in (np.nextafter(row[i], np.float32(9)), -row[i], np.float32(0)):
            other = row.copy()
            other[i] = change
            assert fingerprint_of(other) != first
    for i, j in ((0, 1), (0, 16), (3, 67), (127, 255), (5, 1029), (1024, 2048), (0, 4096), (127, 4223)):
        other = row.copy()
        other[[i, j]] = row[[j, i]]
        assert fingerprint_of(other) != first
        other[i], other[j] = row[i], -row[i]
        signed = other.copy()
        signed[[i, j]] = other[[j, i]]
        assert fingerprint_of(signed) != fingerprint_of(other)
    assert fingerprint_of(np.sort(row)) != first
    assert fingerprint_of(np.concatenate([row[1024:2048], row[:1024], row[2048:]])) != first


@pytest.mark.parametrize("width", [1, 1024, 8192, 8193, 128256])
def test_the_arrays_of_an_arena_lie_apart_and_end_with_it(width: int) -> None:
    size = arena.bytes_for(width)
    memory = np.full(size + 4096, 255, np.uint8)
    assert parts.hold_apart(address_of(memory), width)
    assert memory[size - 4 : size].view(np.float32)[0] == 9
    assert (memory[size:] == 255).all()


def test_what_a_race_needs_fills_its_memory_to_the_last_byte() -> None:
    numbers = np.zeros(arena.RACING)
    blocks, ids, (bits, spare, counters) = race.room_of.py_func(numbers)
    assert {part.nbytes for part in blocks[:5]} == {8 * arena.PENDING}
    assert {part.nbytes for part in (*ids, bits, spare)} == {8 * (arena.WAIT + arena.STEP)}
    assert counters.nbytes == 16 * (arena.WAIT + arena.STEP)
    waiting = (*blocks, *ids, bits, spare, counters)
    lanes = 16
    of_groups = np.zeros(arena.RACING_A_GROUP * lanes)
    groups, work, left = race.split_for_groups.py_func(of_groups, lanes)
    assert not left.size
    for array in (*waiting, *groups, *work):
        array.view(np.uint8)[:] += 1
    assert (numbers.view(np.uint8) == 1).all()
    assert (of_groups.view(np.uint8) == 1).all()
    assert arena.PENDING % arena.STEP == arena.WAIT % arena.STEP == 0
    assert arena.PENDING <= arena.WAIT + arena.STEP


def test_the_score_that_a_winner_needs_is_never_above_that_of_one_who_arrives_then() -> None:
    rng = np.random.default_rng(12)
    for _ in range(20_000):
        score = np.float32(rng.standard_normal() * 10.0 ** rng.uniform(-38, 38))
        floor = float(np.log2(rng.exponential()) + rng.uniform(-40, 0))
        scale = float(10.0 ** rng.uniform(-3, 3))
        assert race.least_score(float(score) * scale - floor, floor, scale) <= score


def test_every_source_that_a_kernel_contains_is_in_the_digest_that_it_is_filed_under() -> None:
    root = Path(fd.__file__).parent
    listed = {path for pattern in compiling.READ_BY_KERNELS for path in root.glob(pattern)}
    for path in sorted((root / "kernels" / "numba_cpu").glob("*.py")):
        for line in ast.walk(ast.parse(path.read_text())):
            if isinstance(line, ast.ImportFrom) and line.module and line.module.startswith("fairdraw."):
                base = root.joinpath(*line.module.split(".")[1:])
                found = [base.with_suffix(".py")] if base.with_suffix(".py").exists() else []
                found += [base / f"{name.name}.py" for name in line.names if (base / f"{name.name}.py").exists()]
                assert set(found) <= listed, (path.name, line.module)
                assert found, line.module


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 40, 64])
def test_a_few_words_at_a_time_are_those_of_one_at_a_time(count: int) -> None:
    key = tuple(np.uint64(n) for n in (2**32 - 1, 2**31, 0xDEADBEEF, 0xFFFFFFFF, 1 << 24))
    ids = np.zeros(72, np.int64)
    ids[:count] = np.arange(count) * 37 + 5
    bits, spare, work = np.empty(72, np.uint64), np.empty(72, np.uint64), np.empty(4 * 72, np.uint32)
    noise.words_of(ids, count, noise.LEAF_LEVEL, key, bits, spare, work)
    single = [noise.words(np.uint64(i), noise.LEAF_LEVEL, key) for i in ids[:count]]
    assert [(int(b), int(s)) for b, s in single] == [(int(b), int(s)) for b, s in zip(bits[:count], spare[:count])]  # noqa: B905


def test_a_fingerprint_notices_what_moves_between_places_lines_and_halves() -> None:
    short = np.zeros(32000, np.float16)
    first = set()
    for place in range(512):
        short[place] = 9
        first.add(fingerprint_of(short))
        short[place] = 0
    assert len(first) == 512
    corners = [np.float32(row) for row in ([2, 0, 0, 2], [0, 2, 2, 0], [2, 2, 0, 0], [0, 0, 2, 2], [2, 0, 2, 0])]
    assert len({fingerprint_of(row) for row in corners}) == len(corners)


@pytest.mark.parametrize(("kind", "vocab"), [(np.float32, 8), (np.float32, 16), (np.float32, 32000), (np.float16, 999)])
def test_a_fingerprint_notices_signs_and_orders_in_ten_thousand_rows(kind: type, vocab: int) -> None:
    """The chance that one escapes is about 1e-5 in all."""
    rng = np.random.default_rng(vocab)
    for step in (1, 2, 4, 16):
        row = rng.standard_normal(vocab).astype(kind)
        flipped, seen = row.copy(), fingerprint_of(row)
        flipped[::step] *= -1
        assert fingerprint_of(flipped) != seen
        flipped = row.copy()
        flipped[: 4 * step : step] *= -1
        assert fingerprint_of(flipped) != seen
    ones = (rng.random(vocab) < 0.2).astype(kind)
    seen = {ones.tobytes(): fingerprint_of(ones)}
    for _ in range(min(10_000, 2**vocab)) if vocab < 1000 else range(200):
        other = rng.permutation(ones)
        seen[other.tobytes()] = fingerprint_of(other)
    assert len(set(seen.values())) == len(seen)
