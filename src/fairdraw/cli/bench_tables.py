"""How ``fairdraw bench`` prints: a line for each kind of row, a column for each contender."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairdraw.benchmarks.machine import Machine
from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.peers import PEERS
from fairdraw.benchmarks.results import Finding, Loss, Result, groups
from fairdraw.benchmarks.running import Missing
from fairdraw.cli.output import Kind, print_table, say


def print_tables(
    machine: Machine,
    kernels: Mapping[str, str],
    names: Sequence[str],
    missing: Mapping[str, Missing],
    results: Sequence[Result],
) -> None:
    """Print the machine, the peers, and a table for each mode, batch and number of threads."""
    versions = ", ".join(f"{name} {version}" for name, version in machine.packages.items())
    cores = f"{machine.cores} core{'s' if machine.cores != 1 else ''}"
    say(f"{machine.processor}, {cores}, {machine.system}; Python {machine.python}, {versions}")
    by = sorted(set(kernels.values()))
    hint = "" if by == ["numba"] else "; unset FAIRDRAW_BACKEND for kernels"
    say(f"fairdraw {machine.fairdraw} draws with {' and '.join(by)}{hint}")
    say("Ratios travel between machines, times do not. Medians of interleaved turns; kernels are compiled, and short")
    say("draws follow one that is not timed, from the same row: a single row is in the cache, a batch is not.")
    say("A peer's number is its time over fairdraw's.\n")
    if names:
        state = [(name, PEERS[name].meaning, _state(name, missing.get(name))) for name in names]
        print_table("", [("peer", "left"), ("what runs", "wrap"), ("", "wrap")], state)
    peers = [name for name in names if name not in missing]
    columns: list[tuple[str, Kind]] = [
        ("V", "right"),
        ("rows", "left"),
        ("max", "right"),
        ("memcpy", "right"),
        ("fairdraw", "right"),
        ("over max", "right"),
        *((name, "right") for name in peers),
    ]
    for (mode, batch, threads), group in groups(results).items():
        alone = "rows one by one" if batch == 1 else f"batch {batch}"
        where = f"{alone}, {_threads(threads)}, microseconds a row, {group[0].clock}"
        print_table(f"{mode}: {where}\n({MODES[mode].plan})", columns, [_line(result, peers) for result in group])


def _state(name: str, missing: Missing | None) -> str:
    if missing is not None:
        return f"{missing.why}: {missing.hint}"
    lacks = PEERS[name].lacks
    return f"has no {', '.join(lacks)}" if lacks else ""


def _line(result: Result, peers: Sequence[str]) -> tuple[str, ...]:
    case = result.case
    times = (_digits(result.microseconds(name)) for name in ("max", "memcpy", "fairdraw"))
    ratios = (_digits(result.ratio(name, "fairdraw")) for name in peers)
    return (str(case.vocab), case.rows, *times, _digits(result.ratio("fairdraw", "max")), *ratios)


def _digits(value: float | None) -> str:
    """Three digits are more than a busy machine can repeat."""
    if value is None:
        return "-"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def print_findings(found: Sequence[Finding], lost: Sequence[Loss]) -> None:
    """Print what the tables say about vocabulary, batch and threads, and where a peer was faster."""
    titles = {
        "growth": "growth with the vocabulary: fairdraw's time for a row",
        "batch": "a row of a large batch over one of a small batch",
        "threads": "gain of threads",
    }
    for question, title in titles.items():
        lines = [(f.mode, f.rows, f.where, _digits(f.ratio)) for f in found if f.question == question]
        if lines:
            print_table(title, [("mode", "left"), ("rows", "left"), ("", "left"), ("times", "right")], lines)
    lines = [
        (
            loss.peer,
            loss.case.mode,
            loss.case.rows,
            f"V={loss.case.vocab}, batch {loss.case.batch}, {_threads(loss.case.threads)}",
            _digits(loss.ratio),
        )
        for loss in lost
    ]
    if lines:
        columns: list[tuple[str, Kind]] = [("peer", "left"), ("mode", "left"), ("rows", "left"), ("", "left")]
        print_table("where a peer was faster: its time over fairdraw's", [*columns, ("times", "right")], lines)


def _threads(count: int) -> str:
    return f"{count} thread{'s' if count != 1 else ''}"
