"""Packed masks at the door: 32 ids to a word, as grammar engines hand them over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.domains import Choice, require
from fairdraw.errors import ParameterError

LANES = 32
BEYOND = Choice(("error", "forbid"))
Words = NDArray[np.int32]
"""Bit ``id % 32`` of word ``id // 32`` says whether an id is allowed."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedMask:
    """A packed mask together with what to do where it is narrower than the row.

    Parameters
    ----------
    words : array_like of int32 or uint32, shape (words,)
        Bit ``id % 32`` of word ``id // 32`` is 1 where an id is allowed.
    beyond : "error" or "forbid"
        If the words end before the row does, as for a vocabulary that is padded for speed: refuse, or forbid every id
        behind them.

    Examples
    --------
    >>> from fairdraw.arrays import as_mask
    >>> as_mask(PackedMask(words=np.int32([5]), beyond="forbid"), 40).nonzero()[0].tolist()
    [0, 2]
    """

    words: ArrayLike
    beyond: Literal["error", "forbid"] = "error"

    def __post_init__(self) -> None:
        require("beyond", self.beyond, BEYOND)


def is_packed(mask: object) -> bool:
    """Whether a mask comes in words."""
    return isinstance(mask, PackedMask) or as_plain(mask).dtype in (np.dtype(np.int32), np.dtype(np.uint32))


def as_plain(mask: object) -> NDArray[Any]:
    """A mask, or the words of one, as an array of NumPy; it may share memory.

    Raises
    ------
    ParameterError
        NumPy cannot read it, or it hides entries.
    """
    if type(mask) is np.ndarray:
        return mask
    kind, domain = f"{type(mask).__module__}.{type(mask).__qualname__}".removeprefix("builtins."), "an array of bool"
    if isinstance(mask, np.ma.MaskedArray):
        raise ParameterError("mask", kind, f"{domain} that hides nothing", ".filled(False) forbids what it hides")
    try:
        return np.asarray(mask)
    except (TypeError, ValueError, RuntimeError) as problem:
        hint = f"{type(problem).__name__}: {problem}"
        raise ParameterError("mask", kind, f"{domain} that NumPy can read", hint) from None


def as_words(mask: object, vocab: int) -> Words:
    """Turn a packed mask into words that are the library's own, or say what is wrong with it.

    Raises
    ------
    ParameterError
        Not words on one axis; too many, or too few without ``beyond="forbid"``; an id behind the row is allowed.
    """
    beyond = mask.beyond if isinstance(mask, PackedMask) else "error"
    words: NDArray[Any] = np.array(as_plain(mask.words if isinstance(mask, PackedMask) else mask))
    if words.ndim != 1 or words.dtype not in (np.dtype(np.int32), np.dtype(np.uint32)):
        raise ParameterError("mask", f"shape {words.shape} of {words.dtype}", "int32 words on one axis")
    need = words_for(vocab)
    if words.size > need or (words.size < need and beyond == "error"):
        hint = 'PackedMask(words=..., beyond="forbid") forbids the ids behind the mask' if words.size < need else ""
        raise ParameterError("mask", words.size, f"{need} words for {vocab} ids", hint)
    words = words.view(np.int32)
    behind = (int(words[-1]) & 0xFFFFFFFF) >> (vocab % LANES) if words.size == need and vocab % LANES else 0
    if behind:
        first = vocab + (behind & -behind).bit_length() - 1
        hint = "the logits row ends there"
        raise ParameterError("mask", f"id {first} allowed", f"for ids in 0..{vocab - 1}", hint)
    return words


def words_for(vocab: int) -> int:
    """How many words hold a bit for each id.

    Examples
    --------
    >>> [words_for(vocab) for vocab in (0, 1, 32, 33)]
    [0, 1, 1, 2]
    """
    return -(-vocab // LANES)


def pack(allowed: NDArray[np.bool_]) -> Words:
    """Words of a mask of bool.

    Examples
    --------
    >>> pack(np.array([True, False, True])).tolist()
    [5]
    """
    words = np.zeros(words_for(allowed.size), "<i4")
    bits = np.packbits(allowed, bitorder="little")
    words.view(np.uint8)[: bits.size] = bits
    return words.astype(np.int32, copy=False)


def unpack(words: Words, vocab: int) -> NDArray[np.bool_]:
    """A mask of bool from words; ids behind them are forbidden.

    Examples
    --------
    >>> unpack(np.int32([5]), 4).tolist()
    [True, False, True, False]
    """
    allowed = np.zeros(vocab, np.bool_)
    bits = np.unpackbits(
        words.astype("<i4", copy=False).view(np.uint8), bitorder="little", count=min(vocab, 32 * words.size)
    )
    allowed[: bits.size] = bits
    return allowed
