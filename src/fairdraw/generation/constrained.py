"""Drawing under a constraint: mask, draw, advance, and an error that names the constraint and the step."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fairdraw.constraints.protocol import Constraint, require_constraint
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.context import Memory
from fairdraw.errors import LogitsError, ParameterError
from fairdraw.history import History
from fairdraw.models.protocol import Model
from fairdraw.plan import Plan
from fairdraw.replay.result import Replayed
from fairdraw.sampling import sample


def start_track(constraint: Constraint, model: Model, plan: Plan) -> Track:
    """Start a constraint for a text of this model.

    Raises
    ------
    ParameterError
        The plan has no mask stage, or the constraint is malformed.
    """
    require_constraint(constraint)
    if not any(stage.name == "mask" for stage in plan.stages):
        hint = "put Mask() where in the plan the mask acts"
        raise ParameterError("constraint", constraint.name, "None for a plan without a mask stage", hint)
    return Track(constraint, Vocabulary.of(model.tokenizer, model.facts))


@contextmanager
def constraint_named(track: Track | None) -> Generator[None]:
    """Name the constraint in the error of stages that leave no token under its mask.

    Raises
    ------
    LogitsError
        The one that was raised inside, with the constraint's name.
    """
    try:
        yield
    except LogitsError as problem:
        if track is None or not problem.where.startswith("logits after"):
            raise
        where = f"{problem.where.rstrip(',')}, under the constraint {track.constraint.name},"
        raise LogitsError(where, problem.requirement, problem.got, problem.hint) from None


def draw_constrained(
    track: Track,
    plan: Plan,
    logits: object,
    mask: NDArray[np.bool_],
    *,
    seed: int,
    sample_index: int,
    history: History,
    memory: Memory | None = None,
) -> Replayed:
    """Draw a token that the mask allows; the track does not move.

    Raises
    ------
    LogitsError
        The stages forbid every token that the constraint allows; the error names both and the step.
    """
    with constraint_named(track):
        drawn = sample(
            plan,
            logits,
            seed=seed,
            position=len(history),
            sample_index=sample_index,
            history=history,
            mask=mask,
            memory=memory,
        )
    return Replayed(token=drawn.token)
