"""Many rows at once: each gets the token that it would get alone, and a bad row leaves its neighbours alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.context import Memory
from fairdraw.domains import Choice, require
from fairdraw.drawn import CompactSupport, Drawn
from fairdraw.errors import FairdrawError, LogitsError, ParameterError
from fairdraw.history import History
from fairdraw.kernels.gathering import gather
from fairdraw.kernels.many_rows import Calls
from fairdraw.kernels.slots import TOKEN
from fairdraw.kernels.threads import thread_count
from fairdraw.plan import Plan, require_plan
from fairdraw.sampling import sample

_NOTHING: Memory = {}
NO_TOKEN = -1
"""Stands where a row has no token; it is no token id anywhere."""
OnError = Literal["raise", "return"]
Report = Literal["tokens", "logprobs", "support"]
"""What a batch works out at once; the rest when it is first asked for, while the rows are unchanged."""
_ASKED = ("plan", "seed", "position", "sample_index", "history", "mask", "memory", "second")


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnBatch:
    """The result of a batch of draws, one entry a row.

    Logprobs are worked out when they are first asked for, from the rows themselves, which are not copied: if their
    memory has been used again meanwhile, that is a LogitsError.  ``report="logprobs"`` asks at once.
    """

    tokens: NDArray[np.int64]
    """Token ids, shape (batch,); -1 where a row failed."""
    status: tuple[str, ...]
    """"" where a row has its token, else what was wrong with it, with its number."""
    memories: tuple[Memory, ...] = ()
    """What the stateful stages of each row's plan remember after its token; empty where it has none."""
    find_logprobs: Callable[[], NDArray[np.float64]] = field(repr=False)
    """How to work out the logprobs."""
    find_drawn: Callable[[int], Drawn | None] = field(repr=False)
    """How to get at one row's own result; None where it failed."""

    @cached_property
    def logprobs(self) -> NDArray[np.float64]:
        """Processed logprobs, natural, shape (batch,); NaN where a row failed."""
        return self.find_logprobs()

    @cached_property
    def supports(self) -> tuple[CompactSupport | None, ...]:
        """The kept set of each row, as ids or as a bitmap; None where a row failed."""
        return tuple(None if drawn is None else drawn.compact_support for drawn in self._each)

    @cached_property
    def log_kept_masses(self) -> NDArray[np.float64]:
        """Natural logarithm of the kept set's share of the full softmax, shape (batch,); NaN where a row failed."""
        return np.array([np.nan if drawn is None else drawn.log_kept_mass for drawn in self._each])

    @cached_property
    def _each(self) -> tuple[Drawn | None, ...]:
        return tuple(self.find_drawn(row) for row in range(self.tokens.size))

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
    report: Report = "tokens",
    threads: int | None = None,
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
    masks : array_like of bool, shape (batch, vocab), or of int32, 32 ids a word, or sequence of them or None, optional
        One a row.
    memories : sequence of mapping or None, optional
        What stateful stages remember, one a row: the result's ``memories`` of the token before.
    seconds : array_like of float, shape (batch, vocab), or sequence of rows or None, optional
        Logits without the prompt, for guidance, one a row.
    on_error : "raise" or "return"
        What a bad row does: raise its error, with its number; or get a status, while its neighbours are drawn.
    report : "tokens", "logprobs" or "support"
        What to work out at once: nothing but the tokens; the logprobs as well; also ``supports`` and
        ``log_kept_masses``.  Whatever is left is worked out when asked for, as long as the rows are unchanged.
    threads : int, 1 to 256, optional
        How many threads may draw; the environment's FAIRDRAW_THREADS, else one for each processor.

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
    Order, size, threads and neighbours of a row change nothing.  Rows whose plan has a kernel are drawn by few calls
    that hold no lock; the others one after another.

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
    require("report", report, Choice(("tokens", "logprobs", "support")))
    workers = thread_count(threads)
    rows = _rows(logits)
    count = len(rows)
    each = _each("plans", [plans] * count if isinstance(plans, Plan) else plans, count)
    for plan in each if not isinstance(plans, Plan) else [plans]:
        require_plan(plan)
    every = {
        "plans": each,
        "seeds": _numbers("seeds", seeds, count),
        "positions": _numbers("positions", positions, count),
        "sample_indices": _numbers("sample_indices", sample_indices, count),
        "histories": _each("histories", histories, count),
        "masks": _each("masks", masks, count),
        "memories": _each("memories", memories, count),
        "seconds": _each("seconds", seconds, count),
    }
    together = None
    if memories is None and seconds is None and _are_histories(histories):
        kinds, numbers = _different(plans, count)
        together = gather(kinds, numbers, rows, (seeds, positions, sample_indices), histories, masks)
    return _draw(rows, every, together, on_error, report, workers)


def _draw(
    rows: Any,
    every: dict[str, Sequence[object]],
    together: tuple[Calls, NDArray[np.int64]] | None,
    on_error: OnError,
    report: Report,
    workers: int,
) -> DrawnBatch:
    """Draw what kernels can, and the rest one by one."""
    count = len(rows)
    tokens, place = np.full(count, NO_TOKEN, np.int64), np.full(count, -1)
    if together is not None:
        calls, which = together
        drawn = calls.draw(workers)
        place[which[drawn]] = np.flatnonzero(drawn)
        tokens[which[drawn]] = calls.records[drawn, TOKEN]
    alone, status = _draw_alone(rows, every, np.flatnonzero(place < 0).tolist(), on_error)
    for index, drawn in alone.items():
        tokens[index] = drawn.token

    def find_logprobs() -> NDArray[np.float64]:
        logprobs = np.full(count, np.nan)
        if together is not None:
            logprobs[place >= 0] = together[0].logprobs(place[place >= 0], workers)
        for index, drawn in alone.items():
            logprobs[index] = drawn.logprob
        return logprobs

    def find_drawn(index: int) -> Drawn | None:
        if place[index] < 0 or together is None:
            return alone.get(index)
        recall = together[0].recall(int(place[index]))
        plan: Plan = every["plans"][index]  # type: ignore[assignment]
        return Drawn(token=int(tokens[index]), draw=plan.draw, find_row=recall.row, find_logits=recall.logits)

    batch = DrawnBatch(
        tokens=tokens,
        status=tuple(status),
        memories=tuple(alone[index].memory if index in alone else _NOTHING for index in range(count)),
        find_logprobs=find_logprobs,
        find_drawn=find_drawn,
    )
    if report != "tokens":
        batch.logprobs  # noqa: B018
    if report == "support":
        batch.supports, batch.log_kept_masses  # noqa: B018
    return batch


def _draw_alone(
    rows: Any, every: dict[str, Sequence[object]], which: Sequence[int], on_error: OnError
) -> tuple[dict[int, Drawn], list[str]]:
    """Draw some rows one by one; what became of them, and the status of all."""
    alone: dict[int, Drawn] = {}
    status = [""] * len(rows)
    for index in which:
        try:
            values = (values[index] for values in every.values())
            alone[index] = sample(logits=rows[index], **dict(zip(_ASKED, values, strict=True)))  # type: ignore[arg-type]
        except FairdrawError as problem:
            told = _with_number(problem, index)
            if on_error == "raise":
                raise told from None
            status[index] = str(told)
    return alone, status


def _different(plans: Plan | Sequence[Plan], count: int) -> tuple[list[Plan], NDArray[np.int64]]:
    """The different plan objects, and the number of each row's."""
    if isinstance(plans, Plan):
        return [plans], np.zeros(count, np.int64)
    kinds = list({id(plan): plan for plan in plans}.values())
    number = {id(plan): place for place, plan in enumerate(kinds)}
    return kinds, np.array([number[id(plan)] for plan in plans], np.int64)


def _are_histories(histories: Sequence[object] | None) -> bool:
    return histories is None or all(isinstance(history, History | None) for history in histories)


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
        came = f"{len(values)} of them" if isinstance(values, list | tuple | np.ndarray) else values
        raise ParameterError(name, came, f"one for each of the {count} rows")
    return values  # type: ignore[return-value]


def _numbers(name: str, values: int | ArrayLike, count: int) -> Sequence[object]:
    """One number a row, as it came: `sample` checks each."""
    domain = f"a whole number, or one for each of the {count} rows"
    try:
        axes = np.ndim(values)  # type: ignore[arg-type]
    except ValueError as problem:  # lists of different lengths
        raise ParameterError(name, values, domain, str(problem)) from None
    if axes > 1:
        raise ParameterError(name, f"shape {np.shape(values)}", domain)  # type: ignore[arg-type]
    if axes == 0:
        # A number in an array without axes is that number, whoever draws.
        return [values.item() if hasattr(values, "item") else values] * count  # type: ignore[union-attr]
    return _each(name, values.tolist() if hasattr(values, "tolist") else values, count)  # type: ignore[union-attr]


def _with_number(problem: FairdrawError, index: int) -> FairdrawError:
    """The same error with the number of its row."""
    if isinstance(problem, LogitsError):
        where = problem.where.replace("logits", f"logits row {index}", 1)
        return LogitsError(where, problem.requirement, problem.got, problem.hint)
    if isinstance(problem, ParameterError):
        return ParameterError(f"row {index}: {problem.parameter}", problem.value, problem.domain, problem.hint)
    return problem
