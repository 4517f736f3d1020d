"""Where numbers stand in the memory that a kernel reads: a plan's numbers, and the record of one call."""

from __future__ import annotations

(
    K, ALL_TIES_OF_K,
    MIN_P_ON, LEAST, MIN_P_STRICT,
    TOP_P_ON, SHARE, TOP_P_STRICT, ALL_TIES_OF_P,
    TOP_K_IN_TOTAL, MIN_P_IN_TOTAL,
    OPERATIONS,
) = range(12)  # fmt: skip
"""Whole numbers of a plan; K is 0 without top-k.  TOP_K_IN_TOTAL and MIN_P_IN_TOTAL: whether top-p's share is of what
those left.  OPERATIONS: how many edits there are; their codes follow."""
MOST_OPERATIONS = 8
CODES = 12
WHOLE = CODES + MOST_OPERATIONS
MIN_P_SCALE, TOP_P_SCALE, RACE_SCALE = range(3)
"""log2(e) / temperature, where a cut stands and at the end; then two amounts for each edit."""
AMOUNTS = 3
SCALES = AMOUNTS + 2 * MOST_OPERATIONS
"""A plan's numbers are WHOLE int64 and SCALES float64, one after the other."""

(MASK, DIVIDE, MULTIPLY, REPETITION, FREQUENCY_FIRST, TOGETHER, BIAS, FORBID) = range(1, 9)
"""What an edit does; the first three act on every id, the others on those that the call lists."""
IGNORES_UNKNOWN = 16
"""Added to a code whose ids may lie beyond the row."""

FLOAT32, FLOAT16, BFLOAT16 = range(3)
"""What a row is made of."""

(
    ADDRESS, WIDTH, KIND, MASK_ADDRESS, MASK_WORDS, PLAN, POSITION, SAMPLE_INDEX, LOW_SEED, HIGH_SEED, ROOM, EDITED,
    LISTED,
) = range(13)  # fmt: skip
"""A call: the row, its mask and the plan's numbers in memory; what the noise depends on; how many ids its edits name
at most, and the memory for what those come to, in which each takes EDIT bytes.  From LISTED on, LIST numbers for each
edit: the ids that it names in memory, what belongs to each, and how many they are."""
LIST = 3
EDIT_SCORES, EDIT_FOLLOWING, EDIT = 8, 12, 16
"""Of ROOM edited ids: the ids (int64); from byte EDIT_SCORES * ROOM on their scores (float32); from EDIT_FOLLOWING *
ROOM on the kernel's own numbers (int32), which do not outlive the call; EDIT bytes each."""
TOKEN = LISTED + LIST * MOST_OPERATIONS
FINGERPRINT, TOUCHED = TOKEN + 1, TOKEN + 2
"""What comes of it: the token or -1, the fingerprint of the row as it was read, how many ids the edits touched."""
COUNT, KEPT, FULL, PEAK, SCORE, RANK = range(TOUCHED + 1, TOUCHED + 7)
"""What a report adds: how many ids are kept, their mass and that of all, both in 2^-40 of the best one's; the best
score and the token's, as the bits of a float32; the token's place."""
CALL = RANK + 1
