"""Which questions find a token, and what follows from the answers: the protocol on one screen.

`converse` is a coroutine: it asks, and is sent what all shards answer together.  It is a pure function of those
answers, so every rank of an engine may run its own copy, and all come to the same token; nothing as long as the
vocabulary crosses.
"""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from fairdraw.arrays import nothing_finite
from fairdraw.context import Context
from fairdraw.domains import COUNTER, SEED, require
from fairdraw.draws import Greedy, InverseCdf
from fairdraw.draws import Race as KeyedRace
from fairdraw.errors import LogitsError, PlanError
from fairdraw.history import History
from fairdraw.kernels import slots
from fairdraw.kernels.codes import KEY, NO_CUT, Codes, Cut, decode
from fairdraw.kernels.drawing import program_of
from fairdraw.kernels.merge import Arrivals, Buckets, Found, Listed, Partial, Shares, Summary
from fairdraw.kernels.shapes import Program, recognise
from fairdraw.kernels.shards import BUCKETS, List, Measure, Question, Race, Refine, Shard, Summarise, Walk, Weigh
from fairdraw.masses import IntegerMasses
from fairdraw.plan import Plan, require_plan
from fairdraw.plan_format import format_part
from fairdraw.readings import stage_error
from fairdraw.rows import Row
from fairdraw.stages import TopK
from fairdraw.streams.noise import Noise, Purpose

LONGEST_LIST = 1024
"""A larger k is found by counting, so that no list grows with the vocabulary."""
Result = TypeVar("Result")
Talk = Generator[Question, Partial, Result]
"""Yields questions, is sent merged answers, returns a result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a conversation comes to."""

    token: int
    """Token id in the whole vocabulary."""
    logprob: float
    """Natural logarithm of its probability after all stages."""
    cut: Cut | None
    """Which ids it could have been: those inside; None for a greedy draw, which asks for no cut."""


def converse(
    plan: Plan, *, vocab: int, seed: int, position: int, sample_index: int = 0, history: History | None = None
) -> Talk[Outcome]:
    """Find the token by questions to the shards: THE PROTOCOL.

    Yields
    ------
    Question
        To put to every shard; send back what they answer, merged.

    Returns
    -------
    Outcome

    Raises
    ------
    PlanError, LogitsError, ParameterError
        As in `fairdraw.sample_sharded`; the same on every rank.
    """
    program, key = require_program(plan), _key(seed, position, sample_index)
    summary = yield Summarise()
    assert isinstance(summary, Summary)
    _require_usable(program, summary, 0 if history is None else history.output_length)
    _require_k(plan, program, vocab)
    best, ids = decode(summary.best)
    peak = float(best[0])
    if type(plan.draw) is Greedy:  # no cut removes the best
        return Outcome(token=int(ids[0]), logprob=0.0, cut=None)

    order = _Order(vocab=vocab, start=Cut.at(peak, 0).code, kept=int(summary.counts[-1]))
    by_k, near = yield from _cut_top_k(program, order)
    by_min_p = _cut_min_p(program, peak)
    cut = min(by_k, by_min_p)
    if program.whole[slots.TOP_P_ON]:
        cut = yield from _cut_top_p(program, order, by_k, by_min_p, peak, near)

    measure = Measure(peak=peak, scale=float(program.scales[slots.RACE_SCALE]))
    if type(plan.draw) is InverseCdf:
        code, mass = yield from _walk(cut, measure, key, near)
    else:
        question = Race(cut=cut, measure=measure, seed=key.seed, position=key.position, sample_index=key.sample_index)  # type: ignore[arg-type]
        arrivals = yield from _ask(question, near)
        assert isinstance(arrivals, Arrivals)
        code, mass = arrivals.codes[:1], arrivals.mass
    scores, ids = decode(code)
    exponent = (float(scores[0]) - peak) * measure.scale - math.log2(mass / IntegerMasses.unit)
    return Outcome(token=int(ids[0]), logprob=exponent * math.log(2.0), cut=cut)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Near:
    """The best ids of the row, which every rank has once they were listed: it answers what concerns them alone."""

    shard: Shard
    cut: Cut
    """How far the list is complete."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """The order in which a search moves."""

    vocab: int
    start: int
    """First code of the best score."""
    kept: int
    """How many ids there are."""


def _ask(question: Question, near: _Near | None) -> Talk[Partial]:
    """The answer of all shards; without a round, if the list that everybody has suffices."""
    if near is not None and question.cut <= near.cut:
        return near.shard.answer(question)
    return (yield question)


def _cut_top_k(program: Program, order: _Order) -> Talk[tuple[Cut, _Near | None]]:
    """Where top-k ends: the shards' k best, merged; a long list is replaced by counts."""
    if not 0 < program.k < order.kept:
        return NO_CUT, None
    all_ties = bool(program.whole[slots.ALL_TIES_OF_K])
    if program.k > LONGEST_LIST:
        return (yield from _search(order, NO_CUT, program.k, None, all_ties, None)), None
    listed = yield List(most=program.k)
    assert isinstance(listed, Listed)
    end = Cut(code=int(listed.codes[-1]))
    return end.with_ties() if all_ties else end, _Near(shard=Shard.of_listed(listed), cut=end)


def _cut_min_p(program: Program, peak: float) -> Cut:
    """Where min-p ends: the exponent falls with the code, so that the peak says it; by bisection."""
    whole = program.whole
    if not whole[slots.MIN_P_ON]:
        return NO_CUT
    passes, fails = Cut.at(peak, 0).code // KEY, Cut.at(-np.inf, 0).code // KEY
    while fails - passes > 1:
        middle = (passes + fails) // 2
        score = decode(np.array([middle * KEY], np.uint64))[0]
        masses = IntegerMasses(scores=score, scale=float(program.scales[slots.MIN_P_SCALE]), peak=np.float32(peak))
        exponent, least = int(masses.exponents[0]), whole[slots.LEAST]
        inside = exponent > least if whole[slots.MIN_P_STRICT] else exponent >= least
        passes, fails = (middle, fails) if inside else (passes, middle)
    return Cut(code=passes * KEY).with_ties()


def _cut_top_p(program: Program, order: _Order, by_k: Cut, by_min_p: Cut, peak: float, near: _Near | None) -> Talk[Cut]:
    """Where top-p ends, inside the other cuts: what the mass is a share of, then where it is reached."""
    whole = program.whole
    measure = Measure(peak=peak, scale=float(program.scales[slots.TOP_P_SCALE]))
    measured_k = by_k if whole[slots.TOP_K_IN_TOTAL] else NO_CUT
    measured_min_p = by_min_p if whole[slots.MIN_P_IN_TOTAL] else NO_CUT
    shares = yield from _ask(Weigh(cut=min(measured_k, measured_min_p), measure=measure), near)
    assert isinstance(shares, Shares)
    rule = IntegerMasses(scores=np.zeros(1, np.float32), scale=measure.scale, peak=np.float32(0))
    boundary = "strict" if whole[slots.TOP_P_STRICT] else "inclusive"
    need = rule.threshold(int(whole[slots.SHARE]) / 2**53, int(shares.masses.sum()), boundary)
    all_ties = bool(whole[slots.ALL_TIES_OF_P])
    return (yield from _search(order, min(by_k, by_min_p), need, measure, all_ties, near))


def _search(
    order: _Order, cut: Cut, need: int, measure: Measure | None, all_ties: bool, near: _Near | None
) -> Talk[Cut]:
    """The shortest prefix that holds so many ids, or so much mass; the cut itself if it holds less.

    Each round divides the stretch in which the prefix ends: scores first, then the ids of one score.
    """
    first, last, before = order.start, cut.code, 0
    while True:
        one_score = first // KEY == last // KEY
        if one_score and all_ties:
            break
        if one_score:
            last = min(last, first // KEY * KEY + order.vocab - 1)
        step = 1 if one_score else KEY
        width = -(-(last - first + 1) // (BUCKETS * step)) * step
        buckets = yield from _ask(Refine(cut=Cut(code=last), first=first, width=width, measure=measure), near)
        assert isinstance(buckets, Buckets)
        sums = before + np.cumsum(buckets.counts if measure is None else buckets.masses, dtype=np.int64)
        place = int(np.searchsorted(sums, need))
        if place == BUCKETS:
            return cut
        assert buckets.counts[place], "the shards' answers contradict each other"
        before = int(sums[place - 1]) if place else before
        first += place * width
        last = min(last, first + width - 1)
        if buckets.counts[place] == 1:
            break
    return Cut(code=last)


def _walk(cut: Cut, measure: Measure, key: Noise, near: _Near | None) -> Talk[tuple[Codes, int]]:
    """Inverse CDF: in which shard the point falls, then in which of its ids.  Also the mass."""
    shares = yield from _ask(Weigh(cut=cut, measure=measure), near)
    assert isinstance(shares, Shares)
    sums = np.cumsum(shares.masses).tolist()
    point = (2 * int(replace(key, purpose=Purpose.INVERSE_CDF).single_bits(0)) + 1) * sums[-1] >> 53
    place = int(np.searchsorted(sums, point, side="right"))
    before = sums[place - 1] if place else 0
    question = Walk(cut=cut, measure=measure, first=int(shares.first[place]), point=point - before)
    found = yield from _ask(question, near)
    assert isinstance(found, Found)
    return found.codes, sums[-1]


def require_program(plan: Plan) -> Program:
    """The numbers of a plan that can be drawn from shards.

    Raises
    ------
    PlanError
        It cannot; the message has the stage.
    """
    require_plan(plan)
    program = program_of(plan)
    if program is not None:
        return program
    parts = (
        stage
        for i, stage in enumerate(plan.stages)
        if recognise(replace(plan, stages=plan.stages[: i + 1], draw=KeyedRace())) is None
    )
    part = next(parts, plan.draw)
    raise PlanError(
        f"{format_part(part)} cannot be drawn from shards in this plan", "fairdraw.sample draws it from the whole row"
    )


def _key(seed: int, position: int, sample_index: int) -> Noise:
    return Noise(
        seed=require("seed", seed, SEED),  # type: ignore[arg-type]
        position=require("position", position, COUNTER),  # type: ignore[arg-type]
        sample_index=require("sample_index", sample_index, COUNTER),  # type: ignore[arg-type]
    )


def _require_usable(program: Program, summary: Summary, output_length: int) -> None:
    """Raise what the whole row would have raised first."""
    counts, names = summary.counts.tolist(), [stage.name for stage in program.edits]
    for number, count in enumerate(counts):
        if summary.refusal is not None and summary.refusal.place[0] == number:
            raise summary.refusal.error
        if not count and not number:
            raise nothing_finite("logits")
        if not count:
            none = LogitsError("the stage", "leave a token that may be drawn", "none")
            raise stage_error(none, names[number - 1], names[: number - 1], counts[:number], output_length)


def _require_k(plan: Plan, program: Program, vocab: int) -> None:
    """Let the stage itself refuse a k that the engine refuses."""
    if program.most is not None and program.k > vocab + program.most:
        width = Row.of(np.zeros(vocab, np.float32), IntegerMasses)
        next(stage for stage in plan.stages if isinstance(stage, TopK)).apply(width, Context())
