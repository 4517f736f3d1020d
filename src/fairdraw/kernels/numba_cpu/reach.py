"""Which scores of a stretch are at least a number: as bits, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from fairdraw.kernels.arena import BLOCKS
from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.memory import intrinsic
from fairdraw.kernels.numba_cpu.vectors import LONG, all_lanes, load, vectors_at
from fairdraw.kernels.numba_cpu.view import as_it_lies
from fairdraw.streams.noise import BLOCK, GROUP

LANES = 16
NOTHING, ONE = np.uint64(0), np.uint64(1)
HALF_OF_ONES = np.uint64(0xFFFFFFFF)


@intrinsic
def _of_block(context: Any, source: Any, start: Any, least: Any) -> Any:
    """Which of the BLOCK scores from ``start`` on, a multiple of BLOCK, are at least a number."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, vector = vectors_at(context, builder, signature.args[0], arguments[0], LANES)
        bound, found = all_lanes(builder, vector, arguments[2]), None
        first = builder.sdiv(arguments[1], ir.Constant(LONG, LANES), flags=("exact",))
        for number in range(BLOCK // LANES):
            passed = builder.fcmp_ordered(">=", load(builder, at, builder.add(first, ir.Constant(LONG, number))), bound)
            bits = builder.zext(builder.bitcast(passed, ir.IntType(LANES)), LONG)
            bits = builder.shl(bits, ir.Constant(LONG, LANES * number))
            found = bits if found is None else builder.or_(found, bits)
        return found

    return types.uint64(source, types.intp, least), build


@intrinsic
def _of_group(context: Any, source: Any, least: Any) -> Any:
    """Which of the blocks of a full group have a score that is at least a number."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, vector = vectors_at(context, builder, signature.args[0], arguments[0], LANES)
        bound, found = all_lanes(builder, vector, arguments[1]), ir.Constant(LONG, 0)
        for block in range(BLOCKS):
            best = None
            for number in range(BLOCK // LANES):
                scores = load(builder, at, block * (BLOCK // LANES) + number)
                larger = scores if best is None else builder.fcmp_ordered(">", best, scores)
                best = scores if best is None else builder.select(larger, best, scores)
            bits = builder.bitcast(builder.fcmp_ordered(">=", best, bound), ir.IntType(LANES))
            some = builder.zext(builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(LANES), 0)), LONG)
            found = builder.or_(found, builder.shl(some, ir.Constant(LONG, block)))
        return found

    return types.uint64(source, least), build


@intrinsic
def lowest_bit(context: Any, word: Any) -> Any:
    """Place of the lowest 1 of a word that is not 0."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), build


@inlined
def scores_that_reach(stretch, start, least):
    """Which of the BLOCK scores from ``start`` on, or of those left, are at least a float32: a word of bits."""
    if start + BLOCK <= stretch.size:
        return _of_block(stretch, start, least)
    word = NOTHING
    for i in range(start, stretch.size):
        word |= np.uint64(stretch[i] >= least) << np.uint64(i - start)
    return word


@inlined
def blocks_that_reach(stretch, least):
    """Which blocks of a group have a score that is at least a float32: a word of bits."""
    if stretch.size == GROUP:
        return _of_group(stretch, least)
    word = NOTHING
    for start in range(0, stretch.size, BLOCK):
        some = scores_that_reach(stretch, start, least) != NOTHING
        word |= np.uint64(some) << np.uint64(start // BLOCK)
    return word


@kernel
def entered(view, block, word, least):
    """The bits of a block whose mask and edits had not been entered into its scores, with them."""
    first = block * BLOCK
    if view.words.size:
        for half in range(2):
            place = 2 * block + half
            mask = np.uint64(np.uint32(view.words[place])) if place < view.words.size else NOTHING
            word &= ~(HALF_OF_ONES << np.uint64(32 * half)) | mask << np.uint64(32 * half)
    edit = view.heads[first // GROUP] if view.heads.size else np.int64(-1)
    while edit >= 0:
        i = view.ids[edit] - first
        if 0 <= i < BLOCK:
            bit = ONE << np.uint64(i)
            word = word | bit if view.values[edit] >= least else word & ~bit
        edit = np.int64(view.following[edit])
    return word


@inlined
def search(view, group, least):
    """Which blocks of a group may have a score that is at least ``least``; with what `search_block` needs.

    What mask and edits take from a block is not asked here, what edits add is.
    """
    stretch, bare = as_it_lies(view, group)
    found = blocks_that_reach(stretch, least)
    if bare and view.heads.size:
        edit = view.heads[group]
        while edit >= 0:
            if view.values[edit] >= least:
                found |= ONE << np.uint64(view.ids[edit] % GROUP // BLOCK)
            edit = np.int64(view.following[edit])
    return found, stretch, bare


@inlined
def search_block(view, stretch, bare, block, least):
    """Which scores of a block are at least ``least``: a word of bits."""
    word = scores_that_reach(stretch, block % BLOCKS * BLOCK, least)
    return entered(view, block, word, least) if bare else word
