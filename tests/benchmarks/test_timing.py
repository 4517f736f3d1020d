"""With clocks of our own: nothing here depends on how fast anything is."""

from collections.abc import Callable, Iterator

import pytest

from fairdraw.benchmarks.contenders import Job
from fairdraw.benchmarks.timing import Clocks, Times, measure

MS = 1_000_000


class Machine:
    """Time passes when a job says so, and the thread's clock at half the pace."""

    def __init__(self) -> None:
        self.now = 0
        self.calls: list[tuple[str, int, int]] = []

    def clocks(self) -> Clocks:
        return Clocks(wall=lambda: self.now, thread=lambda: self.now // 2)

    def job(self, name: str, took: Callable[[int], int]) -> Job:
        counter: Iterator[int] = iter(range(10**9))

        def call(turn: int, step: int) -> None:
            self.calls.append((name, turn, step))
            self.now += took(next(counter))

        return call


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_times_are_medians_a_row_by_both_clocks_without_the_first_two_calls(machine):
    took = [900 * MS, MS, 3 * MS, 50 * MS, 2 * MS]
    times = measure(
        {"a": machine.job("a", took.__getitem__)},
        rows_per_call=4,
        repeats=3,
        budget_ns=None,
        clocks=machine.clocks(),
    )
    assert times == {"a": Times(wall_us=750.0, cpu_us=375.0, repeats=3)}


def test_contenders_take_turns(machine):
    jobs = {name: machine.job(name, lambda call: MS) for name in "abc"}
    measure(jobs, rows_per_call=1, repeats=3, clocks=machine.clocks())
    timed = machine.calls[6:]
    assert [(name, turn) for name, turn, _ in timed] == [(name, turn) for turn in range(3) for name in "abc"]


def test_no_contender_sees_a_step_twice(machine):
    jobs = {"short": machine.job("short", lambda call: 7), "long": machine.job("long", lambda call: MS)}
    measure(jobs, rows_per_call=1, repeats=5, clocks=machine.clocks())
    for name in jobs:
        steps = [step for each, _, step in machine.calls if each == name]
        assert len(steps) == len(set(steps))


def test_short_calls_are_timed_twenty_together_after_one_that_is_not_timed(machine):
    # Of the 21 calls of the turn the last-numbered step comes first, and is slow.
    times = measure(
        {"a": machine.job("a", lambda call: 1000 if call != 2 else MS)},
        rows_per_call=1,
        repeats=1,
        clocks=machine.clocks(),
    )
    assert len(machine.calls) == 2 + 1 + 20
    assert times["a"].wall_us == 1.0


def test_a_row_is_read_before_each_contender_and_the_reading_is_not_timed(machine):
    jobs = {name: machine.job(name, lambda call: MS) for name in "ab"}
    read = machine.job("read", lambda call: 5 * MS)
    times = measure(jobs, rows_per_call=1, repeats=2, read=read, clocks=machine.clocks())
    assert [name for name, _, _ in machine.calls[4:]] == ["read", "a", "read", "b"] * 2
    assert {each.wall_us for each in times.values()} == {1000.0}


def test_a_slow_contender_has_fewer_turns_evenly_and_at_least_three(machine):
    jobs = {"slow": machine.job("slow", lambda call: 100 * MS), "fast": machine.job("fast", lambda call: MS)}
    times = measure(jobs, rows_per_call=1, repeats=12, budget_ns=1, clocks=machine.clocks())
    assert times["slow"].repeats == times["fast"].repeats == 3
    machine.calls.clear()
    times = measure(jobs, rows_per_call=1, repeats=12, budget_ns=400 * MS, clocks=machine.clocks())
    assert (times["slow"].repeats, times["fast"].repeats) == (4, 12)
    assert [turn for name, turn, _ in machine.calls[4:] if name == "slow"] == [0, 3, 6, 9]


def test_without_a_budget_all_have_all_turns(machine):
    jobs = {"slow": machine.job("slow", lambda call: 1000 * MS)}
    assert measure(jobs, rows_per_call=1, repeats=9, budget_ns=None, clocks=machine.clocks())["slow"].repeats == 9
