"""Threads of the library's own, for kernels that hold no lock: ranges of rows, and whoever is free takes the next."""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Lock, Thread

from fairdraw.domains import Whole, require
from fairdraw.errors import ParameterError

VARIABLE = "FAIRDRAW_THREADS"
MOST = 256
DOMAIN = Whole(1, MOST)


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
    if not re.fullmatch("[0-9]{1,3}", named) or not DOMAIN.holds(int(named)):
        raise ParameterError(VARIABLE, named, DOMAIN.text, "unset it for one thread for each processor")
    return int(named)


def share(job: Callable[[int, int], None], count: int, threads: int) -> None:
    """Run ``job(first, stop)`` over ranges that make up 0..count, on as many threads; the calling one is among them.

    The caller takes ranges itself until none is left, withdraws the shares that no thread has begun, and waits for its
    own that run: never for another caller's.  A failure or an interrupt ends the handing out of ranges, in the same
    way; the first error of a helping thread is raised once all of them have ended.
    """
    if threads <= 1 or count <= 1:
        job(0, count)
        return
    size = max(1, count // (4 * threads))
    ranges = iter([(first, min(first + size, count)) for first in range(0, count, size)])
    shares: list[_Share] = []
    try:
        for _ in range(min(threads, count) - 1):
            shares.append(_Share(job, ranges))
            _POOL.offer(shares[-1])
        _work(job, ranges)
    finally:
        deque(ranges, maxlen=0)
        running = [share for share in shares if not share.withdraw()]
        errors = [error for error in [share.ended.get() for share in running] if error is not None]
        if errors:
            raise errors[0]


def _work(job: Callable[[int, int], None], ranges: Iterator[tuple[int, int]]) -> None:
    for first, stop in ranges:
        job(first, stop)


class _Share:
    """What one helping thread is asked to do; whoever claims it first, a thread or the asker, decides its fate."""

    def __init__(self, job: Callable[[int, int], None], ranges: Iterator[tuple[int, int]]) -> None:
        self.work: tuple[Callable[[int, int], None], Iterator[tuple[int, int]]] | None = (job, ranges)
        self.claimed = Lock()
        self.ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def withdraw(self) -> bool:
        """Whether no thread has begun it; then none will, and the caller's arrays are let go."""
        free = self.claimed.acquire(blocking=False)
        if free:
            self.work = None
        return free

    def run(self) -> None:
        """Work, unless it was withdrawn, and tell the asker how it ended."""
        if not self.claimed.acquire(blocking=False):
            return
        error: BaseException | None = None
        try:
            if self.work is not None:
                _work(*self.work)
        except BaseException as raised:  # the asker raises it
            error = raised
        self.ended.put(error)


class _Pool:
    """Daemon threads, started as they are needed and kept.

    Only single operations in C change what is shared, so an interrupt at any place leaves no lock held.  At worst a
    thread that waits is not known to be idle, and another is started in its stead.  No caller needs a thread to go on,
    and the process ends whatever the threads do.
    """

    def __init__(self) -> None:
        self.shares: SimpleQueue[_Share] = SimpleQueue()
        self.idle: deque[int] = deque()
        self.unused = deque(range(MOST))

    def offer(self, share: _Share) -> None:
        """Hand a share to an idle thread or a new one; to none where no thread can be started."""
        if sys.is_finalizing():  # a thread started now would never run, and its start never return
            return
        if not _taken(self.idle):
            numbers = _taken(self.unused)
            try:
                for number in numbers:
                    Thread(target=self.serve, args=(number,), name=f"fairdraw-{number}", daemon=True).start()
            except RuntimeError:  # the interpreter is ending, or there are no threads here
                self.unused.extend(numbers)
                return
        self.shares.put(share)

    def serve(self, number: int) -> None:
        """Run shares, one after the other, as long as the process lives."""
        while True:
            self.shares.get().run()
            self.idle.append(number)


def _taken(numbers: deque[int]) -> list[int]:
    """One number taken out, or none where none is left."""
    try:
        return [numbers.pop()]
    except IndexError:
        return []


_POOL = _Pool()


def _after_fork() -> None:
    """Forget the parent's threads, which a forked child does not have."""
    global _POOL
    _POOL = _Pool()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
