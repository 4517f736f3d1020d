"""Who draws: NumPy, or a kernel once it is there.  Both give the same token, so nobody sees the change.

``FAIRDRAW_BACKEND`` is read once, when the first token is drawn:

- unset: NumPy first; a kernel once so many tokens were drawn that loading it pays (see `ENOUGH`).  A thread loads it
  from disk, and if it is not there a process of its own compiles it: no call waits for either;
- ``numpy``: no kernels, and Numba is never imported;
- ``numba``: kernels, and the first call of each mode waits until its kernel is loaded or compiled.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import warnings
from collections.abc import Callable
from functools import cache

from fairdraw.errors import ParameterError, UnavailableError
from fairdraw.kernels import pacing
from fairdraw.kernels.examples import example
from fairdraw.kernels.promise import PROMISES

VARIABLE = "FAIRDRAW_BACKEND"
BACKENDS = ("numpy", "numba")
AUTOMATIC = "automatic"
"""What `chosen` says if the variable is unset."""
ENOUGH = {"greedy": 10_000}
"""Tokens of a mode that NumPy draws before its kernel is asked for, `ENOUGH_ELSE` if not listed.  Loading costs a
second of processor time, and so do these tokens: who draws fewer never pays for it, and who draws more pays twice at
most."""
ENOUGH_ELSE = 100
Kernel = Callable[..., int]
_READY: dict[str, Kernel] = {}
_DRAWN: dict[str, int] = {}
_ASKED: set[str] = set()
_PROBLEMS: list[str] = []
_LOCK = threading.Lock()


@cache
def chosen() -> str:
    """The backend that the environment names, or `AUTOMATIC` if it names none.

    Raises
    ------
    ParameterError
        It names one that there is not.
    """
    name = os.environ.get(VARIABLE)
    if not name:
        return AUTOMATIC
    if name not in BACKENDS:
        raise ParameterError(
            VARIABLE, name, f"one of {', '.join(map(repr, BACKENDS))}", "unset it for the best there is"
        )
    return name


def find_kernel(mode: str, tokens: int = 1) -> Kernel | None:
    """Return the kernel of a mode, or None as long as NumPy has to serve.

    Parameters
    ----------
    mode : str
        A name in `fairdraw.kernels.promise`.
    tokens : int
        How many the call draws.

    Warns
    -----
    RuntimeWarning
        Once, if Numba is missing or broken, or keeps nothing on disk.
    """
    backend = chosen()
    if backend == "numpy":
        return None
    kernel = _READY.get(mode)
    if kernel is not None:
        return kernel
    if backend == AUTOMATIC:
        _count(mode, tokens)
    elif _is_first(mode):
        prepare(mode)
    if _PROBLEMS:
        _complain()
    return _READY.get(mode)


def prepare(mode: str) -> None:
    """Load or compile the kernel of a mode here and now, and let it serve from now on.

    Processes that start together do not all compile: one does, and the others wait and load.
    """
    try:
        # A fork meanwhile waits: its child would find locks that nobody will ever open.
        with pacing.in_pieces():
            kernel = _here_and_now(mode)
    except Exception as problem:  # whatever Numba and LLVM raise: the library works without them
        _PROBLEMS.append(_said(problem))
        return
    _READY[mode] = kernel


def _here_and_now(mode: str) -> Kernel:
    warming = importlib.import_module("fairdraw.kernels.warming")
    with contextlib.suppress(UnavailableError, OSError):  # nowhere to keep it: compiled for this process alone
        warming.warm(mode)
    kernel: Kernel = getattr(importlib.import_module("fairdraw.kernels.numba_cpu.entries"), mode)
    kernel(*example(mode))
    return kernel


def _count(mode: str, tokens: int) -> None:
    """Note that NumPy draws, and have the kernel loaded once that is worth it."""
    pacing.note_draw()
    drawn = _DRAWN[mode] = _DRAWN.get(mode, 0) + tokens
    if drawn >= ENOUGH.get(mode, ENOUGH_ELSE) and _is_first(mode):
        # At the end of a process, and where there are no threads, NumPy goes on.
        with contextlib.suppress(RuntimeError):
            threading.Thread(target=_prepare_meanwhile, args=(mode,), name=f"fairdraw-{mode}", daemon=True).start()


def _prepare_meanwhile(mode: str) -> None:
    try:
        # Imported here: with what it imports it costs some 10 ms, which a few draws shall not pay.
        with pacing.in_pieces():
            from fairdraw.kernels.warming import load

        _READY[mode] = load(mode)
    except Exception as problem:  # whatever Numba and LLVM raise: the library works without them
        _ASKED.update(PROMISES)
        _PROBLEMS.append(_said(problem))


def _is_first(mode: str) -> bool:
    """Whether nobody asked for a mode's kernel yet; from now on somebody did."""
    if mode in _ASKED:
        return False
    with _LOCK:
        asked = mode in _ASKED
        _ASKED.add(mode)
    return not asked


def _said(problem: Exception) -> str:
    return f"{type(problem).__name__}: {'; '.join(str(problem).splitlines())}"


def _complain() -> None:
    problem = _PROBLEMS[0]
    _PROBLEMS.clear()
    if "told" not in _ASKED:
        _ASKED.add("told")
        text = f"Numba cannot be used, NumPy draws the same tokens, slower ({problem}); {VARIABLE}=numpy avoids this"
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _after_fork() -> None:
    """Start anew in a forked child: a thread that was loading is not there any more."""
    global _LOCK
    pacing.after_fork_in_child()
    _LOCK = threading.Lock()
    _ASKED.intersection_update({*_READY, "told"})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=pacing.before_fork, after_in_parent=pacing.after_fork_in_parent, after_in_child=_after_fork
    )
