"""Who is measured: fairdraw's whole public call, two limits, and the form in which a peer joins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.batch import sample_batch
from fairdraw.benchmarks.modes import Mode
from fairdraw.plan import Plan
from fairdraw.sampling import sample

Job = Callable[[int, int], object]
"""(turn, step) to tokens.  The turn says which row, where rows are drawn from one by one; no step comes twice."""
Role = Literal["fairdraw", "limit", "peer"]
SEED = 2026


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a contender has to do."""

    mode: Mode
    rows: NDArray[np.float32]
    """Shape (rows, vocab): with a batch of 1 the rows take turns, else they are the batch."""
    batch: int
    threads: int
    """At most so many; 1 is the calling thread alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One column of the tables."""

    name: str
    role: Role
    meaning: str
    """What runs, in a few words."""
    prepare: Callable[[Work], Job]
    """Set everything up that is not part of a draw."""
    packages: tuple[str, ...] = ()
    """Optional packages that it imports."""
    extra: str = ""
    """The extra of fairdraw that installs them."""
    lacks: tuple[str, ...] = ()
    """Modes that it has not."""


def _fairdraw(work: Work) -> Job:
    plan = Plan.parse(work.mode.plan)
    if work.batch == 1:
        rows = list(work.rows)
        return lambda turn, step: sample(plan, rows[turn % len(rows)], seed=SEED, position=step).token
    seeds = np.arange(work.batch)
    return lambda turn, step: draw_batch(plan, work.rows, seeds, step, work.threads)


def draw_batch(
    plan: Plan, rows: NDArray[np.float32], seeds: NDArray[np.int64], position: int, threads: int
) -> NDArray[np.int64]:
    """Draw from every row of a batch, in the public way."""
    return sample_batch(plan, rows, seeds=seeds, positions=position, threads=threads, report="tokens").tokens


def _max(work: Work) -> Job:
    if work.batch > 1:
        return lambda turn, step: work.rows.max()
    rows = list(work.rows)
    return lambda turn, step: rows[turn % len(rows)].max()


def _copy(work: Work) -> Job:
    if work.batch > 1:
        whole = np.empty_like(work.rows)
        return lambda turn, step: np.copyto(whole, work.rows)
    rows, target = list(work.rows), np.empty_like(work.rows[0])
    return lambda turn, step: np.copyto(target, rows[turn % len(rows)])


FAIRDRAW = Contender(
    name="fairdraw", role="fairdraw", meaning="the whole public call: sample, or sample_batch", prepare=_fairdraw
)
LIMITS = MappingProxyType(
    {
        "max": Contender(name="max", role="limit", meaning="numpy.max: one read of the row", prepare=_max),
        "memcpy": Contender(name="memcpy", role="limit", meaning="numpy.copyto: one copy of the row", prepare=_copy),
    }
)
