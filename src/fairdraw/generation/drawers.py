"""Who draws the tokens of one text: the keyed race, or an engine's own generator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Memory
from fairdraw.errors import ParameterError
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.history import History
from fairdraw.plan import Plan
from fairdraw.replay.engines import Replayer, replayer
from fairdraw.replay.result import Replayed
from fairdraw.sampling import sample

FAIRDRAW = "fairdraw"
"""The stream of the keyed race."""
Mask = NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a text's next token is drawn from."""

    logits: NDArray[np.float32]
    mask: Mask
    text: Tentative


def drawer(
    stream: str, plan: Plan, seed: int, sample_index: int, memory: Callable[[], Memory | None] = lambda: None
) -> Replayer:
    """Start what draws the tokens of one text: the keyed race, or an engine's own generator.

    ``memory`` says what the plan's stateful stages remember when a token is drawn.

    Raises
    ------
    PlanError, ParameterError
        The engine cannot be replayed, or has no notion of a sample index.
    """
    if stream != FAIRDRAW:
        if sample_index:
            hint = "an engine's generator knows one text for each seed"
            raise ParameterError("sample_index", sample_index, f"0 for {stream}'s own tokens", hint)
        return replayer(stream, plan, seed)

    def keyed(logits: object, history: History) -> Replayed:
        drawn = sample(
            plan,
            logits,
            seed=seed,
            position=len(history),
            sample_index=sample_index,
            history=history,
            memory=memory(),
        )
        return Replayed(token=drawn.token)

    return keyed
