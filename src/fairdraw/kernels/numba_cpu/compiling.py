"""How a function becomes a kernel: strict IEEE arithmetic, no lock held, kept on disk between processes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba

READ_BY_KERNELS = (
    "masses.py",
    "streams/*.py",
    "kernels/slots.py",
    "kernels/arena.py",
    "kernels/fingerprint.py",
    "kernels/numba_cpu/*.py",
)
"""The sources whose text or constants a kernel contains."""


OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False}
"""No fast-math, so nothing is reordered and no product is fused into a sum.  A kernel allocates nothing, so it need not
count references: that would take longer than the draw."""


def kernel(function: Callable[..., Any]) -> Any:
    """Compile on first call.

    Numba keeps compiled code until the function's own file changes.  A kernel contains functions and constants of
    other files as well, so what it is filed under here is a digest of them all.  Where this Numba files its code in
    another way, or there is no folder to write to, nothing is kept on disk: slower once a process, never stale.
    """
    try:
        compiled = numba.njit(cache=True, **OPTIONS)(function)
        files: Any = compiled._cache._cache_file  # type: ignore[missing-attribute]
        files._source_stamp = (files._source_stamp, _digest())
    except (RuntimeError, AttributeError):  # no folder to write to; another Numba
        return numba.njit(**OPTIONS)(function)
    return compiled


def inlined(function: Callable[..., Any]) -> Any:
    """Make a function a part of its callers, before anything is compiled.

    For what is short, because a call with a whole view costs more than a few lines do, and for what has one caller:
    what is not compiled by itself as well is there sooner.
    """
    return numba.njit(inline="always", **OPTIONS)(function)


@cache
def _digest() -> str:
    root = Path(__file__).parents[2]
    text = b"".join(path.read_bytes() for pattern in READ_BY_KERNELS for path in sorted(root.glob(pattern)))
    return hashlib.sha256(text).hexdigest()
