"""The memory that a kernel works in, one piece for each call that runs at the same time.

It is handed over and not allocated inside, because an allocation for every call would cost more than a short row.
"""

from __future__ import annotations

from fairdraw.kernels.fingerprint import LINE
from fairdraw.streams.noise import BLOCK, GROUP

STEP = 8
"""A few numbers of noise are worked out this many at a time, in one vector."""
BLOCKS = GROUP // BLOCK
OPEN_FROM = 24
"""So many blocks no longer wait for more."""
WAIT, PENDING = 2 * BLOCK, BLOCKS + OPEN_FROM
"""How many ids and how many blocks wait at most until their noise is worked out together; multiples of STEP, and no
more blocks than ids with a step."""
RACING = 6 * PENDING + 9 * (WAIT + STEP)
"""Numbers of 8 bytes that those take; and a race takes RACING_A_GROUP for each group."""
RACING_A_GROUP = 8
SHOWN = 4 * GROUP
"""Bytes of a group whose masked entries are hidden."""
SUMS = 2 * LINE
"""Numbers of 4 bytes that a row's fingerprint is worked out in: a line of sums, and one for what is left over."""
A_GROUP = 8 * RACING_A_GROUP + 8 + 4 + 1 + 1
"""Bytes for each group: the race's numbers, the first edit, the largest score, and two marks."""
AN_ID = 8 + 4
"""Bytes for each id: a number of a list of the best, and a score.  Nothing of it is touched unless a list is as long,
or the scores are not those in memory."""


def padded_groups(width: int) -> int:
    """How many groups a row of this width has, with some more, so that loops in vectors leave no rest."""
    return (-(-width // GROUP) + STEP - 1) // STEP * STEP


def bytes_for(width: int) -> int:
    """How much a kernel needs for rows up to this width.

    Examples
    --------
    >>> bytes_for(8192) - bytes_for(8191)
    12
    """
    return 4 * SUMS + SHOWN + 8 * RACING + A_GROUP * padded_groups(width) + AN_ID * width
