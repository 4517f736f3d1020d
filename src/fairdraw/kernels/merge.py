"""What shards of a row answer, as plain data, and how answers become one.

Every merge is associative and commutative, so shards may report in any order and along any tree; what a shard without
ids answers changes nothing.  Nothing is rounded: numbers are added as integers, or the larger one stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from fairdraw.errors import FairdrawError
from fairdraw.kernels.codes import Codes, best_codes
from fairdraw.masses import Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """What makes a row unusable, as a shard sees it.  Of several the first in the plan stays."""

    place: tuple[int, int, int]
    """Number of the stage (0: the row itself), rank of the fault (NaN before +inf), and where it has one the id."""
    error: FairdrawError


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Summary:
    """Round 1: what is there after the plan's edits."""

    counts: Ids
    """Kept ids of the row itself and after each edit, int64, shape (1 + edits,)."""
    best: Codes
    """Code of the best kept id, shape (1,); shape (0,) without one."""
    refusal: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Listed:
    """The best ids, in the total order."""

    codes: Codes
    """Shape (n,), n <= most."""
    most: int
    """How many were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Buckets:
    """How much of the row lies in each of a few equal stretches of codes."""

    counts: NDArray[np.uint32]
    """Ids, shape (buckets,)."""
    masses: Ids
    """Integer masses, shape (buckets,); shape (0,) if ids alone were asked for."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shares:
    """The mass that each shard has inside a cut, in the order of the vocabulary."""

    first: NDArray[np.uint32]
    """First kept id of each shard that has one."""
    masses: Ids
    """Integer masses, of the same shape."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Arrivals:
    """The first arrivals inside a cut, the winner first, and the mass they raced from."""

    times: NDArray[np.float64]
    """score * c - log2(E) of each, shape (n,), n <= most."""
    codes: Codes
    """Score and id of each."""
    mass: int
    """Integer mass of all ids inside the cut."""
    most: int
    """How many were asked for: the n first arrivals are n draws without replacement."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Found:
    """The id in which a point of the mass falls: of the shard that holds the point, shape (1,); of others (0,)."""

    codes: Codes


Partial = Summary | Listed | Buckets | Shares | Arrivals | Found


def merge(one: Partial, other: Partial) -> Partial:
    """What two shards answer to one question, together.

    Examples
    --------
    >>> left, right = (Listed(codes=np.array(codes, np.uint64), most=3) for codes in ([5, 9], [2, 7, 8]))
    >>> merge(left, right).codes.tolist()
    [2, 5, 7]
    """
    match one, other:
        case Summary(), Summary():
            best = best_codes(np.concatenate([one.best, other.best]), 1)
            refusal = _first(one.refusal, other.refusal)
            return Summary(counts=one.counts + other.counts, best=best, refusal=refusal)
        case Listed(), Listed():
            assert one.most == other.most
            return Listed(codes=best_codes(np.concatenate([one.codes, other.codes]), one.most), most=one.most)
        case Buckets(), Buckets():
            return Buckets(counts=one.counts + other.counts, masses=one.masses + other.masses)
        case Shares(), Shares():
            first, masses = np.concatenate([one.first, other.first]), np.concatenate([one.masses, other.masses])
            order = np.argsort(first)
            return Shares(first=first[order], masses=masses[order])
        case Arrivals(), Arrivals():
            assert one.most == other.most
            times, codes = np.concatenate([one.times, other.times]), np.concatenate([one.codes, other.codes])
            return first_arrivals(times, codes, one.mass + other.mass, one.most)
        case Found(), Found():
            return Found(codes=np.concatenate([one.codes, other.codes]))
    raise AssertionError("answers to different questions")


def merge_all(answers: Iterable[Partial]) -> Partial:
    """What all shards answer together."""
    return reduce(merge, answers)


def first_arrivals(times: NDArray[np.float64], codes: Codes, mass: int, most: int) -> Arrivals:
    """The first of some arrivals; of equal ones the lower ids."""
    if times.size > most:
        sure = times >= np.partition(times, -most)[-most]
        times, codes = times[sure], codes[sure]
    ids = codes & np.uint64(0xFFFFFFFF)
    order = np.lexsort((ids, -times))[:most]
    return Arrivals(times=times[order], codes=codes[order], mass=mass, most=most)


def size_in_bytes(message: object) -> int:
    """What the numbers of a question or an answer take, without names and framing; a refusal counts as its text."""
    if message is None:
        return 0
    if isinstance(message, FairdrawError):
        return len(str(message).encode())
    if isinstance(message, tuple) or not hasattr(message, "__dataclass_fields__"):
        return np.asarray(message).nbytes
    return sum(size_in_bytes(getattr(message, item.name)) for item in fields(message))  # type: ignore[arg-type]


def _first(one: Refusal | None, other: Refusal | None) -> Refusal | None:
    found = [refusal for refusal in (one, other) if refusal is not None]
    return min(found, key=lambda refusal: (refusal.place, str(refusal.error)), default=None)
