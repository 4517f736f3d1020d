"""The kernels themselves: one for each mode, and one that draws many tokens from a row.

Those of a mode draw a stretch of calls (see `fairdraw.kernels.slots`): records of where a row lies, of its mask and
of what its noise depends on; with the numbers of the plans, the ids that edits name with what belongs to each, room
for what the edits come to, and scratch memory.  A row that cannot be drawn from gives -1.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.inverse import walk
from fairdraw.kernels.numba_cpu.kept import cut_min_p, cut_of, cut_top_k, report, rule_of
from fairdraw.kernels.numba_cpu.masses import NOTHING
from fairdraw.kernels.numba_cpu.noise import make_key
from fairdraw.kernels.numba_cpu.nucleus import lies_inside
from fairdraw.kernels.numba_cpu.opening import groups_of, open_call, plain_view, read
from fairdraw.kernels.numba_cpu.race import race
from fairdraw.kernels.numba_cpu.view import look, part
from fairdraw.kernels.slots import (
    ALL_TIES_OF_P,
    HIGH_SEED,
    LOW_SEED,
    MIN_P_IN_TOTAL,
    PLAN,
    POSITION,
    RACE_SCALE,
    SAMPLE_INDEX,
    TOKEN,
)
from fairdraw.streams.noise import GROUP, Purpose

__all__ = ["greedy", "inverse_cdf", "many", "min_p", "report", "temperature", "top_k", "top_p"]
BAD = -1
NONE = np.float32(-np.inf)
EVERYTHING = NONE, np.int64(-1)
TARGET, INVERSE_CDF = int(Purpose.TARGET) << 24, int(Purpose.INVERSE_CDF) << 24


@kernel
def key_of(call, tag):
    """What the noise of a call depends on."""
    return make_key(call[POSITION], call[SAMPLE_INDEX], call[LOW_SEED], call[HIGH_SEED], tag)


@kernel
def first_best(view, maxima, peak):
    """The lowest id with the best score."""
    for group in range(maxima.size):
        if maxima[group] == peak:
            stretch = part(view, group)
            for i in range(stretch.size):
                if stretch[i] == peak:
                    return group * GROUP + i
    return BAD


@kernel
def greedy(calls, first, stop, whole, scales, ids, extras, touched, values, scratch, places):
    """The best token; no cut removes it."""
    for n in range(first, stop):
        call, plan = calls[n], calls[n, PLAN]
        view, maxima, peak, usable = open_call(
            call, whole[plan], scales[plan], ids, extras, touched, values, scratch, places
        )
        call[TOKEN] = first_best(view, maxima, peak) if usable else BAD


@kernel
def temperature(calls, first, stop, whole, scales, ids, extras, touched, values, scratch, places):
    """A race of the whole row."""
    for n in range(first, stop):
        call, plan = calls[n], calls[n, PLAN]
        view, maxima, _, usable = open_call(
            call, whole[plan], scales[plan], ids, extras, touched, values, scratch, places
        )
        scale = scales[plan, RACE_SCALE]
        call[TOKEN] = race(view, maxima, EVERYTHING, scale, key_of(call, TARGET)) if usable else BAD


@kernel
def min_p(calls, first, stop, whole, scales, ids, extras, touched, values, scratch, places):
    """A race inside min-p."""
    for n in range(first, stop):
        call, plan = calls[n], calls[n, PLAN]
        view, maxima, peak, usable = open_call(
            call, whole[plan], scales[plan], ids, extras, touched, values, scratch, places
        )
        if not usable:
            call[TOKEN] = BAD
            continue
        cut = cut_min_p(view, whole[plan], scales[plan], peak)
        call[TOKEN] = race(view, maxima, cut, scales[plan, RACE_SCALE], key_of(call, TARGET))


@kernel
def top_k(calls, first, stop, whole, scales, ids, extras, touched, values, scratch, places):
    """A race inside top-k, with min-p and top-p before or after it."""
    for n in range(first, stop):
        call, plan = calls[n], calls[n, PLAN]
        view, maxima, peak, usable = open_call(
            call, whole[plan], scales[plan], ids, extras, touched, values, scratch, places
        )
        if not usable:
            call[TOKEN] = BAD
            continue
        cut = cut_top_k(view, maxima, whole[plan], scales[plan], peak)
        call[TOKEN] = race(view, maxima, cut, scales[plan, RACE_SCALE], key_of(call, TARGET))


@kernel
def first_inside(view, maxima, peak, whole, scales, key):
    """The first arrival that lies in the nucleus.

    An arrival outside shows where the nucleus surely has ended; what is left races again.
    """
    cut, rule = cut_min_p(view, whole, scales, peak), rule_of(whole, scales)
    lowest = cut[0] if whole[MIN_P_IN_TOTAL] else NONE
    total = NOTHING
    while True:
        token = race(view, maxima, cut, scales[RACE_SCALE], key)
        inside, total = lies_inside(view, maxima, lowest, token, peak, rule, total)
        if inside:
            return token
        cut = look(view, token), np.int64(-1) if whole[ALL_TIES_OF_P] else token - 1


@kernel
def top_p(calls, first, stop, whole, scales, ids, extras, touched, values, scratch, places):
    """A race inside top-p, with min-p before or after it."""
    for n in range(first, stop):
        call, plan = calls[n], calls[n, PLAN]
        view, maxima, peak, usable = open_call(
            call, whole[plan], scales[plan], ids, extras, touched, values, scratch, places
        )
        key = key_of(call, TARGET)
        call[TOKEN] = first_inside(view, maxima, peak, whole[plan], scales[plan], key) if usable else BAD


@kernel
def inverse_cdf(calls, first, stop, whole, scales, ids, extras, touched, values, scratch, places):
    """One uniform walks along the masses, whatever the cuts."""
    for n in range(first, stop):
        call, plan = calls[n], calls[n, PLAN]
        view, maxima, peak, usable = open_call(
            call, whole[plan], scales[plan], ids, extras, touched, values, scratch, places
        )
        if not usable:
            call[TOKEN] = BAD
            continue
        cut = cut_of(view, maxima, whole[plan], scales[plan], peak)
        scale = np.float32(scales[plan, RACE_SCALE])
        call[TOKEN] = walk(view, maxima, cut, peak, scale, key_of(call, INVERSE_CDF))


@kernel
def many(row, scale, positions, sample_indices, low_key, high_key, tokens):
    """A race of the whole row for each pair of position and sample index; 0, or -1 for a bad row."""
    view, maxima = plain_view(row), np.empty(groups_of(row.size), np.float32)
    broken, _ = read(view, maxima)
    peak = NONE
    for group in range(maxima.size):
        peak = max(peak, maxima[group])
    if broken or peak == NONE:
        return BAD
    for i in range(tokens.size):
        key = make_key(positions[i], sample_indices[i], low_key, high_key, TARGET)
        tokens[i] = race(view, maxima, EVERYTHING, scale, key)
    return 0
