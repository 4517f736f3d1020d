"""Pearson's chi-square of tokens against a law, in cells of at least 25 expected draws."""

import numpy as np
from scipy import stats

LEVEL = 1e-8
"""False alarms of one test; fewer than 50 tests of fixed seeds here: below 1e-6 in all."""


def p_value(tokens: np.ndarray, probabilities: np.ndarray) -> float:
    """0 if a token came that the law forbids."""
    counts = np.bincount(tokens, minlength=probabilities.size)
    if counts[probabilities == 0].any():
        return 0.0
    order = np.argsort(-probabilities, kind="stable")
    cell = np.floor(np.cumsum(probabilities[order]) * tokens.size / 25 - 1e-9)
    cell = np.minimum(np.unique(cell, return_inverse=True)[1], max(0, np.unique(cell).size - 2))
    expected = np.bincount(cell, weights=probabilities[order]) * tokens.size
    observed = np.bincount(cell, weights=counts[order])
    return float(stats.chisquare(observed, expected * (observed.sum() / expected.sum())).pvalue)
