"""The library's own threads: they never keep a process alive, and no failure or interrupt leaves work behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

import fairdraw as fd
from fairdraw.kernels import threads

INTERRUPTED = """
import threading
from fairdraw.kernels.threads import share
real = threading.Thread.start
def start(self):
    real(self)
    threading.Thread.start = real
    raise KeyboardInterrupt
threading.Thread.start = start
try:
    share(lambda first, stop: None, 8, 2)
except KeyboardInterrupt:
    print("interrupted", flush=True)
done = []
share(lambda first, stop: done.extend(range(first, stop)), 8, 2)
assert sorted(done) == list(range(8))
"""

ENDING = """
import os, sys
from fairdraw.kernels.threads import share
class Last:
    def __del__(self, share=share, write=os.write, ending=sys.is_finalizing):
        done = []
        share(lambda first, stop: done.extend(range(first, stop)), 8, 4)
        write(1, f"{ending()} {sorted(done)}".encode())
last = Last()
"""


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> threads._Pool:
    own = threads._Pool()
    monkeypatch.setattr(threads, "_POOL", own)
    return own


def ended(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def until(fact: object) -> bool:
    """Whether a fact comes true within ten seconds."""
    end = time.monotonic() + 10
    while not fact() and time.monotonic() < end:  # type: ignore[operator]
        time.sleep(0.001)
    return bool(fact())  # type: ignore[operator]


def test_a_process_interrupted_while_a_thread_starts_ends_and_can_share_before() -> None:
    assert ended(INTERRUPTED) == "interrupted"


def test_work_shared_while_the_interpreter_ends_is_done_by_the_caller() -> None:
    assert ended(ENDING) == f"True {list(range(8))}"


def test_every_number_is_worked_on_exactly_once(pool: threads._Pool) -> None:
    for count in (0, 1, 2, 7, 100):
        for number in (1, 2, 5, 256):
            done: list[int] = []
            threads.share(lambda first, stop, done=done: done.extend(range(first, stop)), count, number)  # type: ignore[misc]
            assert sorted(done) == list(range(count))


def test_idle_threads_are_used_again(pool: threads._Pool) -> None:
    for _ in range(50):
        threads.share(lambda first, stop: None, 8, 3)
        assert until(lambda: len(pool.idle) == threads.MOST - len(pool.unused))
    assert threads.MOST - len(pool.unused) == 2


def test_as_many_threads_as_asked_for_work_at_once(pool: threads._Pool) -> None:
    meeting = threading.Barrier(4, timeout=10)
    threads.share(lambda first, stop: meeting.wait() and None, 4, 4)


def test_an_error_of_a_helping_thread_is_raised_after_all_have_ended(pool: threads._Pool) -> None:
    caller, meeting, ends = threading.get_ident(), threading.Barrier(3, timeout=10), []

    def job(first: int, stop: int) -> None:
        place = meeting.wait() if first < 3 else 3
        if threading.get_ident() != caller and place != 3:
            time.sleep(0.05 * (1 + place))
            ends.append(first)
            raise ValueError("a helper's")

    with pytest.raises(ValueError, match="a helper's"):
        threads.share(job, 3, 3)
    assert len(ends) == 2


def test_an_error_of_the_caller_waits_for_helpers_and_hands_out_no_more(pool: threads._Pool) -> None:
    caller, meeting, begun, ends = threading.get_ident(), threading.Barrier(2, timeout=10), [], []

    def job(first: int, stop: int) -> None:
        begun.append(first)
        meeting.wait()
        if threading.get_ident() == caller:
            raise KeyboardInterrupt
        time.sleep(0.1)
        ends.append(first)

    with pytest.raises(KeyboardInterrupt):
        threads.share(job, 8, 2)
    assert len(begun) == 2
    assert len(ends) == 1


def test_an_interrupt_while_a_second_thread_starts_waits_for_the_first(
    pool: threads._Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, begun, ends, starts = threading.Thread.start, threading.Event(), [], []

    def start(thread: threading.Thread) -> None:
        starts.append(thread)
        if len(starts) == 2:
            assert begun.wait(10)
            raise KeyboardInterrupt
        real(thread)

    def job(first: int, stop: int) -> None:
        begun.set()
        time.sleep(0.1)
        ends.append(first)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(KeyboardInterrupt):
        threads.share(job, 12, 3)
    assert len(ends) == 1


def test_where_no_thread_can_start_the_caller_does_it_all(pool: threads._Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    done: list[int] = []
    for _ in range(300):
        threads.share(lambda first, stop: done.extend(range(first, stop)), 8, 3)
    assert done == list(range(8)) * 300
    assert pool.shares.empty()
    assert len(pool.unused) == threads.MOST


def test_a_withdrawn_share_is_never_run_and_holds_nothing() -> None:
    share = threads._Share(lambda first, stop: pytest.fail("it ran"), iter([(0, 1)]))
    assert share.withdraw()
    share.run()
    assert share.work is None
    assert share.ended.empty()


@pytest.mark.parametrize("value", ["9" * 5000, "٣", "²", "257", "0", "-1", " 2", "2\n", "1.0"])
def test_a_number_of_threads_that_is_no_plain_number_is_refused(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threads.VARIABLE, value)
    with pytest.raises(fd.ParameterError, match="FAIRDRAW_THREADS must be"):
        threads.thread_count(None)


def test_the_argument_goes_before_the_environment_and_that_before_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threads.VARIABLE, "256")
    assert (threads.thread_count(3), threads.thread_count(None)) == (3, 256)
    monkeypatch.setenv(threads.VARIABLE, "")
    assert 1 <= threads.thread_count(None) <= threads.MOST
