"""Loading in small pieces, so that whoever draws meanwhile is not held up.

Importing Numba is about half a second of Python in a thread.  NumPy gives the interpreter's lock away many times in a
draw, and each time has to wait for a thread that is busy: a draw of 20 ms takes 60.  So that thread rests after every
piece of work as long as somebody draws, and nobody else's thread is slowed by how it finds out: it asks whenever it
imports a module.
"""

from __future__ import annotations

# The first two are for Numba, which imports them: they register what is done around a fork, and a fork that waits
# until Numba is loaded must have begun with that.
import concurrent.futures.thread  # noqa: F401
import logging  # noqa: F401
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

PIECE, REST = 0.002, 0.02
"""Seconds of work without a rest, where there is a choice, and of a rest."""
TURN = 0.0002
"""Seconds that another thread waits for the interpreter's lock at most, instead of Python's 0.005: a draw of a wide row
gives it away a hundred times."""
RECENT = 0.25
"""Seconds after a draw in which the next one is expected."""
LONGEST_WAIT = 60
"""Seconds that a fork waits for the loading."""
_LAST_DRAW = [-1.0e9]
_LOADING = threading.RLock()
"""Held while modules are half imported: a child forked then could never import them."""
_FORKING: dict[int, bool] = {}
"""Threads that are about to fork, and whether they hold that lock."""


def note_draw() -> None:
    """Say that somebody draws now."""
    _LAST_DRAW[0] = time.monotonic()


class _Pauser:
    """An import finder that finds nothing, and rests when it is asked in its own thread."""

    def __init__(self) -> None:
        self.thread = threading.get_ident()
        self.begun = time.monotonic()

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if threading.get_ident() == self.thread:
            self.pause()

    def pause(self) -> None:
        """Rest, if this piece of work is long enough, somebody draws and nobody waits to fork."""
        now = time.monotonic()
        if now - self.begun >= PIECE and now - _LAST_DRAW[0] < RECENT and not _FORKING:
            time.sleep(REST)
            self.begun = time.monotonic()


@contextmanager
def in_pieces() -> Generator[Callable[[], None]]:
    """Let the imports of this thread rest between modules while somebody draws.

    Yields
    ------
    callable
        Call it where the work can rest as well.
    """
    pauser = _Pauser()
    with _LOADING:
        interval = sys.getswitchinterval()
        sys.setswitchinterval(min(interval, TURN))
        sys.meta_path.insert(0, pauser)  # type: ignore[bad-argument-type]
        try:
            yield pauser.pause
        finally:
            sys.meta_path.remove(pauser)  # type: ignore[bad-argument-type]
            sys.setswitchinterval(interval)


def before_fork() -> None:
    """Wait until no module is half imported, and no kernel half compiled.

    A second at most, as the loading now takes no rest; where this process compiles itself, as long as a mode takes.
    """
    thread = threading.get_ident()
    _FORKING[thread] = False
    _FORKING[thread] = _LOADING.acquire(timeout=LONGEST_WAIT)


def after_fork_in_parent() -> None:
    """Let loading go on."""
    if _FORKING.pop(threading.get_ident(), False):
        _LOADING.release()


def after_fork_in_child() -> None:
    """Start anew: no thread but this one is here."""
    global _LOADING
    _LOADING = threading.RLock()
    _FORKING.clear()
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Pauser)]
