"""Write docs/stream_vectors.json, the answers to docs/stream.md; ``--check`` fails when the file is not current."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

import fairdraw as fd
from fairdraw.arrays import as_logits
from fairdraw.context import Context
from fairdraw.errors import LogitsError
from fairdraw.history import History
from fairdraw.masses import LOG2E, IntegerMasses
from fairdraw.readings import drawn_row
from fairdraw.streams.logarithms import log2, minus_log
from fairdraw.streams.noise import BLOCK, GROUP, STREAM_VERSION, Level, Noise, Purpose
from fairdraw.streams.philox import philox

FILE = Path(__file__).resolve().parent.parent / "docs" / "stream_vectors.json"
ABOUT = "Answers to docs/stream.md, section 12; written by scripts/write_stream_vectors.py."
Entry = dict[str, Any]

RECIPES = {
    "fine_3000": {"vocab": 3000, "multiplier": 2654435761, "shift": 20, "divide": 256, "subtract": 8},
    "steps_3000": {"vocab": 3000, "multiplier": 2654435761, "shift": 27, "divide": 2, "subtract": 8},
}
LISTED: dict[str, list[float]] = {
    "one": [0.25],
    "six": [2.0, 1.5, 1.0, 0.5, 0.0, -1.0],
    "equal": [0.0] * 8,
    "ties": [1.0, 2.0, -math.inf, 2.0, 1.0, 2.0, 0.0, 1.0, -0.0, 2.0, -3.0, 0.0],
    "decimal": [3.14159, -2.71828, 3.1, 0.57721, 2.99, -0.1, 1.41421, 2.71828, 3.14158, -9.7, 1.61803, 0.30103],
    "surprising": [math.log(p) for p in (0.4, 0.25, 0.15, 0.12, 0.08)],
    "light": [0.0, -28.0, -29.0, -43.0, -44.0, -100.0, -0.25, -27.5],
    "extreme": [3.0e38, -3.0e38, 1e-45, -math.inf, 2.9e38, 0.0],
    "small": [1e-40, -1e-40, 3e-45, 0.0, 1e-38, -1e-45],
}
NOISES = ((42, 7, 0), (0, 0, 0), (2**64 - 1, 2**32 - 1, 3), (2**32 + 42, 131071, 1))
"""Seed, position, sample index."""
CUTS = {
    "six": "top_k(k=3) > top_p(p=0.75); checkpoint() > top_k(k=3) > top_p(p=0.75, mass=raw); top_k(k=100); min_p(p=1);"
    "min_p(p=1, boundary=strict); min_p(p=0); top_p(p=0); top_p(p=0, boundary=strict); top_p(p=1); typical(p=0.5);"
    "temperature(value=0.5) > top_p(p=0.9); top_p(p=0.9) > temperature(value=0.5); min_p(p=0.05)",
    "equal": "top_p(p=0.5); top_p(p=0.5, boundary=strict); top_p(p=0.5, ties=all); top_p(p=0.5, ties=highest);"
    "top_k(k=3, ties=any); typical(p=0.25); typical(p=0.25, ties=lowest); min_p(p=1); top_p(p=1e-300)",
    "ties": "top_k(k=2); top_k(k=2, ties=all); top_k(k=2, ties=highest); top_k(k=6, ties=highest); top_k(k=9);"
    "top_k(k=4, ties=all); top_p(p=0.8); top_p(p=0.8, ties=all); top_p(p=0.8, ties=highest); typical(p=0.3);"
    "typical(p=0.3, ties=highest); min_p(p=0.2); min_p(p=0.36787944)",
    "decimal": "top_p(p=0.9); top_p(p=0.35); min_p(p=0.1); typical(p=0.2); typical(p=0.7, boundary=strict);"
    "typical(p=0.1) > top_k(k=2); typical(p=0.1) > temperature(value=2) > min_p(p=0.9);"
    "temperature(value=1.5, operation=divide) > top_p(p=0.5);"
    "temperature(value=0.3, operation=multiply) > min_p(p=0.3)",
    "surprising": "typical(p=0.39); typical(p=0.39) > temperature(value=1); typical(p=0.39) > top_p(p=0.5);"
    "typical(p=0.39) > min_p(p=0.7);"
    "typical(p=0.39) > repetition_penalty(penalty=2); typical(p=0.39) > mask();"
    "typical(p=0.39) > allowed_ids(ids=[0, 1]); typical(p=0.999)",
    "light": "top_p(p=0.9999999); top_p(p=0.999999999999); min_p(p=1e-12); min_p(p=1e-13); min_p(p=1e-25);"
    "top_p(p=0.9999999999999999); typical(p=0.3); min_p(p=0.001, boundary=strict)",
    "extreme": "top_p(p=0.5); top_p(p=0.9); min_p(p=1e-30); temperature(value=1e38) > top_p(p=0.9);"
    "temperature(value=1e38) > min_p(p=0.2); temperature(value=1e38, operation=divide) > min_p(p=0.04)",
    "small": "temperature(value=1e-38) > top_p(p=0.3); temperature(value=1e-38) > min_p(p=0.5); top_k(k=2)",
    "fine_3000": "top_k(k=40); top_p(p=0.5); top_p(p=0.9) > min_p(p=0.02); typical(p=0.8); typical(p=0.01);"
    "min_p(p=0.05); temperature(value=0.7) > top_k(k=100) > top_p(p=0.95); top_p(p=0.999999999);"
    "checkpoint() > temperature(value=3) > top_k(k=400) > top_p(p=0.3, mass=raw)",
    "steps_3000": "top_k(k=50); top_k(k=50, ties=all); top_k(k=300, ties=highest); top_p(p=0.5);"
    "top_p(p=0.9, ties=all); typical(p=0.5); typical(p=0.5, ties=lowest, boundary=strict);"
    "typical(p=0.02, ties=highest)",
}
"""Row to stages, separated by semicolons."""
DRAWS = {
    "one": "race()",
    "six": "race(); greedy(); inverse_cdf(); exponential_race(); clipped_gumbel(); top_k(k=3) > top_p(p=0.75) > race();"
    "temperature(value=6, operation=multiply) > race(); temperature(value=0.7) > inverse_cdf()",
    "ties": "greedy(); race(); temperature(value=1e-38) > race(); top_k(k=6, ties=highest) > inverse_cdf()",
    "decimal": "temperature(value=3) > typical(p=0.5) > exponential_race(); min_p(p=0.2) > race();"
    "clipped_gumbel(low=0.25, high=0.5); temperature(value=0.5) > temperature(value=4) > race()",
    "light": "inverse_cdf(); exponential_race(); temperature(value=40) > race()",
    "fine_3000": "race(); temperature(value=0.7) > top_k(k=100) > top_p(p=0.95) > min_p(p=0.02) > race();"
    "top_p(p=0.9, boundary=strict, ties=all) > temperature(value=3) > race(); exponential_race();"
    "inverse_cdf(); clipped_gumbel(); checkpoint() > top_k(k=40) > top_p(p=0.5, mass=raw) > race();"
    "typical(p=0.8) > inverse_cdf(); greedy()",
    "steps_3000": "top_p(p=0.5) > race(); top_p(p=0.5, ties=all) > inverse_cdf(); clipped_gumbel()",
}
"""Row to stages and draw."""
EDITED = (
    'mask() > logit_bias(bias={"0": -2, "3": 0.1}) > repetition_penalty(penalty=1.3) > temperature(value=2) > race()',
    "repetition_penalty(penalty=1.7, window=3) > temperature(value=4) > race()",
    "repetition_penalty(penalty=1.7, scope=output, window=1) > temperature(value=4) > race()",
    "repetition_penalty(penalty=1.7, scope=padded, window=6) > race()",
    "repetition_penalty(penalty=1.1, scope=padded, unknown_ids=ignore) > top_p(p=0.9) > race()",
    "presence_frequency_penalty(presence=0.2, frequency=0.3, scope=all) > temperature(value=2) > race()",
    "presence_frequency_penalty(presence=0.2, frequency=0.3, scope=all, operation=together) > inverse_cdf()",
    "bad_words(sequences=[[2, 4, 8], [4, 0], [5]]) > min_tokens(count=4, end_ids=[2, 7]) > temperature(value=3)",
    "bad_words(sequences=[[9, 2, 4, 8]], scope=output) > allowed_ids(ids=[1, 5, 8, 11]) > temperature(value=9)",
    "typical(p=0.5) > presence_frequency_penalty(presence=1, scope=output) > top_p(p=0.99) > inverse_cdf()",
    "typical(p=0.5) > mask() > min_p(p=0.9) > race()",
)
"""Plans on the row "decimal" with HISTORY and ALLOWED."""
RESCALED = (
    "temperature(value=0.7, operation=divide)",
    "temperature(value=0.7, operation=multiply)",
    "temperature(value=3e37, operation=divide)",
    "temperature(value=3e37, operation=multiply)",
    'logit_bias(bias={"1": 0.1, "2": -1e-8, "4": -1e39, "5": 0.1})',
)
"""Stages on several rows."""
HISTORY = {"prompt": [6, 5, 11, 3, 11, 11, 9], "output": [2, 4], "left_padding": 2}
ALLOWED = [0, 1, 2, 3, 5, 6, 8, 10, 11]
REFUSED: tuple[tuple[list[float], str], ...] = (
    ([0.0, math.nan], "greedy()"),
    ([math.inf, 0.0], "race()"),
    ([-math.inf, -math.inf], "race()"),
    ([1.0, 0.0], "allowed_ids(ids=[]) > race()"),
    ([3e38, 0.0], 'logit_bias(bias={"0": 1e38}) > race()'),
    ([4.0, 0.0], "temperature(value=1e-38, operation=divide) > race()"),
    ([3.0, -math.inf], "bad_words(sequences=[[0]]) > greedy()"),
    ([3.0, 1.0, -math.inf], 'top_k(k=1) > logit_bias(bias={"0": -1e39}) > race()'),
)


def row_of(name: str) -> np.ndarray:
    """A row by name, float32."""
    if name in LISTED:
        return np.array(LISTED[name], np.float32)
    recipe = RECIPES[name]
    hashed = np.arange(recipe["vocab"], dtype=np.uint64) * np.uint64(recipe["multiplier"]) % np.uint64(2**32)
    levels = (hashed >> np.uint64(recipe["shift"])).astype(np.float64)
    return (levels / recipe["divide"] - recipe["subtract"]).astype(np.float32)


def exact(numbers: Iterable[float]) -> list[str]:
    """Hexadecimal floats."""
    return [float(number).hex() for number in numbers]


def parts(text: str) -> tuple[fd.Plan, Entry]:
    """A composed plan, and its stages and draw as plain data."""
    plan = fd.Plan.parse(f"custom: {text.strip()}")
    data = plan.to_json()
    return plan, {"stages": data["stages"], "draw": data["draw"]}


def keyed(seed: int, position: int, sample_index: int) -> Entry:
    """What keys the noise, as plain data."""
    return {"seed": str(seed), "position": position, "sample_index": sample_index}


def philox_words() -> Iterator[Entry]:
    """Published known answers' inputs, and the counters of a few draws."""
    full, pi = 0xFFFFFFFF, (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0)
    for *counter, low, high in ((0,) * 6, (full,) * 6, pi, (128255, 7, 3, 2 << 16, 42, 1), (1, 2, 3, 5 << 24, 5, 6)):
        words = philox(tuple(np.array([word], np.uint64) for word in counter), (low, high))  # type: ignore[arg-type]
        yield {
            "counter": [f"{word:#010x}" for word in counter],
            "key": [f"{word:#010x}" for word in (low, high)],
            "words": [f"{int(word[0]):#010x}" for word in words],
        }


def uniforms() -> Iterator[Entry]:
    """Single uniforms and a leaf's own, of several purposes and rounds."""
    for seed, position, sample_index in NOISES:
        for purpose, repeat, index in ((Purpose.TARGET, 0, 0), (Purpose.COIN, 2, 5), (Purpose.INVERSE_CDF, 65535, 0)):
            noise = Noise(seed=seed, position=position, sample_index=sample_index, purpose=purpose, round=repeat)
            entry = {**keyed(seed, position, sample_index), "purpose": int(purpose), "round": repeat, "index": index}
            bits, u = int(noise.single_bits(index)), float(noise.single_uniform(index))
            yield {**entry, "level": int(Level.SINGLE), "k": str(bits), "u": u.hex()}
            leaf = float(noise.leaf_uniforms(np.array([index]))[0])
            yield {**entry, "level": int(Level.LEAF), "k": str(int(leaf * 2.0**52)), "u": leaf.hex()}


def logarithms() -> Iterator[Entry]:
    """Numbers at the edges of the split, and everywhere else."""
    edge = np.array([0x3FE6A09E667F3BCD], np.int64) + np.arange(-1, 2)
    plain = [1 - 2**-53, 2**-53, 2**-52, 0.5, 1.0, 2.0, 3.0, 8.0, math.pi, 1e300, 1e-300, 2.0**-1022, 1.7e308, 0.1]
    hashed = Noise(seed=1, position=0).leaf_uniforms(np.arange(24))
    for x in (*edge.view(np.float64), *plain, *hashed, *(hashed * 30)):
        one = np.array([x])
        yield {"x": float(x).hex(), "minus_ln": float(minus_log(one)[0]).hex(), "log2": float(log2(one)[0]).hex()}


def nodes() -> Iterator[Entry]:
    """Minimum and holder of a group and of two of its blocks, one of which inherits."""
    for key, group in zip(NOISES, (0, 1, 127, 255), strict=True):
        noise = Noise(seed=key[0], position=key[1], sample_index=key[2])
        ids = np.arange(group * GROUP, (group + 1) * GROUP)
        values = noise.exponentials(ids)
        holder = int(ids[values.argmin()])
        blocks = {holder // BLOCK, group * (GROUP // BLOCK), (group + 1) * (GROUP // BLOCK) - 1}
        spans = [("group", group, GROUP), *(("block", block, BLOCK) for block in sorted(blocks))]
        for level, index, span in spans:
            part = values[index * span - ids[0] :][:span]
            place = int(part.argmin())
            entry = {**keyed(*key), "level": level, "index": index}
            yield {**entry, "minimum": float(part[place]).hex(), "holder": index * span + place}


def noise() -> Iterator[Entry]:
    """Noise of a few ids, for several purposes and rounds."""
    ids = np.array([0, 1, 2, 3, 63, 64, 65, 1023, 1024, 1025, 49151, 131071, 262143])
    for key in NOISES:
        for purpose, repeat in ((0, 0), (1, 0), (3, 1)):
            source = Noise(seed=key[0], position=key[1], sample_index=key[2], purpose=Purpose(purpose), round=repeat)
            entry = {**keyed(*key), "purpose": purpose, "round": repeat}
            yield {**entry, "ids": ids.tolist(), "exponentials": exact(source.exponentials(ids))}


def entries() -> Iterator[Entry]:
    """Single entries of other types."""
    for kind, source in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16), ("float64", np.float64)):
        for number in (0.1, -0.0, -65504.0, 1.0 + 2.0**-24, 1.0 + 3 * 2.0**-24, 1e-7, 3.3e-8, 7e-46, -1e39):
            if kind == "float16" and abs(number) > 65504:
                continue
            value = np.array([number, 0.0], source)
            bits = value.view({2: np.uint16, 8: np.uint64}[value.itemsize])[0]
            yield {"type": kind, "bits": f"{int(bits):#x}", "float32": float(as_logits(value)[0]).hex()}


def masses() -> Iterator[Entry]:
    """Exponents, masses and totals at several temperatures."""
    for name, temperatures in (("six", (1.0, 0.7)), ("decimal", (1.0, 0.1, 3.0)), ("light", (1.0, 7.0))):
        for temperature in temperatures:
            yield _weighed(name, row_of(name), temperature)
    yield _weighed("ties", row_of("ties"), 0.3)
    yield _weighed("extreme", row_of("extreme"), 1e38)
    yield _weighed("small", row_of("small"), 1e-38)
    long = _weighed("fine_3000", row_of("fine_3000"), 0.9)
    yield {**long, "exponents": long["exponents"][:30], "masses": long["masses"][:30]}


def _weighed(name: str, row: np.ndarray, temperature: float) -> Entry:
    weights = IntegerMasses(scores=as_logits(row), scale=LOG2E / temperature, peak=row.max())
    total = int(weights.values[row > -np.inf].sum())
    listed = {"exponents": weights.exponents.tolist(), "masses": [str(value) for value in weights.values.tolist()]}
    return {"row": name, "temperature": temperature, **listed, "total": str(total)}


def means() -> Iterator[Entry]:
    """The mean exponent that typical measures from."""
    for name, temperature in (("six", 1.0), ("decimal", 0.7), ("decimal", 1.0), ("light", 3.0), ("fine_3000", 1.0)):
        scores = row_of(name)
        weights = IntegerMasses(scores=scores, scale=LOG2E / temperature, peak=scores.max())
        yield {"row": name, "temperature": temperature, "mean": weights.mean(np.arange(scores.size))}


def shares() -> Iterator[Entry]:
    """The exponent of min_p's share."""
    weights = IntegerMasses(scores=row_of("one"), scale=LOG2E, peak=np.float32(0.25))
    for p in (0.0, 1.0, 0.5, 0.05, 0.1, 0.02, 1 / 3, 0.999, 0.7, 1e-5, 0.36787944, 1e-19, 1e-20, 1e-310):
        yield {"p": p, "exponent": weights.steps(float(log2(np.array([p]))[0]) if p > 2.0**-64 else -64.0)}


def thresholds() -> Iterator[Entry]:
    """The mass that a prefix must reach."""
    weights = IntegerMasses(scores=row_of("one"), scale=LOG2E, peak=np.float32(0.25))
    for p in (0.0, 0.5, 0.9, 0.1, 1 / 3, 1 - 2**-53, 2.0**-54, 3 * 2.0**-54, 1e-300):
        for total in (1, 8 << 40, (1 << 53) + 1, 1234567890123456789):
            for boundary in ("inclusive", "strict"):
                need = weights.threshold(p, total, boundary)  # type: ignore[arg-type]
                yield {"p": p, "total": str(total), "boundary": boundary, "need": str(need)}


def cuts() -> Iterator[Entry]:
    """What stages keep (on a long row the ids' count, sum and sum of squares), with the peak and the total."""
    for name, texts in CUTS.items():
        for text in texts.split(";"):
            plan, data = parts(f"{text} > greedy()")
            row = drawn_row(plan.stages, as_logits(row_of(name)), Context(), Noise(seed=0, position=0))
            ids = row.kept.tolist()
            short = {"kept": ids} if len(ids) <= 12 else {"kept_sums": [len(ids), sum(ids), sum(i * i for i in ids)]}
            state = {"peak": float(row.masses.peak).hex(), "total": str(row.total)}
            yield {"row": name, "stages": data["stages"], **short, **state}


def edits() -> Iterator[Entry]:
    """The scores that stages leave, cuts among them or not."""
    history = {"history": HISTORY}
    for plan in (fd.Plan.parse(f"custom: {text}") for text in EDITED):
        allowed = ALLOWED if any(stage.name == "mask" for stage in plan.stages) else None
        yield _rescored("decimal", plan, {**history, **({} if allowed is None else {"allowed": allowed})})
    for text in RESCALED:
        for name in ("decimal", "small", "ties"):
            yield _rescored(name, fd.Plan.parse(f"custom: {text} > race()"), {})


def _rescored(name: str, plan: fd.Plan, given: Entry) -> Entry:
    row = as_logits(row_of(name))
    allowed = np.isin(np.arange(row.size), given["allowed"]) if "allowed" in given else None
    context = Context(history=History(**given.get("history", {})), mask=allowed)
    last = drawn_row(plan.stages, row, context, Noise(seed=0, position=0))
    return {"row": name, "stages": plan.to_json()["stages"], **given, "scores": exact(last.scores)}


def candidates() -> Iterator[Entry]:
    """What the ids of a row race with."""
    for name in ("decimal", "steps_3000"):
        row, ids = row_of(name), np.arange(12)
        for seed, position, index in NOISES:
            source = Noise(seed=seed, position=position, sample_index=index)
            for temperature in (1.0, 0.8):
                heights = row[ids].astype(np.float64) * (LOG2E / temperature)
                race = heights - log2(source.exponentials(ids))
                clipped = heights - log2(minus_log(1e-7 + (0.999 - 1e-7) * source.leaf_uniforms(ids)))
                entry = {"row": name, "temperature": temperature, **keyed(seed, position, index)}
                yield {**entry, "race": exact(race), "clipped_gumbel": exact(clipped)}


def coins() -> Iterator[Entry]:
    """The coin that a random stage at some place of a plan would toss."""
    for key in NOISES:
        source = Noise(seed=key[0], position=key[1], sample_index=key[2], purpose=Purpose.COIN)
        for stage in (0, 3):
            yield {**keyed(*key), "stage": stage, "u": float(source.single_uniform(stage)).hex()}


def draws() -> Iterator[Entry]:
    """Tokens: row, plan and noise, and at the end with history and mask."""
    for name, texts in DRAWS.items():
        for text in texts.split(";"):
            plan, data = parts(text)
            for seed, position, index in NOISES:
                drawn = fd.sample(plan, row_of(name), seed=seed, position=position, sample_index=index)
                yield {"row": name, **data, **keyed(seed, position, index), "token": drawn.token}
    row, history = row_of("decimal"), History(**HISTORY)  # type: ignore[arg-type]
    for text in EDITED:
        plan, data = parts(text)
        allowed = np.isin(np.arange(row.size), ALLOWED) if "mask" in text else None
        context = {"history": HISTORY, **({} if allowed is None else {"allowed": ALLOWED})}
        for seed, position, index in NOISES:
            noise = {"seed": seed, "position": position, "sample_index": index}
            drawn = fd.sample(plan, row, history=history, mask=allowed, **noise)  # type: ignore[arg-type]
            yield {"row": "decimal", **data, **keyed(seed, position, index), **context, "token": drawn.token}


def refused() -> Iterator[Entry]:
    """Rows and plans that have no token."""
    for row, text in REFUSED:
        plan, data = parts(text)
        try:
            fd.sample(plan, np.array(row, np.float32), seed=0, position=0)
        except LogitsError:
            yield {"entries": exact(row), **data}
        else:
            raise AssertionError(f"{text} on {row} has a token")


def rows() -> dict[str, object]:
    """Every row by name: its entries, or its recipe."""
    listed = {name: {"entries": exact(row_of(name))} for name in LISTED}
    return {**listed, **{name: {"recipe": recipe} for name, recipe in RECIPES.items()}}


def text() -> str:
    """The whole file, one entry a line."""
    weights = (entries, edits, masses, means, shares, thresholds, cuts)
    lists = (philox_words, uniforms, logarithms, nodes, noise, *weights, coins, candidates, draws)
    named = {make.__name__.removesuffix("_words"): list(make()) for make in (*lists, refused)}
    pieces = [f'"about": {json.dumps(ABOUT)}', f'"stream_version": {STREAM_VERSION}']
    lines = ",\n  ".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows().items())
    pieces.append(f'"rows": {{\n  {lines}\n }}')
    for name, found in named.items():
        pieces.append(f'"{name}": [\n  ' + ",\n  ".join(json.dumps(entry) for entry in found) + "\n ]")
    return "{\n " + ",\n ".join(pieces) + "\n}\n"


def main() -> int:
    """Write the file, or check it."""
    if "--check" not in sys.argv[1:]:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text():
        return 0
    print("docs/stream_vectors.json is not what the library says; a change of it is a new stream version")
    return 1


if __name__ == "__main__":
    sys.exit(main())
