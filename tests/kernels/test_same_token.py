"""A kernel draws the very token that the plan's own stages and draw choose."""

from collections import Counter

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.kernels import calling, promise, slots
from fairdraw.kernels.drawing import draw_many, draw_token, program_of
from fairdraw.masses import IntegerMasses
from fairdraw.readings import drawn_row
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise
from kernels.random_pairs import numpy_token, random_plan, random_row

entries = pytest.importorskip("fairdraw.kernels.numba_cpu.entries")
parts = pytest.importorskip("kernels.parts")


MODES = set(promise.PROMISES) - {"many", "report"}


def kernel_token(plan: fd.Plan, row: np.ndarray, seed: int, position: int, sample_index: int) -> int | None:
    program = program_of(plan)
    assert program is not None
    if not program.allows(row.size):
        return None
    return draw_token(program, getattr(entries, program.mode), row, slots.FLOAT32, (seed, position, sample_index))[0]


def test_four_thousand_random_rows_and_plans_give_the_same_token_in_every_mode() -> None:
    rng, modes, differ = np.random.default_rng(20261129), Counter(), []
    for i in range(4000):
        plan, row = random_plan(rng), random_row(rng)
        seed, position, index = (
            int(rng.integers(0, 2**63)) * 2 + 1,
            int(rng.integers(0, 2**32)),
            int(rng.integers(0, 9)),
        )
        program = program_of(plan)
        if program is None:  # two temperatures out of range together
            continue
        modes[program.mode] += 1
        try:
            expected = numpy_token(plan, row, seed, position, index)
        except fd.ParameterError:  # k beyond a row that refuses it
            expected = None
        if kernel_token(plan, row, seed, position, index) != expected:
            differ.append((i, str(plan), row.size))
    assert not differ
    assert {mode for mode, count in modes.items() if count > 50} == MODES


@pytest.mark.parametrize("text", ["temperature=0.7", "min_p=0.5", "top_k=1", "top_k=3 min_p=0.1", "top_p=0.9"])
def test_an_id_that_races_alone_wins_and_two_share_the_wins(text: str) -> None:
    plan = fd.Plan.parse(f"fairdraw: {text}")
    for size, one, other in ((1, 0, 0), (40, 5, 37), (64, 63, 31), (2500, 0, 32), (2500, 1023, 1024), (2500, 2499, 70)):
        for rest in (-np.inf, -60.0):
            row = np.full(size, rest, np.float32)
            row[one] = 3
            assert {kernel_token(plan, row, 9, position, 0) for position in range(20)} == {one}
            row[other] = 3
            drawn = [kernel_token(plan, row, 9, position, 0) for position in range(40)]
            assert drawn == [numpy_token(plan, row, 9, position, 0) for position in range(40)]
            assert set(drawn) == ({min(one, other)} if text == "top_k=1" else {one, other})


@pytest.mark.parametrize(
    "text",
    [
        "fairdraw: temperature=0.8",
        "fairdraw: temperature=0.8 top_k=50 top_p=0.9",
        "fairdraw: top_p=0.9",
        "fairdraw: min_p=0.05",
        "custom: top_p(p=0.95, ties=all) > inverse_cdf()",
    ],
)
def test_real_rows_give_the_same_token(text: str, real_rows: np.ndarray) -> None:
    plan = fd.Plan.parse(text)
    for i, row in enumerate(real_rows):
        for position in (0, 1000 + i, 2**32 - 1):
            assert kernel_token(plan, row, i, position, 0) == numpy_token(plan, row, i, position, 0)


@pytest.mark.parametrize("kind", ["flat", "zipf", "equal", "half"])
def test_wide_rows_give_the_same_token(kind: str) -> None:
    rng = np.random.default_rng(6)
    row = {
        "flat": lambda: rng.standard_normal(128_256),
        "zipf": lambda: -1.4 * np.log(rng.permutation(128_256) + 2.7),
        "equal": lambda: np.zeros(128_256),
        "half": lambda: np.where(rng.random(128_256) < 0.5, -np.inf, rng.standard_normal(128_256)),
    }[kind]().astype(np.float32)
    for text in ("custom: race()", "fairdraw: top_k=50 top_p=0.9", "fairdraw: top_p=0.9", "fairdraw: min_p=0.05"):
        plan = fd.Plan.parse(text)
        for position in range(4):
            expected = numpy_token(plan, row, 7, position, 1)
            assert kernel_token(plan, row, 7, position, 1) == expected, (text, position)


@pytest.mark.parametrize("score", [1e38, -1e38])
def test_arrivals_that_rounding_makes_equal_go_to_the_lowest_id(score: float) -> None:
    row = np.full(5000, score, np.float32)
    row[:3] = -np.inf
    for position in range(5):
        assert kernel_token(fd.Plan.of(), row, 1, position, 0) == 3 == numpy_token(fd.Plan.of(), row, 1, position, 0)


def test_a_cut_keeps_the_very_set_of_the_stages() -> None:
    """Small rows with many ties and round shares, so that a cut often falls exactly on a token's end."""
    rng, compared, full = np.random.default_rng(9), Counter(), 0
    for _ in range(3000):
        row = rng.integers(0, 3, int(rng.integers(1, 12)) if rng.random() < 0.9 else 1500).astype(np.float32)
        plan = random_plan(rng)
        program = program_of(plan)
        if program is None or program.most is not None:
            continue
        cut = parts.cut_of(row, program)
        ids = np.arange(row.size)
        kept = ids[(row > cut[0]) | ((row == cut[0]) & (ids <= cut[1]))]
        assert kept.tolist() == drawn_row(plan.stages, row, Context(), Noise(seed=0, position=0)).kept.tolist(), plan
        compared[bool(program.whole[slots.K]), bool(program.whole[slots.TOP_P_ON])] += 1
        full += kept.size == row.size
    assert min(compared.values()) > 300
    assert full < 2000


def test_many_draws_are_the_race_of_a_kept_set_with_holes() -> None:
    rng, space = np.random.default_rng(7), calling.Workspace()
    for i in range(60):
        row = random_row(rng, widest=5000) + np.float32(0)
        kept = np.flatnonzero((row > -np.inf) & (rng.random(row.size) < 0.7))
        if not kept.size:
            continue
        whole = Row.of(row, IntegerMasses)
        part = Row(masses=whole.masses, kept=kept)
        positions, samples = rng.integers(0, 2**32, (2, 20)).astype(np.uint64)
        tokens = np.empty(20, np.int64)
        masked = np.full(row.size, -np.inf, np.float32)
        masked[kept] = row[kept]
        space.widen(row.size)
        entries.many(masked, part.masses.scale, positions, samples, i, 3, tokens, space.arena_at)
        noise = Noise(seed=i | 3 << 32, position=positions, sample_index=samples)
        assert tokens.tolist() == fd.Plan.of().draw.choose(part, noise).tolist()
        many = draw_many(part, i | 3 << 32, positions, samples)
        assert many is None or many.tolist() == tokens.tolist()


@pytest.mark.parametrize("mode", sorted(MODES))
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf])
def test_a_broken_row_gives_no_token_in_any_mode(mode: str, bad: float) -> None:
    program = program_of(fd.Plan.parse("fairdraw: top_k=2 top_p=0.5"))
    assert program is not None
    for vocab, place in ((1, 0), (3000, 1), (3000, 2999)):
        row = np.linspace(-2, 2, vocab).astype(np.float32)
        row[place] = bad
        assert draw_token(program, getattr(entries, mode), row, slots.FLOAT32, (1, 0, 0))[0] == -1
    nothing = np.full(100, -np.inf, np.float32)
    assert draw_token(program, getattr(entries, mode), nothing, slots.FLOAT32, (1, 0, 0))[0] == -1


def test_a_kernel_never_writes_the_row() -> None:
    rng = np.random.default_rng(8)
    for _ in range(50):
        plan, row = random_plan(rng), random_row(rng, widest=2000)
        before = row.tobytes()
        if program_of(plan) is not None:
            kernel_token(plan, row, 1, 2, 3)
        assert row.tobytes() == before
