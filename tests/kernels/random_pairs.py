"""Random rows and random plans that kernels know, for tests that draw both ways."""

import ml_dtypes
import numpy as np

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.draws import Draw, Greedy, InverseCdf, Race
from fairdraw.packed_masks import PackedMask, pack
from fairdraw.readings import drawn_row
from fairdraw.stages import (
    BadWords,
    Checkpoint,
    LogitBias,
    Mask,
    MinP,
    MinTokens,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
)
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


def random_history(rng: np.random.Generator, vocab: int) -> fd.History:
    """A prompt and an output with ids that come again."""
    ids = rng.integers(0, min(vocab, int(rng.choice([3, 100, 10**6]))), int(rng.integers(1, 80))).tolist()
    cut = int(rng.integers(0, len(ids) + 1))
    return fd.History(prompt=ids[:cut], output=ids[cut:])


def random_edits(rng: np.random.Generator, vocab: int) -> list[Stage]:
    """Edits that kernels make themselves, in any order."""
    some = np.unique(rng.integers(0, vocab, 5)).tolist()
    window = None if rng.random() < 0.5 else int(rng.integers(1, 90))
    choices: list[Stage] = [
        RepetitionPenalty(
            penalty=float(rng.choice([0.5, 1.1, 2.0])), scope=str(rng.choice(["all", "output"])), window=window
        ),  # type: ignore[arg-type]
        PresenceFrequencyPenalty(
            presence=float(rng.choice([0, 0.5, -0.3])),
            frequency=float(rng.choice([0, 0.7, -0.1])),
            operation=str(rng.choice(["frequency_first", "together"])),  # type: ignore[arg-type]
        ),
        LogitBias(bias=[(i, float(rng.normal()) * 5) for i in some]),
        BadWords(sequences=[[some[0]], [some[-1], some[0]]] if vocab > 1 and some[0] else [[vocab - 1, 0]]),
        MinTokens(
            count=int(rng.integers(0, 60)), end_ids=some[:1] if vocab > 8 else [0][: int(vocab > 8)] or [vocab - 1]
        ),
    ]
    chosen = [stage for stage in choices if rng.random() < 0.4]
    rng.shuffle(chosen)  # type: ignore[arg-type]
    if rng.random() < 0.3:
        operation = str(rng.choice(["divide", "multiply"]))
        chosen.insert(int(rng.integers(0, len(chosen) + 1)), Temperature(value=0.7, operation=operation))  # type: ignore[arg-type]
    chosen.insert(0 if rng.random() < 0.7 else int(rng.integers(0, len(chosen) + 1)), Mask())
    return chosen


def random_mask(rng: np.random.Generator, vocab: int) -> object:
    """None, bool, packed words, or packed words that end before the row does."""
    kind = int(rng.integers(0, 5))
    allowed = rng.random(vocab) < float(rng.choice([0.01, 0.5, 0.99, 1.0]))
    allowed[rng.integers(0, vocab)] = True
    if kind == 0:
        return None
    if kind == 1:
        return allowed
    words = pack(allowed)
    if kind == 2:
        words.setflags(write=False)
        return words
    if kind == 3:
        return words.view(np.uint32)
    few = max(1, words.size - int(rng.integers(0, 3)))
    if not words[:few].any():
        words[0] |= 1
    return PackedMask(words=words[:few], beyond="forbid")


def random_form(rng: np.random.Generator, row: np.ndarray) -> np.ndarray:
    """The row in one of the ways in which rows come: half types, strides, read-only, odd addresses."""
    with np.errstate(over="ignore"):
        match int(rng.integers(0, 8)):
            case 0:
                form = np.clip(row, -6e4, 6e4).astype(np.float16)
            case 1:
                form = row.astype(ml_dtypes.bfloat16)
                form[form.astype(np.float32) == np.inf] = 1e38
            case 2:
                form = row.astype(np.float64)
            case 3:
                form = np.repeat(row, 2)[::2]
            case 4:
                form = row[::-1].copy()[::-1]
            case 5:
                form = np.frombuffer(b"x" + row.tobytes(), np.uint8)[1:].view(np.float32)
            case _:
                form = row
    if rng.random() < 0.3:
        form = form.view()
        form.setflags(write=False)
    return form


def numpy_token(plan: fd.Plan, row: np.ndarray, seed: int, position: int, sample_index: int) -> int:
    """The token that the plan's own stages and draw choose."""
    noise = Noise(seed=seed, position=position, sample_index=sample_index)
    clean = row + np.float32(0)
    return int(plan.draw.choose(drawn_row(plan.stages, clean, Context(), noise), noise))
