"""Parts of the kernels that take or give arrays, made callable: only compiled code can hand those on."""

import numba
import numpy as np

from fairdraw.kernels import calling
from fairdraw.kernels.numba_cpu import arena, cuts, kept, opening
from fairdraw.kernels.numba_cpu.compiling import OPTIONS

compiled = numba.njit(**OPTIONS)
"""As the parts are: what counts references must not call what does not."""


@compiled
def _opened(row, arena_at, maxima):
    arrays = arena.arrays_at(arena_at, row.size)
    broken, fingerprint = opening.read(opening.plain_view(row, arrays.state), arrays)
    for group in range(maxima.size):
        maxima[group] = arrays.maxima[group]
    return broken, fingerprint


@compiled
def _best(row, arena_at, k, codes):
    arrays = arena.arrays_at(arena_at, row.size)
    view = opening.plain_view(row, arrays.state)
    opening.read(view, arrays)
    count = cuts.best_codes(view, arrays.maxima, k, arrays.numbers)
    found = arrays.numbers.view(np.uint64)
    for i in range(count):
        codes[i] = found[i]
    cuts.sort(codes, 0, count)
    return count


@compiled
def _cut(row, arena_at, whole, scales, peak):
    arrays = arena.arrays_at(arena_at, row.size)
    view = opening.plain_view(row, arrays.state)
    opening.read(view, arrays)
    return kept.cut_of(view, arrays.maxima, arrays.numbers, whole, scales, peak)


@compiled
def _fill(array, number):
    for i in range(array.size):
        array[i] = number


@compiled
def _has(array, number):
    same = True
    for i in range(array.size):
        same = same and array[i] == number
    return same


@compiled
def hold_apart(arena_at, width):
    """Whether nine arrays that are filled one after the other still have what they were filled with."""
    it = arena.arrays_at(arena_at, width)
    _fill(it.sums, 1), _fill(it.line, 2), _fill(it.shown, 3), _fill(it.numbers, 4), _fill(it.heads, 5)
    _fill(it.maxima, 6), _fill(it.state, 7), _fill(it.again, 8), _fill(it.scratch, 9)
    first = _has(it.sums, 1) and _has(it.line, 2) and _has(it.shown, 3) and _has(it.numbers, 4) and _has(it.heads, 5)
    return first and _has(it.maxima, 6) and _has(it.state, 7) and _has(it.again, 8) and _has(it.scratch, 9)


def _space_for(row):
    space = calling.Workspace()
    space.widen(row.size)
    return space


def read(row):
    """Maxima of the groups, whether the row is broken, its fingerprint."""
    space, maxima = _space_for(row), np.empty((row.size + 1023) // 1024, np.float32)
    broken, fingerprint = _opened(row, space.arena_at, maxima)
    return maxima, broken, fingerprint


def best_codes(row, k):
    """The sorted codes of the best k."""
    space, codes = _space_for(row), np.empty(row.size, np.uint64)
    return codes[: _best(row, space.arena_at, k, codes)]


def cut_of(row, program):
    """Where a plan's cuts leave off."""
    space = _space_for(row)
    return _cut(row, space.arena_at, program.whole, program.scales, row.max())
