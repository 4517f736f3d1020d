"""A token by a kernel, if the plan, the row and the moment allow it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import MOST_IDS, as_logits
from fairdraw.kernels.backends import Kernel, find_kernel
from fairdraw.kernels.shapes import Program, recognise
from fairdraw.masses import Scores
from fairdraw.plan import Plan
from fairdraw.rows import Row
from fairdraw.stages import Temperature

FLOAT32 = np.dtype(np.float32)
MOST_PROGRAMS = 256
_PROGRAMS: dict[int, tuple[Plan, Program | None]] = {}
"""Plan by identity (hashing all its fields would cost more than the draw), and what it was read into."""


def program_of(plan: Plan) -> Program | None:
    """Read a plan, once for each plan object."""
    if type(plan) is not Plan:
        return None
    entry = _PROGRAMS.get(id(plan))
    if entry is None or entry[0] is not plan:
        if len(_PROGRAMS) >= MOST_PROGRAMS:
            _PROGRAMS.clear()
        entry = _PROGRAMS[id(plan)] = plan, recognise(plan)
    return entry[1]


def draw_token(
    program: Program, kernel: Kernel, row: Scores, seed: int, position: int, sample_index: int
) -> int | None:
    """Draw from a row after its edits.

    Parameters
    ----------
    program, kernel
        A plan that was recognised, and the kernel of its mode.
    row : float32, shape (vocab,)
        Contiguous and writable, though it is never written; entries of -inf are not kept.
    seed, position, sample_index : int
        Inside their domains.

    Returns
    -------
    int or None
        None: not from this row; `fairdraw.readings` then says why.
    """
    if program.most is not None and program.k > row.size + program.most:
        return None
    token = kernel(row, program.whole, program.scales, position, sample_index, seed & 0xFFFFFFFF, seed >> 32)
    return token if token >= 0 else None


def draw_many(
    row: Row, seed: int, positions: NDArray[np.uint64], sample_indices: NDArray[np.uint64]
) -> NDArray[np.int64] | None:
    """Race the kept ids of a row, after all its stages, once for each pair; None if no kernel does it now."""
    kernel = find_kernel("many")
    if kernel is None:
        return None
    scores = row.scores
    if row.kept.size < row.vocab:
        scores = np.full(row.vocab, -np.inf, np.float32)
        scores[row.kept] = row.scores[row.kept]
    counters = (np.ascontiguousarray(numbers, np.uint64) for numbers in (positions, sample_indices))
    counters = (numbers if numbers.flags.carray else numbers.copy() for numbers in counters)
    tokens = np.empty(positions.size, np.int64)
    broken = kernel(_readable(scores), row.masses.scale, *counters, seed & 0xFFFFFFFF, seed >> 32, tokens)
    return None if broken else tokens


def as_row(logits: object) -> Scores:
    """Turn logits into a row that a kernel can read; a float32 row comes back as it is, the kernel checks it."""
    if type(logits) is np.ndarray and logits.dtype == FLOAT32 and logits.ndim == 1 and 0 < logits.size <= MOST_IDS:
        return _readable(logits)
    return _readable(as_logits(logits))


def scaled_row(program: Program, logits: object) -> Scores:
    """The row after the plan's float32 temperatures, in their own arithmetic."""
    row = as_row(logits)
    if not program.unmasked:
        return row
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for stage in program.unmasked:
            assert isinstance(stage, Temperature)
            divides = stage.operation == "divide"
            row = row / np.float32(stage.value) if divides else row * np.float32(1.0 / stage.value)
    return row


def edited_row(row: Row) -> Scores | None:
    """Scores of a row after edits; None if an id is removed that still has a score."""
    if row.kept.size != np.count_nonzero(row.scores > -np.inf):
        return None
    return _readable(row.scores)


def _readable(row: NDArray[Any]) -> Scores:
    return row if row.flags.carray and row.dtype.isnative else np.array(row, np.float32, order="C")
