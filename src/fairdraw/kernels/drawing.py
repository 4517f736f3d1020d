"""A token by a kernel, if the plan, the row and the moment allow it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import as_mask
from fairdraw.errors import FairdrawError
from fairdraw.history import History
from fairdraw.kernels.backends import Kernel, find_kernel
from fairdraw.kernels.calling import (
    ASKED,
    EDGES,
    EDGES_AT,
    NO_IDS,
    NO_SCORES,
    NOTHING_LISTED,
    RESULT,
    RESULT_AT,
    Listed,
    address_of,
    as_source,
    give_back,
    list_ids,
    take,
)
from fairdraw.kernels.recalling import Recall
from fairdraw.kernels.shapes import Program, recognise
from fairdraw.masses import Scores
from fairdraw.packed_masks import Words, as_words, is_packed, pack
from fairdraw.plan import Plan
from fairdraw.rows import Row

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
    size = source.size
    if not program.allows(size) or (mask is not None and not program.masked):
        return None
    words, listed = None, NOTHING_LISTED
    if mask is not None or program.listing:
        try:
            words = None if mask is None else words_of(mask, size)
            if program.listing:
                listed = list_ids(program.listing, History() if history is None else history, size)
        except FairdrawError:
            return None
    room = listed.ids.size
    edited = (np.empty(room, np.int64), np.empty(room, np.float32)) if room else None
    token, fingerprint, count = draw_token(program, kernel, (source, kind), noise, words, listed, edited)
    if token < 0:
        return None
    if edited is not None and count < room:
        edited = edited[0][:count], edited[1][:count]
    return token, Recall(source, kind, fingerprint, words, program.operations, edited, program.cuts)


def draw_token(
    program: Program,
    kernel: Kernel,
    source: tuple[NDArray[Any], int],
    noise: tuple[int, int, int],
    words: Words | None = None,
    listed: Listed = NOTHING_LISTED,
    edited: tuple[NDArray[np.int64], NDArray[np.float32]] | None = None,
) -> tuple[int, int, int]:
    """Call a kernel for one row.

    Parameters
    ----------
    program, kernel
        A plan that was recognised, and the kernel of its mode.
    source
        A row that `fairdraw.kernels.calling.as_source` let in, and its kind.
    noise : seed, position, sample index
        Inside their domains.
    words, listed, edited
        The mask; the ids that the edits name; room for what they come to.

    Returns
    -------
    token, fingerprint, count
        Token -1: the row cannot be drawn from.  ``count``: how many ids were edited.
    """
    row, kind = source
    seed, position, sample_index = noise
    space = take()
    if kind or words is not None or listed is not NOTHING_LISTED or program.everywhere:
        space.make_room(row.size)
    mask, mask_words = (0, 0) if words is None else (address_of(words), words.size)
    ASKED.pack_into(
        space.memory, 0, address_of(row), row.size, kind, mask, mask_words,
        0, position, sample_index, seed & 0xFFFFFFFF, seed >> 32,
    )  # fmt: skip
    if listed.edges is not space.edges:
        EDGES.pack_into(space.memory, EDGES_AT, *listed.edges)
        space.edges = listed.edges
    ids, values = (NO_IDS, NO_SCORES) if edited is None else edited
    whole, scales = program.tables
    kernel(space.calls, 0, 1, whole, scales, listed.ids, listed.extras, ids, values, space.scratch, space.places)
    token, fingerprint, count = RESULT.unpack_from(space.memory, RESULT_AT)
    give_back(space)
    return token, fingerprint, count


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
    broken = kernel(scores, row.masses.scale, *counters, seed & 0xFFFFFFFF, seed >> 32, tokens)
    return None if broken else tokens


def edited_row(row: Row) -> Scores | None:
    """Scores of a row after edits in NumPy; None if an id is removed that still has a score."""
    if row.kept.size != np.count_nonzero(row.scores > -np.inf):
        return None
    return np.ascontiguousarray(row.scores)
