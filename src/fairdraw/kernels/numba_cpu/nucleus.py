"""Top-p: whether an id lies in the nucleus, and where the nucleus ends.

An id lies in it when the mass before it is below ``need``, the mass that the prefix must reach.  ``need`` grows with
the total, so that a part of the total often settles the question.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.cuts import count_tied, decode, nth_tied, order_key, score_of, shorter
from fairdraw.kernels.numba_cpu.masses import LIGHTEST, NOTHING, mass, threshold
from fairdraw.kernels.numba_cpu.view import look, part, width
from fairdraw.kernels.numba_cpu.weighing import mass_and_above, mass_from


@kernel
def total_mass(view, maxima, lowest, peak, scale):
    """Mass of the scores >= lowest."""
    total = NOTHING
    for group in range(maxima.size):
        if maxima[group] >= lowest:
            total += mass_from(part(view, group)[1], lowest, peak, scale)
    return total


@kernel
def total_above(view, maxima, score, peak, scale):
    """Mass of the scores > score."""
    above = NOTHING
    for group in range(maxima.size):
        if maxima[group] > score:
            above += mass_and_above(part(view, group)[1], score, peak, scale)[1]
    return above


@kernel
def mass_before(view, maxima, i, above, all_ties, peak, scale):
    """Mass before an id in the total order; with its ties counted as one, before the first of them."""
    if all_ties:
        return above
    score = look(view, i)
    weight = mass(score, peak, scale)
    return above + np.uint64(count_tied(view, maxima, score, i)) * weight


@kernel
def lies_inside(view, maxima, lowest, i, peak, rule, total):
    """Whether an id lies in the nucleus, and the total of the scores >= lowest if that is known now, else 0."""
    scale, share, strict, all_ties = rule
    score = look(view, i)
    if total > NOTHING or lowest > -np.inf:
        total = total if total > NOTHING else total_mass(view, maxima, lowest, peak, scale)
        above = total_above(view, maxima, score, peak, scale)
        before = mass_before(view, maxima, i, above, all_ties, peak, scale)
        return before < threshold(share, total, strict), total
    above = NOTHING
    for group in range(maxima.size):
        if maxima[group] >= score:
            mine, higher = mass_and_above(part(view, group)[1], score, peak, scale)
            total, above = total + mine, above + higher
    before = mass_before(view, maxima, i, above, all_ties, peak, scale)
    for group in range(maxima.size):
        if maxima[group] < score:
            if before < threshold(share, total, strict):
                return True, NOTHING
            total += mass_from(part(view, group)[1], lowest, peak, scale)
    return before < threshold(share, total, strict), total


@kernel
def last_tied(view, maxima, score, above, need, all_ties, peak, scale):
    """The cut in the tie group that crosses ``need``, with the mass above the group."""
    if all_ties:
        return score, width(view) - 1
    weight = mass(score, peak, scale)
    return score, nth_tied(view, maxima, score, np.int64((need - above + weight - np.uint64(1)) // weight))


@kernel
def cut_top_p(view, maxima, cut, peak, rule, need):
    """Where the nucleus ends, by bisection over the order keys; the cut itself if its mass does not reach ``need``."""
    scale, _, _, all_ties = rule
    # Scores from here on weigh nothing.
    floor = peak + LIGHTEST / scale
    fails, reaches = np.int64(order_key(peak)) + 1, np.int64(order_key(max(floor, cut[0])))
    if total_mass(view, maxima, score_of(np.int32(reaches)), peak, scale) < need:
        return cut
    while fails - reaches > 1:
        middle = (fails + reaches) >> 1
        if total_mass(view, maxima, score_of(np.int32(middle)), peak, scale) >= need:
            reaches = middle
        else:
            fails = middle
    score = score_of(np.int32(reaches))
    above = total_above(view, maxima, score, peak, scale)
    return shorter(last_tied(view, maxima, score, above, need, all_ties, peak, scale), cut)


@kernel
def cut_listed(view, maxima, codes, cut, peak, rule, need):
    """Where the nucleus ends, given the sorted codes of the best ids; ids tied with the last may not be listed."""
    scale, _, _, all_ties = rule
    before, above, weight = NOTHING, NOTHING, NOTHING
    score, last = decode(codes[0])
    for j in range(codes.size):
        if before >= need:
            return shorter((score, width(view) - 1 if all_ties else last), cut)
        higher = score
        score, last = decode(codes[j])
        weight = mass(score, peak, scale)
        above = before if score < higher or j == 0 else above
        before += weight
    if before >= need:
        return shorter((score, width(view) - 1 if all_ties else last), cut)
    if weight == NOTHING or above + weight * np.uint64(count_tied(view, maxima, score, width(view))) < need:
        return cut
    return shorter(last_tied(view, maxima, score, above, need, all_ties, peak, scale), cut)
