"""A few instructions for each 64 bytes of a row: what its extremes and its fingerprint need, in one pass.

Written as vectors for LLVM: a compiler that is left to itself makes two passes of it, or sums in a long chain.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from fairdraw.kernels.fingerprint import FACTOR, FIRST_TURN, LINE, LINES, MIX, SPREAD, SPREAD_AGAIN, TURN
from fairdraw.kernels.numba_cpu.memory import intrinsic
from fairdraw.kernels.numba_cpu.vectors import LONG, all_lanes, load, reduced, vectors_at

LINE_OF_WORDS = ir.VectorType(ir.IntType(32), LINE)


def _all(number: int) -> Any:
    return all_lanes(None, LINE_OF_WORDS, number)


def _piece(builder: Any, at: Any, first: Any, extremes: Any, sums: Any) -> tuple[Any, Any]:
    """Extremes and sums after another piece, whose lines begin with number ``first``."""
    (high, low, far), total = extremes, None
    for number in range(LINES):
        line = load(builder, at, builder.add(first, ir.Constant(LONG, number)))
        high = builder.select(builder.icmp_signed(">", high, line), high, line)
        low = builder.select(builder.icmp_signed("<", low, line), low, line)
        far = builder.select(builder.icmp_unsigned(">", far, line), far, line)
        words = builder.bitcast(line, LINE_OF_WORDS)
        turn = FIRST_TURN + TURN * number
        words = builder.or_(builder.shl(words, _all(turn)), builder.lshr(words, _all(32 - turn)))
        total = words if total is None else builder.add(total, words)
    total = builder.mul(builder.xor(total, builder.lshr(total, _all(SPREAD))), _all(MIX))
    total = builder.xor(total, builder.lshr(total, _all(SPREAD_AGAIN)))
    return (high, low, far), builder.add(builder.mul(sums, _all(FACTOR)), total)


@intrinsic
def digest(context: Any, bits: Any, pieces: Any, sums: Any) -> Any:
    """Largest and smallest entry of the first pieces, at least one, and the largest without sign; ``sums`` goes on."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        bits, pieces, sums = arguments
        lanes = 32 * LINE // context.get_data_type(signature.args[0].dtype).width
        at, vector = vectors_at(context, builder, signature.args[0], bits, lanes)
        kept, _ = vectors_at(context, builder, signature.args[2], sums, LINE)
        before, opening = load(builder, kept, 0), load(builder, at, 0)
        stop = builder.mul(pieces, ir.Constant(LONG, LINES))
        came_from, loop, done = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        first = builder.phi(LONG)
        extremes, running = [builder.phi(vector) for _ in range(3)], builder.phi(LINE_OF_WORDS)
        reached, after = _piece(builder, at, first, extremes, running)
        following = builder.add(first, ir.Constant(LONG, LINES))
        for phi, old, new in zip(
            (first, *extremes, running), (ir.Constant(LONG, 0), *[opening] * 3, before), (following, *reached, after),
            strict=True,
        ):  # fmt: skip
            phi.add_incoming(old, came_from)
            phi.add_incoming(new, loop)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, done)
        builder.position_at_end(done)
        builder.store(after, kept).align = 1
        found = [reduced(builder, name, one) for name, one in zip(("smax", "smin", "umax"), reached, strict=True)]
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(bits.dtype, 3)(bits, types.intp, sums), build
