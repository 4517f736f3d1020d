"""Where a plan's numbers stand in the two arrays that a kernel reads."""

from __future__ import annotations

(
    K, ALL_TIES_OF_K,
    MIN_P_ON, LEAST, MIN_P_STRICT,
    TOP_P_ON, SHARE, TOP_P_STRICT, ALL_TIES_OF_P,
    TOP_K_IN_TOTAL, MIN_P_IN_TOTAL,
) = range(11)  # fmt: skip
"""Whole numbers; K is 0 without top-k.  The last two: whether top-p's share is of what those left."""
WHOLE = 11
MIN_P_SCALE, TOP_P_SCALE, RACE_SCALE = range(3)
"""log2(e) / temperature, where a cut stands and at the end."""
SCALES = 3
