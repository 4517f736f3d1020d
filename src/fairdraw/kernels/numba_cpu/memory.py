"""Rows and masks where they lie in memory, and the two things that Numba has no words for.

A call passes addresses, so one compiled kernel takes rows of any type, writable or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.np.arrayobj import populate_array

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.vectors import all_lanes

intrinsic: Any = extending.intrinsic
LANES = 32
"""Ids to a word of a mask."""
WORD = np.int32(0)


@intrinsic
def numbers_at(context: Any, address: Any, size: Any, like: Any) -> Any:
    """The numbers that lie in memory from an address on, of the type of ``like``; nothing is copied, or kept alive."""
    array = types.Array(types.unliteral(like), 1, "C")

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(array)(context, builder)
        number = context.get_data_type(array.dtype)
        bytes_each = context.get_constant(types.intp, context.get_abi_sizeof(number))
        data = builder.inttoptr(arguments[0], number.as_pointer())
        populate_array(made, data, [arguments[1]], [bytes_each], bytes_each, None)
        return made._getvalue()

    return array(types.int64, types.intp, array.dtype), build


@intrinsic
def blend(context: Any, source: Any, start: Any, word: Any, target: Any, place: Any, other: Any) -> Any:
    """Copy 32 numbers, with ``other`` in place of those whose bit of ``word`` is 0: one instruction on many CPUs."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        source, start, word, target, place, other = arguments
        vector = ir.VectorType(context.get_data_type(signature.args[5]), LANES)

        def at(kind: Any, array: Any, index: Any) -> Any:
            data = context.make_array(kind)(context, builder, array).data
            return builder.bitcast(builder.gep(data, [index]), vector.as_pointer())

        values = builder.load(at(signature.args[0], source, start))
        values.align = 1
        bits = builder.bitcast(word, ir.VectorType(ir.IntType(1), LANES))
        chosen = builder.select(bits, values, all_lanes(builder, vector, other))
        builder.store(chosen, at(signature.args[3], target, place)).align = 1
        return context.get_dummy_value()

    return types.void(source, types.intp, types.int32, target, types.intp, other), build


@kernel
def is_allowed(words, i):
    """Whether a mask allows an id; behind its words it allows none."""
    return i >> 5 < words.size and (words[i >> 5] >> np.int32(i & 31)) & np.int32(1) != 0


@kernel
def mask_out(source, words, first, target, other):
    """Copy numbers of the ids from ``first`` on, a multiple of 32, with ``other`` for those that a mask forbids."""
    whole = source.size // LANES
    for j in range(whole):
        word = words[(first >> 5) + j] if (first >> 5) + j < words.size else WORD
        blend(source, j * LANES, word, target, j * LANES, other)
    for i in range(whole * LANES, source.size):
        target[i] = source[i] if is_allowed(words, first + i) else other


@kernel
def all_or_none(words, first, stop):
    """1 if a mask allows all ids of a stretch, 0 if none, else 2; ``first`` is a multiple of 32."""
    every, some = np.int32(-1), WORD
    for j in range(first >> 5, stop >> 5):
        word = words[j] if j < words.size else WORD
        every, some = np.int32(every & word), np.int32(some | word)
    for i in range(max(first, stop >> 5 << 5), stop):
        word = np.int32(-1) if is_allowed(words, i) else WORD
        every, some = np.int32(every & word), np.int32(some | word)
    return 1 if every == np.int32(-1) else 0 if some == WORD else 2
