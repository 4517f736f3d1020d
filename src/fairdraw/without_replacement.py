"""The first n of a race: tokens drawn without replacement, the first of them the one that a single draw gives."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.domains import COUNTER, SEED, Whole, require
from fairdraw.draws import Race
from fairdraw.draws.first_arrivals import first_arrivals
from fairdraw.errors import PlanError
from fairdraw.history import History
from fairdraw.masses import Ids
from fairdraw.one_token import enter
from fairdraw.plan import Plan
from fairdraw.readings import drawn_row
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise

TOO_LITTLE = 1 << 20
"""A rest of this integer mass has lost bits; it is summed again from the scores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrived:
    """Tokens in the order in which they arrived; arrays of one length."""

    tokens: Ids
    """Token ids, int64."""
    scores: NDArray[np.float64]
    """Their scores in the race, z * log2(e) / T - log2(E), descending."""
    logprobs: NDArray[np.float64]
    """Processed, natural: as if each were the only one drawn."""
    conditional_logprobs: NDArray[np.float64]
    """Natural, given the tokens before it: they sum to the logprob of this sequence of draws without replacement."""


def arrivals(
    plan: Plan,
    logits: object,
    *,
    n: int,
    seed: int,
    position: int,
    sample_index: int = 0,
    history: History | None = None,
    mask: ArrayLike | None = None,
) -> Arrived:
    """Draw up to n different tokens, as if each were drawn from what the earlier ones left.

    The race gives every token one fixed score, so the order of arrival is a sample without replacement (the
    Gumbel-top-k trick: Kool, van Hoof and Welling, 2019), and more arrivals never change the earlier ones.

    Parameters
    ----------
    plan, logits, seed, position, sample_index, history, mask
        As in `fairdraw.sample`, for a plan whose draw is the race.
    n : int, at least 1
        How many; fewer come if the plan keeps fewer.

    Returns
    -------
    Arrived
        The first token is the one that `fairdraw.sample` draws.

    Raises
    ------
    PlanError
        The plan's draw is no race: only a race has a second arrival.
    LogitsError, ParameterError
        As in `fairdraw.sample`.

    Notes
    -----
    The stages see the row once: what top-p keeps is not worked out anew after each arrival.

    Examples
    --------
    >>> plan = Plan.parse("fairdraw: temperature=0.7 top_k=3")
    >>> arrived = arrivals(plan, [2.0, 1.5, 1.0, 0.5], n=4, seed=42, position=1)
    >>> arrived.tokens.tolist(), np.exp(arrived.logprobs).round(3).tolist()
    ([2, 1, 0], [0.139, 0.283, 0.578])
    >>> np.exp(arrived.conditional_logprobs).round(3).tolist()
    [0.139, 0.329, 1.0]
    """
    values, context = enter(plan, logits, history, mask)
    if type(plan.draw) is not Race:
        hint = "only a race has a second arrival: greedy has none, and an inverse CDF's next one is another draw"
        raise PlanError(f"arrivals need a plan that draws by race, got {plan.draw.name}", hint)
    count = int(require("n", n, Whole(1)))  # type: ignore[call-overload]
    noise = Noise(
        seed=require("seed", seed, SEED),  # type: ignore[arg-type]
        position=require("position", position, COUNTER),  # type: ignore[arg-type]
        sample_index=require("sample_index", sample_index, COUNTER),  # type: ignore[arg-type]
    )
    row = drawn_row(plan.stages, values, context, noise)
    found = first_arrivals(row, noise, count)
    return Arrived(
        tokens=found.ids,
        scores=found.scores,
        logprobs=row.log2_weights[found.ids] * math.log(2.0),
        conditional_logprobs=_conditional(row, found.ids),
    )


def _conditional(row: Row, ids: Ids) -> NDArray[np.float64]:
    """Logprob of each id among those that the earlier ones left."""
    exponents = (row.scores[row.kept].astype(np.float64) - float(row.masses.peak)) * row.masses.scale
    places = np.searchsorted(row.kept, ids)
    rest, out = int(row.total), np.empty(ids.size)
    for turn, (i, place) in enumerate(zip(ids, places, strict=True)):
        if rest >= TOO_LITTLE:
            log_rest = math.log2(rest / row.masses.unit)
        else:
            left = np.delete(exponents, places[:turn])
            log_rest = float(left.max() + np.log2(np.exp2(left - left.max()).sum()))
        out[turn] = (exponents[place] - log_rest) * math.log(2.0)
        rest -= int(row.masses.values[i])
    return np.minimum(out, 0.0)
