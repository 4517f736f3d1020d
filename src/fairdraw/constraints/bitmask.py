"""Packed masks: 32 ids to a word, as grammar engines write them."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.domains import Choice, Whole, require
from fairdraw.errors import ParameterError

Words = NDArray[np.int32]
"""Packed mask: bit ``id & 31`` of word ``id >> 5``; bits behind the last id are 0."""
BEYOND = Choice(("error", "forbid"))


def words_for(width: int) -> int:
    """How many words hold a bit for each of ``width`` ids.

    Examples
    --------
    >>> [words_for(width) for width in (0, 1, 32, 33)]
    [0, 1, 1, 2]
    """
    return (width + 31) // 32


def pack(mask: ArrayLike) -> Words:
    """Pack a mask of bool into words.

    Parameters
    ----------
    mask : array_like of bool, shape (width,)
        True allows an id.

    Returns
    -------
    int32, shape (ceil(width / 32),)

    Raises
    ------
    ParameterError
        Not bool, or not one axis.

    Examples
    --------
    >>> pack([True, False, True]).tolist()
    [5]
    >>> pack([False] * 31 + [True]).tolist()
    [-2147483648]
    """
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.ndim != 1:
        raise ParameterError("mask", f"shape {array.shape} of {array.dtype}", "bool on one axis, one for each id")
    return _words(np.packbits(array, bitorder="little"), words_for(array.size))


def unpack(words: ArrayLike, width: int, *, beyond: Literal["error", "forbid"] = "error") -> NDArray[np.bool_]:
    """Unpack words into a mask as wide as a row of logits.

    Parameters
    ----------
    words : array_like of int32 or uint32, shape (words,)
        Packed mask.
    width : int
        Width of the row.
    beyond : "error" or "forbid"
        What to do when the words end before the row does, as for a vocabulary that is padded for speed: refuse, or
        forbid every id behind them.  They are never left unchecked.

    Returns
    -------
    bool, shape (width,)

    Raises
    ------
    ParameterError
        Too few words (with ``beyond="error"``), too many, an id behind the row is set, or another dtype.

    Examples
    --------
    >>> unpack([5], 3).tolist()
    [True, False, True]
    >>> unpack([5], 40)
    Traceback (most recent call last):
    fairdraw.errors.ParameterError: mask must be 2 words for 40 ids, got 1
    hint: beyond="forbid" forbids the ids behind the mask
    >>> int(unpack([5], 40, beyond="forbid").sum())
    2
    """
    require("beyond", beyond, BEYOND)
    require("width", width, Whole(0))
    array = _as_words(words)
    need = words_for(width)
    if array.size != need and (array.size > need or beyond == "error"):
        hint = 'beyond="forbid" forbids the ids behind the mask' if array.size < need else ""
        raise ParameterError("mask", array.size, f"{need} words for {width} ids", hint)
    bits = np.unpackbits(array.astype("<i4", copy=False).view(np.uint8), bitorder="little").view(np.bool_)
    if bits[width:].any():
        behind = width + int(np.flatnonzero(bits[width:])[0])
        raise ParameterError("mask", f"id {behind} allowed", f"for ids in 0..{width - 1}", "the logits row ends there")
    mask = np.zeros(width, np.bool_)
    mask[: bits.size] = bits[:width]
    return mask


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
    if width % 32:
        out[-1] &= np.int32((1 << (width % 32)) - 1)
    return out


def allows(words: Words, token: int) -> bool:
    """Whether an id's bit is set; an id behind the words has none."""
    return 0 <= token < 32 * words.size and bool((int(words[token >> 5]) >> (token & 31)) & 1)


def _as_words(words: ArrayLike) -> Words:
    array = np.asarray(words)
    if array.ndim == 1 and isinstance(words, list) and array.dtype == np.int64:
        array = array.astype(np.int32)
    if array.ndim != 1 or array.dtype not in (np.dtype(np.int32), np.dtype(np.uint32)):
        raise ParameterError("mask", f"shape {array.shape} of {array.dtype}", "int32 words on one axis")
    return np.ascontiguousarray(array).view(np.int32)


def _words(packed: NDArray[np.uint8], count: int) -> Words:
    whole = np.zeros(4 * count, np.uint8)
    whole[: packed.size] = packed
    return whole.view("<i4").astype(np.int32, copy=False)
