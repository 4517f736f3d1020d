"""A progress bar on standard error, for a person who waits; silent for everyone else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

# Whoever waits less than this needs no bar.
_PATIENCE_SECONDS = 1.0


@contextmanager
def progress(description: str, total: int) -> Generator[Callable[[int], None]]:
    """Show how far a long job is.

    Nothing is shown during the first second, when standard error is no terminal, or without ``rich``.

    Parameters
    ----------
    description : str
        A few words before the bar.
    total : int
        What "done" is.

    Yields
    ------
    callable
        Takes the amount done so far.
    """
    if not sys.stderr.isatty():
        yield _silent
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
    except ImportError:
        yield _silent
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    # With its redirections rich would carry what is printed meanwhile from stdout to stderr.
    bar = Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    task = bar.add_task(description, total=total)
    begun = time.monotonic()

    def show(done: int) -> None:
        bar.update(task, completed=min(done, total))
        if time.monotonic() - begun > _PATIENCE_SECONDS:
            bar.start()

    try:
        yield show
    finally:
        bar.stop()


def _silent(done: int) -> None:
    pass
