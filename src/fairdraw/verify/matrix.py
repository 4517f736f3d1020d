"""One request in every engine: how far apart their laws are on some rows, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.arrays import as_logits
from fairdraw.dialects import DIALECTS
from fairdraw.dialects.finding import find_dialect
from fairdraw.errors import FairdrawError, LogitsError, ParameterError, PlanError
from fairdraw.history import History
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan
from fairdraw.sampling import law
from fairdraw.verify.comparison import TOLERANCE

NEWEST = tuple(dict.fromkeys(find_dialect(dialect.engine).name for dialect in DIALECTS.values()))
"""The newest version of every engine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The laws of one request in several engines, compared pair by pair."""

    request: SamplingParams
    plans: Mapping[str, Plan]
    """Engine to its plan, those with like laws side by side."""
    refused: Mapping[str, str]
    """Engine to why it has no law for this request."""
    mean: NDArray[np.float64]
    """Mean total variation over the rows, of each pair: shape (engines, engines)."""
    largest: NDArray[np.float64]
    """The largest of any row."""
    kept: NDArray[np.int64]
    """How many tokens each engine can draw on each row: shape (engines, rows)."""
    groups: tuple[tuple[str, ...], ...]
    """Engines with one law on all of these rows."""

    def to_json(self) -> dict[str, object]:
        """Everything as plain data."""
        return {
            "request": dict(self.request.given()),
            "plans": {name: str(plan) for name, plan in self.plans.items()},
            "refused": dict(self.refused),
            "engines": list(self.plans),
            "mean_total_variation": self.mean.tolist(),
            "largest_total_variation": self.largest.tolist(),
            "kept": self.kept.tolist(),
            "groups": [list(group) for group in self.groups],
        }


def compare_all(
    request: SamplingParams,
    logits: ArrayLike | Sequence[object],
    *,
    history: History | None = None,
    engines: Sequence[str] = NEWEST,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Matrix:
    """Compare what every engine makes of one request, on some rows.

    Parameters
    ----------
    request : SamplingParams
        Parameters in our names.
    logits : array_like of float, shape (vocab,) or (rows, vocab)
        The rows.
    history : History, optional
        Prompt and output ids, the same for all.
    engines : sequence of str
        Dialects; the newest version of each if not given.
    on_progress : callable
        Told how many of how many laws are known.

    Returns
    -------
    Matrix
        Total variations; and the engines that refuse the request, with their reasons.

    Raises
    ------
    PlanError
        No engine takes the request, or one of them is unknown.
    LogitsError
        A row is not usable.

    Examples
    --------
    >>> matrix = compare_all(SamplingParams(top_k=3, top_p=0.75), [2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
    >>> [group for group in matrix.groups if "candle@0.11" in group]
    [('candle@0.11', 'sglang@0.5.23', 'mlx_lm@0.32')]
    """
    array = np.asarray(logits)
    rows = [as_logits(row, f"logits row {i}") for i, row in enumerate(np.atleast_2d(array))]
    plans, refused = _resolved(request, engines)
    names = list(plans)
    apart = np.zeros((len(names), len(names), len(rows)))
    kept = np.zeros((len(names), len(rows)), np.int64)
    for number, row in enumerate(rows):
        laws: dict[str, NDArray[np.float64]] = {}
        for done, name in enumerate(names):
            on_progress(number * len(names) + done, len(rows) * len(names))
            if name in refused:
                continue
            try:
                laws[name] = law(plans[name], row, history=history).probabilities
            except (ParameterError, LogitsError) as problem:
                refused[name] = str(problem).replace("\n", "; ")
        for i, name in enumerate(names):
            kept[i, number] = np.count_nonzero(laws[name]) if name in laws else 0
            for k in range(i):
                if name in laws and names[k] in laws:
                    apart[i, k, number] = apart[k, i, number] = np.abs(laws[name] - laws[names[k]]).sum() / 2
    chosen = [i for i, name in enumerate(names) if name not in refused]
    if not chosen:
        raise PlanError("no engine takes this request", "; ".join(f"{n}: {why}" for n, why in refused.items())[:300])
    order = [chosen[i] for i in _seriated(apart[np.ix_(chosen, chosen)].mean(axis=-1))]
    apart, names = apart[np.ix_(order, order)], [names[i] for i in order]
    return Matrix(
        request=request,
        plans={name: plans[name] for name in names},
        refused=refused,
        mean=apart.mean(axis=-1),
        largest=apart.max(axis=-1),
        kept=kept[order],
        groups=_groups(names, apart.max(axis=-1)),
    )


def _resolved(request: SamplingParams, engines: Sequence[str]) -> tuple[dict[str, Plan], dict[str, str]]:
    plans, refused = {}, {}
    for name in engines:
        dialect = find_dialect(name)
        try:
            plan = Plan.resolve(request, dialect=dialect.name)
        except FairdrawError as problem:
            refused[dialect.name] = str(problem).replace("\n", "; ")
            continue
        if plan.draw.name == "undocumented":
            refused[dialect.name] = "what it samples from is not documented"
        else:
            plans[dialect.name] = plan
    return plans, refused


def _seriated(apart: NDArray[np.float64]) -> list[int]:
    """An order in which each engine stands beside the nearest one that is left, from the first on."""
    order = [0]
    while len(order) < len(apart):
        left = [i for i in range(len(apart)) if i not in order]
        order.append(min(left, key=lambda i: (apart[order[-1], i], i)))
    return order


def _groups(names: Sequence[str], largest: NDArray[np.float64]) -> tuple[tuple[str, ...], ...]:
    groups: list[list[int]] = []
    for i in range(len(names)):
        own = next((group for group in groups if all(largest[i, j] <= TOLERANCE for j in group)), None)
        if own is None:
            groups.append([i])
        else:
            own.append(i)
    return tuple(tuple(names[i] for i in group) for group in groups)
