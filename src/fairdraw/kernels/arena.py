"""The memory that a kernel works in, one piece for each call that runs at the same time.

It is handed over and not allocated inside, because an allocation for every call would cost more than a short row.
"""

from __future__ import annotations

from fairdraw.streams.noise import BLOCK, GROUP

STEP = 8
"""A few numbers of noise are worked out this many at a time, in one vector."""
BLOCKS, MASK_LANES = GROUP // BLOCK, 32
WAIT, PENDING = 2 * BLOCK, BLOCKS + STEP
"""How many ids and how many blocks wait at most until their noise is worked out together."""
RACING = 7 * PENDING + 9 * (WAIT + STEP) + GROUP // MASK_LANES // 2
"""Numbers of 8 bytes that those take; and a race takes RACING_A_GROUP for each group."""
RACING_A_GROUP = 8
SHOWN = 4 * GROUP
"""Bytes of a group whose masked entries are hidden."""
SUMS = 32
"""Numbers of 4 bytes that a row's fingerprint is worked out in: a line of sums, and one for what is left over."""
A_GROUP = 8 * RACING_A_GROUP + 8 + 4 + 1 + 1
"""Bytes for each group: the race's numbers, the first edit, the largest score, and two marks."""


def groups_of(width: int) -> int:
    """How many groups a row of this width has, with some more, so that loops in vectors leave no rest."""
    return (-(-width // GROUP) + STEP - 1) // STEP * STEP


def bytes_for(width: int) -> int:
    """How much a kernel needs for rows up to this width; the scores of a whole row stand at the end.

    Examples
    --------
    >>> bytes_for(128256)
    537784
    """
    return 4 * SUMS + SHOWN + 8 * RACING + A_GROUP * groups_of(width) + 4 * width
