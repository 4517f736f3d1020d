"""nano-vllm's sampler, line by line in float32, without ``torch.compile``.

logits.float() / T, softmax, probabilities / max(Exp(1), 1e-10), first maximum.  **This is the eager formula.**  The
shipped forward is compiled by torch, whose compiler brings a random generator of its own, and runs on a GPU: no run
of the shipped nano-vllm can be drawn again.  What can are the same lines run by eager torch on the CPU.  nano-vllm has
no seed; the one here is what ``torch.manual_seed`` got.

Source: GeeeekExplorer/nano-vllm at bb823b3, nanovllm/layers/sampler.py; torch 2.13.0 on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from fairdraw.errors import PlanError
from fairdraw.one_token import enter
from fairdraw.plan import Plan
from fairdraw.readings import readings
from fairdraw.replay.result import Replayed
from fairdraw.replay.torch_race import race
from fairdraw.streams.torch_mt19937 import TorchGenerator

ENGINE = "nano_vllm"
FLOOR = np.float32(1e-10)
"""The least noise."""


def draw(plan: Plan, logits: object, generator: TorchGenerator) -> Replayed:
    """Draw one row's token by the eager formula.

    Parameters
    ----------
    plan : Plan
        Of the nano_vllm dialect.
    logits : array_like of float, shape (vocab,)
        The row that the model gave.
    generator : TorchGenerator
        Its state moves on by one Exp(1) for each id.  A batch fills its noise row by row.

    Returns
    -------
    Replayed
        The token, and what could make the engine's another one.

    Raises
    ------
    PlanError
        The plan is of another dialect.
    LogitsError
        The row cannot be sampled from, or the temperature overflows float32 on it.

    Examples
    --------
    >>> draw(Plan.parse("nano_vllm: temperature=0.6"), [2.0, 1.5, 1.0, 0.5], TorchGenerator(42)).token
    0
    """
    if plan.dialect != ENGINE:
        raise PlanError(f"this replays plans of {ENGINE}, got one of {plan.dialect}", f'Plan.parse("{ENGINE}: ...")')
    values, context = enter(plan, logits, None, None)
    (paths,) = readings(plan.stages, values, context)
    row = paths[0].rows[-1]
    return race(row.scores, row.kept, np.maximum(generator.exponentials(row.vocab), FLOOR))


def replay(plan: Plan, rows: Iterable[object], *, seed: int) -> tuple[Replayed, ...]:
    """Draw a run of one request again, as eager torch would.

    Parameters
    ----------
    plan : Plan
        Of the nano_vllm dialect.
    rows : iterable of array_like, shape (vocab,)
        The logits of each step.
    seed : int, 0 to 2^64-1
        What ``torch.manual_seed`` got before the first step.

    Returns
    -------
    tuple of Replayed
        One a row.

    Raises
    ------
    PlanError, LogitsError, ParameterError
        As in `draw`; or the seed is out of range.

    Examples
    --------
    >>> plan = Plan.parse("nano_vllm: temperature=0.6")
    >>> [step.token for step in replay(plan, [[2.0, 1.5, 1.0, 0.5, 0.0, -1.0]] * 8, seed=42)]
    [0, 2, 0, 2, 0, 0, 1, 0]
    """
    generator = TorchGenerator(seed)
    return tuple(draw(plan, row, generator) for row in rows)
