"""Arguments to compile a kernel for: those of its calls, in type."""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.slots import SCALES, WHOLE, K


def example(mode: str) -> tuple[object, ...]:
    """Arguments of the types that every call of a mode's kernel has; a row of one token, so that a call costs nothing.

    Examples
    --------
    >>> row, *_ = example("top_k")
    >>> row.dtype, row.shape
    (dtype('float32'), (1,))
    """
    row, seed = np.zeros(1, np.float32), (0, 0)
    if mode == "many":
        counters = np.zeros(1, np.uint64)
        return row, 1.0, counters, counters, *seed, np.zeros(1, np.int64)
    whole = np.zeros(WHOLE, np.int64)
    whole[K] = 1
    return row, whole, np.ones(SCALES), 0, 0, *seed
