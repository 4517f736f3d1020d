"""START HERE: the whole flow on one screen.

::

    SamplingParams --dialect--> Plan --stages(row, context)--> Weights --draw(noise)--> token

`law` says what a plan samples from, in real arithmetic.  `sample` draws a token, in integers and keyed noise: the
same one in any batch, on any machine.  Both keep the same set of tokens.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.context import Context, Memory
from fairdraw.domains import COUNTER, SEED, require
from fairdraw.drawn import Drawn
from fairdraw.draws import Race
from fairdraw.errors import ParameterError
from fairdraw.history import History
from fairdraw.kernels.drawing import draw_many
from fairdraw.masses import Scores
from fairdraw.one_token import draw_one, enter
from fairdraw.plan import Plan
from fairdraw.plan_format import format_part
from fairdraw.readings import Path, drawn_row, readings
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise
from fairdraw.weights import OpenTie, TraceStep, Weights

CHUNK = 1 << 19
"""Noise values held at once when many tokens are drawn from one row."""


def law(
    plan: Plan,
    logits: object,
    *,
    history: History | None = None,
    mask: ArrayLike | None = None,
    memory: Memory | None = None,
    second: ArrayLike | None = None,
) -> Weights:
    """Say what a plan samples from, with a trace of what each stage did.

    Parameters
    ----------
    plan : Plan
        What runs.
    logits : array_like of float, shape (vocab,)
        One row, before any stage; ``-inf`` forbids a token.  It is never written.
    history : History, optional
        Prompt and output ids, for penalties, bad words and minimum lengths.
    mask : array_like of bool, shape (vocab,), optional
        True allows a token.
    memory : mapping, optional
        What stateful stages (mirostat) remember: the ``memory`` of the token drawn before; needed once there is
        output, {} starts anew.
    second : array_like of float, shape (vocab,), optional
        Logits without the prompt, for a guidance stage, which needs it.

    Returns
    -------
    Weights
        Probabilities in float64, trace, and whatever the engine or rounding leaves open.

    Raises
    ------
    LogitsError, ParameterError
        The row or another value is not usable, or a stage leaves no token.

    Notes
    -----
    Edits are float32 and in the engine's own operation, sums float64.  About 20 ms at a vocabulary of 49152.

    Examples
    --------
    >>> plan = Plan.parse("fairdraw: temperature=0.7 top_k=3 top_p=0.75")
    >>> law(plan, [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]).probabilities.round(3).tolist()
    [0.671, 0.329, 0.0, 0.0, 0.0, 0.0]
    """
    row, context = enter(plan, logits, history, mask, memory, second)
    main, *others = (_weights(plan, paths) for paths in readings(plan.stages, row, context))
    return Weights(probabilities=main.probabilities, trace=main.trace, open_ties=main.open_ties, others=tuple(others))


def sample(
    plan: Plan,
    logits: object,
    *,
    seed: int,
    position: int,
    sample_index: int = 0,
    history: History | None = None,
    mask: ArrayLike | None = None,
    memory: Memory | None = None,
    second: ArrayLike | None = None,
) -> Drawn:
    """Draw one token: a pure function of all arguments.

    Parameters
    ----------
    plan, logits, history, mask, memory, second
        As in `law`.
    seed : int, 0 to 2^64-1
        Chooses the noise.
    position : int, 0 to 2^32-1
        How many tokens stand before the drawn one, prompt included.  It must grow from token to token, or the
        noise repeats.
    sample_index : int, 0 to 2^32-1
        Which of several answers to the same request this is.

    Returns
    -------
    Drawn
        Token, its logprobs, and the memory for the next call.

    Raises
    ------
    LogitsError, ParameterError
        As in `law`; or seed, position or sample index out of range.

    Examples
    --------
    >>> plan = Plan.parse("fairdraw: temperature=0.7 top_k=40 top_p=0.9")
    >>> [sample(plan, [2.0, 1.5, 1.0, 0.5, 0.0, -1.0], seed=42, position=position).token for position in range(8)]
    [0, 2, 0, 1, 2, 0, 2, 1]
    """
    return draw_one(plan, logits, seed, position, sample_index, history, mask, memory, second)


def sample_many(
    plan: Plan,
    logits: object,
    *,
    seed: int,
    positions: ArrayLike,
    sample_indices: ArrayLike = 0,
    history: History | None = None,
    mask: ArrayLike | None = None,
    memory: Memory | None = None,
    second: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Draw many tokens from one row: token i is the one `sample` draws at position i and sample index i.

    Parameters
    ----------
    plan, logits, seed, history, mask, memory, second
        As in `sample`; each draw starts from this same memory.
    positions, sample_indices : int or array_like of int, shape (draws,)
        They broadcast against each other.

    Returns
    -------
    int64, shape (draws,)
        Token ids.

    Examples
    --------
    >>> plan = Plan.parse("fairdraw: temperature=0.7 top_k=40 top_p=0.9")
    >>> sample_many(plan, [2.0, 1.5, 1.0, 0.5, 0.0, -1.0], seed=42, positions=range(8)).tolist()
    [0, 2, 0, 1, 2, 0, 2, 1]
    """
    values, context = enter(plan, logits, history, mask, memory, second)
    seed = int(require("seed", seed, SEED))  # type: ignore[call-overload]
    position, sample_index = _pairs(_counters("positions", positions), _counters("sample_indices", sample_indices))
    if any(len(stage.branches()) > 1 for stage in plan.stages):
        pairs = zip(position.tolist(), sample_index.tolist(), strict=True)
        return np.array([_one(plan, values, context, seed, p, s) for p, s in pairs], np.int64)
    row = drawn_row(plan.stages, values, context, Noise(seed=seed, position=0))
    if type(plan.draw) is Race and position.size:
        tokens = draw_many(row, seed, position, sample_index)
        if tokens is not None:
            return tokens
    step = CHUNK // max(1, plan.draw.noise_values(row)) or 1
    chunks = [
        plan.draw.choose(
            row, Noise(seed=seed, position=position[i : i + step], sample_index=sample_index[i : i + step])
        )
        for i in range(0, position.size, step)
    ]
    return np.concatenate(chunks) if chunks else np.zeros(0, np.int64)


def _weights(plan: Plan, paths: tuple[Path, ...]) -> Weights:
    """What the paths of one reading add up to; the trace is the most probable path's."""
    probabilities = np.sum([path.probability * plan.draw.law(path.rows[-1]) for path in paths], axis=0)
    main = max(paths, key=lambda path: path.probability)
    after = zip(main.stages, main.rows[1:], strict=True)
    steps = (TraceStep(name=stage.name, detail=format_part(stage), row=row) for stage, row in after)
    trace = (TraceStep(name="logits", detail="", row=main.rows[0]), *steps)
    ties = (_open_tie(row, group) for row in (path.rows[-1] for path in paths) for group in row.open_ties)
    return Weights(probabilities=probabilities, trace=trace, open_ties=tuple(ties))


def _open_tie(row: Row, group: NDArray[np.int64]) -> OpenTie:
    kept = np.intersect1d(row.kept, group)
    return OpenTie(certain=np.setdiff1d(row.kept, group), group=np.sort(group), count=kept.size)


def _pairs(positions: NDArray[np.uint64], sample_indices: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """Both on one axis, as long as each other."""
    try:
        pairs = np.broadcast_arrays(positions, sample_indices)
    except ValueError:
        came, domain = f"{sample_indices.size} of them", f"one, or one for each of the {positions.size} positions"
        raise ParameterError("sample_indices", came, domain) from None
    return [np.array(numbers, ndmin=1) for numbers in pairs]


def _counters(name: str, numbers: ArrayLike) -> NDArray[np.uint64]:
    try:
        array = np.asarray(numbers)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise ParameterError(name, numbers, "whole numbers on one axis", str(problem)) from None
    if array.ndim > 1 or (array.size and array.dtype.kind not in "iu"):
        raise ParameterError(name, f"shape {array.shape} of {array.dtype}", "whole numbers on one axis")
    for number in (array.min(), array.max()) if array.size else ():
        require(name, number, COUNTER)
    return array.astype(np.uint64)


def _one(plan: Plan, row: Scores, context: Context, seed: int, position: int, sample_index: int) -> int:
    noise = Noise(seed=seed, position=position, sample_index=sample_index)
    return int(plan.draw.choose(drawn_row(plan.stages, row, context, noise), noise))
