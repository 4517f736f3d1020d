"""Which plans have a kernel, and what a kernel needs to know of a plan.

A plan's shape is the plan without its numbers: switches are words, quantities are numbers, so plans of one shape run
one kernel.  `recognise` reads a plan into a `Program`; None means that `fairdraw.readings` runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import address_of
from fairdraw.draws import Draw, Greedy, InverseCdf, Race
from fairdraw.kernels import slots
from fairdraw.kernels.operations import Finder, Operation, read_operations
from fairdraw.masses import LOG2E, IntegerMasses
from fairdraw.plan import Plan
from fairdraw.rows import LARGEST_SCALE, SMALLEST_SCALE
from fairdraw.stages import Checkpoint, EditStage, Mask, MinP, Stage, Temperature, TopK, TopP
from fairdraw.stages.masks import AllowedIds
from fairdraw.streams.logarithms import log2

Shape = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A plan as a kernel reads it."""

    mode: str
    """Which kernel: a name in `fairdraw.kernels.promise`."""
    edits: tuple[Stage, ...]
    """Stages before the first cut that change scores."""
    cuts: tuple[Stage, ...]
    """The stages from there on."""
    operations: tuple[Operation, ...] | None
    """What the kernel itself does for them; None: they run first, in NumPy."""
    most: int | None
    """A k beyond this many ids more than the row has is the plan's error, which the stage itself raises."""
    k: int
    """Top-k's k, 0 without one."""
    whole: NDArray[np.int64] = field(repr=False)
    scales: NDArray[np.float64] = field(repr=False)

    numbers: NDArray[np.int64] = field(init=False, repr=False)
    """Both, as they lie in memory for a kernel."""
    address: int = field(init=False, repr=False)
    """Where."""
    listing: tuple[tuple[int, Finder], ...] = field(init=False, repr=False)
    """The operations that list ids: the byte of a call's record where each list stands, and how each finds its own."""
    everywhere: bool = field(init=False, repr=False)
    """Whether one changes every score: a float32 temperature."""
    masked: bool = field(init=False, repr=False)
    """Whether one is the caller's mask."""

    def __post_init__(self) -> None:
        operations = self.operations or ()
        object.__setattr__(self, "numbers", np.concatenate([self.whole, self.scales.view(np.int64)]))
        object.__setattr__(self, "address", address_of(self.numbers))
        places = range(8 * slots.LISTED, 8 * slots.TOKEN, 8 * slots.LIST)
        found = zip(places, operations, strict=False)
        listing = tuple((place, operation.find) for place, operation in found if operation.find is not None)
        object.__setattr__(self, "listing", listing)
        everywhere = any(operation.code in (slots.DIVIDE, slots.MULTIPLY) for operation in operations)
        object.__setattr__(self, "everywhere", everywhere)
        object.__setattr__(self, "masked", any(operation.code == slots.MASK for operation in operations))

    def allows(self, vocab: int) -> bool:
        """Whether k is not beyond a row of this width, where the plan refuses that."""
        return self.most is None or self.k <= vocab + self.most


def shape(plan: Plan) -> Shape:
    """The names and switches of a plan's stages and of its draw, without numbers.

    Examples
    --------
    >>> shape(Plan.parse("fairdraw: temperature=0.7 top_k=40"))
    (('mask',), ('temperature', 'exact'), ('top_k', 'lowest', 'off'), ('race',))
    """
    return tuple(_switches(part) for part in (*plan.stages, plan.draw))


def _switches(part: Stage | Draw) -> tuple[str, ...]:
    values = (getattr(part, item.name) for item in fields(part))
    return (part.name, *(value for value in values if isinstance(value, str)))


def recognise(plan: Plan) -> Program | None:
    """Read a plan into numbers, or return None if no kernel draws its tokens.

    Notes
    -----
    Known: edits first; then at most one each of top-k, top-p and min-p, in any order, with exact temperatures and
    checkpoints anywhere; then a race, a greedy draw or an inverse CDF.  Not known: ties by highest id, typical, an
    edit after a cut, temperatures so extreme that float32 cannot hold log2(e) / T.

    Examples
    --------
    >>> recognise(Plan.parse("fairdraw: temperature=0.7 top_k=40 top_p=0.9")).mode
    'top_k'
    >>> recognise(Plan.parse("fairdraw: typical_p=0.9")) is None
    True
    """
    program = _read(plan)
    return program if isinstance(program, Program) else None


def why_not(plan: Plan) -> str:
    """Say why a plan has no kernel: the stage or the draw that none knows; "" if it has one.

    Examples
    --------
    >>> why_not(Plan.parse("fairdraw: typical_p=0.9"))
    'typical has no kernel here'
    >>> why_not(Plan.parse("fairdraw: top_p=0.9"))
    ''
    """
    program = _read(plan)
    return program if isinstance(program, str) else ""


def _read(plan: Plan) -> Program | str:
    """The program, or what stands in the way of one."""
    first = next((i for i, stage in enumerate(plan.stages) if not _edits(stage)), len(plan.stages))
    numbers = _Numbers()
    for stage in plan.stages[first:]:
        read = numbers.readers.get(type(stage))
        if read is None or not read(stage):
            return f"{stage.name} has no kernel here"
    mode = _mode(plan.draw, numbers.whole)
    if not mode:
        return f"the draw {plan.draw.name} has no kernel"
    whole, scales = np.zeros(slots.WHOLE, np.int64), np.ones(slots.SCALES)
    whole[: slots.OPERATIONS] = numbers.whole
    scales[: slots.AMOUNTS] = *numbers.scales, numbers.scale
    edits = plan.stages[:first]
    operations = read_operations(edits)
    for place, operation in enumerate(operations or ()):
        whole[slots.OPERATIONS] = place + 1
        whole[slots.CODES + place] = operation.code
        scales[slots.AMOUNTS + 2 * place : slots.AMOUNTS + 2 * place + 2] = operation.amounts
    return Program(
        mode=mode,
        edits=edits,
        cuts=plan.stages[first:],
        operations=operations,
        most=numbers.most,
        k=numbers.whole[slots.K],
        whole=whole,
        scales=scales,
    )


def _edits(stage: Stage) -> bool:
    if isinstance(stage, Temperature):
        return stage.operation != "exact"
    return isinstance(stage, (EditStage, Mask, AllowedIds))


def _mode(draw: Draw, whole: Sequence[int]) -> str:
    if type(draw) is Greedy:
        return "greedy"
    if type(draw) is InverseCdf:
        return "inverse_cdf"
    if type(draw) is not Race:
        return ""
    if whole[slots.K]:
        return "top_k"
    return "top_p" if whole[slots.TOP_P_ON] else "min_p" if whole[slots.MIN_P_ON] else "temperature"


def _exponent_of(share: float) -> int:
    """The exponent of min-p's share, as the row itself computes it: that of a score whose mass has the share."""
    best = IntegerMasses(scores=np.zeros(1, np.float32), scale=1.0, peak=np.float32(0))
    return best.steps(float(log2(np.array([share]))[0]) if share > 2.0**-64 else -64.0)


class _Numbers:
    """The numbers read so far; each reader says whether it could read its stage."""

    def __init__(self) -> None:
        self.whole, self.scales = [0] * slots.OPERATIONS, [1.0] * (slots.AMOUNTS - 1)
        self.scale = LOG2E
        self.most: int | None = None
        self.raw: tuple[float, bool, bool] | None = None
        self.readers: dict[type[Stage], Callable[..., bool]] = {
            Temperature: self._temperature,
            Checkpoint: self._checkpoint,
            TopK: self._top_k,
            TopP: self._top_p,
            MinP: self._min_p,
        }

    def _here(self) -> tuple[float, bool, bool]:
        return self.scale, bool(self.whole[slots.K]), bool(self.whole[slots.MIN_P_ON])

    def _temperature(self, stage: Temperature) -> bool:
        self.scale /= stage.value
        return stage.operation == "exact" and SMALLEST_SCALE <= self.scale <= LARGEST_SCALE

    def _checkpoint(self, stage: Checkpoint) -> bool:
        self.raw = self._here()
        return not self.whole[slots.TOP_P_ON]

    def _top_k(self, stage: TopK) -> bool:
        if self.whole[slots.K] or stage.ties == "highest":
            return False
        self.most = {"off": None, "refuse_whole": -1, "refuse_more": 0}[stage.beyond]
        self.whole[slots.K], self.whole[slots.ALL_TIES_OF_K] = min(stage.k, 2**31), stage.ties == "all"
        return True

    def _min_p(self, stage: MinP) -> bool:
        if self.whole[slots.MIN_P_ON]:
            return False
        self.whole[slots.MIN_P_ON], self.whole[slots.LEAST] = 1, _exponent_of(stage.p)
        self.whole[slots.MIN_P_STRICT], self.scales[slots.MIN_P_SCALE] = stage.boundary == "strict", self.scale
        return True

    def _top_p(self, stage: TopP) -> bool:
        if stage.p >= 1:
            return True
        measured = self._here() if stage.mass == "current" else self.raw
        if self.whole[slots.TOP_P_ON] or stage.ties == "highest" or measured is None:
            return False
        scale, after_k, after_min_p = measured
        self.whole[slots.TOP_P_ON], self.whole[slots.SHARE] = 1, round(stage.p * 2**53)
        self.whole[slots.TOP_P_STRICT] = stage.boundary == "strict"
        self.whole[slots.ALL_TIES_OF_P] = stage.ties == "all"
        self.whole[slots.TOP_K_IN_TOTAL], self.whole[slots.MIN_P_IN_TOTAL] = after_k, after_min_p
        self.scales[slots.TOP_P_SCALE] = scale
        return True
