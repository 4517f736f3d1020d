"""What stateful stages remember from one token of a text to the next."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Memory
from fairdraw.history import History
from fairdraw.one_token import remember
from fairdraw.plan import Plan
from fairdraw.stages import StatefulStage


def next_memory(
    plan: Plan,
    logits: object,
    token: int,
    seed: int,
    sample_index: int,
    history: History,
    mask: NDArray[np.bool_] | None,
    memory: Memory | None,
) -> Memory | None:
    """What stateful stages remember after a token; None for a plan that has none."""
    if not any(isinstance(stage, StatefulStage) for stage in plan.stages):
        return None
    return remember(
        plan,
        logits,
        token,
        seed=seed,
        position=len(history),
        sample_index=sample_index,
        history=history,
        mask=mask,
        memory=memory,
    )
