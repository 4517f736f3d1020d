"""Where all cuts of a plan together leave off, and what that keeps."""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.cuts import (
    EVERYTHING,
    best_codes,
    count_tied,
    decode,
    is_kept,
    last_code,
    lowest_of_min_p,
    shorter,
    sort,
)
from fairdraw.kernels.numba_cpu.masses import NOTHING, mass, threshold
from fairdraw.kernels.numba_cpu.nucleus import cut_listed, cut_top_p, total_mass
from fairdraw.kernels.numba_cpu.opening import open_call
from fairdraw.kernels.numba_cpu.view import look, part, width
from fairdraw.kernels.numba_cpu.weighing import mass_of_group
from fairdraw.kernels.slots import (
    ALL_TIES_OF_K,
    ALL_TIES_OF_P,
    COUNT,
    FULL,
    KEPT,
    LEAST,
    MIN_P_IN_TOTAL,
    MIN_P_ON,
    MIN_P_SCALE,
    MIN_P_STRICT,
    PEAK,
    RACE_SCALE,
    RANK,
    SCORE,
    SHARE,
    TOKEN,
    TOP_K_IN_TOTAL,
    TOP_P_ON,
    TOP_P_SCALE,
    TOP_P_STRICT,
    K,
)

NONE, ZERO = np.float32(-np.inf), np.float32(0)


@kernel
def cut_min_p(view, whole, scales, peak):
    """The cut of min-p; nothing is cut if the plan has none."""
    if not whole[MIN_P_ON]:
        return EVERYTHING
    scale = np.float32(scales[MIN_P_SCALE])
    return lowest_of_min_p(peak, scale, whole[LEAST], whole[MIN_P_STRICT]), width(view) - 1


@kernel
def rule_of(whole, scales):
    """Top-p as numbers: scale of the masses, share in 2^-53, strict, whether ties at its end all stay."""
    return np.float32(scales[TOP_P_SCALE]), np.uint64(whole[SHARE]), whole[TOP_P_STRICT], whole[ALL_TIES_OF_P]


@kernel
def cut_top_k(view, maxima, numbers, whole, scales, peak):
    """The cut of top-k, with min-p and with a top-p whose mass is read off the list of the best k."""
    codes = numbers.view(np.uint64)[: best_codes(view, maxima, whole[K], numbers)]
    score, last = decode(last_code(codes))
    by_k = (score, width(view) - 1 if whole[ALL_TIES_OF_K] else last) if codes.size == whole[K] else EVERYTHING
    by_min_p = cut_min_p(view, whole, scales, peak)
    cut = shorter(by_k, by_min_p)
    if whole[TOP_P_ON]:
        sort(codes, 0, codes.size)
        rule = rule_of(whole, scales)
        region = by_min_p if whole[MIN_P_IN_TOTAL] else EVERYTHING
        if whole[TOP_K_IN_TOTAL]:
            total = mass_of_best(view, maxima, codes, shorter(by_k, region), peak, rule[0])
        else:
            total = total_mass(view, maxima, region[0], peak, rule[0])
        cut = cut_listed(view, maxima, codes, cut, peak, rule, threshold(rule[1], total, rule[2]))
    return cut


@kernel
def mass_of_best(view, maxima, codes, cut, peak, scale):
    """Mass of a cut that reaches at most to the ids tied with the last of the list."""
    total, tied = NOTHING, 0
    worst, _ = decode(codes[codes.size - 1])
    for j in range(codes.size):
        score, i = decode(codes[j])
        if is_kept(score, i, cut):
            total += mass(score, peak, scale)
            tied += 1 if score == worst else 0
    if cut[0] == worst and cut[1] == width(view) - 1:
        unlisted = np.uint64(count_tied(view, maxima, worst, width(view)) - tied)
        total += unlisted * mass(worst, peak, scale)
    return total


@kernel
def cut_of(view, maxima, numbers, whole, scales, peak):
    """The cut that a chain of cuts comes to."""
    if whole[K]:
        return cut_top_k(view, maxima, numbers, whole, scales, peak)
    cut = cut_min_p(view, whole, scales, peak)
    if whole[TOP_P_ON]:
        rule = rule_of(whole, scales)
        total = total_mass(view, maxima, cut[0] if whole[MIN_P_IN_TOTAL] else NONE, peak, rule[0])
        cut = cut_top_p(view, maxima, cut, peak, rule, threshold(rule[1], total, rule[2]))
    return cut


@kernel
def count_inside(stretch, first, cut):
    """How many ids of a group a cut keeps; -inf is never kept."""
    count = 0
    for i in range(stretch.size):
        count += 1 if is_kept(stretch[i], first + i, cut) and stretch[i] > NONE else 0
    return count


@kernel
def bits_of(score):
    """The bits of a float32, in an int64."""
    return np.int64(np.float32(score + ZERO).view(np.int32))


@kernel
def report(calls_at, calls, arena_at, places_at):
    """For calls that have their token: what is kept, what it weighs, and the token's score and place."""
    for n in range(calls):
        it = open_call(calls_at, n, arena_at, places_at)
        call, view, maxima, peak = it.call, it.row, it.maxima, it.peak
        if not it.usable or call[TOKEN] < 0:
            continue
        cut, scale = cut_of(view, maxima, it.numbers, it.whole, it.scales, peak), np.float32(it.scales[RACE_SCALE])
        score = look(view, call[TOKEN])
        count, kept, full, rank = 0, NOTHING, NOTHING, 1
        for group in range(maxima.size):
            if maxima[group] == NONE:
                continue
            begin, stretch = part(view, group)
            full += mass_of_group(stretch, begin, EVERYTHING, peak, scale)
            if maxima[group] >= cut[0]:
                count += count_inside(stretch, begin, cut)
                kept += mass_of_group(stretch, begin, cut, peak, scale)
            if maxima[group] >= score:
                rank += count_inside(stretch, begin, (score, call[TOKEN] - 1))
        call[COUNT], call[KEPT], call[FULL], call[RANK] = count, np.int64(kept), np.int64(full), rank
        call[PEAK], call[SCORE] = bits_of(peak), bits_of(score)
