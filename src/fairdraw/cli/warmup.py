"""``fairdraw warmup``: every kernel compiled and kept on disk, so that no later process compiles."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from fairdraw.cli.output import print_json, print_table, say, words
from fairdraw.errors import FairdrawError, UnavailableError
from fairdraw.kernels import backends
from fairdraw.kernels.promise import PROMISES
from fairdraw.kernels.warming import Warmed, folder, warm

WITHOUT = "FAIRDRAW_BACKEND=numpy draws the same tokens without kernels, slower"


def warmup_command(*, as_json: bool) -> int:
    """Compile every mode that is not on disk yet; figures go to stdout, progress to stderr."""
    backends.chosen()  # a backend that there is not is a mistake here too
    begun = time.perf_counter()
    try:
        place = folder()
        warmed = list(_shown() if sys.stderr.isatty() else _said())
    except FairdrawError:
        raise
    except Exception as problem:  # whatever a broken Numba or LLVM raises
        raise UnavailableError(f"Numba cannot be used ({type(problem).__name__}: {problem})", WITHOUT) from None
    seconds = time.perf_counter() - begun
    if as_json:
        print_json(_json(place, warmed, seconds))
        return 0
    rows = [(one.mode, f"{one.seconds:.2f}", "compiled" if one.compiled else "was there") for one in warmed]
    print_table("", [("kernel", "left"), ("seconds", "right"), ("", "left")], rows)
    say(f"kept in {place}")
    return 0


def _said() -> Iterator[Warmed]:
    for mode in PROMISES:
        words(f"{mode} ...")
        yield warm(mode)


def _shown() -> Iterator[Warmed]:
    columns = (TextColumn("{task.description:12}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=len(PROMISES))
        for mode in PROMISES:
            progress.update(task, description=mode)
            yield warm(mode)
            progress.advance(task)


def _json(place: Path, warmed: list[Warmed], seconds: float) -> dict[str, object]:
    kernels = [{"mode": one.mode, "seconds": round(one.seconds, 3), "compiled": one.compiled} for one in warmed]
    return {"folder": str(place), "kernels": kernels, "seconds": round(seconds, 3)}
