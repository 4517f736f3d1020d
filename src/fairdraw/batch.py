"""Many rows at once: each gets the token that it would get alone, and a bad row leaves its neighbours alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.context import Memory
from fairdraw.domains import Choice, require
from fairdraw.errors import FairdrawError, LogitsError, ParameterError
from fairdraw.history import History
from fairdraw.plan import Plan, require_plan
from fairdraw.sampling import sample

NO_TOKEN = -1
"""Stands where a row has no token; it is no token id anywhere."""
OnError = Literal["raise", "return"]
_ASKED = ("plan", "seed", "position", "sample_index", "history", "mask", "memory", "second")


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBatch:
    """The result of a batch of draws, one entry a row."""

    tokens: NDArray[np.int64]
    """Token ids, shape (batch,); -1 where a row failed."""
    logprobs: NDArray[np.float64]
    """Processed logprobs, natural, shape (batch,); NaN where a row failed."""
    status: tuple[str, ...]
    """"" where a row has its token, else what was wrong with it, with its number."""
    memories: tuple[Memory, ...] = ()
    """What the stateful stages of each row's plan remember after its token; empty where it has none."""

    @property
    def ok(self) -> NDArray[np.bool_]:
        """Which rows have a token."""
        return self.tokens != NO_TOKEN


def sample_batch(
    plans: Plan | Sequence[Plan],
    logits: ArrayLike | Sequence[object],
    *,
    seeds: int | ArrayLike,
    positions: int | ArrayLike,
    sample_indices: int | ArrayLike = 0,
    histories: Sequence[History | None] | None = None,
    masks: ArrayLike | Sequence[ArrayLike | None] | None = None,
    memories: Sequence[Memory | None] | None = None,
    seconds: ArrayLike | Sequence[ArrayLike | None] | None = None,
    on_error: OnError = "raise",
) -> DrawnBatch:
    """Draw one token for each row: token i is the one that `fairdraw.sample` draws from row i alone.

    Parameters
    ----------
    plans : Plan or sequence of Plan
        One for all rows, or one a row.
    logits : array_like of float, shape (batch, vocab), or sequence of rows
        Rows may differ in width if they come as a sequence.  They are never written.
    seeds, positions, sample_indices : int or array_like of int, shape (batch,)
        As in `fairdraw.sample`; one for all rows, or one a row.
    histories : sequence of History or None, optional
        One a row.
    masks : array_like of bool, shape (batch, vocab), or sequence of masks or None, optional
        One a row.
    memories : sequence of mapping or None, optional
        What stateful stages remember, one a row: the result's ``memories`` of the token before.
    seconds : array_like of float, shape (batch, vocab), or sequence of rows or None, optional
        Logits without the prompt, for guidance, one a row.
    on_error : "raise" or "return"
        What a bad row does: raise its error, with its number; or get a status, while its neighbours are drawn.

    Returns
    -------
    DrawnBatch

    Raises
    ------
    ParameterError
        Arguments that do not fit to the number of rows, whatever ``on_error`` says.
    LogitsError, ParameterError
        With ``on_error="raise"``, the first bad row's.

    Notes
    -----
    Order, size and neighbours of a row change nothing.  The rows are drawn one after another.

    Examples
    --------
    >>> plan = Plan.parse("fairdraw: temperature=0.7 top_k=2")
    >>> rows = [[2.0, 1.5, 1.0], [0.0, float("nan"), 1.0]]
    >>> batch = sample_batch(plan, rows, seeds=[7, 8], positions=3, on_error="return")
    >>> batch.tokens.tolist(), batch.ok.tolist()
    ([0, -1], [True, False])
    >>> print(batch.status[1].splitlines()[0])
    logits row 1 must have no NaN, got NaN at id 1
    """
    require("on_error", on_error, Choice(("raise", "return")))
    rows = _rows(logits)
    count = len(rows)
    every = {
        "plans": _each("plans", [plans] * count if isinstance(plans, Plan) else plans, count),
        "seeds": _numbers("seeds", seeds, count),
        "positions": _numbers("positions", positions, count),
        "sample_indices": _numbers("sample_indices", sample_indices, count),
        "histories": _each("histories", histories, count),
        "masks": _each("masks", masks, count),
        "memories": _each("memories", memories, count),
        "seconds": _each("seconds", seconds, count),
    }
    for plan in every["plans"]:
        require_plan(plan)
    tokens, logprobs = np.full(count, NO_TOKEN, np.int64), np.full(count, np.nan)
    status = [""] * count
    after: list[Memory] = [{}] * count
    for index, (row, *values) in enumerate(zip(rows, *every.values(), strict=True)):
        try:
            drawn = sample(logits=row, **dict(zip(_ASKED, values, strict=True)))  # type: ignore[arg-type]
            tokens[index], logprobs[index], after[index] = drawn.token, drawn.logprob, drawn.memory
        except FairdrawError as problem:
            told = _with_number(problem, index)
            if on_error == "raise":
                raise told from None
            tokens[index], logprobs[index], status[index] = NO_TOKEN, np.nan, str(told)
    return DrawnBatch(tokens=tokens, logprobs=logprobs, status=tuple(status), memories=tuple(after))


def _rows(logits: ArrayLike | Sequence[object]) -> Sequence[object]:
    shape = getattr(logits, "shape", None)
    if shape is not None and len(shape) != 2:
        hint = "fairdraw.sample takes one row" if len(shape) == 1 else ""
        raise LogitsError("logits", "have two axes, (batch, vocab)", f"shape {tuple(shape)}", hint)
    if shape is None and not isinstance(logits, Sequence):
        raise LogitsError("logits", "be a sequence of rows", type(logits).__qualname__)
    return logits  # type: ignore[return-value]


def _each(name: str, values: object, count: int) -> Sequence[object]:
    """One value a row; None stands for none anywhere."""
    if values is None:
        return [None] * count
    if not hasattr(values, "__len__") or isinstance(values, (str, History)) or len(values) != count:  # type: ignore[arg-type]
        came = f"{len(values)} of them" if hasattr(values, "__len__") else values  # type: ignore[arg-type]
        raise ParameterError(name, came, f"one for each of the {count} rows")
    return values  # type: ignore[return-value]


def _numbers(name: str, values: int | ArrayLike, count: int) -> Sequence[object]:
    """One number a row, as it came: `sample` checks each."""
    if np.ndim(values) == 0:
        return [values] * count
    return _each(name, values.tolist() if hasattr(values, "tolist") else values, count)  # type: ignore[union-attr]


def _with_number(problem: FairdrawError, index: int) -> FairdrawError:
    """The same error with the number of its row."""
    if isinstance(problem, LogitsError):
        where = problem.where.replace("logits", f"logits row {index}", 1)
        return LogitsError(where, problem.requirement, problem.got, problem.hint)
    if isinstance(problem, ParameterError):
        return ParameterError(f"row {index}: {problem.parameter}", problem.value, problem.domain, problem.hint)
    return problem
