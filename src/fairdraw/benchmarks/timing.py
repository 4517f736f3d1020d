"""Medians of interleaved calls: each contender in turn, again and again, so that a busy machine is unfair to nobody."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fairdraw.benchmarks.contenders import Job

SHORTEST_NS = 500_000
"""Shorter calls are timed several together, after one that is not timed: others have had the caches meanwhile."""
MOST_TOGETHER = 20
BUDGET_NS = 300_000_000
"""So long may one contender take in one case; slow ones get fewer repeats."""
FEWEST_REPEATS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Clocks:
    """Where the time is read, nanoseconds."""

    wall: Callable[[], int] = time.perf_counter_ns
    thread: Callable[[], int] = time.thread_time_ns


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """What a contender took in one case, microseconds a row."""

    wall_us: float
    """Median of wall time."""
    cpu_us: float
    """Median of the calling thread's CPU time."""
    repeats: int
    """Medians are over so many."""


@dataclass(slots=True)
class _Running:
    job: Job
    together: int
    """Calls that are timed as one."""
    every: int
    """It takes part in one repeat of so many."""
    wall: list[float]
    thread: list[float]


def measure(
    jobs: Mapping[str, Job],
    *,
    rows_per_call: int,
    repeats: int,
    read: Job | None = None,
    budget_ns: int | None = BUDGET_NS,
    clocks: Clocks | None = None,
) -> dict[str, Times]:
    """Time each job, interleaved.

    Parameters
    ----------
    jobs : mapping of str to Job
        Name to job, in the order of their turns.  The first call of each is not timed.
    rows_per_call : int
        How many rows one call draws from; times are for one row.
    repeats : int
        How often each has its turn.
    read : Job, optional
        What brings the row of a turn into the cache, before each contender and untimed.
    budget_ns : int or None
        A job that would take longer has fewer turns, spread evenly, and at least 3; None: all have all.
    clocks : Clocks, optional
        The machine's, if not given.

    Returns
    -------
    dict of str to Times
        In the order of the jobs.
    """
    clocks = clocks or Clocks()
    running = {name: _start(job, repeats, budget_ns, clocks) for name, job in jobs.items()}
    step = 2
    for turn in range(repeats):
        for each in running.values():
            if turn % each.every:
                continue
            if read is not None:
                read(turn, step)
            if each.together > 1:
                each.job(turn, step + each.together)
            wall, thread = clocks.wall(), clocks.thread()
            for call in range(each.together):
                each.job(turn, step + call)
            # In the reverse order, so that the thread's clock lies inside the other's.
            thread = clocks.thread() - thread
            wall = clocks.wall() - wall
            rows = each.together * rows_per_call
            each.wall.append(wall / rows / 1000)
            each.thread.append(thread / rows / 1000)
        step += MOST_TOGETHER + 1
    return {
        name: Times(wall_us=statistics.median(each.wall), cpu_us=statistics.median(each.thread), repeats=len(each.wall))
        for name, each in running.items()
    }


def _start(job: Job, repeats: int, budget_ns: int | None, clocks: Clocks) -> _Running:
    """Call a job once for warmth and once to see how long it takes."""
    took = 0
    for step in range(2):
        begun = clocks.wall()
        job(0, step)
        took = max(1, clocks.wall() - begun)
    together = min(MOST_TOGETHER, -(-SHORTEST_NS // took))
    affordable = repeats if budget_ns is None else max(FEWEST_REPEATS, budget_ns // (took * together))
    return _Running(job, together, max(1, repeats // affordable), [], [])
