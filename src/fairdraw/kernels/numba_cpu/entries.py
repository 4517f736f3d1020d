"""The kernels themselves: one for each mode, a row in and a token out; and one that draws many tokens from a row.

Those of a mode have the same arguments: the row (float32, contiguous), the plan's numbers (see
`fairdraw.kernels.slots`), and position, sample index and the two words of the seed.  A row that cannot be drawn from
gives -1.
"""

from __future__ import annotations

import numpy as np

from fairdraw.kernels.numba_cpu.compiling import kernel
from fairdraw.kernels.numba_cpu.cuts import best_codes, count_tied, decode, lowest_of_min_p, shorter
from fairdraw.kernels.numba_cpu.inverse import walk
from fairdraw.kernels.numba_cpu.masses import NOTHING, mass, threshold
from fairdraw.kernels.numba_cpu.noise import make_key
from fairdraw.kernels.numba_cpu.nucleus import cut_listed, cut_top_p, lies_inside, total_mass
from fairdraw.kernels.numba_cpu.race import race
from fairdraw.kernels.numba_cpu.summarise import USABLE, summarise
from fairdraw.kernels.slots import (
    ALL_TIES_OF_K,
    ALL_TIES_OF_P,
    LEAST,
    MIN_P_IN_TOTAL,
    MIN_P_ON,
    MIN_P_SCALE,
    MIN_P_STRICT,
    RACE_SCALE,
    SHARE,
    TOP_K_IN_TOTAL,
    TOP_P_ON,
    TOP_P_SCALE,
    TOP_P_STRICT,
    K,
)
from fairdraw.streams.noise import GROUP, Purpose

BAD = -1
NONE = np.float32(-np.inf)
TARGET, INVERSE_CDF = int(Purpose.TARGET) << 24, int(Purpose.INVERSE_CDF) << 24


@kernel
def greedy(row, whole, scales, position, sample_index, low_key, high_key):
    """The best token; no cut removes it."""
    maxima = np.empty((row.size + GROUP - 1) // GROUP, np.float32)
    peak, status = summarise(row.view(np.int32), maxima)
    if status != USABLE:
        return BAD
    for group in range(maxima.size):
        if maxima[group] == peak:
            for i in range(group * GROUP, min(group * GROUP + GROUP, row.size)):
                if row[i] == peak:
                    return i
    return BAD


@kernel
def temperature(row, whole, scales, position, sample_index, low_key, high_key):
    """A race of the whole row."""
    bits, maxima = row.view(np.int32), np.empty((row.size + GROUP - 1) // GROUP, np.float32)
    if summarise(bits, maxima)[1] != USABLE:
        return BAD
    key = make_key(position, sample_index, low_key, high_key, TARGET)
    return race(row, bits, maxima, (NONE, np.int64(-1)), scales[RACE_SCALE], key)


@kernel
def cut_min_p(row, whole, scales, peak):
    """The cut of min-p; nothing is cut if the plan has none."""
    if not whole[MIN_P_ON]:
        return NONE, np.int64(-1)
    scale = np.float32(scales[MIN_P_SCALE])
    return lowest_of_min_p(peak, scale, whole[LEAST], whole[MIN_P_STRICT]), row.size - 1


@kernel
def min_p(row, whole, scales, position, sample_index, low_key, high_key):
    """A race inside min-p."""
    bits, maxima = row.view(np.int32), np.empty((row.size + GROUP - 1) // GROUP, np.float32)
    peak, status = summarise(bits, maxima)
    if status != USABLE:
        return BAD
    cut = cut_min_p(row, whole, scales, peak)
    key = make_key(position, sample_index, low_key, high_key, TARGET)
    return race(row, bits, maxima, cut, scales[RACE_SCALE], key)


@kernel
def rule_of(whole, scales):
    """Top-p as numbers: scale of the masses, share in 2^-53, strict, whether ties at its end all stay."""
    return np.float32(scales[TOP_P_SCALE]), np.uint64(whole[SHARE]), whole[TOP_P_STRICT], whole[ALL_TIES_OF_P]


@kernel
def cut_top_k(row, bits, maxima, whole, scales, peak):
    """The cut of top-k, with min-p and with a top-p whose mass is read off the list of the best k."""
    codes = best_codes(row, bits, maxima, whole[K])
    score, last = decode(codes[codes.size - 1])
    everything = NONE, np.int64(-1)
    by_k = (score, row.size - 1 if whole[ALL_TIES_OF_K] else last) if codes.size == whole[K] else everything
    by_min_p = cut_min_p(row, whole, scales, peak)
    cut = shorter(by_k, by_min_p)
    if whole[TOP_P_ON]:
        rule = rule_of(whole, scales)
        region = by_min_p if whole[MIN_P_IN_TOTAL] else everything
        if whole[TOP_K_IN_TOTAL]:
            total = mass_of_best(row, maxima, codes, shorter(by_k, region), peak, rule[0])
        else:
            total = total_mass(row, maxima, region[0], peak, rule[0])
        cut = cut_listed(row, maxima, codes, cut, peak, rule, threshold(rule[1], total, rule[2]))
    return cut


@kernel
def mass_of_best(row, maxima, codes, cut, peak, scale):
    """Mass of a cut that reaches at most to the ids tied with the last of the list."""
    total, tied = NOTHING, 0
    worst, _ = decode(codes[codes.size - 1])
    for j in range(codes.size):
        score, i = decode(codes[j])
        if score > cut[0] or (score == cut[0] and i <= cut[1]):
            total += mass(score, peak, scale)
            tied += 1 if score == worst else 0
    if cut[0] == worst and cut[1] == row.size - 1:
        unlisted = np.uint64(count_tied(row, maxima, worst, row.size) - tied)
        total += unlisted * mass(worst, peak, scale)
    return total


@kernel
def top_k(row, whole, scales, position, sample_index, low_key, high_key):
    """A race inside top-k, with min-p and top-p before or after it."""
    bits, maxima = row.view(np.int32), np.empty((row.size + GROUP - 1) // GROUP, np.float32)
    peak, status = summarise(bits, maxima)
    if status != USABLE:
        return BAD
    cut = cut_top_k(row, bits, maxima, whole, scales, peak)
    key = make_key(position, sample_index, low_key, high_key, TARGET)
    return race(row, bits, maxima, cut, scales[RACE_SCALE], key)


@kernel
def top_p(row, whole, scales, position, sample_index, low_key, high_key):
    """A race inside top-p, with min-p before or after it: the first arrival that lies in the nucleus.

    An arrival outside shows where the nucleus surely has ended; what is left races again.
    """
    bits, maxima = row.view(np.int32), np.empty((row.size + GROUP - 1) // GROUP, np.float32)
    peak, status = summarise(bits, maxima)
    if status != USABLE:
        return BAD
    cut, rule = cut_min_p(row, whole, scales, peak), rule_of(whole, scales)
    lowest = cut[0] if whole[MIN_P_IN_TOTAL] else NONE
    key = make_key(position, sample_index, low_key, high_key, TARGET)
    total = NOTHING
    while True:
        token = race(row, bits, maxima, cut, scales[RACE_SCALE], key)
        inside, total = lies_inside(row, maxima, lowest, token, peak, rule, total)
        if inside:
            return token
        cut = row[token], np.int64(-1) if whole[ALL_TIES_OF_P] else token - 1


@kernel
def inverse_cdf(row, whole, scales, position, sample_index, low_key, high_key):
    """One uniform walks along the masses, whatever the cuts."""
    bits, maxima = row.view(np.int32), np.empty((row.size + GROUP - 1) // GROUP, np.float32)
    peak, status = summarise(bits, maxima)
    if status != USABLE:
        return BAD
    if whole[K]:
        cut = cut_top_k(row, bits, maxima, whole, scales, peak)
    else:
        cut = cut_min_p(row, whole, scales, peak)
        if whole[TOP_P_ON]:
            rule = rule_of(whole, scales)
            total = total_mass(row, maxima, cut[0] if whole[MIN_P_IN_TOTAL] else NONE, peak, rule[0])
            cut = cut_top_p(row, maxima, cut, peak, rule, threshold(rule[1], total, rule[2]))
    key = make_key(position, sample_index, low_key, high_key, INVERSE_CDF)
    return walk(row, maxima, cut, peak, np.float32(scales[RACE_SCALE]), key)


@kernel
def many(row, scale, positions, sample_indices, low_key, high_key, tokens):
    """A race of the whole row for each pair of position and sample index; 0, or -1 for a bad row."""
    bits, maxima = row.view(np.int32), np.empty((row.size + GROUP - 1) // GROUP, np.float32)
    if summarise(bits, maxima)[1] != USABLE:
        return BAD
    for i in range(tokens.size):
        key = make_key(positions[i], sample_indices[i], low_key, high_key, TARGET)
        tokens[i] = race(row, bits, maxima, (NONE, np.int64(-1)), scale, key)
    return 0
