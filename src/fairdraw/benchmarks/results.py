"""What was measured, and what follows from it: ratios, growth with the vocabulary, batches and threads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from fairdraw.benchmarks.cases import Case
from fairdraw.benchmarks.timing import Times


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One case, measured."""

    case: Case
    times: Mapping[str, Times]
    """Contender to times; those that lack the mode or are not installed are not there."""

    def microseconds(self, contender: str) -> float | None:
        """What one row takes, by the clock that decides here; None if it was not measured.

        Rows one by one in one thread: the thread's CPU time, which a busy machine lengthens less.  Batches and several
        threads: wall time.
        """
        times = self.times.get(contender)
        if times is None:
            return None
        return times.cpu_us if self.clock == "thread CPU time" else times.wall_us

    @property
    def clock(self) -> str:
        """Which time decides."""
        return "thread CPU time" if self.case.batch == self.case.threads == 1 else "wall time"

    def ratio(self, contender: str, base: str) -> float | None:
        """How many times the base's time the contender takes."""
        above, below = self.microseconds(contender), self.microseconds(base)
        return above / below if above is not None and below else None

    def to_json(self) -> dict[str, object]:
        """Plain data: the case, the clock, and for each contender its times and ratios."""
        return {
            **asdict(self.case),
            "clock": self.clock,
            "contenders": {
                name: {
                    **asdict(times),
                    "ratio_to_max": self.ratio(name, "max"),
                    "ratio_to_fairdraw": self.ratio(name, "fairdraw"),
                }
                for name, times in self.times.items()
            },
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How fairdraw's time for a row changes between two cases that differ in one axis."""

    question: str
    """``growth``: the largest vocabulary over the smallest; ``batch``: the largest batch over the smallest one above 1;
    ``threads``: one thread over all, by wall time."""
    mode: str
    rows: str
    where: str
    """What the cases have in common, and the two ends."""
    ratio: float

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self)


def groups(results: Iterable[Result]) -> dict[tuple[str, int, int], list[Result]]:
    """Results by mode, batch and threads: a table each."""
    found: dict[tuple[str, int, int], list[Result]] = {}
    for result in results:
        found.setdefault((result.case.mode, result.case.batch, result.case.threads), []).append(result)
    return found


def findings(results: Sequence[Result]) -> tuple[Finding, ...]:
    """Growth with the vocabulary, cost of a batch, gain of threads, wherever the results have both ends."""
    return (*_growth(results), *_batches(results), *_threads(results))


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A case in which a peer was faster than fairdraw."""

    case: Case
    peer: str
    ratio: float
    """The peer's time over fairdraw's, below 1."""

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {**asdict(self.case), "peer": self.peer, "ratio": self.ratio}


def losses(results: Iterable[Result], peers: Sequence[str]) -> tuple[Loss, ...]:
    """Where a peer was faster."""
    return tuple(
        Loss(case=result.case, peer=peer, ratio=ratio)
        for result in results
        for peer in peers
        if (ratio := result.ratio(peer, "fairdraw")) is not None and ratio < 1
    )


def _growth(results: Sequence[Result]) -> Iterator[Finding]:
    for key, cases in _alike(results, ("mode", "batch", "threads", "rows")).items():
        cases = sorted(cases, key=lambda result: result.case.vocab)
        ratio = _over(cases[-1], cases[0])
        if cases[-1].case.vocab > cases[0].case.vocab and ratio is not None:
            mode, batch, threads, rows = key
            ends = f"V={cases[-1].case.vocab} over V={cases[0].case.vocab}"
            where = f"{ends}, batch {batch}, {threads} thread{'s' if threads != 1 else ''}"
            yield Finding(question="growth", mode=str(mode), rows=str(rows), where=where, ratio=ratio)


def _batches(results: Sequence[Result]) -> Iterator[Finding]:
    batches = [result for result in results if result.case.batch > 1]
    for key, cases in _alike(batches, ("mode", "threads", "vocab", "rows")).items():
        cases = sorted(cases, key=lambda result: result.case.batch)
        ratio = _over(cases[-1], cases[0])
        if cases[-1].case.batch > cases[0].case.batch and ratio is not None:
            mode, threads, vocab, rows = key
            ends = f"batch {cases[-1].case.batch} over {cases[0].case.batch}"
            where = f"{ends}, V={vocab}, {threads} thread{'s' if threads != 1 else ''}"
            yield Finding(question="batch", mode=str(mode), rows=str(rows), where=where, ratio=ratio)


def _threads(results: Sequence[Result]) -> Iterator[Finding]:
    batches = [result for result in results if result.case.batch > 1]
    for key, cases in _alike(batches, ("mode", "batch", "vocab", "rows")).items():
        cases = sorted(cases, key=lambda result: result.case.threads)
        ratio = _over(cases[0], cases[-1])
        if cases[0].case.threads == 1 < cases[-1].case.threads and ratio is not None:
            mode, batch, vocab, rows = key
            where = f"1 thread over {cases[-1].case.threads}, V={vocab}, batch {batch}"
            yield Finding(question="threads", mode=str(mode), rows=str(rows), where=where, ratio=ratio)


def _alike(results: Sequence[Result], axes: Sequence[str]) -> dict[tuple[object, ...], list[Result]]:
    found: dict[tuple[object, ...], list[Result]] = {}
    for result in results:
        found.setdefault(tuple(getattr(result.case, axis) for axis in axes), []).append(result)
    return found


def _over(above: Result, below: Result) -> float | None:
    a, b = above.microseconds("fairdraw"), below.microseconds("fairdraw")
    return a / b if a is not None and b else None
