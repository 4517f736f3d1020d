"""The loops of candle's algorithm, compiled as the Rust code is: float32, no fast-math, one thread.

Where that sorts and selects ids by their weights, here (weight, id) stand together in one 64-bit key, which spares the
looking up: sort and selection take no longer than those of a Rust program with the same rows (rustc 1.95, -O).
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

SHORT = 24
"""Shorter parts are sorted by insertion."""
DEPTH = 64
"""Of the stack of parts: the longer part waits, so that it is never deeper than log2 of the row."""
ID_BITS, ID = np.uint64(32), np.uint64(0xFFFFFFFF)

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")


@compiled
def softmax(row: Any, factor: Any) -> Any:
    """Softmax of row * factor: a pass each for factor, maximum, exponentials, their sum and the division."""
    scaled = row * factor
    peak = scaled[0]
    for value in scaled:
        if value > peak:
            peak = value
    exponentials = np.empty_like(scaled)
    for i in range(scaled.size):
        exponentials[i] = np.exp(scaled[i] - peak)
    total = np.float32(0)
    for value in exponentials:
        total += value
    for i in range(scaled.size):
        exponentials[i] /= total
    return exponentials


@compiled
def draw_weighted(weights: Any, uniform: Any) -> int:
    """A place by its weight: running sums one by one, then a binary search."""
    sums = np.empty(weights.size - 1, np.float32)
    total = weights[0]
    for i in range(1, weights.size):
        sums[i - 1] = total
        total += weights[i]
    sought = uniform * total
    low, high = 0, sums.size
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] <= sought:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def _keys(weights: Any) -> Any:
    """Keys that rise as the weights fall, and with the id where weights are equal; no weight is negative."""
    bits, keys = weights.view(np.uint32), np.empty(weights.size, np.uint64)
    for i in range(keys.size):
        keys[i] = np.uint64(~bits[i]) << ID_BITS | np.uint64(i)
    return keys


@compiled
def _ids(keys: Any) -> Any:
    return (keys & ID).astype(np.int64)


@compiled
def _median(a: Any, b: Any, c: Any) -> Any:
    return max(min(a, b), min(max(a, b), c))


@compiled
def _pivot(keys: Any) -> Any:
    """A key about in the middle: the median of three medians of three."""
    step, eighth, quarter = keys.size // 16, keys.size // 8, keys.size // 4
    found = np.empty(3, np.uint64)
    for i in range(3):
        place = eighth + i * quarter
        found[i] = _median(keys[place], keys[place + step], keys[place + 2 * step])
    return _median(found[0], found[1], found[2])


@compiled
def _partition(keys: Any, pivot: Any) -> Any:
    """Put the keys below the pivot first, without branches, then the pivot itself; return its place."""
    first = np.uint64(0)
    for place in range(keys.size):
        key = keys[np.uint64(place)]
        keys[np.uint64(place)] = keys[first]
        keys[first] = key
        first += np.uint64(key < pivot)
    middle = np.int64(first)
    for place in range(middle, keys.size):
        if keys[place] == pivot:
            keys[place], keys[middle] = keys[middle], pivot
            break
    return middle


@compiled
def _sort_short(keys: Any) -> None:
    for place in range(1, keys.size):
        key, hole = keys[place], place
        while hole > 0 and keys[hole - 1] > key:
            keys[hole] = keys[hole - 1]
            hole -= 1
        keys[hole] = key


@compiled
def _in_order(keys: Any) -> bool:
    for i in range(1, keys.size):  # noqa: SIM110 (a loop is what Numba compiles well)
        if keys[i - 1] > keys[i]:
            return False
    return True


@compiled
def sort_falling(weights: Any) -> Any:
    """Sort all ids by falling weight; of equal weights the lower id comes first."""
    keys = _keys(weights)
    if _in_order(keys):
        return _ids(keys)
    lows, highs = np.empty(DEPTH, np.int64), np.empty(DEPTH, np.int64)
    waiting, low, high = 0, 0, keys.size
    while True:
        if high - low <= SHORT:
            _sort_short(keys[low:high])
            if waiting == 0:
                return _ids(keys)
            waiting -= 1
            low, high = lows[waiting], highs[waiting]
            continue
        part = keys[low:high]
        middle = low + _partition(part, _pivot(part))
        if middle - low < high - middle:
            lows[waiting], highs[waiting] = middle + 1, high
            waiting, high = waiting + 1, middle
        else:
            lows[waiting], highs[waiting] = low, middle
            waiting, low = waiting + 1, middle + 1


@compiled
def select_heaviest(weights: Any, k: int) -> Any:
    """The k heaviest ids, in no order that means anything."""
    keys = _keys(weights)
    low, high = 0, keys.size
    while high - low > SHORT:
        part = keys[low:high]
        middle = low + _partition(part, _pivot(part))
        if k == middle:
            return _ids(keys[:k])
        if k < middle:
            high = middle
        else:
            low = middle + 1
    _sort_short(keys[low:high])
    return _ids(keys[:k])


@compiled
def take_best(row: Any, uniform: Any) -> int:
    """The first of the largest."""
    best = 0
    for i in range(row.size):
        if row[i] > row[best]:
            best = i
    return best


@compiled
def draw_all(row: Any, factor: Any, uniform: Any) -> int:
    """Every token by its probability."""
    return draw_weighted(softmax(row, factor), uniform)


@compiled
def _cut(weights: Any, p: Any) -> None:
    """Set all to zero before which, by falling weight, a mass of p stands; the mass is a running sum."""
    mass = np.float32(0)
    for index in sort_falling(weights):
        if mass >= p:
            weights[index] = 0
        else:
            mass += weights[index]


@compiled
def draw_top_p(row: Any, factor: Any, p: Any, uniform: Any) -> int:
    """The shortest prefix of mass p."""
    weights = softmax(row, factor)
    _cut(weights, p)
    return draw_weighted(weights, uniform)


@compiled
def draw_top_k(row: Any, factor: Any, k: int, uniform: Any) -> int:
    """The k best."""
    weights = softmax(row, factor)
    if k >= weights.size:
        return draw_weighted(weights, uniform)
    ids = select_heaviest(weights, k)
    return ids[draw_weighted(weights[ids], uniform)]


@compiled
def draw_top_k_top_p(row: Any, factor: Any, k: int, p: Any, uniform: Any) -> int:
    """The k best, and of them the shortest prefix whose mass, as a share of the whole row, reaches p."""
    weights = softmax(row, factor)
    if k >= weights.size:
        _cut(weights, p)
        return draw_weighted(weights, uniform)
    ids = select_heaviest(weights, k)
    best = weights[ids]
    total = np.float32(0)
    for weight in best:
        total += weight
    if 0 < p < total:
        _cut(best, p)
    return ids[draw_weighted(best, uniform)]
