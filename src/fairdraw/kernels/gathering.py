"""A batch's arguments as plain arrays: where each row lies, its mask, its numbers.  What does not fit is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import MOST_IDS, address_of
from fairdraw.errors import FairdrawError
from fairdraw.history import History
from fairdraw.kernels import slots
from fairdraw.kernels.calling import LIST, as_source, kind_of
from fairdraw.kernels.drawing import list_ids, program_of, words_of
from fairdraw.kernels.many_rows import Calls
from fairdraw.kernels.shapes import Program
from fairdraw.packed_masks import LANES, Words
from fairdraw.plan import Plan

LARGEST_SEED, LARGEST_COUNTER = 2**64 - 1, 2**32 - 1
Numbers = tuple[object, object, object]
"""Seeds, positions and sample indices: one for all, or one a row."""


def gather(
    plans: Sequence[Plan],
    numbers: NDArray[np.int64],
    logits: Any,
    noise: Numbers,
    histories: Sequence[History | None] | None,
    masks: Any,
) -> tuple[Calls, NDArray[np.int64]] | None:
    """The calls of the rows that kernels can draw, and which rows those are; None if there are none.

    Parameters
    ----------
    plans, numbers
        The different plans, and the number of each row's.
    logits, noise, histories, masks
        As `fairdraw.sample_batch` takes them; a mistake in them is left to the rows' own draws, which say what it is.
    """
    count = len(numbers)
    programs = [_fused(plan) for plan in plans]
    seeds, positions, samples = (
        _column(values, count, most)
        for values, most in zip(noise, (LARGEST_SEED, *2 * (LARGEST_COUNTER,)), strict=True)
    )
    if seeds is None or positions is None or samples is None or not count:
        return None
    fits = np.array([program is not None for program in programs])[numbers]
    records = np.zeros((count, slots.CALL), np.int64)
    sources = _place_rows(logits, records, fits)
    words = None if masks is None else _place_masks(masks, records, fits)
    records[:, slots.POSITION], records[:, slots.SAMPLE_INDEX] = positions, samples
    records[:, slots.LOW_SEED], records[:, slots.HIGH_SEED] = seeds & np.uint64(0xFFFFFFFF), seeds >> np.uint64(32)
    known = [program or _NONE for program in programs]
    records[:, slots.PLAN] = np.array([program.address for program in known])[numbers]
    if masks is not None:
        fits &= np.array([program is not None and program.masked for program in programs])[numbers] | (
            records[:, slots.MASK_WORDS] == 0
        )
    fits &= _k_fits(known, numbers, records[:, slots.WIDTH])
    listed = _place_ids(known, numbers, records, histories, fits)
    rows = np.flatnonzero(fits)
    if not rows.size:
        return None
    calls = Calls(
        records=records[rows] if rows.size < count else records,
        places=rows,
        plans=plans,
        programs=known,
        numbers=numbers[rows],
        sources=sources if rows.size == count else [sources[row] for row in rows],
        words=words if words is None or rows.size == count else [words[row] for row in rows],
        listed=listed,
    )
    return calls, rows


def _fused(plan: Plan) -> Program | None:
    program = program_of(plan)
    return program if program is not None and program.operations is not None else None


_NONE: Any = program_of(Plan.of())
"""Stands for a plan without a program; no row of it is drawn here."""


def _column(values: object, count: int, most: int) -> NDArray[np.uint64] | np.uint64 | None:
    """One number a row, or one for all; None if one of them is no whole number in 0..most."""
    if type(values) is int:
        return np.uint64(values) if 0 <= values <= most else None
    if isinstance(values, list | tuple | range):
        if not all(type(value) is int and 0 <= value <= most for value in values):
            return None
        return np.array(values, np.uint64)
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        return None
    if array.size and not 0 <= int(array.min()) <= int(array.max()) <= most:
        return None
    return np.broadcast_to(array.astype(np.uint64), (count,))


def _place_rows(logits: Any, records: NDArray[np.int64], fits: NDArray[np.bool_]) -> Any:
    """Enter addresses, widths and kinds; return what has to stay alive."""
    whole, kind = kind_of(logits)
    if kind >= 0 and whole.ndim == 2 and 0 < whole.shape[1] <= MOST_IDS and whole.flags.aligned:
        close = whole.shape[1] == 1 or whole.strides[1] == whole.itemsize
        if close:
            steps = np.arange(len(whole), dtype=np.int64) * whole.strides[0]
            records[:, slots.ADDRESS] = whole.__array_interface__["data"][0] + steps
            records[:, slots.WIDTH], records[:, slots.KIND] = whole.shape[1], kind
            return whole
    sources: list[Any] = [None] * len(records)
    for row in np.flatnonzero(fits):
        try:
            source, kind = as_source(logits[row])
        except FairdrawError:
            fits[row] = False
            continue
        sources[row] = source
        records[row, slots.ADDRESS] = address_of(source)
        records[row, slots.WIDTH], records[row, slots.KIND] = source.size, kind
    return sources


def _place_masks(masks: Any, records: NDArray[np.int64], fits: NDArray[np.bool_]) -> Any:
    """Enter addresses of the masks, as words that are the library's own; return those."""
    widths = records[:, slots.WIDTH]
    if type(masks) is np.ndarray and masks.ndim == 2 and masks.shape[0] == len(records):
        words = _packed(masks, int(widths[0])) if (widths == widths[0]).all() else None
        if words is not None:
            steps = np.arange(len(words), dtype=np.int64) * words.strides[0]
            records[:, slots.MASK_ADDRESS] = words.__array_interface__["data"][0] + steps
            records[:, slots.MASK_WORDS] = words.shape[1]
            return words
    own: list[Words | None] = [None] * len(records)
    for row in np.flatnonzero(fits):
        if masks[row] is None:
            continue
        try:
            own[row] = words = words_of(masks[row], int(widths[row]))
        except FairdrawError:
            fits[row] = False
            continue
        records[row, slots.MASK_ADDRESS], records[row, slots.MASK_WORDS] = address_of(words), words.size
    return own


def _packed(masks: NDArray[Any], vocab: int) -> Words | None:
    """Masks of all rows as words; None if they are of another kind or width."""
    need = -(-vocab // LANES)
    if masks.dtype == np.bool_ and masks.shape[1] == vocab:
        words = np.zeros((len(masks), need), "<i4")
        bits = np.packbits(masks, axis=1, bitorder="little")
        words.view(np.uint8)[:, : bits.shape[1]] = bits
        return words.astype(np.int32, copy=False)
    if masks.dtype in (np.dtype(np.int32), np.dtype(np.uint32)) and masks.shape[1] == need:
        words = np.array(masks, order="C").view(np.int32)
        behind = words[:, -1].view(np.uint32) >> np.uint32(vocab % LANES) if vocab % LANES else 0
        return None if np.any(behind) else words
    return None


def _k_fits(programs: Sequence[Program], numbers: NDArray[np.int64], widths: NDArray[np.int64]) -> NDArray[np.bool_]:
    most = np.array([MOST_IDS if program.most is None else program.most for program in programs], np.int64)
    return (
        np.array([program.k if program.most is not None else 0 for program in programs])[numbers]
        <= widths + most[numbers]
    )


def _place_ids(
    programs: Sequence[Program],
    numbers: NDArray[np.int64],
    records: NDArray[np.int64],
    histories: Sequence[History | None] | None,
    fits: NDArray[np.bool_],
) -> list[object]:
    """Enter the ids that the edits of all rows name; return what has to stay alive."""
    listed: list[object] = []
    if not any(program.listing for program in programs):
        return listed
    memory = records.view(np.uint8)
    for row in np.flatnonzero(fits):
        program = programs[numbers[row]]
        if not program.listing:
            continue
        history = (histories[int(row)] if histories is not None else None) or History()
        try:
            finds, room = list_ids(program.listing, history, int(records[row, slots.WIDTH]))
        except FairdrawError:
            fits[row] = False
            continue
        records[row, slots.ROOM] = room
        for at, (_, _, count, ids, extras) in finds:
            # Copies: logprobs may be asked for when the history has grown.
            pair = np.stack([ids[:count], extras[:count]])
            begin = address_of(pair) if count else 0
            LIST.pack_into(memory[row], at, begin, begin + 8 * count, count)
            listed.append(pair)
    return listed
