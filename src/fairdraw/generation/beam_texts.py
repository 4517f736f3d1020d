"""Texts that run side by side: each with its own history, session, constraint and memory."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairdraw.constraints.protocol import Constraint
from fairdraw.constraints.tracking import Track
from fairdraw.context import Memory
from fairdraw.draws import Draw
from fairdraw.errors import LogitsError, ParameterError, PlanError
from fairdraw.generation.beams import ScoreMeaning
from fairdraw.generation.constrained import constraint_named, start_track
from fairdraw.generation.memories import next_memory
from fairdraw.generation.prompts import Prompt, fit_prompt, require_model
from fairdraw.generation.result import FinishReason
from fairdraw.history import History
from fairdraw.masses import Ids, Scores
from fairdraw.models.protocol import Model, Session
from fairdraw.one_token import enter
from fairdraw.plan import Plan, require_plan
from fairdraw.readings import drawn_row
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise
from fairdraw.text.assembly import TextAssembler
from fairdraw.text.stop_strings import StopStrings

_SILENT = Noise(seed=0, position=0)
"""For stages without chance: no coin is tossed."""


class Weighed(NamedTuple):
    """Kept ids of a row and their logprobs, natural; the row itself."""

    ids: Ids
    logprobs: NDArray[np.float64]
    row: Row


@dataclass(frozen=True, kw_only=True)
class RunningText:
    """One beam; nothing of it is shared with another."""

    plan: Plan
    history: History
    session: Session
    logits: Scores
    """The row after its last token; what the stages see, for scores of the stages on logprobs."""
    track: Track | None = None
    memory: Memory | None = None

    @cached_property
    def mask(self) -> NDArray[np.bool_] | None:
        """What the constraint allows."""
        return None if self.track is None else self.track.mask()

    def weighed(self, meaning: ScoreMeaning) -> Weighed:
        """What each kept token would add to the text's logprob.

        Raises
        ------
        LogitsError
            Stages or constraint leave no token: ``got`` is "none".
        """
        values, context = enter(self.plan, self.logits, self.history, self.mask, self.memory)
        with constraint_named(self.track):
            row = drawn_row(self.plan.stages, values, context, _SILENT)
        exponents = row.scores[row.kept].astype(np.float64) * (row.masses.scale * math.log(2.0))
        if meaning == "processed":
            return Weighed(row.kept, _log_softmax(exponents), row)
        if meaning == "raw":
            return Weighed(row.kept, _log_softmax(values.astype(np.float64))[row.kept], row)
        return Weighed(row.kept, exponents, row)

    def ends(self, token: int, end_ids: Sequence[int]) -> bool:
        """Whether the text is whole with this token: an end, or nothing may follow."""
        if token in end_ids:
            return True
        if self.track is None:
            return False
        track = self.track.fork()
        track.advance(token)
        return track.is_complete

    def followed(self, token: int, session: Session, meaning: ScoreMeaning) -> RunningText:
        """The text with one token more, which is fed to a session that stands where this text does."""
        history, track = self.history.fork(), None if self.track is None else self.track.fork()
        memory = next_memory(self.plan, self.logits, token, 0, 0, self.history, self.mask, self.memory)
        history.append(token)
        if track is not None:
            track.advance(token)
        return RunningText(
            plan=self.plan,
            history=history,
            session=session,
            logits=_seen(session.feed([token]), meaning),
            track=track,
            memory=memory,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What all texts of one search share."""

    model: Model
    plan: Plan
    prompt_tokens: tuple[int, ...]
    most: int
    """At most this many tokens each."""
    own_ends: tuple[int, ...]
    end_ids: tuple[int, ...]

    def ends_after(self, generated: int) -> tuple[int, ...]:
        """The ids that end a text as its token number ``generated``, from 1."""
        return self.end_ids if generated > self.plan.limits.min_tokens else ()

    def text(self, tokens: Sequence[int], reason: FinishReason) -> str:
        """The bytes of the tokens; an end token is not shown, a stop id if the plan includes it."""
        assembler = TextAssembler(StopStrings(()), armed_after=0)
        shown = list(tokens)
        if reason == "stop" and shown and shown[-1] in self.end_ids:
            included = self.plan.limits.include_stop_str_in_output and shown[-1] not in self.own_ends
            shown = shown if included else shown[:-1]
        pieces = [assembler.push(self.model.tokenizer.token_bytes(token)).text for token in shown]
        return "".join([*pieces, assembler.finish().text])


def require_beam_plan(plan: Plan, draws: tuple[type[Draw], ...]) -> None:
    """Refuse what beams cannot do.

    Raises
    ------
    ParameterError, PlanError
        A limit or a stage that beams cannot have, or a draw that is not one of these.
    """
    require_plan(plan)
    limits = plan.limits
    if limits.stop:
        hint = "give their ids as stop_token_ids"
        raise ParameterError("stop", limits.stop, "empty with beams, which end by ids alone", hint)
    if limits.logprobs is not None:
        raise ParameterError("logprobs", limits.logprobs, "None with beams", "each text comes with its own logprob")
    if limits.n != 1:
        raise ParameterError("n", limits.n, "1 here", "how many texts come back is a parameter of the beams")
    if type(plan.draw) not in draws:
        names = " or ".join(draw.name for draw in draws)
        raise PlanError(
            f"these beams need a plan that draws by {names}, got {plan.draw.name}",
            "beams go by the weights that the stages leave",
        )
    for stage in plan.stages:
        if len(stage.branches()) > 1:
            hint = "every step of a beam has one row of weights"
            raise PlanError(f"beams need stages without chance, got {stage.name}", hint)


def begin_search(model: Model, prompt: Prompt, plan: Plan, max_tokens: int | None) -> Search:
    """What all texts share; parameters as in `fairdraw.beam_search`, the plan checked.

    Raises
    ------
    ParameterError
        The prompt is empty or does not fit, or nothing says when a text ends.
    """
    require_model(model)
    limits = plan.limits
    ids, most = fit_prompt(model, prompt, limits, max_tokens)
    if max_tokens is None and limits.max_tokens is None and model.facts.context_length is None:
        raise ParameterError("max_tokens", None, "a number for a model without a context length")
    own = () if limits.ignore_eos else model.facts.end_token_ids
    return Search(
        model=model,
        plan=plan,
        prompt_tokens=ids,
        most=most,
        own_ends=tuple(own),
        end_ids=tuple(dict.fromkeys((*own, *limits.stop_token_ids))),
    )


def first_text(search: Search, constraint: Constraint | None, meaning: ScoreMeaning) -> RunningText:
    """The text that is nothing but the prompt."""
    session = search.model.start()
    return RunningText(
        plan=search.plan,
        history=History(prompt=search.prompt_tokens),
        session=session,
        logits=_seen(session.feed(search.prompt_tokens), meaning),
        track=None if constraint is None else start_track(constraint, search.model, search.plan),
    )


def followers(parents: Sequence[RunningText], tokens: Sequence[int], meaning: ScoreMeaning) -> list[RunningText]:
    """The texts of the next step, each a text with its token; a text may come several times.

    The last that follows a text takes over its session, the others fork it.
    """
    last = {id(parent): place for place, parent in enumerate(parents)}
    after = []
    for place, (parent, token) in enumerate(zip(parents, tokens, strict=True)):
        session = parent.session if last[id(parent)] == place else parent.session.fork()
        after.append(parent.followed(token, session, meaning))
    return after


def dead_end(problem: LogitsError) -> bool:
    """Whether a text has no token to go on with: the beam is given up; anything else is an error."""
    return problem.got == "none"


def _seen(logits: Scores, meaning: ScoreMeaning) -> Scores:
    if meaning != "stages_on_logprobs":
        return logits
    return _log_softmax(logits.astype(np.float64)).astype(np.float32)


def _log_softmax(values: NDArray[np.float64]) -> NDArray[np.float64]:
    above = values - values.max()
    return above - math.log(float(np.exp(above).sum()))
