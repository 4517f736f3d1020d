"""Packed masks of constraints: 32 ids to a word, as `fairdraw.packed_masks` has them; made, widened and asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fairdraw.errors import ParameterError
from fairdraw.packed_masks import LANES, Words, pack, words_for


def from_ids(ids: ArrayLike, width: int) -> Words:
    """Pack the mask that allows exactly these ids.

    Raises
    ------
    ParameterError
        An id is not in 0..width-1.

    Examples
    --------
    >>> from_ids([0, 33], 40).tolist()
    [1, 2]
    """
    array = np.asarray(ids, np.int64).reshape(-1)
    outside = array[(array < 0) | (array >= width)]
    if outside.size:
        raise ParameterError("ids", int(outside[0]), f"token ids in 0..{width - 1}")
    mask = np.zeros(width, np.bool_)
    mask[array] = True
    return pack(mask)


def widened(words: Words, width: int) -> Words:
    """Give a mask the words for ``width`` ids; new ids are forbidden, bits behind ``width`` cleared.

    Examples
    --------
    >>> widened(np.array([-1], np.int32), 34).tolist(), widened(np.array([-1, -1], np.int32), 34).tolist()
    ([-1, 0], [-1, 3])
    """
    need = words_for(width)
    out = np.zeros(need, np.int32)
    out[: min(need, words.size)] = words[:need]
    if width % LANES:
        out[-1] &= np.int32((1 << (width % LANES)) - 1)
    return out


def allows(words: Words, token: int) -> bool:
    """Whether an id's bit is set; an id behind the words has none."""
    return 0 <= token < LANES * words.size and bool((int(words[token // LANES]) >> (token % LANES)) & 1)
