"""Sums of integer masses over a stretch of a row, 16 ids at a time: the operations of `masses.mass`, in its order.

Written as vectors for LLVM, whose own choice is half as wide and takes twice as long.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.masses import LIGHTEST, MANTISSA, NOTHING, ROUNDER, SHIFT, mass
from fairdraw.kernels.numba_cpu.memory import intrinsic
from fairdraw.kernels.numba_cpu.vectors import LONG, all_lanes, load, reduced, vectors_at
from fairdraw.masses import EXP2

LANES = 16
NONE = np.float32(-np.inf)
FLOATS, WORDS, LONGS = (ir.VectorType(kind, LANES) for kind in (ir.FloatType(), ir.IntType(32), LONG))


def _all(builder: Any, number: Any) -> Any:
    return all_lanes(builder, FLOATS, number if isinstance(number, ir.Value) else float(number))


def _masses(builder: Any, scores: Any, peak: Any, scale: Any) -> Any:
    """The integer masses of 16 scores, none of which is above the peak: so no exponent is above 0."""
    lightest, rounder = (_all(builder, number) for number in (LIGHTEST, ROUNDER))
    t = builder.fmul(builder.fsub(scores, peak), scale)
    t = builder.select(builder.fcmp_ordered(">", t, lightest), t, lightest)
    whole = builder.fsub(builder.fadd(t, rounder), rounder)
    fraction = builder.fsub(t, whole)
    value = _all(builder, EXP2[-1])
    for factor in reversed(EXP2[:-1]):
        value = builder.fadd(builder.fmul(value, fraction), _all(builder, factor))
    mantissa = builder.zext(builder.fptosi(builder.fmul(value, _all(builder, MANTISSA)), WORDS), LONGS)
    fall = builder.sub(ir.Constant(WORDS, [0] * LANES), builder.fptosi(whole, WORDS))
    shift = ir.Constant(LONGS, [int(SHIFT)] * LANES)
    return builder.lshr(builder.shl(mantissa, shift), builder.zext(fall, LONGS))


@intrinsic
def _weighed(context: Any, stretch: Any, count: Any, least: Any, above: Any, peak: Any, scale: Any) -> Any:
    """Mass of the scores >= ``least`` and of those > ``above`` among ``count``, a multiple of LANES that is not 0."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        at, _ = vectors_at(context, builder, signature.args[0], arguments[0], LANES)
        nothing = ir.Constant(LONGS, [0] * LANES)
        least, above, peak, scale = (_all(builder, number) for number in arguments[2:])
        stop = builder.sdiv(arguments[1], ir.Constant(LONG, LANES))
        before, loop, done = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.branch(loop)
        builder.position_at_end(loop)
        number, reached, higher = builder.phi(LONG), builder.phi(LONGS), builder.phi(LONGS)
        scores = load(builder, at, number)
        masses = _masses(builder, scores, peak, scale)
        mine = builder.select(builder.fcmp_ordered(">=", scores, least), masses, nothing)
        theirs = builder.select(builder.fcmp_ordered(">", scores, above), masses, nothing)
        following = builder.add(number, ir.Constant(LONG, 1))
        after = following, builder.add(reached, mine), builder.add(higher, theirs)
        for phi, first, then in zip(
            (number, reached, higher), (ir.Constant(LONG, 0), nothing, nothing), after, strict=True
        ):
            phi.add_incoming(first, before)
            phi.add_incoming(then, loop)
        builder.cbranch(builder.icmp_signed("<", following, stop), loop, done)
        builder.position_at_end(done)
        return context.make_tuple(builder, signature.return_type, [reduced(builder, "add", sums) for sums in after[1:]])

    single = types.float32
    return types.UniTuple(types.uint64, 2)(stretch, types.intp, single, single, single, single), build


@inlined
def weigh(stretch, least, above, peak, scale):
    """Mass of the scores >= ``least``, and of those > ``above``."""
    full = stretch.size // LANES * LANES
    reached, higher = NOTHING, NOTHING
    if full:
        reached, higher = _weighed(stretch, full, least, above, peak, scale)
    for i in range(full, stretch.size):
        weight = mass(stretch[i], peak, scale)
        reached += weight if stretch[i] >= least else NOTHING
        higher += weight if stretch[i] > above else NOTHING
    return reached, higher


@kernel
def mass_from(stretch, least, peak, scale):
    """Mass of the scores >= least."""
    return weigh(stretch, least, least, peak, scale)[0]


@kernel
def mass_and_above(stretch, score, peak, scale):
    """Mass of all scores, and of those > score."""
    return weigh(stretch, NONE, score, peak, scale)


@kernel
def mass_of_group(stretch, first, cut, peak, scale):
    """Mass of a group's ids inside a cut; the group begins with the id ``first``."""
    total, tied = weigh(stretch, cut[0], cut[0], peak, scale)[1], 0
    for i in range(min(stretch.size, max(0, cut[1] + 1 - first))):
        tied += 1 if stretch[i] == cut[0] else 0
    return total + np.uint64(tied) * mass(cut[0], peak, scale)
