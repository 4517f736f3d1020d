"""Stochastic beams: whole texts without replacement, as the first arrivals of a race over all texts.

Give every possible text an arrival time T = E / p, E an Exp(1) number of its own, p the text's probability.  The
first arrival is a draw from the law of texts, the first k are draws without replacement.  The race is run top-down,
without looking at texts that come too late (Kool, van Hoof and Welling, "Stochastic Beams and Where to Find Them",
2019): the time of a beginning is the smallest of the texts that go on from it.  One of its followers inherits that
time; any other has it plus an exponential of its own, because a race forgets how long it has run.

In numbers: each follower c of a beginning S draws E_c, as a token of an ordinary race does, M = min E_c / p_c, and

    T_c = T_S + (E_c / p_c - M) / p(S)

so that the follower that wins the ordinary race inherits.  Kept is tau = T p(S), which is of the size of 1 however
long the text is: tau_c = p_c tau_S + (E_c - p_c M).  Of the first token there is nothing to inherit: T_c = E_c / p_c.

A beginning of n tokens that is the r-th to arrive (from 0) races with the noise of position n, sample index as given
and round r.  Therefore the first text is the one that `generate` writes with the same seed, the first k are the same
for any larger count, and texts of one token are `fairdraw.arrivals`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairdraw.constraints.protocol import Constraint
from fairdraw.domains import COUNTER, Whole, require
from fairdraw.draws import Race
from fairdraw.draws.first_arrivals import first_arrivals
from fairdraw.errors import LogitsError
from fairdraw.generation.beam_search import BeamText, BeamTexts
from fairdraw.generation.beam_texts import (
    RunningText,
    Search,
    begin_search,
    dead_end,
    first_text,
    followers,
    require_beam_plan,
)
from fairdraw.generation.prompts import Prompt, choose_seed
from fairdraw.generation.result import FinishReason
from fairdraw.masses import Ids
from fairdraw.models.protocol import Model
from fairdraw.plan import Plan
from fairdraw.streams.logarithms import minus_log
from fairdraw.streams.noise import Noise

_LEAST = float(np.finfo(np.float64).tiny)


class Arrival(NamedTuple):
    """When a text, or the first text that goes on from a beginning, arrives."""

    logprob: float
    """Natural logarithm of the probability of the beginning."""
    scaled: float
    """tau: its time times its probability."""
    score: float
    """-ln of its time: the earlier, the larger."""


class Followers(NamedTuple):
    """Arrivals of the tokens that follow one beginning, the first first."""

    tokens: Ids
    logprobs: NDArray[np.float64]
    """Of the beginning with the token."""
    scaled: NDArray[np.float64]
    scores: NDArray[np.float64]


def arrive(
    before: Arrival | None, tokens: Ids, logprobs: NDArray[np.float64], exponentials: NDArray[np.float64]
) -> Followers:
    """When each follower of a beginning arrives; a pure function.

    Parameters
    ----------
    before : Arrival or None
        The beginning; None: nothing came before, and nothing is inherited.
    tokens : int64, shape (n,)
        Followers in the order of their own race, the winner first; later ones may be missing.
    logprobs : float64, shape (n,)
        Of the followers, natural, given the beginning.
    exponentials : float64, shape (n,)
        Their E.

    Returns
    -------
    Followers
        The winner has the beginning's score; no score is above it.

    Examples
    --------
    >>> found = arrive(Arrival(0.0, 0.5, -np.log(0.5)), np.array([1, 0]), np.log([0.5, 0.5]), np.array([0.2, 0.3]))
    >>> np.exp(-found.scores).round(6).tolist()
    [0.5, 0.7]
    """
    chances = np.exp(logprobs)
    if before is None:
        scores = logprobs + minus_log(exponentials)
        return Followers(tokens, logprobs, exponentials, np.minimum(scores, scores[0]))
    # What is left of E by the time of the winner; rounding must not make it negative.
    rest = np.maximum(exponentials - chances * (exponentials[0] / chances[0]), 0.0)
    rest[0] = 0.0
    scaled = np.maximum(chances * before.scaled + rest, _LEAST)
    scores = np.minimum(before.logprob + logprobs + minus_log(scaled), before.score)
    scores[0] = before.score
    return Followers(tokens, before.logprob + logprobs, scaled, scores)


@dataclass(frozen=True, kw_only=True)
class _Racer:
    """A beginning that runs, or a whole text that has arrived."""

    arrival: Arrival | None
    text: RunningText | None
    tokens: tuple[int, ...]
    reason: FinishReason | None = None


def require_race(plan: Plan) -> None:
    """Refuse a plan by which no texts race.

    Raises
    ------
    ParameterError, PlanError
        As in `stochastic_beams`.
    """
    require_beam_plan(plan, (Race,))


def stochastic_beams(
    model: Model,
    prompt: Prompt,
    plan: Plan,
    *,
    count: int,
    seed: int | None = None,
    sample_index: int = 0,
    max_tokens: int | None = None,
    constraint: Constraint | None = None,
) -> BeamTexts:
    """Draw different sequences of tokens, as if each were drawn from what the earlier ones left.

    Parameters
    ----------
    model, prompt, plan, max_tokens, constraint
        As in `fairdraw.beam_search`; the plan draws by race.
    count : int, 1 to 65536
        How many; fewer come if fewer are possible.
    seed : int, 0 to 2^64-1, optional
        None: the plan's, or else a fresh one; the result records it.
    sample_index : int
        Which of several answers to the same request this is.

    Returns
    -------
    BeamTexts
        In order of arrival; different sequences of tokens, which may spell one text.  ``logprob`` is the text's own,
        ``score`` is -ln of its time.  A text cut at ``max_tokens`` stands for all that begin so.

    Raises
    ------
    ParameterError, PlanError, LogitsError
        As in `fairdraw.beam_search`.

    Notes
    -----
    Law: the probability of the texts x, y, ... in this order is p(x) p(y) / (1 - p(x)) ..., p the law of `generate`;
    under a constraint that has dead ends the texts that run into one are lost, and the order is that of the others.
    The first text has the bits of `generate`. The others depend on ``exp`` of float64 as well, whose last bit differs
    between machines: two scores that are equal but for it may change places.

    Examples
    --------
    >>> from fairdraw.models.scripted import ScriptedModel
    >>> model = ScriptedModel(law=lambda tokens: [0.0, 1.0, 2.0], texts=(b"a", b"b", b"c"))
    >>> drawn = stochastic_beams(model, [0], Plan.of(), count=3, seed=1, max_tokens=2)
    >>> [(text.text, round(text.logprob, 3)) for text in drawn.texts]
    [('cb', -1.815), ('cc', -0.815), ('ca', -2.815)]
    """
    require_race(plan)
    search = begin_search(model, prompt, plan, max_tokens)
    most = int(require("count", count, Whole(1, 2**16)))  # type: ignore[call-overload]
    chosen = choose_seed(seed, plan.limits)
    index = int(require("sample_index", sample_index, COUNTER))  # type: ignore[call-overload]
    start = _Racer(arrival=None, text=first_text(search, constraint, "processed"), tokens=())
    racers, rows = [start], 1
    if not search.most:
        racers = [_Racer(arrival=Arrival(0.0, 1.0, 0.0), text=None, tokens=(), reason="length")]
    while any(racer.reason is None for racer in racers):
        racers = _advanced(search, racers, chosen, index, most)
        rows += sum(racer.reason is None for racer in racers)
    return BeamTexts(
        texts=tuple(_shown(search, racer) for racer in racers),
        prompt_tokens=search.prompt_tokens,
        model=model.name,
        plan=plan,
        beams=None,
        seed=chosen,
        sample_index=index,
        rows=rows,
        constraint=None if constraint is None else constraint.to_json(),
    )


def _advanced(search: Search, racers: list[_Racer], seed: int, index: int, most: int) -> list[_Racer]:
    """The first arrivals after one more token, whole texts among them; equal scores: the earlier racer's."""
    found: list[tuple[_Racer, int, Arrival]] = []
    dead: LogitsError | None = None
    for place, racer in enumerate(racers):
        if racer.text is None:
            assert racer.arrival is not None
            found.append((racer, -1, racer.arrival))
            continue
        noise = Noise(seed=seed, position=len(racer.text.history), sample_index=index, round=place)
        try:
            after = _race(racer.text, racer.arrival, noise, most)
        except LogitsError as problem:
            if not dead_end(problem):
                raise
            dead = problem
            continue
        parts = zip(*(part.tolist() for part in after), strict=True)
        found += [(racer, token, Arrival(*arrival)) for token, *arrival in parts]
    if dead and not found:
        raise dead
    return _followed(search, sorted(found, key=lambda one: -one[2].score)[:most])


def _race(text: RunningText, before: Arrival | None, noise: Noise, most: int) -> Followers:
    weighed = text.weighed("processed")
    ids = first_arrivals(weighed.row, noise, most).ids
    logprobs = weighed.logprobs[np.searchsorted(weighed.ids, ids)]
    return arrive(before, ids, logprobs, noise.exponentials(ids))


def _followed(search: Search, first: list[tuple[_Racer, int, Arrival]]) -> list[_Racer]:
    """The racers of the next step; those that are no whole texts yet are fed to the model."""
    after: list[_Racer] = []
    running: dict[int, tuple[RunningText, int]] = {}
    for racer, token, arrival in first:
        if racer.text is None:
            after.append(racer)
            continue
        tokens = (*racer.tokens, token)
        whole = racer.text.ends(token, search.ends_after(len(tokens)))
        reason: FinishReason | None = "stop" if whole else "length" if len(tokens) == search.most else None
        if reason is None:
            running[len(after)] = (racer.text, token)
        after.append(_Racer(arrival=arrival, text=None, tokens=tokens, reason=reason))
    texts = followers([text for text, _ in running.values()], [token for _, token in running.values()], "processed")
    for place, text in zip(running, texts, strict=True):
        after[place] = replace(after[place], text=text)
    return after


def _shown(search: Search, racer: _Racer) -> BeamText:
    assert racer.arrival is not None
    assert racer.reason is not None
    return BeamText(
        tokens=racer.tokens,
        text=search.text(racer.tokens, racer.reason),
        logprob=racer.arrival.logprob,
        score=racer.arrival.score,
        finish_reason=racer.reason,
    )
