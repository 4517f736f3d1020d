"""A benchmark: cases one after another, each with fairdraw, the limits and the peers that can take part."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from fairdraw.benchmarks.cases import FILE, Case
from fairdraw.benchmarks.contenders import FAIRDRAW, LIMITS, Contender, Work
from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.peers import PEERS
from fairdraw.benchmarks.results import Result
from fairdraw.benchmarks.rows import DIFFERENT, make_rows, repeat_rows
from fairdraw.benchmarks.timing import BUDGET_NS, measure
from fairdraw.kernels.backends import chosen, find_kernel, prepare
from fairdraw.kernels.shapes import recognise
from fairdraw.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A peer that cannot run here."""

    name: str
    why: str
    hint: str


def find_missing(peers: Sequence[str]) -> dict[str, Missing]:
    """Which of these peers cannot run, and what to install."""
    found = {}
    for name in peers:
        peer = PEERS[name]
        why = next((why for package in peer.packages if (why := _cannot_import(package))), "")
        if why:
            hint = f'pip install "fairdraw[{peer.extra}]"' if peer.extra else "pip install fairdraw"
            found[name] = Missing(name=name, why=why, hint=hint)
    return found


def _cannot_import(package: str) -> str:
    """Why a package cannot be imported; empty if it can."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as problem:
        return f"{problem.name or package} is not installed"
    except Exception as problem:  # a package that is there and broken: whatever its libraries raise
        return f"{package} cannot be imported: {type(problem).__name__}"
    return ""


def wait_for_kernels(modes: Sequence[str]) -> dict[str, str]:
    """Compile or load the kernel of each mode, and say who draws: "numba" or "numpy"."""
    serving = {}
    for mode in modes:
        program = recognise(Plan.parse(MODES[mode].plan))
        assert program is not None
        if chosen() != "numpy":
            prepare(program.mode)
        serving[mode] = "numpy" if find_kernel(program.mode) is None else "numba"
    return serving


def run_cases(
    cases: Sequence[Case],
    peers: Sequence[str],
    *,
    repeats: int,
    budget_ns: int | None = BUDGET_NS,
    file_rows: NDArray[np.float32] | None = None,
    on_progress: Callable[[int], None] = lambda done: None,
) -> Iterator[Result]:
    """Measure the cases in their order.

    Parameters
    ----------
    cases : sequence of Case
        From `fairdraw.benchmarks.cases.cases_of`.
    peers : sequence of str
        Names in `PEERS` that can run here.
    repeats, budget_ns
        As in `fairdraw.benchmarks.timing.measure`.
    file_rows : float32, shape (rows, vocab), optional
        What cases of the kind "file" draw from.
    on_progress : callable
        Takes the number of cases done.

    Yields
    ------
    Result
    """
    contenders = {"fairdraw": FAIRDRAW, **LIMITS, **{name: PEERS[name] for name in peers}}
    synthetic = cache(make_rows)
    for done, case in enumerate(cases):
        count = case.batch if case.batch > 1 else DIFFERENT
        if case.rows == FILE:
            assert file_rows is not None
            rows = file_rows if case.batch == 1 else repeat_rows(file_rows, case.batch)
        else:
            rows = synthetic(case.rows, case.vocab, count)
        if case.batch > 1:
            synthetic.cache_clear()  # such rows are large
        yield _run(case, contenders, rows, repeats, budget_ns)
        on_progress(done + 1)


def _run(
    case: Case, contenders: Mapping[str, Contender], rows: NDArray[np.float32], repeats: int, budget_ns: int | None
) -> Result:
    work = Work(mode=MODES[case.mode], rows=rows, batch=case.batch, threads=case.threads)
    jobs = {name: each.prepare(work) for name, each in contenders.items() if case.mode not in each.lacks}
    # A single row is in the cache when its draw begins, as after the pass that made it; a batch is not.
    read = jobs["max"] if case.batch == 1 else None
    times = measure(jobs, rows_per_call=case.batch, repeats=repeats, read=read, budget_ns=budget_ns)
    return Result(case=case, times=times)
