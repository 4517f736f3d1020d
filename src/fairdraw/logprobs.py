"""What a token's logprob means: raw, after temperature, or processed; with its rank and the best alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.context import Memory
from fairdraw.domains import Choice, Whole, require
from fairdraw.history import History
from fairdraw.masses import RealMasses
from fairdraw.one_token import enter
from fairdraw.plan import Plan
from fairdraw.readings import apply_stage
from fairdraw.rows import Row
from fairdraw.sampling import law
from fairdraw.stages import FilterStage

Meaning = Literal["raw", "temperature", "processed"]
"""The model's own row; after edits and temperature, before any cut; under the law that is drawn from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """One token with its logprob and its rank."""

    token: int
    logprob: float
    """Natural logarithm of the probability; -inf if it cannot be drawn."""
    rank: int
    """1 for the most probable; equal tokens: the lower id first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenLogprobs:
    """A token's logprob in a stated meaning, and the best alternatives."""

    meaning: Meaning
    chosen: Alternative
    top: tuple[Alternative, ...]
    """The best ones, the most probable first; then the chosen one if it is not among them."""


def logprobs(
    plan: Plan,
    logits: object,
    token: int,
    *,
    meaning: Meaning,
    top: int = 0,
    history: History | None = None,
    mask: ArrayLike | None = None,
    memory: Memory | None = None,
    second: ArrayLike | None = None,
) -> TokenLogprobs:
    """Say how probable a token was.

    Parameters
    ----------
    plan, logits, history, mask, memory, second
        As in `fairdraw.law`.
    token : int
        The id to report.
    meaning : "raw", "temperature" or "processed"
        ``raw``: log-softmax of the logits as they came.  ``temperature``: after masks, biases, penalties and
        temperature, before any cut.  ``processed``: under the law that the plan draws from.
    top : int, at least 0
        How many of the best tokens to report beside it; more than there are gives all.

    Returns
    -------
    TokenLogprobs

    Examples
    --------
    >>> plan = Plan.parse("fairdraw: temperature=0.5 top_p=0.9")
    >>> for meaning in ("raw", "temperature", "processed"):
    ...     print(meaning, round(logprobs(plan, [2.0, 1.0, 0.0, -1.0], 1, meaning=meaning).chosen.logprob, 6))
    raw -1.44019
    temperature -2.145078
    processed -2.126928
    """
    values = row_logprobs(plan, logits, meaning=meaning, history=history, mask=mask, memory=memory, second=second)
    return report(values, token, meaning=meaning, top=top)


def row_logprobs(
    plan: Plan,
    logits: object,
    *,
    meaning: Meaning,
    history: History | None = None,
    mask: ArrayLike | None = None,
    memory: Memory | None = None,
    second: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """Give the logprob of every token of a row; parameters as in `logprobs`.

    Returns
    -------
    float64, shape (vocab,)
        Natural logarithms; -inf for what cannot be drawn.
    """
    require("meaning", meaning, Choice(get_args(Meaning)))
    row, context = enter(plan, logits, history, mask, memory, second)
    if meaning == "processed":
        with np.errstate(divide="ignore"):
            return np.log(law(plan, row, history=history, mask=mask, memory=memory, second=second).probabilities)
    rows = [Row.of(row, RealMasses)]
    for stage in plan.stages if meaning == "temperature" else ():
        if not isinstance(stage, FilterStage):
            rows.append(apply_stage(stage, rows, [], context))
    return rows[-1].log2_weights * np.log(2.0)


def report(values: NDArray[np.float64], token: int, *, meaning: Meaning, top: int = 0) -> TokenLogprobs:
    """Pick one token and the best ones out of a row of logprobs.

    Parameters
    ----------
    values : float64, shape (vocab,)
        What `row_logprobs` gave.
    token, meaning, top
        As in `logprobs`.
    """
    require("token", token, Whole(0, values.size - 1))
    require("top", top, Whole(0))
    rank = 1 + int(np.count_nonzero(values > values[token]) + np.count_nonzero(values[:token] == values[token]))
    chosen = Alternative(token=token, logprob=float(values[token]), rank=rank)
    best = np.arange(values.size)
    if 0 < top < values.size:
        # With everything that equals the last of them, so that the lower ids are among them.
        best = np.flatnonzero(values >= np.partition(values, values.size - top)[values.size - top])
    best = best[np.argsort(-values[best], kind="stable")][:top] if top else best[:0]
    entries = tuple(Alternative(token=int(i), logprob=float(values[i]), rank=n) for n, i in enumerate(best, 1))
    return TokenLogprobs(meaning=meaning, chosen=chosen, top=entries if rank <= top else (*entries, chosen))
