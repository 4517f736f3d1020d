"""Who draws: NumPy, or a kernel once it is there.  Both give the same token, so nobody sees the change.

``FAIRDRAW_BACKEND`` is read once, when the first token is drawn:

- unset, or ``numpy``: no kernels, and Numba is never imported;
- ``numba``: kernels, and the first call of each mode waits for its compilation;
- ``background``: kernels, compiled by a thread in the background while NumPy serves.  For processes that live long: a
  first compilation takes tens of seconds of a core.
"""

from __future__ import annotations

import importlib
import os
import threading
import warnings
from collections.abc import Callable
from functools import cache

import numpy as np

from fairdraw.errors import ParameterError
from fairdraw.kernels.slots import SCALES, WHOLE, K

VARIABLE = "FAIRDRAW_BACKEND"
BACKENDS = ("numpy", "numba", "background")
Kernel = Callable[..., int]
_READY: dict[str, Kernel] = {}
_ASKED: set[str] = set()
_PROBLEMS: list[str] = []
_LOCK = threading.Lock()


@cache
def chosen() -> str:
    """The backend that the environment names; NumPy if it names none.

    Raises
    ------
    ParameterError
        It names one that there is not.
    """
    name = os.environ.get(VARIABLE) or "numpy"
    if name not in BACKENDS:
        raise ParameterError(VARIABLE, name, f"one of {', '.join(map(repr, BACKENDS))}", "unset it for NumPy")
    return name


def find_kernel(mode: str) -> Kernel | None:
    """Return the kernel of a mode, or None as long as NumPy has to serve.

    Warns
    -----
    RuntimeWarning
        Once, if Numba is missing or cannot compile.
    """
    if chosen() == "numpy":
        return None
    kernel = _READY.get(mode)
    if kernel is not None:
        return kernel
    with _LOCK:
        asked = mode in _ASKED
        _ASKED.add(mode)
    if not asked and chosen() == "numba":
        prepare(mode)
    elif not asked:
        threading.Thread(target=prepare, args=(mode,), name=f"fairdraw-{mode}", daemon=True).start()
    if _PROBLEMS:
        _complain()
    return _READY.get(mode)


def prepare(mode: str) -> None:
    """Load or compile the kernel of a mode, and let it serve from now on."""
    try:
        entries = importlib.import_module("fairdraw.kernels.numba_cpu.entries")
        kernel = getattr(entries, mode)
        kernel(*_example(mode))
    except Exception as problem:  # whatever Numba and LLVM raise: the library works without them
        _PROBLEMS.append(f"{type(problem).__name__}: {problem}")
        return
    _READY[mode] = kernel


def _example(mode: str) -> tuple[object, ...]:
    """Arguments of the types that every call has."""
    row, seed = np.zeros(1, np.float32), (0, 0)
    if mode == "many":
        counters = np.zeros(1, np.uint64)
        return row, 1.0, counters, counters, *seed, np.zeros(1, np.int64)
    whole = np.zeros(WHOLE, np.int64)
    whole[K] = 1
    return row, whole, np.ones(SCALES), 0, 0, *seed


def _complain() -> None:
    problem = _PROBLEMS[0]
    _PROBLEMS.clear()
    if "told" not in _ASKED:
        _ASKED.add("told")
        text = f"Numba cannot be used, NumPy draws the same tokens, slower ({problem}); {VARIABLE}=numpy avoids this"
        warnings.warn(text, RuntimeWarning, stacklevel=4)


def _after_fork() -> None:
    """Start anew in a forked child: a thread that was compiling is not there any more."""
    global _LOCK
    _LOCK = threading.Lock()
    _ASKED.intersection_update({*_READY, "told"})


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
