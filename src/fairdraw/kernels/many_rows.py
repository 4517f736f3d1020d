"""Many rows by one call of a kernel: their addresses and numbers in plain arrays, no object for each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import address_of
from fairdraw.draws import Greedy
from fairdraw.kernels import slots
from fairdraw.kernels.backends import Kernel, find_kernel
from fairdraw.kernels.calling import give_back, take
from fairdraw.kernels.recalling import Recall, changed
from fairdraw.kernels.shapes import Program
from fairdraw.kernels.threads import share
from fairdraw.masses import IntegerMasses
from fairdraw.packed_masks import Words
from fairdraw.plan import Plan

ENTRIES_A_THREAD = 2**20
"""Logits that are worth a thread of their own."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Calls:
    """The calls of a batch, one record a row, and whatever they point to, which has to stay alive."""

    records: NDArray[np.int64]
    """Shape (rows, `slots.CALL`)."""
    places: NDArray[np.int64]
    """Where each stands in the batch."""
    plans: Sequence[Plan]
    """The different plans."""
    programs: Sequence[Program]
    """One for each plan."""
    numbers: NDArray[np.int64]
    """The number of each record's plan."""
    sources: Sequence[NDArray[Any]]
    """The rows as they came: a sequence of rows, or the whole array."""
    words: Sequence[Words | None] | NDArray[np.int32] | None = None
    """The masks; the library's own."""
    listed: Sequence[object] = ()
    """What the edits of all rows name."""
    edits: NDArray[np.uint8] = field(init=False)
    """What they come to, one row's after the other's."""

    def __post_init__(self) -> None:
        sizes = slots.EDIT * self.records[:, slots.ROOM]
        ends = np.cumsum(sizes)
        object.__setattr__(self, "edits", np.empty(int(ends[-1]) + 1, np.uint8))
        self.records[:, slots.EDITED] = address_of(self.edits) + ends - sizes

    def draw(self, threads: int) -> NDArray[np.bool_]:
        """Draw whatever has a kernel now; return which rows have their token."""
        drawn = np.zeros(len(self.records), np.bool_)
        modes = np.array([program.mode for program in self.programs])[self.numbers]
        for mode in dict.fromkeys(program.mode for program in self.programs):
            rows = np.flatnonzero(modes == mode)
            kernel = find_kernel(mode, rows.size) if rows.size else None
            if kernel is not None:
                self.run(kernel, rows, threads)
                drawn[rows] = self.records[rows, slots.TOKEN] >= 0
        return drawn

    def run(self, kernel: Kernel, rows: NDArray[np.int64], threads: int) -> None:
        """Call a kernel for some rows, on some threads."""
        records = self.records if rows.size == len(self.records) else self.records[rows]
        widest, total = int(records[:, slots.WIDTH].max()), int(records[:, slots.WIDTH].sum())
        begin, size = address_of(records), records.itemsize * slots.CALL

        def job(first: int, stop: int) -> None:
            space = take()
            if widest > space.width:
                space.widen(widest)
            kernel(begin + first * size, stop - first, space.arena_at, space.places_at)
            give_back(space)

        share(job, rows.size, min(threads, 1 + total // ENTRIES_A_THREAD))
        if records is not self.records:
            self.records[rows] = records

    def logprobs(self, rows: NDArray[np.int64], threads: int) -> NDArray[np.float64]:
        """Processed logprobs of the tokens of some rows: the very numbers that a single result gives.

        Raises
        ------
        LogitsError
            A row has been changed since its token was drawn.
        """
        kernel = find_kernel("report", rows.size) if rows.size else None
        if kernel is None:
            return np.array([self._logprob_alone(int(row)) for row in rows])
        before = self.records[rows, slots.FINGERPRINT]
        self.run(kernel, rows, threads)
        others = rows[self.records[rows, slots.FINGERPRINT] != before]
        self.records[rows, slots.FINGERPRINT] = before  # what the rows were when they were drawn from
        for row in others:
            raise changed(f"logits row {self.places[row]}")
        return np.array([self._logprob(row) for row in rows])

    def recall(self, row: int) -> Recall:
        """What the result of one row is worked out from."""
        record = self.records[row]
        program = self.programs[self.numbers[row]]
        words = None if self.words is None else self.words[row]
        first, room = int(record[slots.EDITED]) - address_of(self.edits), int(record[slots.ROOM])
        edited = (
            (self.edits[first : first + slots.EDIT_FOLLOWING * room], room, int(record[slots.TOUCHED]))
            if room
            else None
        )
        source, kind = self.sources[row], int(record[slots.KIND])
        fingerprint = int(record[slots.FINGERPRINT])
        where = f"logits row {self.places[row]}"
        return Recall(source, kind, fingerprint, words, program.operations or (), edited, program.cuts, where)

    def _logprob(self, row: int) -> float:
        record, number = self.records[row], self.numbers[row]
        if type(self.plans[number].draw) is Greedy:
            return 0.0
        peak, score = (float(np.int32(record[place]).view(np.float32)) for place in (slots.PEAK, slots.SCORE))
        scale = float(self.programs[number].scales[slots.RACE_SCALE])
        return ((score - peak) * scale - math.log2(int(record[slots.KEPT]) / IntegerMasses.unit)) * math.log(2.0)

    def _logprob_alone(self, row: int) -> float:
        draw = self.plans[self.numbers[row]].draw
        return float(draw.log_law(self.recall(row).row())[self.records[row, slots.TOKEN]])
