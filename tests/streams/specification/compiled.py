"""stream.c behind the names of reference.py: built by a C compiler, called through ctypes."""

from __future__ import annotations

import subprocess
from ctypes import CDLL, POINTER, Structure, byref, c_double, c_float, c_int32, c_int64, c_uint32, c_uint64
from dataclasses import dataclass
from pathlib import Path

from streams.specification import reference
from streams.specification.reference import Context, Fields, Ids, Noise, RefusedError

SOURCE = Path(__file__).with_name("stream.c")
FLAGS = ("-O1", "-ffp-contract=off", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
FORBID, ALLOW, BIAS, REPETITION, IN_TURN, TOGETHER, EXACT, DIVIDE, MULTIPLY, CHECKPOINT = range(10)
CUTS = {"top_k": 10, "top_p": 11, "typical": 12, "min_p": 13}
TIES = {"lowest": 0, "any": 0, "all": 1, "highest": 2}
RULES = ("race", "greedy", "inverse_cdf", "exponential_race", "clipped_gumbel")


class CNoise(Structure):
    _fields_ = [
        ("seed", c_uint64),
        *((name, c_uint32) for name in ("position", "sample_index", "purpose", "round")),
    ]


class CNode(Structure):
    _fields_ = [("minimum", c_double), ("holder", c_uint32)]


class CRow(Structure):
    _fields_ = [
        ("z", POINTER(c_float)),
        ("kept", POINTER(c_int64)),
        *((name, c_int64) for name in ("vocab", "count")),
        ("c", c_double),
        ("m", c_float),
    ]


class CStage(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("kind", "strict", "raw", "ties")),
        *((name, c_double) for name in ("value", "second")),
        ("count", c_int64),
        ("ids", POINTER(c_int64)),
        ("numbers", POINTER(c_double)),
    ]


def memory(logits: list[float]) -> CRow:
    vocab = len(logits)
    return CRow(z=(c_float * vocab)(*logits), kept=(c_int64 * vocab)(), vocab=vocab)


def edit(kind: int, ids: Ids, numbers: list[float] | None = None, **more: float) -> CStage:
    listed = None if numbers is None else (c_double * len(ids))(*numbers)
    return CStage(kind=kind, count=len(ids), ids=(c_int64 * len(ids))(*ids), numbers=listed, **more)


def translate(stage: Fields, context: Context, vocab: int) -> list[CStage]:
    """A stage of a plan's JSON as C takes it; an edit as its ids and numbers."""
    name = stage["stage"]
    match name:
        case "mask":
            return [] if context.allowed is None else [edit(ALLOW, context.allowed)]
        case "allowed_ids":
            return [edit(ALLOW, stage["ids"])]
        case "logit_bias":
            return [edit(BIAS, [int(i) for i in stage["bias"]], list(stage["bias"].values()))]
        case "bad_words":
            return [edit(FORBID, sorted(reference.completing(stage, context)))]
        case "min_tokens":
            short = len(reference.scope(context, stage["scope"])) < stage["count"]
            return [edit(FORBID, stage["end_ids"] if short else [])]
        case "repetition_penalty":
            return [edit(REPETITION, list(reference.seen(context, stage, vocab)), value=stage["penalty"])]
        case "presence_frequency_penalty":
            counts = reference.seen(context, stage, vocab)
            kind = IN_TURN if stage["operation"] == "frequency_first" else TOGETHER
            numbers = [float(n) for n in counts.values()]
            return [edit(kind, list(counts), numbers, value=stage["frequency"], second=stage["presence"])]
        case "temperature":
            kind = {"exact": EXACT, "divide": DIVIDE, "multiply": MULTIPLY}[stage["operation"]]
            return [CStage(kind=kind, value=stage["value"])]
        case "checkpoint":
            return [CStage(kind=CHECKPOINT)]
    strict, raw = stage.get("boundary") == "strict", stage.get("mass") == "raw"
    switches = {"strict": strict, "raw": raw, "ties": TIES[stage.get("ties", "all")]}
    return [CStage(kind=CUTS[name], value=stage.get("p", 0), count=stage.get("k", 0), **switches)]


@dataclass(frozen=True)
class Row:
    """A row of C's, with the lists that own its memory."""

    data: CRow

    @property
    def kept(self) -> Ids:
        return self.data.kept[: self.data.count]

    @property
    def z(self) -> list[float]:
        return self.data.z[: self.data.vocab]

    @property
    def m(self) -> float:
        return self.data.m


class Compiled:
    """The functions of reference.py that have a vector, answered by stream.c."""

    def __init__(self, compiler: str, folder: Path) -> None:
        library = folder / "stream.so"
        command = [compiler, *FLAGS, "-shared", "-fPIC", "-o", str(library), str(SOURCE)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        self.c = CDLL(str(library))
        for name in ("uniform", "minus_ln", "binary_log", "exponential", "candidate"):
            getattr(self.c, name).restype = c_double
        for name in ("mass", "exponent", "total", "mean", "share_exponent", "token"):
            getattr(self.c, name).restype = c_int64
        for name in ("bits", "threshold"):
            getattr(self.c, name).restype = c_uint64
        for name in ("group_minimum", "block_minimum"):
            getattr(self.c, name).restype = CNode

    def philox(self, counter: tuple[int, ...], key: tuple[int, ...]) -> tuple[int, ...]:
        words = (c_uint32 * 4)()
        self.c.philox((c_uint32 * 4)(*counter), (c_uint32 * 2)(*key), words)
        return tuple(words)

    def bits(self, noise: Noise, level: int, index: int) -> tuple[int]:
        return (self.c.bits(byref(CNoise(*noise)), c_uint32(level), c_uint32(index)),)

    def uniform(self, noise: Noise, level: int, index: int) -> float:
        return self.c.uniform(byref(CNoise(*noise)), c_uint32(level), c_uint32(index))

    def minus_ln(self, x: float) -> float:
        return self.c.minus_ln(c_double(x))

    def log2(self, x: float) -> float:
        return self.c.binary_log(c_double(x))

    def group_minimum(self, noise: Noise, group: int) -> tuple[float, int]:
        found = self.c.group_minimum(byref(CNoise(*noise)), c_uint32(group))
        return found.minimum, found.holder

    def block_minimum(self, noise: Noise, block: int) -> tuple[float, int]:
        found = self.c.block_minimum(byref(CNoise(*noise)), c_uint32(block))
        return found.minimum, found.holder

    def exponential(self, noise: Noise, token: int) -> float:
        return self.c.exponential(byref(CNoise(*noise)), c_uint32(token))

    def run(self, logits: list[float], stages: list[Fields], context: Context) -> Row:
        row, raw = memory(logits), memory(logits)
        translated = [part for stage in stages for part in translate(stage, context, len(logits))]
        array = (CStage * len(translated))(*translated)
        if self.c.run(byref(row), byref(raw), array, c_int64(len(translated))):
            raise RefusedError
        return Row(row)

    def mass(self, row: Row, token: int) -> int:
        return self.c.mass(byref(row.data), c_int64(token))

    def exponent(self, row: Row, token: int) -> int:
        return self.c.exponent(byref(row.data), c_int64(token))

    def total(self, row: Row) -> int:
        return self.c.total(byref(row.data))

    def mean(self, row: Row) -> int:
        return self.c.mean(byref(row.data))

    def threshold(self, p: float, whole: int, boundary: str) -> int:
        return self.c.threshold(c_double(p), c_uint64(whole), c_int32(boundary == "strict"))

    def share_exponent(self, p: float) -> int:
        return self.c.share_exponent(c_double(p))

    def candidate(self, row: Row, rule: Fields, noise: Noise, token: int) -> float:
        place = (byref(row.data), byref(CNoise(*noise)), RULES.index(rule["draw"]))
        return self.c.candidate(*place, (c_double * 2)(*bounds(rule)), c_int64(token))

    def draw(self, row: Row, rule: Fields, noise: Noise) -> int:
        low, high = bounds(rule)
        place = (byref(row.data), byref(CNoise(*noise)), RULES.index(rule["draw"]))
        return self.c.token(*place, c_double(low), c_double(high))


def bounds(rule: Fields) -> tuple[float, float]:
    return rule.get("low", 0.0), rule.get("high", 0.0)
