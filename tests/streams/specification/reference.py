"""docs/stream.md once more, in plain Python: whole numbers, floats and lists, no NumPy and nothing of the library."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

Ids = list[int]
Fields = dict[str, Any]
PAGE = (Path(__file__).resolve().parents[3] / "docs" / "stream.md").read_text(encoding="utf-8")
LOW = 0xFFFFFFFF


class RefusedError(Exception):
    """The row is bad, or a stage leaves no token."""


# 1. Numbers


def float32(x: float) -> float:
    """Round once to float32; the sum, product or quotient of two float32 may come as a float64."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def divide32(x: float, y: float) -> float:
    return float32(x / y) if y else math.copysign(math.inf, x) if x else math.nan


def rint(x: float) -> int:
    return round(x)


# 2. Philox, 3. Counters and uniforms


def philox(counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
    (c0, c1, c2, c3), (k0, k1) = counter, key
    for _ in range(10):
        left, right = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (right >> 32) ^ c1 ^ k0, right & LOW, (left >> 32) ^ c3 ^ k1, left & LOW
        k0, k1 = (k0 + 0x9E3779B9) & LOW, (k1 + 0xBB67AE85) & LOW
    return c0, c1, c2, c3


class Noise(NamedTuple):
    seed: int
    position: int
    sample_index: int
    purpose: int = 0
    round: int = 0


def bits(noise: Noise, level: int, index: int) -> tuple[int, int]:
    """k, and the hash w2."""
    tag = noise.purpose << 24 | level << 16 | noise.round
    counter = (index, noise.position, noise.sample_index, tag)
    w0, w1, w2, _ = philox(counter, (noise.seed & LOW, noise.seed >> 32))
    return (w0 << 32 | w1) >> 12, w2


def uniform(noise: Noise, level: int, index: int) -> float:
    return (bits(noise, level, index)[0] + 0.5) * 2.0**-52


# 4. Logarithms: the coefficients are read from the page's table.

_TABLE = re.findall(r"^\| \d+ \| `(\S+)` \| `(\S+)` \|$", PAGE, re.MULTILINE)
NATURAL = [float.fromhex(natural) for natural, _ in _TABLE]
BINARY = [float.fromhex(binary) for _, binary in _TABLE]


def split(x: float) -> tuple[float, float]:
    (pattern,) = struct.unpack("<q", struct.pack("<d", x))
    exponent = (pattern - 0x3FE6A09E667F3BCD) >> 52
    (mantissa,) = struct.unpack("<d", struct.pack("<q", pattern - (exponent << 52)))
    return float(exponent), mantissa - 1.0


def horner(coefficients: list[float], f: float) -> float:
    value = coefficients[20]
    for i in range(19, -1, -1):
        value = value * f
        value = value + coefficients[i]
    return value


def minus_ln(x: float) -> float:
    n, f = split(x)
    tail = (f * f) * horner(NATURAL, f)
    return -(n * float.fromhex("0x1.62e42fefa2000p-1") + (n * float.fromhex("0x1.9ef35793c7673p-41") + (f + tail)))


def log2(x: float) -> float:
    n, f = split(x)
    tail = (f * float.fromhex("0x1.777d0ffda0d24p-56")) + ((f * f) * horner(BINARY, f))
    return n + ((f * float.fromhex("0x1.71547652b82fep+0")) + tail)


# 5. Noise


def node(noise: Noise, level: int, index: int) -> tuple[float, int]:
    span = (1024, 64, 1)[level]
    _, w2 = bits(noise, level, index)
    return minus_ln(uniform(noise, level, index)) / span, index * span + w2 % span


def group_minimum(noise: Noise, group: int) -> tuple[float, int]:
    return node(noise, 0, group)


@lru_cache(maxsize=4096)
def block_minimum(noise: Noise, block: int) -> tuple[float, int]:
    minimum, holder = group_minimum(noise, block // 16)
    excess, own = node(noise, 1, block)
    return (minimum, holder) if holder // 64 == block else (minimum + excess, own)


@lru_cache(maxsize=65536)
def exponential(noise: Noise, token: int) -> float:
    minimum, holder = block_minimum(noise, token // 64)
    excess, _ = node(noise, 2, token)
    return minimum if holder == token else minimum + excess


# 6. The row that comes in, 7. A row on its way


def widen(kind: str, pattern: int) -> float:
    """An entry of another type as float32."""
    if kind == "float16":
        x = struct.unpack("<e", struct.pack("<H", pattern))[0]
    elif kind == "bfloat16":
        x = struct.unpack("<f", struct.pack("<I", pattern << 16))[0]
    else:
        x = float32(struct.unpack("<d", struct.pack("<Q", pattern))[0])
    return x + 0.0


@dataclass(frozen=True)
class Row:
    z: list[float]
    kept: Ids
    c: float
    m: float
    checkpoints: dict[str, Row] = field(default_factory=dict)


class Context(NamedTuple):
    """Prompt, output and padding; the ids that the mask allows."""

    prompt: Ids
    output: Ids
    padding: int
    allowed: Ids | None


def enter(logits: list[float]) -> Row:
    z = [x + 0.0 for x in logits]
    return edited(Row(z, list(range(len(z))), float.fromhex("0x1.71547652b82fep+0"), 0.0), z)


def edited(row: Row, z: list[float]) -> Row:
    left = [z[i] for i in row.kept]
    if any(math.isnan(x) or x == math.inf for x in left) or max(left) == -math.inf:
        raise RefusedError
    return replace(row, z=z, kept=[i for i in row.kept if z[i] > -math.inf], m=max(left))


def changed(row: Row, values: dict[int, float]) -> Row:
    return edited(row, [values.get(i, x) for i, x in enumerate(row.z)]) if values else row


def scope(context: Context, name: str) -> Ids:
    """The ids of a scope."""
    everything = [*context.prompt, *context.output]
    return {"all": everything[context.padding :], "output": context.output, "padded": everything}[name]


def seen(context: Context, stage: Fields, vocab: int) -> dict[int, int]:
    """Ids of a penalty's scope and window, and how often."""
    ids = scope(context, stage["scope"])
    counts = Counter(ids if stage["window"] is None else ids[-stage["window"] :])
    if stage["unknown_ids"] == "error" and any(i >= vocab for i in counts):
        raise RefusedError
    return {i: n for i, n in counts.items() if i < vocab}


def completing(stage: Fields, context: Context) -> set[int]:
    """Last ids of the bad words that only lack them."""
    ids = scope(context, stage["scope"])
    words = stage["sequences"]
    return {word[-1] for word in words if len(word) <= len(ids) + 1 and ids[len(ids) + 1 - len(word) :] == word[:-1]}


def edit(row: Row, stage: Fields, context: Context) -> Row:
    z, forbidden = row.z, -math.inf
    match stage["stage"]:
        case "mask":
            allowed = context.allowed
            return row if allowed is None else edited(row, [x if i in allowed else forbidden for i, x in enumerate(z)])
        case "allowed_ids":
            return edited(row, [x if i in stage["ids"] else forbidden for i, x in enumerate(z)])
        case "logit_bias":
            return changed(row, {int(i): float32(z[int(i)] + float32(b)) for i, b in stage["bias"].items()})
        case "bad_words":
            return changed(row, dict.fromkeys(completing(stage, context), forbidden))
        case "min_tokens":
            short = len(scope(context, stage["scope"])) < stage["count"]
            return changed(row, dict.fromkeys(stage["end_ids"], forbidden) if short else {})
        case "repetition_penalty":
            r, ids = float32(stage["penalty"]), seen(context, stage, len(z))
            return changed(row, {i: float32(z[i] * r) if z[i] < 0 else divide32(z[i], r) for i in ids})
        case "presence_frequency_penalty":
            b, out = float32(stage["presence"]), {}
            for i, n in seen(context, stage, len(z)).items():
                a = float32(float32(n) * float32(stage["frequency"]))
                in_turn = stage["operation"] == "frequency_first"
                out[i] = float32(float32(z[i] - a) - b) if in_turn else float32(z[i] - float32(a + b))
            return changed(row, out)
    raise ValueError(stage)


def temperature(row: Row, value: float, operation: str) -> Row:
    if operation == "exact":
        return replace(row, c=row.c / value, m=max(row.z[i] for i in row.kept))
    if operation == "divide":
        return edited(row, [divide32(x, float32(value)) + 0.0 for x in row.z])
    return edited(row, [float32(x * float32(1.0 / value)) + 0.0 for x in row.z])


# 8. Integer masses

EXP2 = [float.fromhex(text) for text in re.findall(r"`(\S+)`", re.search(r"^\| A\[i\].*$", PAGE, re.MULTILINE)[0])]  # type: ignore[index]


def power(row: Row, token: int) -> float:
    t = float32(float32(row.z[token] - row.m) * float32(row.c))
    return min(max(t, -62.0), 0.0)


def mass(row: Row, token: int) -> int:
    t = power(row, token)
    n = rint(t)
    f, v = t - n, EXP2[6]
    for i in range(5, -1, -1):
        v = float32(v * f)
        v = float32(v + EXP2[i])
    return (int(v * 2.0**24) << 16) >> -n


def exponent(row: Row, token: int) -> int:
    return rint(power(row, token) * 2.0**24)


def total(row: Row) -> int:
    return sum(mass(row, i) for i in row.kept)


# 9. Cuts


def mean(row: Row) -> int:
    return sum(mass(row, i) * exponent(row, i) for i in row.kept) // total(row)


def total_order(row: Row) -> Ids:
    return sorted(row.kept, key=lambda i: (-row.z[i], i))


def take(row: Row, ranking: Ids, keys: list[float], count: int, ties: str) -> Row:
    count = max(count, 1)
    taken = ranking[:count]
    if count < len(ranking) and keys[count - 1] == keys[count]:
        run = [place for place, key in enumerate(keys) if key == keys[count]]
        start, stop = run[0], run[-1] + 1
        if ties == "all":
            taken = ranking[:stop]
        elif ties == "highest":
            taken = ranking[:start] + ranking[stop - (count - start) : stop]
    return replace(row, kept=sorted(taken))


def threshold(p: float, whole: int, boundary: str) -> int:
    scaled = rint(p * 2.0**53) * whole
    need = scaled // 2**53 + 1 if boundary == "strict" else -(-scaled // 2**53)
    return max(need, 1)


def reach(ranking: Ids, weigher: Row, p: float, boundary: str) -> int:
    need = threshold(p, total(weigher), boundary)
    before = accumulate((mass(weigher, i) for i in ranking[:-1]), initial=0)
    return sum(1 for sums in before if sums < need)


def share_exponent(p: float) -> int:
    return rint(log2(p) * 2.0**24) if p > 2.0**-64 else -64 * 2**24


def cut(row: Row, stage: Fields) -> Row:
    order, p = total_order(row), stage.get("p", 0)
    scores = [row.z[i] for i in order]
    match stage["stage"]:
        case "top_k":
            return take(row, order, scores, min(stage["k"], len(order)), stage["ties"])
        case "top_p" if p < 1:
            weigher = row if stage["mass"] == "current" else row.checkpoints[stage["mass"]]
            return take(row, order, scores, reach(order, weigher, p, stage["boundary"]), stage["ties"])
        case "typical" if p < 1:
            centre = mean(row)
            ranking = sorted(order, key=lambda i: abs(exponent(row, i) - centre))
            keys = [abs(exponent(row, i) - centre) for i in ranking]
            return take(row, ranking, keys, reach(ranking, row, p, stage["boundary"]), stage["ties"])
        case "min_p":
            least = exponent(row, order[0]) + share_exponent(p) + (stage["boundary"] == "strict")
            return take(row, order, scores, sum(exponent(row, i) >= least for i in order), "all")
    return row


def run(row: Row, stages: list[Fields], context: Context) -> Row:
    """The row after all stages."""
    for stage in stages:
        match stage["stage"]:
            case "temperature":
                row = temperature(row, stage["value"], stage["operation"])
            case "checkpoint":
                row = replace(row, checkpoints={**row.checkpoints, stage["label"]: row})
            case "top_k" | "top_p" | "typical" | "min_p":
                row = cut(row, stage)
            case _:
                row = edit(row, stage, context)
    return row


# 10. Draws


def candidate(row: Row, rule: Fields, noise: Noise, token: int) -> float:
    """What an id races with."""
    height = row.z[token] * row.c
    match rule["draw"]:
        case "race":
            return height - log2(exponential(noise, token))
        case "exponential_race":
            return float(mass(row, token)) / exponential(noise, token)
        case "clipped_gumbel":
            low, high = rule["low"], rule["high"]
            w = low + (high - low) * uniform(noise, 2, token)
            return height - log2(minus_ln(w))
    return row.z[token]  # greedy


def draw(row: Row, rule: Fields, noise: Noise) -> int:
    if rule["draw"] == "inverse_cdf":
        k, _ = bits(noise._replace(purpose=6), 3, 0)
        sums = list(accumulate(mass(row, i) for i in row.kept))
        x = ((2 * k + 1) * sums[-1]) >> 53
        return next(i for i, running in zip(row.kept, sums, strict=True) if running > x)
    # max returns the first of equal ones; an id of mass 0 has candidate 0 in the exponential race and cannot win
    return max(row.kept, key=lambda i: candidate(row, rule, noise, i))
