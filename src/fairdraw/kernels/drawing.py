"""A token by a kernel, if the plan, the row and the moment allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import address_of, as_mask
from fairdraw.errors import FairdrawError
from fairdraw.history import History, InMemory
from fairdraw.kernels import slots
from fairdraw.kernels.backends import Kernel, find_kernel
from fairdraw.kernels.calling import ASKED, LIST, RESULT, RESULT_AT, as_source, give_back, take
from fairdraw.kernels.operations import Finder
from fairdraw.kernels.recalling import Edited, Recall
from fairdraw.kernels.shapes import Program, recognise
from fairdraw.masses import Scores
from fairdraw.packed_masks import Words, as_words, is_packed, pack
from fairdraw.plan import Plan
from fairdraw.rows import Row

Listed = tuple[Sequence[tuple[int, InMemory]], int]
"""The ids that each edit of a call names, with the place of that list in the record; and how many they are in all."""
NOTHING_LISTED: Listed = ((), 0)
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


def draw_fused(
    program: Program,
    kernel: Kernel,
    logits: object,
    noise: tuple[int, int, int],
    history: History | None,
    mask: object,
) -> tuple[int, Recall] | None:
    """Draw from a row as it came: mask, edits and float32 temperature happen where the kernel reads it.

    Returns
    -------
    token and Recall, or None
        None: not from this row; `fairdraw.readings` then says why.
    """
    assert program.operations is not None
    source, kind = as_source(logits)
    if not program.allows(source.size) or (mask is not None and not program.masked):
        return None
    words, listed = None, NOTHING_LISTED
    if mask is not None or program.listing:
        try:
            words = None if mask is None else words_of(mask, source.size)
            listed = list_ids(program.listing, History() if history is None else history, source.size)
        except FairdrawError:
            return None
    token, fingerprint, edited = draw_token(program, kernel, source, kind, noise, words, listed)
    if token < 0:
        return None
    return token, Recall(source, kind, fingerprint, words, program.operations, edited, program.cuts)


def draw_token(
    program: Program,
    kernel: Kernel,
    row: NDArray[Any],
    kind: int,
    noise: tuple[int, int, int],
    words: Words | None = None,
    listed: Listed = NOTHING_LISTED,
) -> tuple[int, int, Edited | None]:
    """Call a kernel for one row.

    Parameters
    ----------
    program, kernel
        A plan that was recognised, and the kernel of its mode.
    row, kind
        What `fairdraw.kernels.calling.as_source` let in.
    noise : seed, position, sample index
        Inside their domains.
    words, listed
        The mask; the ids that the edits name.

    Returns
    -------
    token, fingerprint, edited
        Token -1: the row cannot be drawn from.  ``edited``: what the edits came to.
    """
    seed, position, sample_index = noise
    finds, room = listed
    space, width = take(), row.size
    if width > space.width:
        space.widen(width)
    if room > space.room:
        space.make_room(room)
    mask, mask_words = (0, 0) if words is None else (address_of(words), words.size)
    ASKED.pack_into(
        space.memory, 0, address_of(row), width, kind, mask, mask_words,
        program.address, position, sample_index, seed & 0xFFFFFFFF, seed >> 32, room, space.edits_at,
    )  # fmt: skip
    for at, (ids, extras, count, _, _) in finds:
        LIST.pack_into(space.memory, at, ids, extras, count)
    kernel(space.at, 1, space.arena_at, space.places_at)
    token, fingerprint, count = RESULT.unpack_from(space.memory, RESULT_AT)
    edited = (bytes(space.edits[: slots.EDIT_FOLLOWING * room]), room, count) if count else None
    give_back(space)
    return token, fingerprint, edited


def list_ids(listing: Sequence[tuple[int, Finder]], history: History, vocab: int) -> Listed:
    """Ask every edit that names ids for them.

    Parameters
    ----------
    listing
        `fairdraw.kernels.shapes.Program.listing`.
    history, vocab
        What they are asked with.
    """
    finds, room = [], 0
    for at, find in listing:
        found = find(history, vocab)
        finds.append((at, found))
        room += found[2]
    return finds, room


def words_of(mask: object, vocab: int) -> Words:
    """A mask of either kind as words that are the library's own; at least one, for no words would mean no mask."""
    words = as_words(mask, vocab) if is_packed(mask) else pack(as_mask(mask, vocab))
    return words if words.size else np.zeros(1, np.int32)


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
    scores = scores if scores.flags.carray else np.array(scores, np.float32, order="C")
    space = take()
    if row.vocab > space.width:
        space.widen(row.vocab)
    broken = kernel(scores, row.masses.scale, *counters, seed & 0xFFFFFFFF, seed >> 32, tokens, space.arena_at)
    give_back(space)
    return None if broken else tokens


def edited_row(row: Row) -> Scores | None:
    """Scores of a row after edits in NumPy; None if an id is removed that still has a score."""
    if row.kept.size != np.count_nonzero(row.scores > -np.inf):
        return None
    return np.ascontiguousarray(row.scores)
