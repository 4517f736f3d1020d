"""One token: the door for a call, then a kernel if one is there, else NumPy; both give the same token."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

import numpy as np
from numpy.typing import ArrayLike

from fairdraw.arrays import as_logits, as_mask
from fairdraw.context import Context
from fairdraw.domains import COUNTER, SEED, require
from fairdraw.drawn import Drawn
from fairdraw.errors import ParameterError
from fairdraw.history import History
from fairdraw.kernels.backends import find_kernel
from fairdraw.kernels.drawing import as_row, draw_token, edited_row, program_of, scaled_row
from fairdraw.masses import Scores
from fairdraw.plan import Plan, require_plan
from fairdraw.readings import drawn_row
from fairdraw.rows import Row
from fairdraw.stages import Stage
from fairdraw.streams.noise import Noise


def draw_one(
    plan: Plan,
    logits: object,
    seed: int,
    position: int,
    sample_index: int,
    history: History | None,
    mask: ArrayLike | None,
) -> Drawn:
    """Draw one token; what `fairdraw.sample` documents."""
    require_plan(plan)
    _require_history(history)
    drawn = _by_kernel(plan, logits, seed, position, sample_index, history, mask)
    if drawn is not None:
        return drawn
    values, row, noise = _row_and_noise(plan, logits, seed, position, sample_index, history, mask)
    token = int(plan.draw.choose(row, noise))
    return Drawn(token=token, draw=plan.draw, find_row=lambda: row, find_logits=lambda: values)


def enter(plan: Plan, logits: object, history: History | None, mask: ArrayLike | None) -> tuple[Scores, Context]:
    """The row and the context, checked."""
    require_plan(plan)
    _require_history(history)
    # A copy: what is asked of the result later must not depend on what the caller does to the row meanwhile.
    row = np.array(as_logits(logits))
    if mask is not None and not any(stage.name == "mask" for stage in plan.stages):
        hint = "put Mask() where in the plan the mask acts"
        raise ParameterError("mask", "a mask", "None for a plan without a mask stage", hint)
    allowed = None if mask is None else as_mask(mask, row.size)
    return row, Context(history=history or History(), mask=allowed)


def _require_history(history: object) -> None:
    if not isinstance(history, History | None):
        raise ParameterError("history", history, "a History", "History(prompt=ids, output=ids)")


def _row_and_noise(
    plan: Plan,
    logits: object,
    seed: int,
    position: int,
    sample_index: int,
    history: History | None,
    mask: ArrayLike | None,
) -> tuple[Scores, Row, Noise]:
    values, context = enter(plan, logits, history, mask)
    noise = Noise(
        seed=require("seed", seed, SEED),  # type: ignore[arg-type]
        position=require("position", position, COUNTER),  # type: ignore[arg-type]
        sample_index=require("sample_index", sample_index, COUNTER),  # type: ignore[arg-type]
    )
    return values, drawn_row(plan.stages, values, context, noise), noise


def _by_kernel(
    plan: Plan,
    logits: object,
    seed: int,
    position: int,
    sample_index: int,
    history: History | None,
    mask: ArrayLike | None,
) -> Drawn | None:
    """The same by a kernel, or None where NumPy has to draw, or to say what is wrong."""
    program = program_of(plan)
    if program is None or not (SEED.holds(seed) and COUNTER.holds(position) and COUNTER.holds(sample_index)):
        return None
    kernel = find_kernel(program.mode)
    if kernel is None:
        return None
    if mask is None and program.scaled:
        scores, values = scaled_row(program, logits), np.array(as_row(logits))
        find_row = partial(_row_of, plan, values, seed, position, sample_index)
    else:
        values, context = enter(plan, logits, history, mask)
        # An edit tosses no coin, so any noise will do.
        edited = drawn_row(program.edits, values, context, Noise(seed=0, position=0))
        scores = edited_row(edited)
        # A history goes on growing: what it said is in the edited row, and a cut does not ask it.
        find_row = partial(_cut, plan.stages[len(program.edits) :], edited)
    if scores is None:
        return None
    token = draw_token(program, kernel, scores, int(seed), int(position), int(sample_index))  # type: ignore[unnecessary-type-conversion]
    if token is None:
        return None
    return Drawn(token=token, draw=plan.draw, find_row=find_row, find_logits=lambda: values)


def _row_of(plan: Plan, logits: object, seed: int, position: int, sample_index: int) -> Row:
    return _row_and_noise(plan, logits, seed, position, sample_index, None, None)[1]


def _cut(stages: Sequence[Stage], row: Row) -> Row:
    return reduce(lambda row, stage: stage.apply(row, Context()), stages, row)
