"""Drawing under a constraint without its mask: the race's arrivals in order, until one is allowed.

A race scores each token by itself, so masking the row only takes arrivals out: the first allowed arrival of the
unmasked row is the first arrival of the masked one.  A cut breaks that, since what it keeps depends on the others.
"""

from __future__ import annotations

from dataclasses import dataclass

from fairdraw.constraints.tracking import Track
from fairdraw.domains import Whole, require
from fairdraw.draws import Race
from fairdraw.errors import PlanError
from fairdraw.history import History
from fairdraw.plan import Plan
from fairdraw.sampling import sample
from fairdraw.stages import AllowedIds, Checkpoint, EditStage, Mask, Stage, Temperature
from fairdraw.without_replacement import arrivals

FIRST_ROUND = 8
"""Arrivals looked at when the first one is not allowed; each further round has four times as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LazilyDrawn:
    """A token that was found without a mask, or with one after all."""

    token: int
    """Token id."""
    asked: int
    """How many arrivals the constraint was asked about."""
    masked: bool
    """Whether none of them was allowed, so that the mask had to be worked out."""


def draw_lazily(
    track: Track,
    plan: Plan,
    logits: object,
    *,
    seed: int,
    position: int,
    sample_index: int = 0,
    history: History | None = None,
    most: int = 40,
) -> LazilyDrawn:
    """Draw the token that masking the row first would draw, asking the constraint for single ids.

    Parameters
    ----------
    track : Track
        The constraint and the text so far; it does not move.
    plan : Plan
        It draws by race, has a mask stage, and none of its stages looks at other tokens than the one it scores: edits
        and temperature do not, cuts do.
    logits, seed, position, sample_index, history
        As in `fairdraw.sample`.
    most : int, at least 1
        How many arrivals to try before the mask is worked out after all.

    Returns
    -------
    LazilyDrawn

    Raises
    ------
    PlanError
        The plan has a stage after which the lazy way could give another token.
    LogitsError, ParameterError
        As in `fairdraw.sample`, or no token is allowed at all.

    Notes
    -----
    Where the model's own token is allowed it costs a free draw and one question.  Further arrivals take one NumPy race
    for each round, 10 ms at a vocabulary of 49152, so they pay only where a mask is dearer than that; where it is
    cheap, as llguidance's are, ``most=1`` goes from the first arrival to the mask.

    Examples
    --------
    >>> from fairdraw.constraints.choice import Choice
    >>> from fairdraw.constraints.vocabulary import Vocabulary
    >>> toy = Vocabulary(token_bytes=(b"", b"yes", b"no", b"perhaps"), width=4, end_ids=(0,))
    >>> track = Track(Choice(("yes", "no")), toy)
    >>> plan = Plan.parse("fairdraw: temperature=1.0")
    >>> draw_lazily(track, plan, [0.0, 1.0, 0.0, 9.0], seed=4, position=1)
    LazilyDrawn(token=1, asked=2, masked=False)
    >>> sample(plan, [0.0, 1.0, 0.0, 9.0], seed=4, position=1, mask=track.mask()).token
    1
    """
    _require_free(plan)
    require("most", most, Whole(1))
    state = track.state
    first = sample(plan, logits, seed=seed, position=position, sample_index=sample_index, history=history).token
    if state.allows(first):
        return LazilyDrawn(token=first, asked=1, masked=False)
    asked = 1
    while asked < most:
        count = min(most, max(FIRST_ROUND, 4 * asked))
        arrived = arrivals(
            plan, logits, n=count, seed=seed, position=position, sample_index=sample_index, history=history
        ).tokens
        for place in range(asked, arrived.size):
            if state.allows(int(arrived[place])):
                return LazilyDrawn(token=int(arrived[place]), asked=place + 1, masked=False)
        asked = count
        if arrived.size < count:
            break
    mask = track.mask()
    drawn = sample(plan, logits, seed=seed, position=position, sample_index=sample_index, history=history, mask=mask)
    return LazilyDrawn(token=drawn.token, asked=asked, masked=True)


def _require_free(plan: Plan) -> None:
    if type(plan.draw) is not Race:
        raise PlanError(f"a lazy constraint needs a plan that draws by race, got {plan.draw.name}", "mask the row")
    if not any(isinstance(stage, Mask) for stage in plan.stages):
        raise PlanError("a lazy constraint needs a plan with a mask stage", "put Mask() where in the plan it acts")
    for stage in plan.stages:
        if not _scores_alone(stage):
            hint = "mask the row first: what this stage does to a token depends on the others"
            raise PlanError(f"a lazy constraint cannot stand before {stage.name}", hint)


def _scores_alone(stage: Stage) -> bool:
    """Whether what a stage does to a token depends on no other token's score."""
    return isinstance(stage, (EditStage, AllowedIds, Mask, Temperature, Checkpoint))
