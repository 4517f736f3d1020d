"""One token: the door for a call, then a kernel if one is there, else NumPy; both give the same token."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fairdraw.arrays import as_logits, as_mask
from fairdraw.context import Context, Memory
from fairdraw.domains import COUNTER, SEED, Whole, require
from fairdraw.drawn import Drawn
from fairdraw.errors import ParameterError
from fairdraw.history import History
from fairdraw.kernels.backends import Kernel, find_kernel
from fairdraw.kernels.calling import as_source
from fairdraw.kernels.drawing import draw_fused, draw_token, edited_row, program_of
from fairdraw.kernels.recalling import Recall, cut, guarded
from fairdraw.kernels.shapes import Program
from fairdraw.kernels.slots import FLOAT32
from fairdraw.masses import Scores
from fairdraw.plan import Plan, require_plan
from fairdraw.readings import advanced, drawn_row
from fairdraw.stages import StatefulStage
from fairdraw.streams.noise import Noise


def draw_one(
    plan: Plan,
    logits: object,
    seed: int,
    position: int,
    sample_index: int,
    history: History | None,
    mask: ArrayLike | None,
    memory: Memory | None,
    second: ArrayLike | None,
) -> Drawn:
    """Draw one token; what `fairdraw.sample` documents."""
    require_plan(plan)
    _require_history(history)
    if memory is None and second is None:
        drawn = _by_kernel(plan, logits, seed, position, sample_index, history, mask)
        if drawn is not None:
            return drawn
    values, context = enter(plan, logits, history, mask, memory, second)
    noise = _noise(seed, position, sample_index)
    row = drawn_row(plan.stages, values, context, noise)
    token = int(plan.draw.choose(row, noise))
    # A history goes on growing, so the memory is worked out now.
    after = advanced(plan.stages, values, context, noise, token)
    find_row, find_logits = guarded(as_source(logits)[0], lambda: row, lambda: values)
    return Drawn(token=token, draw=plan.draw, find_row=find_row, find_logits=find_logits, memory=after)


def remember(
    plan: Plan,
    logits: object,
    token: int,
    *,
    seed: int,
    position: int,
    sample_index: int = 0,
    history: History | None = None,
    mask: ArrayLike | None = None,
    memory: Memory | None = None,
    second: ArrayLike | None = None,
) -> Memory:
    """What the stateful stages of a plan remember after a token, whoever chose it.

    Parameters
    ----------
    token : int
        The token that the text goes on with.
    plan, logits, seed, position, sample_index, history, mask, memory, second
        As they were for `fairdraw.sample`; the history is the one before the token.

    Returns
    -------
    mapping
        What the next call takes as ``memory``; empty for a plan without stateful stages.
    """
    values, context = enter(plan, logits, history, mask, memory, second)
    require("token", token, Whole(0, values.size - 1))
    return advanced(plan.stages, values, context, _noise(seed, position, sample_index), token)


def enter(
    plan: Plan,
    logits: object,
    history: History | None,
    mask: ArrayLike | None,
    memory: Memory | None = None,
    second: ArrayLike | None = None,
) -> tuple[Scores, Context]:
    """The row and the context, checked."""
    require_plan(plan)
    _require_history(history)
    row = np.array(as_logits(logits))
    if mask is not None and not any(stage.name == "mask" for stage in plan.stages):
        hint = "put Mask() where in the plan the mask acts"
        raise ParameterError("mask", "a mask", "None for a plan without a mask stage", hint)
    allowed = None if mask is None else as_mask(mask, row.size)
    history = history or History()
    return row, Context(
        history=history,
        mask=allowed,
        second=None if second is None else _second(plan, second, row.size),
        memory=_checked_memory(plan, memory, history),
    )


def _checked_memory(plan: Plan, memory: Memory | None, history: History) -> Memory:
    names = [stage.name for stage in plan.stages if isinstance(stage, StatefulStage)]
    if memory is None and names and history.output_length:
        hint = "pass the .memory of the token drawn before; {} starts anew"
        raise ParameterError("memory", None, f"what {names[0]} remembers of the output so far", hint)
    if not isinstance(memory, Mapping | None) or not set(memory or {}) <= set(names):
        domain = f"a mapping with the names {', '.join(names)}" if names else "None for a plan without stateful stages"
        raise ParameterError("memory", memory, domain)
    return memory or {}


def _second(plan: Plan, second: ArrayLike, vocab: int) -> Scores:
    if not any(stage.name == "guidance" for stage in plan.stages):
        hint = "put Guidance(scale=...) where in the plan the two rows are mixed"
        raise ParameterError("second", "a row", "None for a plan without guidance", hint)
    row = np.array(as_logits(second))
    if row.size != vocab:
        raise ParameterError("second", f"{row.size} logits", f"as long as the row, {vocab}")
    return row


def _require_history(history: object) -> None:
    if history is not None and not isinstance(history, History):
        raise ParameterError("history", history, "a History", "History(prompt=ids, output=ids)")


def _noise(seed: int, position: int, sample_index: int) -> Noise:
    return Noise(
        seed=require("seed", seed, SEED),  # type: ignore[arg-type]
        position=require("position", position, COUNTER),  # type: ignore[arg-type]
        sample_index=require("sample_index", sample_index, COUNTER),  # type: ignore[arg-type]
    )


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
    noise = _numbers(seed, position, sample_index)
    if program is None or noise is None:
        return None
    kernel = find_kernel(program.mode)
    if kernel is None:
        return None
    if program.operations is None:
        return _by_kernel_after_edits(plan, program, kernel, logits, noise, history, mask)
    drawn = draw_fused(program, kernel, logits, noise, history, mask)
    if drawn is None:
        return None
    return _drawn(plan, *drawn)


def _drawn(plan: Plan, token: int, recall: Recall) -> Drawn:
    """A `Drawn`, made in a third of the time that the ``__init__`` of a frozen dataclass takes."""
    drawn = object.__new__(Drawn)
    values = vars(drawn)
    values["token"], values["draw"], values["memory"] = token, plan.draw, {}
    values["find_row"], values["find_logits"] = recall.row, recall.logits
    return drawn


def _numbers(seed: Any, position: Any, sample_index: Any) -> tuple[int, int, int] | None:
    """Seed, position and sample index, or None if one is outside its domain; plain ints are told at once."""
    if type(seed) is type(position) is type(sample_index) is int:
        if 0 <= seed < 2**64 and 0 <= position < 2**32 and 0 <= sample_index < 2**32:
            return seed, position, sample_index
        return None
    if SEED.holds(seed) and COUNTER.holds(position) and COUNTER.holds(sample_index):
        return int(seed), int(position), int(sample_index)
    return None


def _by_kernel_after_edits(
    plan: Plan,
    program: Program,
    kernel: Kernel,
    logits: object,
    noise: tuple[int, int, int],
    history: History | None,
    mask: ArrayLike | None,
) -> Drawn | None:
    """The same where NumPy makes the edits."""
    values, context = enter(plan, logits, history, mask)
    # An edit tosses no coin, so any noise will do.
    edited = drawn_row(program.edits, values, context, Noise(seed=0, position=0))
    scores = edited_row(edited)
    if scores is None or not program.allows(scores.size):
        return None
    token, _, _ = draw_token(program, kernel, scores, FLOAT32, noise)
    if token < 0:
        return None
    # A history goes on growing: what it said is in the edited row, and a cut does not ask it.
    find_row = partial(cut, program.cuts, edited)
    find_row, find_logits = guarded(as_source(logits)[0], find_row, lambda: values)
    return Drawn(token=token, draw=plan.draw, find_row=find_row, find_logits=find_logits)
