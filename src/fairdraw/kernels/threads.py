"""Threads of the library's own, for kernels that hold no lock: ranges of rows, and whoever is free takes the next."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

from fairdraw.domains import Whole, require
from fairdraw.errors import ParameterError

VARIABLE = "FAIRDRAW_THREADS"
MOST = 256
DOMAIN = Whole(1, MOST)
_POOL: ThreadPoolExecutor | None = None


def thread_count(asked: int | None) -> int:
    """How many threads may draw: the caller's number, else the environment's, else one for each processor.

    Raises
    ------
    ParameterError
        Not a whole number from 1 to 256.
    """
    if asked is not None:
        return int(require("threads", asked, DOMAIN))  # type: ignore[call-overload]
    named = os.environ.get(VARIABLE)
    if not named:
        return min(MOST, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    if not named.isdecimal() or not DOMAIN.holds(int(named)):
        raise ParameterError(VARIABLE, named, DOMAIN.text, "unset it for one thread for each processor")
    return int(named)


def share(job: Callable[[int, int], None], count: int, threads: int) -> None:
    """Run ``job(first, stop)`` over ranges that make up 0..count, on as many threads; the calling one is among them.

    Whatever the others do, the caller goes on alone, so many callers at once never wait for each other.
    """
    if threads <= 1 or count <= 1:
        job(0, count)
        return
    size = max(1, count // (4 * threads))
    ranges = iter([(first, min(first + size, count)) for first in range(0, count, size)])
    others = [other for other in (_start(job, ranges) for _ in range(min(threads, count) - 1)) if other is not None]
    try:
        _work(job, ranges)
    finally:
        running = [other for other in others if not other.cancel()]
        for other in running:
            other.result()


def _work(job: Callable[[int, int], None], ranges: Iterator[tuple[int, int]]) -> None:
    for first, stop in ranges:
        job(first, stop)


def _start(job: Callable[[int, int], None], ranges: Iterator[tuple[int, int]]) -> Future[None] | None:
    global _POOL
    try:
        if _POOL is None:
            _POOL = ThreadPoolExecutor(max_workers=MOST, thread_name_prefix="fairdraw")
        return _POOL.submit(_work, job, ranges)
    except RuntimeError:  # the interpreter is ending, or there are no threads here
        return None


def _after_fork() -> None:
    """Forget the parent's threads, which a forked child does not have."""
    global _POOL
    _POOL = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
