"""The kernels themselves: one for each mode, and one that draws many tokens from a row.

Those of a mode draw some calls, whose records lie in memory one after the other (see `fairdraw.kernels.slots`).  All
they are given is addresses: of the records, of the memory they work in (see `fairdraw.kernels.arena`), and of a zero
for each id of the row.  A row that cannot be drawn from gives -1.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.arena import arrays_at
from fairdraw.kernels.numba_cpu.compiling import inlined, kernel
from fairdraw.kernels.numba_cpu.cuts import EVERYTHING
from fairdraw.kernels.numba_cpu.inverse import walk
from fairdraw.kernels.numba_cpu.kept import cut_min_p, cut_of, cut_top_k, report, rule_of
from fairdraw.kernels.numba_cpu.masses import NOTHING
from fairdraw.kernels.numba_cpu.noise import make_key
from fairdraw.kernels.numba_cpu.nucleus import lies_inside
from fairdraw.kernels.numba_cpu.opening import open_call, plain_view, read
from fairdraw.kernels.numba_cpu.race import race
from fairdraw.kernels.numba_cpu.view import look, part
from fairdraw.kernels.slots import (
    ALL_TIES_OF_P,
    HIGH_SEED,
    LOW_SEED,
    MIN_P_IN_TOTAL,
    POSITION,
    RACE_SCALE,
    SAMPLE_INDEX,
    TOKEN,
)
from fairdraw.streams.noise import Purpose

__all__ = ["greedy", "inverse_cdf", "many", "min_p", "report", "temperature", "top_k", "top_p"]
BAD = -1
NONE = np.float32(-np.inf)
TARGET, INVERSE_CDF = int(Purpose.TARGET) << 24, int(Purpose.INVERSE_CDF) << 24


@inlined
def key_of(call, tag):
    """What the noise of a call depends on."""
    return make_key(call[POSITION], call[SAMPLE_INDEX], call[LOW_SEED], call[HIGH_SEED], tag)


@kernel
def first_best(view, maxima, peak):
    """The lowest id with the best score."""
    for group in range(maxima.size):
        if maxima[group] == peak:
            first, stretch = part(view, group)
            for i in range(stretch.size):
                if stretch[i] == peak:
                    return first + i
    return BAD


@kernel
def greedy(calls_at, calls, arena_at, places_at):
    """The best token; no cut removes it."""
    for n in range(calls):
        it = open_call(calls_at, n, arena_at, places_at)
        it.call[TOKEN] = first_best(it.row, it.maxima, it.peak) if it.usable else BAD


@inlined
def raced(it, cut):
    """The first arrival inside a cut."""
    return race(it.row, it.maxima, cut, it.scales[RACE_SCALE], key_of(it.call, TARGET), it.numbers)


@kernel
def temperature(calls_at, calls, arena_at, places_at):
    """A race of the whole row."""
    for n in range(calls):
        it = open_call(calls_at, n, arena_at, places_at)
        it.call[TOKEN] = raced(it, EVERYTHING) if it.usable else BAD


@kernel
def min_p(calls_at, calls, arena_at, places_at):
    """A race inside min-p."""
    for n in range(calls):
        it = open_call(calls_at, n, arena_at, places_at)
        it.call[TOKEN] = raced(it, cut_min_p(it.row, it.whole, it.scales, it.peak)) if it.usable else BAD


@kernel
def top_k(calls_at, calls, arena_at, places_at):
    """A race inside top-k, with min-p and top-p before or after it."""
    for n in range(calls):
        it = open_call(calls_at, n, arena_at, places_at)
        it.call[TOKEN] = (
            raced(it, cut_top_k(it.row, it.maxima, it.numbers, it.whole, it.scales, it.peak)) if it.usable else BAD
        )


@inlined
def first_inside(it):
    """The first arrival that lies in the nucleus.

    An arrival outside shows where the nucleus surely has ended; what is left races again.
    """
    view, maxima, whole, peak = it.row, it.maxima, it.whole, it.peak
    cut, rule = cut_min_p(view, whole, it.scales, peak), rule_of(whole, it.scales)
    lowest = cut[0] if whole[MIN_P_IN_TOTAL] else NONE
    total = NOTHING
    while True:
        token = raced(it, cut)
        inside, total = lies_inside(view, maxima, lowest, token, peak, rule, total)
        if inside:
            return token
        cut = look(view, token), np.int64(-1) if whole[ALL_TIES_OF_P] else token - 1


@kernel
def top_p(calls_at, calls, arena_at, places_at):
    """A race inside top-p, with min-p before or after it."""
    for n in range(calls):
        it = open_call(calls_at, n, arena_at, places_at)
        it.call[TOKEN] = first_inside(it) if it.usable else BAD


@kernel
def inverse_cdf(calls_at, calls, arena_at, places_at):
    """One uniform walks along the masses, whatever the cuts."""
    for n in range(calls):
        it = open_call(calls_at, n, arena_at, places_at)
        if not it.usable:
            it.call[TOKEN] = BAD
            continue
        cut = cut_of(it.row, it.maxima, it.numbers, it.whole, it.scales, it.peak)
        scale = np.float32(it.scales[RACE_SCALE])
        it.call[TOKEN] = walk(it.row, it.maxima, cut, it.peak, scale, key_of(it.call, INVERSE_CDF), it.numbers)


@kernel
def many(row, scale, positions, sample_indices, low_key, high_key, tokens, arena_at):
    """A race of the whole row for each pair of position and sample index; 0, or -1 for a bad row."""
    arena = arrays_at(arena_at, row.size)
    view, maxima = plain_view(row, arena.state), arena.maxima
    broken, _ = read(view, arena)
    peak = NONE
    for group in range(maxima.size):
        peak = max(peak, maxima[group])
    if broken or peak == NONE:
        return BAD
    for i in range(tokens.size):
        key = make_key(positions[i], sample_indices[i], low_key, high_key, TARGET)
        tokens[i] = race(view, maxima, EVERYTHING, scale, key, arena.numbers)
    return 0
