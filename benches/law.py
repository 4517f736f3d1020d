"""Do the kernels draw from the law?  python benches/law.py [--draws 1000000] [--tail-draws 100000000] [--threads 1]

Every shape of plan that has a kernel: draws by that kernel, against `fairdraw.law` in float64, by the pooled G-test.
Each line says how many draws there were, G, the p-value, and the smallest total variation that the test would have
seen in 99 of 100 runs, whatever its direction, at the level of one test.  All lines together refute a right library
once in a million runs at most.  Then rows of 262144 tokens whose tail is so light that coarse noise cannot reach it.

``tests/kernels/test_law.py`` runs the same shapes with fewer draws.  About a quarter of an hour.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import fairdraw as fd
from fairdraw.benchmarks.rows import make_rows
from fairdraw.draws import Draw, InverseCdf, Race
from fairdraw.kernels.backends import find_kernel
from fairdraw.kernels.drawing import program_of
from fairdraw.stages import Checkpoint, MinP, Stage, Temperature, TopK, TopP
from fairdraw.streams.noise import BLOCK, GROUP
from fairdraw.verify.statistics import GTest, g_test, scipy_stats, smallest_detectable

LEVEL, POWER = 1e-8, 0.99
SEED, CHUNK = 20261129, 50_000
REAL = Path(__file__).parents[1] / "tests" / "golden" / "smollm2_rows.safetensors"
WARM = Temperature(value=0.8)


def make_row(name: str) -> NDArray[np.float32]:
    """A row by name; 3000 ids leave a block and a group unfinished."""
    rng = np.random.default_rng(5)
    if name == "flat real row":
        from safetensors.numpy import load_file

        return load_file(REAL)["logits"][8]
    if name == "steps":  # many equal scores at any cut
        return np.rint(make_rows("long-tail", 4096, 1)[0] * 4) / np.float32(4)
    if name == "half forbidden":
        return np.where(rng.random(3000) < 0.5, -np.inf, 1.5 * rng.standard_normal(3000)).astype(np.float32)
    if name == "one in each group":  # ids that noise shared between groups would move together
        row = np.full(32 * GROUP, -np.inf, np.float32)
        row[5::GROUP] = -1.2 * np.log(np.arange(32) + 1.5)
        return row
    kind, vocab = name.split(" ")
    return make_rows(kind, int(vocab), 1)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A plan, the row it draws from, and the kernel that has to do it."""

    name: str
    row: str
    mode: str
    stages: tuple[Stage, ...] = (WARM,)
    draw: Draw = Race()
    along: str = "positions"
    """What differs from draw to draw: positions, sample_indices or seeds."""

    @property
    def plan(self) -> fd.Plan:
        return fd.Plan.of(*self.stages, draw=self.draw)


def _shapes() -> Iterator[Shape]:
    zipf, equal, steps = "long-tail 4096", "equal 2048", "steps"
    inverse, raw, k = InverseCdf(), Checkpoint(), TopK(k=1000)
    table: Iterable[tuple[str, str, str, tuple[Stage, ...], Draw]] = (
        ("temperature", zipf, "temperature", (WARM,), Race()),
        ("temperature, half forbidden", "half forbidden", "temperature", (Temperature(value=1.3),), Race()),
        ("min-p", zipf, "min_p", (WARM, MinP(p=0.001)), Race()),
        ("min-p strict, then temperature", steps, "min_p", (MinP(p=0.01, boundary="strict"), WARM), Race()),
        ("top-k, lowest of ties", steps, "top_k", (WARM, k), Race()),
        ("top-k, all ties", steps, "top_k", (WARM, TopK(k=1000, ties="all")), Race()),
        ("top-p, inclusive, exact hit", equal, "top_p", (WARM, TopP(p=0.5)), Race()),
        ("top-p, strict, exact hit", equal, "top_p", (WARM, TopP(p=0.5, boundary="strict")), Race()),
        ("top-p", zipf, "top_p", (WARM, TopP(p=0.9)), Race()),
        ("top-p, all ties", steps, "top_p", (TopP(p=0.8, ties="all"), WARM), Race()),
        ("min-p, top-p of the raw mass", zipf, "top_p", (WARM, raw, MinP(p=0.0005), TopP(p=0.8, mass="raw")), Race()),
        (
            "the same, strict, exact hit", equal, "top_p",
            (raw, MinP(p=0.5), TopP(p=0.5, mass="raw", boundary="strict")), Race(),
        ),
        ("top-k, top-p", zipf, "top_k", (WARM, k, TopP(p=0.95)), Race()),
        (
            "top-k of all ties, top-p strict", steps, "top_k",
            (WARM, TopK(k=900, ties="all"), TopP(p=0.9, boundary="strict", ties="all")), Race(),
        ),
        ("top-k, top-p of the raw mass", zipf, "top_k", (WARM, raw, k, TopP(p=0.8, mass="raw")), Race()),
        ("top-p, top-k", zipf, "top_k", (TopP(p=0.9), TopK(k=700), WARM), Race()),
        ("top-k, top-p, min-p", zipf, "top_k", (WARM, k, TopP(p=0.95), MinP(p=0.002)), Race()),
        ("min-p, top-k, top-p", steps, "top_k", (MinP(p=0.001), k, WARM, TopP(p=0.97)), Race()),
        ("inverse CDF", zipf, "inverse_cdf", (WARM,), inverse),
        ("inverse CDF, half forbidden", "half forbidden", "inverse_cdf", (WARM,), inverse),
        ("inverse CDF, top-k, top-p", steps, "inverse_cdf", (WARM, k, TopP(p=0.95)), inverse),
        ("inverse CDF, min-p", zipf, "inverse_cdf", (WARM, MinP(p=0.001)), inverse),
        ("temperature, one token in each group", "one in each group", "temperature", (WARM,), Race()),
    )  # fmt: skip
    axes = ("positions", "sample_indices", "seeds")
    for number, (name, row, mode, stages, draw) in enumerate(table):
        yield Shape(name=name, row=row, mode=mode, stages=stages, draw=draw, along=axes[number % 3])


SHAPES = tuple(_shapes())
LONG = (
    Shape(name="temperature", row="long-tail 32768", mode="temperature"),
    Shape(name="top-p", row="flat real row", mode="top_p", stages=(WARM, TopP(p=0.95))),
    Shape(name="inverse CDF", row="long-tail 32768", mode="inverse_cdf", draw=InverseCdf()),
)


def tokens_of(shape: Shape, row: NDArray[np.float32], draws: int, threads: int = 1) -> Iterator[NDArray[np.int64]]:
    """Draws of a shape by its own kernel, some at a time."""
    plan = shape.plan
    program = program_of(plan)
    if program is None or program.mode != shape.mode or find_kernel(shape.mode) is None:
        raise SystemExit(f"{shape.name}: no kernel {shape.mode} draws this plan; FAIRDRAW_BACKEND=numba asks for it")
    for first in range(0, draws, CHUNK):
        numbers = np.arange(first, min(first + CHUNK, draws))
        noise = {"seeds": SEED, "positions": 0, "sample_indices": 0} | {shape.along: numbers}
        yield fd.sample_batch(plan, np.broadcast_to(row, (numbers.size, row.size)), threads=threads, **noise).tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the draws of a shape say."""

    shape: Shape
    vocab: int
    kept: int
    test: GTest
    smallest: float

    def __str__(self) -> str:
        test = self.test
        return (
            f"| {self.shape.name} | {self.shape.mode} | {self.vocab} | {self.kept} | {test.draws} | {test.cells} "
            f"| {test.statistic:.1f} | {test.p_value:.3f} | {self.smallest:.4f} | {test.out_of_support} |"
        )


def examine(shape: Shape, draws: int, threads: int = 1) -> Finding:
    """Draw and test."""
    row = make_row(shape.row)
    law = fd.law(shape.plan, row).probabilities
    counts = np.zeros(row.size, np.int64)
    for tokens in tokens_of(shape, row, draws, threads):
        counts += np.bincount(tokens, minlength=row.size)
    return Finding(
        shape=shape,
        vocab=row.size,
        kept=int(np.count_nonzero(law)),
        test=g_test(counts, law),
        smallest=smallest_detectable(draws, law, LEVEL, POWER),
    )


# Tails: one token has nearly all, the others are so light that only fine noise reaches them.

HEAD, VOCAB = 777, 262_144
TAILS: dict[str, dict[float, int]] = {
    "flat": {20.5 / math.log(2): VOCAB - 1},
    "light": {24: 2**16, 28: 2**16, 32: 2**17 - 1},
    "lightest": {36: 2**17, 40: 2**17 - 1},
}
"""Tail to {k: how many tokens have 2^-k of the best one's probability}."""


def tail_row(tail: str) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    """The row, and the k of each id; 0 is the head's."""
    powers = np.concatenate([np.full(count, power, np.float64) for power, count in TAILS[tail].items()])
    powers = np.insert(np.random.default_rng(9).permutation(powers), HEAD, 0.0)
    return (-powers * math.log(2)).astype(np.float32), powers


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """How often tokens of 2^-power came, and how often they should."""

    power: float
    count: int
    expected: float
    draws: int
    p_value: float

    def __str__(self) -> str:
        power = f"2^-{self.power:.4g}"
        return f"| {power} | {self.draws} | {self.expected:.2f} | {self.count} | {self.p_value:.3f} |"


def bands_of(tail: str, tokens: NDArray[np.int64], draws: int) -> list[Band]:
    """Test each band's count against the binomial law, on both sides; the draws that are not listed gave the head."""
    row, powers = tail_row(tail)
    law, came = fd.law(fd.Plan.of(), row).probabilities, powers[tokens]
    bands = []
    for power in TAILS[tail]:
        mass, count = float(law[powers == power].sum()), int((came == power).sum())
        p_value = float(scipy_stats().binomtest(count, draws, mass).pvalue)
        bands.append(Band(power=power, count=count, expected=mass * draws, draws=draws, p_value=p_value))
    return bands


def draw_tail(tail: str, draws: int, draw: Draw, threads: int = 0) -> NDArray[np.int64]:
    """Draws from a tail's row: of many tokens of one row, or, with threads, by the mode's own kernel."""
    row, plan = tail_row(tail)[0], fd.Plan.of(draw=draw)
    if not threads:
        step = 10 * CHUNK
        parts = (np.arange(first, min(first + step, draws)) for first in range(0, draws, step))
        return np.concatenate([fd.sample_many(plan, row, seed=SEED, positions=part) for part in parts])
    mode = "temperature" if type(draw) is Race else draw.name
    shape = Shape(name=tail, row="", mode=mode, stages=(), draw=draw)
    return np.concatenate(list(tokens_of(shape, row, draws, threads)))


def reach_of_groups(tail: str) -> int:
    """The least 52 bits of a group's noise with which one of its ids may come before the head.

    No noise exceeds -ln 2^-53, added up over the three levels; a tail token wins only if its own, which is at least
    its group's, is below 2^-power of the head's.  The margin is far above what rounds.
    """
    most = 53 * math.log(2) * (1 + 1 / BLOCK + 1 / GROUP) * 1.001
    return math.floor(2.0**52 * math.exp(-GROUP * 2.0 ** -min(TAILS[tail]) * most))


def tail_events(tail: str, draws: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions and tokens of all draws but the head's: whole draws only where a group's noise may beat the head."""
    from numba import njit

    from fairdraw.kernels.numba_cpu.noise import GROUP_LEVEL, make_key, words_of

    @njit(nogil=True)
    def scan(first, stop, seed, least, found):
        groups, count = VOCAB // GROUP, 0
        indices, bits, spare = np.arange(groups), np.empty(groups, np.uint64), np.empty(groups, np.uint64)
        counters = np.empty(4 * groups, np.uint32)
        for position in range(first, stop):
            words_of(indices, groups, GROUP_LEVEL, make_key(position, 0, seed, 0, 0), bits, spare, counters)
            highest = np.uint64(0)
            for group in range(groups):
                highest = max(highest, bits[group])
            if highest >= least:
                found[count] = position
                count += 1
        return count

    found = np.empty(draws // 500 + 1000, np.int64)  # a draw in seven thousand is looked at
    positions = found[: scan(0, draws, SEED, np.uint64(reach_of_groups(tail)), found)].copy()
    tokens = fd.sample_many(fd.Plan.of(), tail_row(tail)[0], seed=SEED, positions=positions)
    return positions[tokens != HEAD], tokens[tokens != HEAD]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draws", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--tail-draws", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    os.environ.setdefault("FAIRDRAW_BACKEND", "numba")
    print(f"{platform.machine()}, NumPy {np.__version__}, seed {SEED}, {LEVEL:g} a test, power {POWER}\n")
    print("| shape | kernel | V | kept | draws | cells | G | p | smallest TV seen | outside |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    findings = []
    for shape in (*SHAPES, *LONG):
        findings.append(examine(shape, given.draws, given.threads))
        print(findings[-1], flush=True)
    print("\n| tail | by | each token | draws | expected | came | p |\n|---|---|---|---:|---:|---:|---:|")
    bands = []
    for tail, draws, draw, threads in (
        ("flat", given.draws, Race(), 0),
        ("flat", given.draws, InverseCdf(), 0),
        ("flat", given.draws // 10, Race(), given.threads),
        ("flat", given.draws // 10, InverseCdf(), given.threads),
        ("light", given.draws, Race(), 0),
        ("light", given.draws, InverseCdf(), 0),
        ("lightest", given.tail_draws // 10, InverseCdf(), 0),
    ):
        for band in bands_of(tail, draw_tail(tail, draws, draw, threads), draws):
            bands.append(band)
            print(f"| {tail} | {draw.name}, {'one by one' if threads else 'many of one row'} {band}", flush=True)
    positions, tokens = tail_events("lightest", given.tail_draws)
    for band in bands_of("lightest", tokens, given.tail_draws):
        bands.append(band)
        print(f"| lightest | race, where a group's noise may win {band}")
    first = positions < 10_000_000
    print("\nThe race's tail events of the first 10000000 positions of the lightest tail, position and token:")
    print(dict(zip(positions[first].tolist(), tokens[first].tolist(), strict=True)), "\n")
    total = sum(finding.test.draws for finding in findings)
    outside = sum(finding.test.out_of_support for finding in findings)
    least = min(result.p_value for result in [*(finding.test for finding in findings), *bands])
    print(f"{outside} of {total} draws outside of the support")
    print(f"the least of {len(findings) + len(bands)} p-values: {least:.2g}")


if __name__ == "__main__":
    main()
