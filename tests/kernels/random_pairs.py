"""Random rows and random plans that kernels know, for tests that draw both ways."""

import numpy as np

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.draws import Draw, Greedy, InverseCdf, Race
from fairdraw.readings import drawn_row
from fairdraw.stages import Checkpoint, Mask, MinP, Stage, Temperature, TopK, TopP
from fairdraw.streams.noise import Noise

DRAWS: tuple[Draw, ...] = (Race(), Race(), Race(), Race(), InverseCdf(), Greedy())
WIDTHS = (1, 2, 3, 63, 64, 65, 1000, 1023, 1024, 1025, 2048, 5000, 20_000)
TEMPERATURES = (1e-38, 0.01, 0.3, 0.7, 1.0, 1.5, 4.0, 100.0, 1e30)
TIES = ("lowest", "all", "any")
BOUNDARIES = ("inclusive", "strict")


def random_row(rng: np.random.Generator, widest: int = 20_000) -> np.ndarray:
    """Usable rows: smooth, tied, masked, sorted, extreme, subnormal, with -0.0."""
    vocab = min(int(rng.choice(WIDTHS)) if rng.random() < 0.7 else int(rng.integers(1, 20_000)), widest)
    size = float(rng.choice([0, 0.5, 2, 6, 1e4, 1e-41, 1e38]))
    row = (np.clip(rng.standard_normal(vocab), -3, 3) * size).astype(np.float32)
    match int(rng.integers(0, 8)):
        case 0:
            row[rng.random(vocab) < 0.5] = -np.inf
        case 1 if size <= 1e4:
            row = row.astype(np.float16).astype(np.float32)
        case 2:
            row = np.round(row)
        case 3:
            row = np.round(row)
            row[rng.random(vocab) < 0.3] = -0.0
        case 4:
            row = np.sort(row)
        case 5:
            row = (-rng.exponential(3, vocab)).astype(np.float32)
        case 6:
            row[rng.integers(0, vocab, 3)] = row.max()
        case 7:  # bfloat16
            row = (row.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
    row[rng.integers(0, vocab)] = row.max(initial=-10.0, where=row > -np.inf)
    return row


def _temperature(rng: np.random.Generator) -> Stage:
    return Temperature(value=float(rng.choice(TEMPERATURES)))


def random_plan(rng: np.random.Generator) -> fd.Plan:
    """At most one of each cut, in any order, with temperatures and a checkpoint anywhere."""
    cuts: list[Stage] = []
    if rng.random() < 0.5:
        k = int(rng.choice([1, 2, 5, 50, 500, 5000]))
        cuts.append(TopK(k=k, ties=str(rng.choice(TIES)), beyond=str(rng.choice(["off", "refuse_more"], p=[0.9, 0.1]))))  # type: ignore[arg-type]
    if rng.random() < 0.5:
        share = float(rng.choice([0, 1e-9, 0.1, 0.5, 0.9, 0.95, 0.999, 1 - 2**-30, rng.random()]))
        mass, ties = str(rng.choice(["current", "raw"], p=[0.6, 0.4])), str(rng.choice(TIES))
        cuts.append(TopP(p=share, boundary=str(rng.choice(BOUNDARIES)), ties=ties, mass=mass))  # type: ignore[arg-type]
    if rng.random() < 0.3:
        share = float(rng.choice([0, 1e-30, 1e-4, 0.05, 0.3, 0.999, 1]))
        cuts.append(MinP(p=share, boundary=str(rng.choice(BOUNDARIES))))  # type: ignore[arg-type]
    rng.shuffle(cuts)  # type: ignore[arg-type]
    for i, cut in enumerate(cuts):
        if getattr(cut, "mass", "") == "raw":
            cuts.insert(int(rng.integers(0, i + 1)), Checkpoint())
            break
    if rng.random() < 0.2:
        cuts.insert(int(rng.integers(0, len(cuts) + 1)), Temperature(value=float(rng.choice([0.5, 2.0]))))
    first = [_temperature(rng)] if rng.random() < 0.7 else []
    return fd.Plan.of(Mask(), *first, *cuts, draw=DRAWS[rng.integers(len(DRAWS))])


def numpy_token(plan: fd.Plan, row: np.ndarray, seed: int, position: int, sample_index: int) -> int:
    """The token that the plan's own stages and draw choose."""
    noise = Noise(seed=seed, position=position, sample_index=sample_index)
    clean = row + np.float32(0)
    return int(plan.draw.choose(drawn_row(plan.stages, clean, Context(), noise), noise))
