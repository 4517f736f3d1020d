"""The few words of LLVM that several kernels are written in: vectors in memory, of one number, and their reduction."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

INDEX, LONG = ir.IntType(32), ir.IntType(64)


def vectors_at(context: Any, builder: Any, kind: Any, array: Any, lanes: int) -> tuple[Any, Any]:
    """A pointer to an array's numbers as vectors, and the type of one; ``kind`` is the array's Numba type."""
    vector = ir.VectorType(context.get_data_type(kind.dtype), lanes)
    return builder.bitcast(context.make_array(kind)(context, builder, array).data, vector.as_pointer()), vector


def load(builder: Any, at: Any, number: Any) -> Any:
    """The vector of this number; it may lie anywhere in memory."""
    number = number if isinstance(number, ir.Value) else ir.Constant(LONG, number)
    loaded = builder.load(builder.gep(at, [number]))
    loaded.align = 1
    return loaded


def all_lanes(builder: Any, vector: Any, number: Any) -> Any:
    """A vector of one number, a Python one or a value."""
    if not isinstance(number, ir.Value):
        return ir.Constant(vector, [number] * vector.count)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), number, ir.Constant(INDEX, 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(INDEX, vector.count), [0] * vector.count))


def reduced(builder: Any, name: str, vector: Any) -> Any:
    """One number of a vector of integers: the smallest (smin) or largest lane (smax, umax), or the sum (add)."""
    lanes, known = vector.type, builder.module.globals
    full = f"llvm.vector.reduce.{name}.v{lanes.count}i{lanes.element.width}"
    function = known.get(full) or ir.Function(builder.module, ir.FunctionType(lanes.element, [lanes]), full)
    return builder.call(function, [vector])
