"""The plain side of a kernel's call: a row's address, room to work in, the record that a kernel reads."""

from __future__ import annotations

import ctypes
import struct
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import MOST_IDS, as_logits
from fairdraw.history import History
from fairdraw.kernels import slots
from fairdraw.kernels.operations import Finder

FLOAT32, FLOAT16 = np.dtype(np.float32), np.dtype(np.float16)
NO_IDS, NO_SCORES, NO_PLACES = np.zeros(0, np.int64), np.zeros(0, np.float32), np.zeros(0, np.int32)
NO_EDGES = (0,) * (slots.MOST_OPERATIONS + 1)
ASKED, EDGES, RESULT = struct.Struct(f"={slots.EDGES}q"), struct.Struct(f"={len(NO_EDGES)}q"), struct.Struct("=3q")
"""What a call says of itself, where the ids of its edits begin, what comes of it: as `fairdraw.kernels.slots` says."""
EDGES_AT, RESULT_AT = 8 * slots.EDGES, 8 * slots.TOKEN
"""Where they stand in the record; it begins with what the call says of itself."""


def as_source(logits: object) -> tuple[NDArray[Any], int]:
    """A row in one piece, as a kernel can read it, and what it is made of.

    A row of float32, float16 or bfloat16 without gaps, each entry at a multiple of its size, comes back as it is,
    whether or not it may be written; others are turned into such a row of float32, which may share their memory.
    """
    if type(logits) is np.ndarray and logits.dtype == FLOAT32:
        array, kind = logits, slots.FLOAT32  # nearly every row: spares it the question below
    else:
        array, kind = kind_of(logits)
    if kind >= 0 and type(array) is np.ndarray and array.ndim == 1 and 0 < array.size <= MOST_IDS:
        flags = array.flags
        if flags.carray or (flags.c_contiguous and flags.aligned):
            return array, kind
    return np.require(np.asarray(as_logits(logits)), requirements=["C", "A"]), slots.FLOAT32


def is_bfloat16(array: NDArray[Any]) -> bool:
    """Whether an array has the bfloat16 of ml_dtypes."""
    return array.dtype.name == "bfloat16"


def kind_of(logits: Any) -> tuple[Any, int]:
    """An array over the memory of what came, and what it is made of; -1 where no kernel reads that."""
    if type(logits) is np.ndarray:
        if logits.dtype == FLOAT32:
            return logits, slots.FLOAT32
        return logits, slots.FLOAT16 if logits.dtype == FLOAT16 else slots.BFLOAT16 if is_bfloat16(logits) else -1
    torch: Any = sys.modules.get("torch")  # None also where somebody forbids its import
    tensor = getattr(torch, "Tensor", None)
    if tensor is None or not isinstance(logits, tensor) or logits.device.type != "cpu":
        return logits, -1
    try:
        return _of_torch(logits, torch)
    except (TypeError, RuntimeError):  # sparse, MKL-DNN, or a view that negates: no memory that is simply the row
        return logits, -1


def _of_torch(logits: Any, torch: Any) -> tuple[Any, int]:
    """The memory of a torch tensor on the CPU; bfloat16, which NumPy does not know, as int16."""
    if logits.dtype == torch.bfloat16:
        if logits.is_neg():
            return logits, -1
        return logits.detach().view(torch.int16).numpy(), slots.BFLOAT16
    if logits.dtype in (torch.float32, torch.float16):
        return kind_of(logits.detach().numpy())
    return logits, -1


def widened(source: NDArray[Any], kind: int) -> NDArray[np.float32]:
    """A copy of a row as float32; 0.0 for -0.0."""
    if kind == slots.BFLOAT16:
        source = (source.view(np.int16).astype(np.int32) << 16).view(np.float32)
    return source.astype(np.float32) + np.float32(0)


_address, _first_byte = ctypes.addressof, ctypes.c_char.from_buffer


def address_of(array: NDArray[Any]) -> int:
    """Where an array's memory begins."""
    try:
        return _address(_first_byte(array))  # type: ignore[bad-argument-type]
    except (TypeError, ValueError):  # read-only, or bfloat16; this way takes four times as long
        return array.__array_interface__["data"][0]


class Workspace:
    """A call's record and scratch memory; one for each call that runs at the same time."""

    __slots__ = ("calls", "edges", "memory", "places", "scratch")

    def __init__(self) -> None:
        self.calls = np.zeros((1, slots.CALL), np.int64)
        self.memory = memoryview(self.calls).cast("B")  # type: ignore[bad-argument-type]
        self.scratch, self.places = NO_SCORES, NO_PLACES
        self.edges: tuple[int, ...] = NO_EDGES
        """What stands in the record: most calls have no edges, and need not enter that again."""

    def make_room(self, width: int) -> None:
        """Have scratch memory for a row of this width."""
        if self.scratch.size < width:
            self.scratch, self.places = np.empty(width, np.float32), np.zeros(width, np.int32)


_FREE: list[Workspace] = []


def take() -> Workspace:
    """A workspace that nobody uses."""
    try:
        return _FREE.pop()
    except IndexError:
        return Workspace()


def give_back(workspace: Workspace) -> None:
    """Let others use it."""
    _FREE.append(workspace)


class Listed:
    """The ids that a call's edits name, what belongs to each, and where each edit's begin."""

    __slots__ = ("edges", "extras", "ids")

    def __init__(self, ids: NDArray[np.int64], extras: NDArray[np.int64], edges: tuple[int, ...]) -> None:
        self.ids, self.extras, self.edges = ids, extras, edges


NOTHING_LISTED = Listed(NO_IDS, NO_IDS, NO_EDGES)


def list_ids(listing: Sequence[tuple[int, Finder]], history: History, vocab: int) -> Listed:
    """Ask every edit that names ids for them.

    Parameters
    ----------
    listing
        `fairdraw.kernels.shapes.Program.listing`, not empty.
    history, vocab
        What they are asked with.
    """
    if len(listing) == 1:
        [(place, find)] = listing
        ids, extras = find(history, vocab)
        return Listed(ids, extras, (0,) * (place + 1) + (ids.size,) * (slots.MOST_OPERATIONS - place))
    found, edges, total = [], [], 0
    for place, find in listing:
        edges += [total] * (place + 1 - len(edges))
        pair = find(history, vocab)
        found.append(pair)
        total += pair[0].size
    edges += [total] * (len(NO_EDGES) - len(edges))
    ids, extras = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return Listed(ids, extras, tuple(edges))
