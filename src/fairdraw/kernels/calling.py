"""The plain side of a kernel's call: a row's address, room to work in, the record that a kernel reads."""

from __future__ import annotations

import struct
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import MOST_IDS, address_of, as_logits
from fairdraw.kernels import arena, slots

FLOAT32, FLOAT16 = np.dtype(np.float32), np.dtype(np.float16)
ASKED, LIST, RESULT = struct.Struct(f"={slots.LISTED}q"), struct.Struct(f"={slots.LIST}q"), struct.Struct("=3q")
"""What a call says of itself, which ids an edit names, what comes of it: as `fairdraw.kernels.slots` says."""
RESULT_AT = 8 * slots.TOKEN
"""Where the last stands in the record, which begins with what the call says of itself."""


def as_source(logits: object) -> tuple[NDArray[Any], int]:
    """A row in one piece, as a kernel can read it, and what it is made of.

    A row of float32, float16 or bfloat16 without gaps, each entry at a multiple of its size, comes back as it is,
    whether or not it may be written; others are turned into such a row of float32, which may share their memory.
    """
    if type(logits) is np.ndarray and logits.dtype is FLOAT32:
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


class Workspace:
    """A call's record and the memory that its kernel works in; one for each call that runs at the same time.

    ``places`` is all zero whenever nobody uses it.  A call that is interrupted does not give its workspace back.
    """

    __slots__ = (
        "arena",
        "arena_at",
        "at",
        "edits",
        "edits_at",
        "memory",
        "places",
        "places_at",
        "record",
        "room",
        "width",
    )

    def __init__(self) -> None:
        self.record = np.zeros(slots.CALL, np.int64)
        self.memory = memoryview(self.record).cast("B")  # type: ignore[bad-argument-type]
        self.at = address_of(self.record)
        self.widen(0)
        self.make_room(0)

    def widen(self, width: int) -> None:
        """Have new memory, for rows up to this width; what is not used costs nothing, as it is not touched."""
        self.arena, self.places = np.empty(arena.bytes_for(width), np.uint8), np.zeros(width, np.int32)
        self.arena_at, self.places_at = address_of(self.arena), address_of(self.places)
        self.width = width

    def make_room(self, room: int) -> None:
        """Have memory for so many edited ids."""
        edits = np.empty(slots.EDIT * max(room, 1), np.uint8)
        self.edits, self.edits_at = memoryview(edits), address_of(edits)  # type: ignore[bad-argument-type]
        self.room = room


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
