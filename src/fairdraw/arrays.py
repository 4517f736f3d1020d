"""The one door for foreign arrays: what comes in as logits or as a mask, whoever made it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.errors import LogitsError, ParameterError
from fairdraw.packed_masks import as_plain, as_words, is_packed, unpack

MOST_IDS = 2**20
"""Up to here every integer sum over a row fits into 64 bits."""
_address, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer


def address_of(array: NDArray[Any]) -> int:
    """Where an array's memory begins."""
    try:
        return _address(_first_byte(array))  # type: ignore[bad-argument-type]
    except (TypeError, ValueError):  # read-only, empty, or bfloat16; this way takes four times as long
        return array.__array_interface__["data"][0]


def as_logits(logits: object, where: str = "logits") -> NDArray[np.float32]:
    """Turn one row of logits into float32, or say what is wrong with it.

    Half types widen exactly; float64 is rounded to float32; ``-0.0`` becomes ``+0.0``.  The caller's array is
    never written; what comes back may share its memory when it already is a clean float32 row.

    Parameters
    ----------
    logits : array_like of float16, bfloat16, float32 or float64, shape (vocab,)
        A NumPy array, a torch tensor on the CPU, or anything with ``__dlpack__`` or ``__array__``;
        ``-inf`` forbids a token.
    where : str
        What to call the row in an error.

    Returns
    -------
    float32, shape (vocab,)
        At least one entry is finite, none is NaN or ``+inf``.

    Raises
    ------
    LogitsError
        Wrong rank, empty, longer than 2^20, not floating point, NaN, ``+inf`` (also a float64 too large for float32),
        or nothing but ``-inf``.

    Examples
    --------
    >>> as_logits([0.5, 2.0])
    array([0.5, 2. ], dtype=float32)
    >>> as_logits([[0.5, 2.0]])
    Traceback (most recent call last):
    fairdraw.errors.LogitsError: logits must have one axis, (vocab,), got shape (1, 2)
    hint: pass one row, for instance logits[-1]
    """
    array = _as_numpy(logits, where)
    _require_floats_on_one_axis(array, logits, where)
    if not array.size:
        raise LogitsError(where, "have at least one entry", "none")
    if array.size > MOST_IDS:
        raise LogitsError(where, f"have at most {MOST_IDS} entries", str(array.size))
    row = _as_float32(array, where)
    _check_finite(row, array, where)
    return row


def as_piece(logits: object, where: str) -> NDArray[np.float32]:
    """Turn a piece of a row into float32, as `as_logits` does a row.

    What only the whole row can answer for is not checked: a piece may be empty or hold ``-inf`` alone, and NaN or
    ``+inf`` is for the caller to find, who knows the ids.

    Raises
    ------
    LogitsError
        Wrong rank, or not floating point.
    """
    array = _as_numpy(logits, where)
    _require_floats_on_one_axis(array, logits, where)
    return _as_float32(array, where)


def _require_floats_on_one_axis(array: NDArray[Any], logits: object, where: str) -> None:
    if array.dtype.kind in "OUSV" and array.dtype.name != "bfloat16":
        kind = f"{type(logits).__module__}.{type(logits).__qualname__}".removeprefix("builtins.")
        raise LogitsError(where, "be an array of floats", kind)
    if array.ndim != 1:
        hint = "pass one row, for instance logits[-1]" if array.ndim > 1 else ""
        raise LogitsError(where, "have one axis, (vocab,)", f"shape {array.shape}", hint)


def as_mask(mask: object, vocab: int) -> NDArray[np.bool_]:
    """Turn a mask into bool, or say what is wrong with it.

    Parameters
    ----------
    mask : array_like of bool, shape (vocab,); of int32, shape (ceil(vocab / 32),); or PackedMask
        True allows a token, or bit ``id % 32`` of word ``id // 32`` does.
    vocab : int
        Width of the logits row.

    Raises
    ------
    ParameterError
        The mask is neither, or not as wide as the row: a mask that ends early would leave ids unchecked.
        `fairdraw.packed_masks.PackedMask` says what else to do with one that does.
    """
    if is_packed(mask):
        return unpack(as_words(mask, vocab), vocab)
    array = as_plain(mask)
    if array.dtype != np.bool_:
        hint = "or int32, 32 ids to a word"
        raise ParameterError("mask", array.dtype.name, "an array of bool, one for each id", hint)
    if array.shape != (vocab,):
        hint = "fill the ids that the constraint does not know with False"
        raise ParameterError("mask", f"shape {array.shape}", f"as wide as the logits row, ({vocab},)", hint)
    return array


def _as_numpy(logits: object, where: str) -> NDArray[Any]:
    if type(logits) is np.ndarray:
        return logits
    if isinstance(logits, np.ma.MaskedArray):
        raise LogitsError(where, "hide nothing", "numpy.ma.MaskedArray", ".filled(-np.inf) forbids what it hides")
    if isinstance(logits, np.ndarray):
        return logits
    source: Any = logits
    try:
        if str(getattr(source, "dtype", "")) == "torch.bfloat16":
            source = source.float()  # NumPy has no bfloat16; widening is exact
        if hasattr(source, "detach"):
            source = source.detach()
        if hasattr(source, "resolve_neg"):
            source = source.resolve_neg()  # a view that negates says nothing of it to NumPy
        if hasattr(source, "__dlpack__"):
            return np.from_dlpack(source)
        return np.asarray(source)
    except Exception as problem:
        kind = f"{type(logits).__module__}.{type(logits).__qualname__}"
        hint = f"{type(problem).__name__}: {problem}"
        raise LogitsError(where, "be an array of floats that NumPy can read", kind, hint) from None


def _as_float32(array: NDArray[Any], where: str) -> NDArray[np.float32]:
    if array.dtype == np.float32:
        row = array
    elif array.dtype.kind == "f" or array.dtype.name == "bfloat16":
        with np.errstate(over="ignore", invalid="ignore"):
            row = array.astype(np.float32)
    else:
        hint = "convert them to float32 if these really are logits" if array.dtype.kind in "iu" else ""
        raise LogitsError(where, "be floating point", f"dtype {array.dtype.name}", hint)
    if not row.dtype.isnative:
        row = row.astype(np.float32)
    if np.any((row == 0) & np.signbit(row)):
        row = row + np.float32(0)
    return row


def broken_entry(row: NDArray[np.float32], array: NDArray[Any], where: str, first: int = 0) -> LogitsError | None:
    """What is wrong with a row, or a piece of one that begins at an id: its first NaN, else its first ``+inf``."""
    peak = row.max(initial=-np.inf)
    if np.isnan(peak):
        place = int(np.flatnonzero(np.isnan(row))[0])
        hint = "the model's output is broken at this step"
        return LogitsError(where, "have no NaN", f"NaN at id {first + place}", hint)
    if peak == np.inf:
        place = int(np.flatnonzero(row == np.inf)[0])
        got = f"{array[place]!s} at id {first + place}"
        return LogitsError(where, "have no value above float32's range", got, "to force a token, mask the others")
    return None


def nothing_finite(where: str) -> LogitsError:
    """What to say of a row of ``-inf`` alone."""
    return LogitsError(where, "have a finite entry", "nothing but -inf", "a mask upstream forbids every token")


def _check_finite(row: NDArray[np.float32], array: NDArray[Any], where: str) -> None:
    problem = broken_entry(row, array, where)
    if problem is None and row.max() == -np.inf:
        problem = nothing_finite(where)
    if problem is not None:
        raise problem
