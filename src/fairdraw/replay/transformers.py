"""The tokens that transformers' ``generate(do_sample=True)`` draws on the CPU after ``torch.manual_seed(seed)``.

Each step is one ``torch.multinomial(probs, num_samples=1)``: two mt19937 words for every id of the vocabulary, kept or
not.  Edits are the dialect's own stages in float32; the kept set is the law's, and where float32 rounding or an
unstable sort may have kept other ids, the result says whether that could change the token.

Source: transformers 5.22.0 and 5.24.0, generation/utils.py (``_sample``); torch 2.13.0 on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from fairdraw.draws import Greedy
from fairdraw.errors import PlanError
from fairdraw.history import History
from fairdraw.masses import Ids
from fairdraw.one_token import enter
from fairdraw.plan import Plan
from fairdraw.readings import readings
from fairdraw.replay.result import Replayed
from fairdraw.replay.torch_race import race
from fairdraw.rows import Row
from fairdraw.streams.torch_mt19937 import TorchGenerator

ENGINE = "transformers"


def draw(
    plan: Plan,
    logits: object,
    generator: TorchGenerator,
    *,
    history: History | None = None,
    mask: ArrayLike | None = None,
) -> Replayed:
    """Draw one step's token as the engine does.

    Parameters
    ----------
    plan : Plan
        Of the transformers dialect.
    logits : array_like of float, shape (vocab,)
        The row that the model gave at this step.
    generator : TorchGenerator
        Its state moves on by one Exp(1) for each id; a greedy plan leaves it alone.
    history : History, optional
        Prompt and output ids before this step.
    mask : array_like of bool, shape (vocab,), optional
        What ``prefix_allowed_tokens_fn`` allows.

    Returns
    -------
    Replayed
        The token, and what could make the engine's another one.

    Raises
    ------
    PlanError
        The plan is of another dialect.
    LogitsError, ParameterError
        As in `fairdraw.law`.

    Notes
    -----
    A batch fills its noise row by row: call this for each row in turn, with one generator, and for rows that have
    ended as well, as the engine does.

    Examples
    --------
    >>> plan = Plan.parse("transformers: do_sample=true top_k=3")
    >>> draw(plan, [2.0, 1.5, 1.0, 0.5], TorchGenerator(42)).token
    0
    """
    if plan.dialect.partition("@")[0] != ENGINE:
        raise PlanError(f"this replays plans of {ENGINE}, got one of {plan.dialect}", f'Plan.parse("{ENGINE}: ...")')
    values, context = enter(plan, logits, history, mask)
    rows = [paths[0].rows[-1] for paths in readings(plan.stages, values, context)]
    row = rows[0]
    if isinstance(plan.draw, Greedy):
        return Replayed(token=int(row.kept[np.argmax(row.scores[row.kept])]))
    noise = generator.exponentials(row.vocab)
    drawn = race(row.scores, row.kept, noise)
    certain, possible = _bounds(rows)
    if drawn.doubt or certain.size == possible.size:
        return drawn
    # The winner among all that may be kept wins wherever it is kept.
    widest = race(row.scores, possible, noise)
    if widest.doubt or not np.any(certain == widest.token):
        doubt = f"whether id {widest.token} is kept is a matter of float32 rounding or of an unstable sort"
        return Replayed(token=drawn.token, doubt=doubt)
    return drawn


def replay(plan: Plan, rows: Iterable[object], *, seed: int, history: History | None = None) -> tuple[Replayed, ...]:
    """Draw a whole ``generate`` run of one prompt again.

    Parameters
    ----------
    plan : Plan
        Of the transformers dialect.
    rows : iterable of array_like, shape (vocab,)
        The logits of each step, as the engine's model gave them.
    seed : int, 0 to 2^64-1
        What ``torch.manual_seed`` got right before ``generate``.
    history : History, optional
        The prompt, for penalties and bad words; it is not changed.

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
    >>> plan = Plan.parse("transformers: do_sample=true")
    >>> [step.token for step in replay(plan, [[2.0, 1.5, 1.0, 0.5, 0.0, -1.0]] * 8, seed=42)]
    [0, 2, 4, 2, 0, 0, 1, 0]
    """
    generator, seen = TorchGenerator(seed), (history or History()).fork()
    drawn = []
    for row in rows:
        step = draw(plan, row, generator, history=seen)
        seen.append(step.token)
        drawn.append(step)
    return tuple(drawn)


def _bounds(rows: list[Row]) -> tuple[Ids, Ids]:
    """Ids that every reading keeps, open ties left out; ids that some reading may keep."""
    certain, possible = np.ones(rows[0].vocab, np.bool_), np.zeros(rows[0].vocab, np.bool_)
    for row in rows:
        kept = np.zeros(row.vocab, np.bool_)
        kept[row.kept] = True
        certain &= kept
        possible |= kept
        for group in row.open_ties:
            certain[group], possible[group] = False, True
    return np.flatnonzero(certain), np.flatnonzero(possible)
