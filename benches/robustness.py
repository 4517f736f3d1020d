"""How many tokens change when every logit moves a little: python benches/robustness.py ROWS.safetensors [--seeds N].

A row and the same row moved by N(0, 0.02) are drawn from with the same seed, by the race and by an inverse CDF.
"""

import argparse
import sys
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table
from safetensors.numpy import load_file

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.draws import InverseCdf
from fairdraw.masses import IntegerMasses
from fairdraw.readings import drawn_row
from fairdraw.stages import Temperature, TopP
from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import Noise, Purpose

STAGES = {"temperature 1": (), "temperature 0.7": (Temperature(value=0.7),), "top-p 0.9": (TopP(p=0.9),)}
POSITION = 0


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """All of a draw that does not depend on the seed."""

    kept: np.ndarray
    scores: np.ndarray
    """Of the kept ids, in powers of two."""
    sums: np.ndarray
    """Running integer masses of the kept ids."""

    @classmethod
    def of(cls, stages: tuple, logits: np.ndarray) -> "Prepared":
        row = drawn_row(stages, logits, Context(), Noise(seed=0, position=POSITION))
        masses = IntegerMasses(scores=row.scores, scale=row.masses.scale, peak=row.masses.peak)
        scores = row.scores[row.kept].astype(np.float64) * row.masses.scale
        return cls(kept=row.kept, scores=scores, sums=np.cumsum(masses.values[row.kept]))

    def race(self, log2_noise: np.ndarray) -> int:
        """The race's token."""
        noise = log2_noise if self.kept.size == log2_noise.size else log2_noise[self.kept]
        return int(self.kept[np.argmax(self.scores - noise)])

    def inverse_cdf(self, bits: int) -> int:
        """The inverse CDF's token."""
        target = (2 * bits + 1) * int(self.sums[-1]) >> 53
        return int(self.kept[np.searchsorted(self.sums, target, side="right")])


def tokens(prepared: Prepared, log2_noise: np.ndarray, bits: int) -> np.ndarray:
    return np.array([prepared.race(log2_noise), prepared.inverse_cdf(bits)])


def noise_of(seed: int, vocab: int) -> tuple[np.ndarray, int]:
    noise = Noise(seed=seed, position=POSITION)
    lone = Noise(seed=seed, position=POSITION, purpose=Purpose.INVERSE_CDF)
    # The noise of an id depends on no logit: one array serves all rows, moved or not.
    return log2(noise.exponentials(np.arange(vocab))), int(lone.single_bits(0))


def check(prepared: Prepared, stages: tuple, logits: np.ndarray) -> None:
    """Stop unless the shortcut draws what `fairdraw.sample` draws."""
    plans = [fd.Plan.of(*stages), fd.Plan.of(*stages, draw=InverseCdf())]
    for seed in range(3):
        drawn = [fd.sample(plan, logits, seed=seed, position=POSITION).token for plan in plans]
        got = tokens(prepared, *noise_of(seed, logits.size)).tolist()
        if got != drawn:
            raise SystemExit(f"seed {seed}: drew {got}, fairdraw.sample draws {drawn}")


def measure(rows: np.ndarray, moved: np.ndarray, seeds: int) -> dict[str, dict[str, float]]:
    pairs = {
        name: [(Prepared.of(stages, a), Prepared.of(stages, b)) for a, b in zip(rows, moved, strict=True)]
        for name, stages in STAGES.items()
    }
    for name, stages in STAGES.items():
        check(pairs[name][0][1], stages, moved[0])
    changed = {name: np.zeros(2) for name in STAGES}
    for seed in track(range(seeds), description="seeds", console=Console(stderr=True)):
        noise = noise_of(seed, rows.shape[1])
        for name, versions in pairs.items():
            changed[name] += sum(tokens(a, *noise) != tokens(b, *noise) for a, b in versions)
    out = {}
    for name, stages in STAGES.items():
        plan = fd.Plan.of(*stages)
        tv = np.array([fd.law(plan, a).total_variation(fd.law(plan, b)) for a, b in zip(rows, moved, strict=True)])
        race, inverse_cdf = changed[name] / (seeds * len(rows))
        out[name] = {"race": race, "inverse_cdf": inverse_cdf, "tv": tv.mean(), "bound": (2 * tv / (1 + tv)).mean()}
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", help="safetensors file with a float32 tensor `logits`, (rows, vocab)")
    parser.add_argument("--seeds", type=int, default=10_000)
    parser.add_argument("--moved-by", type=float, default=0.02, help="standard deviation of what is added (logits)")
    options = parser.parse_args()
    rows = load_file(options.rows)["logits"]
    steps = np.random.default_rng(0).normal(0.0, options.moved_by, rows.shape)
    results = measure(rows, (rows + steps).astype(np.float32), options.seeds)
    title = f"{len(rows)} rows of {rows.shape[1]}, {options.seeds} seeds, logits moved by N(0, {options.moved_by})"
    table = Table("plan", "race", "inverse CDF", "mean TV", "mean 2 TV / (1 + TV)", title=title)
    for name, result in results.items():
        table.add_row(name, *(f"{100 * value:.3f} %" for value in result.values()))
    Console(width=None if sys.stdout.isatty() else 100).print(table)


if __name__ == "__main__":
    main()
