"""The order in which Rust's ``select_nth_unstable`` leaves what it selects from.

Selection promises only which items end up before the n-th.  In which order is up to the implementation, and
whoever draws from those items in the order in which they stand, as candle's top-k does, depends on it.

The rule: 16 items or fewer are sorted (stably).  Of more, a pivot is chosen, the smaller items go before it, and
the search continues on the side that holds place n.  The partition is a cyclic Lomuto partition: smaller items keep
their order, the others do not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Order = NDArray[np.int64]
Keys = NDArray[np.integer]

SORTED_LENGTH = 16
"""So many items are sorted."""
MEDIAN_OF_THREE_LENGTH = 64
"""From here on, each of the three items that make a pivot is itself a median of three."""
ROUNDS = 16
"""After so many pivots the rest is searched with better ones."""


def select_nth(keys: Keys, place: int) -> Order:
    """Indices in the order that ``select_nth_unstable_by_key(place, ...)`` leaves, int64, shape (items,).

    Parameters
    ----------
    keys : integers, shape (items,)
        What is compared; small ones go first.
    place : int, 0 to items - 1
        The place that gets its final item.

    Notes
    -----
    Source: Rust's ``library/core/src/slice/sort`` (``select.rs``, ``shared/pivot.rs``, ``unstable/quicksort.rs``) as
    of rustc 1.95, for items of at most 96 bytes; compared with its output.  Other versions may leave another order.
    Time grows with the number of items, as the original's.

    Examples
    --------
    >>> select_nth(np.array([5, 1, 4, 1, 3]), 2).tolist()
    [1, 3, 4, 2, 0]

    The last place has a rule of its own: the first of the largest items changes places with the last item.

    >>> select_nth(np.array([1, 2, 2, 0]), 3).tolist()
    [0, 3, 2, 1]
    """
    order = np.arange(keys.size)
    if not _swapped_to_an_end(keys, order, place):
        _search(keys, order, place)
    return order


def _swapped_to_an_end(keys: Keys, order: Order, place: int) -> bool:
    """Fill the last or the first place; the first of equal items goes there."""
    if place == order.size - 1:
        _swap(order, int(np.argmax(keys[order])), place)
    elif place == 0:
        _swap(order, int(np.argmin(keys[order])), place)
    else:
        return False
    return True


def _search(keys: Keys, order: Order, place: int) -> None:
    """Narrow the part that holds the place; ``order`` is always that part, a view of the whole."""
    smallest = None  # the pivot just before the part: nothing in it is smaller
    for _ in range(ROUNDS):
        if order.size <= SORTED_LENGTH:
            break
        pivot = _pivot(keys[order])
        if smallest is not None and keys[order[pivot]] <= smallest:
            after = _partition(keys, order, pivot, equal_goes="before") + 1
            if place < after:
                return
            order, place, smallest = order[after:], place - after, None
            continue
        middle = _partition(keys, order, pivot, equal_goes="after")
        if middle == place:
            return
        if middle > place:
            order = order[:middle]
        else:
            smallest = keys[order[middle]]
            order, place = order[middle + 1 :], place - middle - 1
    _search_by_ninthers(keys, order, place)


def _pivot(values: Keys) -> int:
    """Place of a median of three, or of three medians of three and so on."""
    section = values.size // 8
    starts = (0, 4 * section, 7 * section)
    if values.size < MEDIAN_OF_THREE_LENGTH:
        return _median(values, *starts)
    return _median_of_sections(values, starts, section)


def _median_of_sections(values: Keys, starts: tuple[int, int, int], length: int) -> int:
    if length * 8 >= MEDIAN_OF_THREE_LENGTH:
        part = length // 8
        a, b, c = (_median_of_sections(values, (s, s + 4 * part, s + 7 * part), part) for s in starts)
        return _median(values, a, b, c)
    return _median(values, *starts)


def _median(values: Keys, a: int, b: int, c: int) -> int:
    """Place of the middle one of three; of equal ones b or c as Rust has it."""
    if (values[a] < values[b]) != (values[a] < values[c]):
        return a
    return c if (values[b] < values[c]) != (values[a] < values[b]) else b


def _partition(keys: Keys, order: Order, pivot: int, equal_goes: str) -> int:
    """Put the pivot where it belongs, smaller items before it; return its place.

    The items are looked at from the second on, the first one last.  A smaller item goes behind the smaller ones
    found so far.  The others form a queue: every item looked at first sends the queue's front to its back; one
    that is not smaller then becomes the front.
    """
    _swap(order, 0, pivot)
    items = np.roll(order[1:], -1)
    values, limit = keys[items], keys[order[0]]
    small = values <= limit if equal_goes == "before" else values < limit
    order[1:] = np.concatenate([items[small], _queue(items, small)])
    place = int(np.count_nonzero(small))
    _swap(order, 0, place)
    return place


def _queue(items: Order, small: NDArray[np.bool_]) -> Order:
    """What the queue of `_partition` holds at the end, front first.

    It is written as a tape, one entry for each item from the first large one on: a large item stands for itself,
    and a small one for the entry that was then in front, which is the r-th of the tape after r small ones.
    """
    if small.all():
        return items[:0]
    start = int(np.argmin(small))
    items, small = items[start:], small[start:]
    past, moved = small[:-1], np.concatenate([[0], np.cumsum(small[:-1])])
    stands_for = np.where(past, moved[:-1], np.arange(past.size))
    while past[stands_for].any():
        stands_for = stands_for[stands_for]
    waiting = items[:-1][stands_for][moved[-1] :]
    return waiting if small[-1] else np.concatenate([items[-1:], waiting])


def _search_by_ninthers(keys: Keys, order: Order, place: int) -> None:
    """Search with a pivot near the median (Alexandrescu, "Fast Deterministic Selection", SEA 2017)."""
    while order.size > SORTED_LENGTH:
        if _swapped_to_an_end(keys, order, place):
            return
        middle = _partition_by_ninthers(keys, order)
        if middle == place:
            return
        if middle > place:
            order = order[:middle]
        else:
            order, place = order[middle + 1 :], place - middle - 1
    order[:] = order[np.argsort(keys[order], kind="stable")]


def _partition_by_ninthers(keys: Keys, order: Order) -> int:
    """Gather medians of nine around the middle, and partition by their median."""
    size = order.size
    count = size // (12 if size <= 1024 else 64 if size <= 128 * 1024 else 1024)
    low = size // 2 - count // 2
    gap = (size - 9 * count) // 4
    left, right = low - 4 * count - gap, low + count + gap
    for middle in range(low, low + count):
        _ninther(keys, order, (left, middle - count, right), (left + 1, middle, right + 1),
                 (left + 2, middle + count, right + 2))  # fmt: skip
        left, right = left + 3, right + 3
    _search_by_ninthers(keys, order[low : low + count], count // 2)
    return _partition(keys, order, low + count // 2, equal_goes="after")


def _ninther(keys: Keys, order: Order, first: tuple[int, ...], second: tuple[int, ...], third: tuple[int, ...]) -> None:
    """Bring the median of three medians to the middle of the second three."""

    def value(at: int) -> int:
        return keys[order[at]]

    low, high = _middle(value, *first), _middle(value, *third)
    if value(high) < value(low):
        low, high = high, low
    smaller, centre, larger = second
    if value(larger) < value(smaller):
        smaller, larger = larger, smaller
    best = smaller if value(centre) < value(smaller) else larger if value(larger) < value(centre) else centre
    if value(best) < value(low):
        best = low
    elif value(high) < value(best):
        best = high
    _swap(order, best, centre)


def _middle(value: Callable[[int], int], a: int, b: int, c: int) -> int:
    """Place of the middle one of three; b where it may be."""
    if value(c) < value(a):
        a, c = c, a
    return c if value(c) < value(b) else a if value(b) < value(a) else b


def _swap(order: Order, one: int, other: int) -> None:
    order[one], order[other] = order[other], order[one]
