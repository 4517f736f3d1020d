"""Arguments to compile a kernel for: those of its calls, in type."""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.slots import ADDRESS, CALL, SCALES, WHOLE, WIDTH, K

_ROW = np.zeros(1, np.float32)
"""It stays, because the example has its address alone."""


def example(mode: str) -> tuple[object, ...]:
    """Arguments of the types that every call of a mode's kernel has; a row of one token, so that a call costs nothing.

    Examples
    --------
    >>> calls, first, stop, *_ = example("top_k")
    >>> calls.dtype, first, stop
    (dtype('int64'), 0, 1)
    """
    if mode == "many":
        counters = np.zeros(1, np.uint64)
        return _ROW, 1.0, counters, counters, 0, 0, np.zeros(1, np.int64)
    calls, whole = np.zeros((1, CALL), np.int64), np.zeros((1, WHOLE), np.int64)
    calls[0, ADDRESS], calls[0, WIDTH], whole[0, K] = _ROW.ctypes.data, 1, 1
    ids, scores, places = np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int32)
    return calls, 0, 1, whole, np.ones((1, SCALES)), ids, ids, ids, scores, scores, places
