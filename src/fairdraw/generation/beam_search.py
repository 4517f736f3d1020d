"""Beam search over a model: the best texts that a given width finds.  Nothing is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdraw.constraints.protocol import Constraint
from fairdraw.draws import ExponentialRace, Greedy, InverseCdf, Race
from fairdraw.errors import LogitsError, ParameterError, PlanError
from fairdraw.generation.beam_texts import (
    RunningText,
    Search,
    begin_search,
    dead_end,
    first_text,
    followers,
    require_beam_plan,
)
from fairdraw.generation.beams import (
    Beams,
    Continuations,
    Ended,
    continuations,
    goes_on,
    part,
    penalised_score,
    with_ended,
)
from fairdraw.generation.prompts import Prompt
from fairdraw.generation.result import FinishReason
from fairdraw.models.protocol import Model
from fairdraw.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamText:
    """One of the texts that came back."""

    tokens: tuple[int, ...]
    """Every id after the prompt, the end token included."""
    text: str
    logprob: float
    """Natural, of all its tokens, in the meaning of the beams."""
    score: float
    """By what the texts are ordered."""
    finish_reason: FinishReason


@dataclass(frozen=True, slots=True, kw_only=True)
class BeamTexts:
    """What beams found, the best first, with all that is needed to find it again."""

    texts: tuple[BeamText, ...]
    prompt_tokens: tuple[int, ...]
    model: str
    plan: Plan
    beams: Beams | None
    """The rules of a search; None for texts that were drawn."""
    seed: int | None = None
    """The seed of texts that were drawn; None for a search."""
    sample_index: int | None = None
    rows: int
    """How many rows of logits the model gave."""
    constraint: dict[str, object] | None = None

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "model": self.model,
            "plan": self.plan.to_json(),
            "beams": None if self.beams is None else self.beams.to_json(),
            "seed": self.seed,
            "sample_index": self.sample_index,
            "prompt_tokens": list(self.prompt_tokens),
            "rows": self.rows,
            "constraint": self.constraint,
            "texts": [
                {
                    "tokens": list(text.tokens),
                    "text": text.text,
                    "logprob": text.logprob,
                    "score": text.score,
                    "finish_reason": text.finish_reason,
                }
                for text in self.texts
            ],
        }


def require_search(plan: Plan) -> None:
    """Refuse a plan by which nothing can be searched.

    Raises
    ------
    ParameterError, PlanError
        As in `beam_search`.
    """
    require_beam_plan(plan, (Race, Greedy, InverseCdf, ExponentialRace))
    if plan.limits.seed is not None:
        hint = "texts are drawn by stochastic_beams"
        raise ParameterError("seed", plan.limits.seed, "None for a search, which draws nothing", hint)
    if plan.dialect.startswith("transformers@") and plan.mode == "sample":
        hint = "do_sample=false (temperature=0 in our names) searches; stochastic_beams draws whole texts"
        raise PlanError("with do_sample=true transformers draws its candidates, which is no search", hint)


def beam_search(
    model: Model,
    prompt: Prompt,
    plan: Plan,
    beams: Beams,
    *,
    max_tokens: int | None = None,
    constraint: Constraint | None = None,
) -> BeamTexts:
    """Find texts with a high score by following the best few at a time.

    Parameters
    ----------
    model : Model
        Where the logits come from; its sessions are forked.
    prompt : str, sequence of int, or sequence of mappings
        As in `fairdraw.generate`.
    plan : Plan
        Its stages act on each beam with the beam's own history; its limits say when a text ends.  It may be greedy:
        nothing is drawn.
    beams : Beams
        Width, penalty and rules; `transformers_beams` and `vllm_beams` give those of an engine.
    max_tokens : int, optional
        None: the plan's, or else until the model's context is full.
    constraint : Constraint, optional
        What each text must be.

    Returns
    -------
    BeamTexts
        At most ``beams.sequences`` texts, by score; equal scores: the one that ended earlier, then the one whose
        beam stood higher, then the lower id.  Fewer where fewer texts are possible.

    Raises
    ------
    ParameterError, PlanError
        Stop strings, logprobs, a seed or several texts are asked of the plan; a stage has chance; the draw has a law
        of its own; a value is out of range.
    LogitsError
        Stages or constraint leave no text at all.

    Notes
    -----
    A beam without an allowed token is given up.  The width is a promise of nothing: a text whose beginning is not among
    the best is lost, however good its end.  With ``width`` at least the number of candidates of every step and
    ``early_stopping`` "never", the best of all texts comes out.  One beam is not greedy search: it goes on after an
    end.  Each step costs a row of logits and a history's copy for each beam, and a copy of the model's memory for each
    that is followed twice.  Logprobs are float64 sums; the engines' are float32, so that texts whose scores differ by
    less than about 1e-6 may come in another order there.

    Examples
    --------
    The likelier first word leads nowhere (docs/beams.md):

    >>> from fairdraw.models.scripted import ScriptedModel
    >>> laws = {(0,): [0.6, 0.4], (0, 0): [0.5, 0.5], (0, 1): [0.9, 0.1]}
    >>> model = ScriptedModel(law=lambda tokens: np.log(laws[tokens]), texts=(b"a", b"b"))
    >>> for width in (1, 2):
    ...     found = beam_search(model, [0], Plan.of(), Beams(width=width), max_tokens=2).texts[0]
    ...     print(found.text, round(float(np.exp(found.logprob)), 6))
    aa 0.3
    ba 0.36
    """
    if not isinstance(beams, Beams):
        raise ParameterError("beams", beams, "a Beams", "Beams(width=4)")
    require_search(plan)
    search = begin_search(model, prompt, plan, max_tokens)
    ended, rows = _found(search, beams, first_text(search, constraint, beams.scores))
    return BeamTexts(
        texts=tuple(_shown(search, text) for text in ended[: beams.returned]),
        prompt_tokens=search.prompt_tokens,
        model=model.name,
        plan=plan,
        beams=beams,
        rows=rows,
        constraint=None if constraint is None else constraint.to_json(),
    )


def _found(search: Search, beams: Beams, start: RunningText) -> tuple[tuple[Ended, ...], int]:
    """The set of ended texts when the search stops, and how many rows it took."""
    prompt = len(search.prompt_tokens)
    if not search.most:
        return (Ended(tokens=(), logprob=0.0, score=0.0, reason="length"),), 1
    texts, scores, rows = [start], np.zeros(1), 1
    ended: tuple[Ended, ...] = ()
    for generated in range(1, search.most + 1):
        ends = search.ends_after(generated)
        totals = _totals(texts, scores, beams, bool(ended))
        found = continuations(beams, totals, len(ends))
        whole = [texts[parent].ends(token, ends) for parent, token in _pairs(found)]
        running, ending = _parted(beams, found, whole, last=generated == search.most)
        new = (
            _ended(beams, texts[p], t, total, prompt, ends)
            for (p, t), total in zip(_pairs(ending), ending.scores, strict=True)
        )
        ended = with_ended(beams, ended, tuple(new))
        if not running.tokens.size:
            break
        scores = running.scores
        if not goes_on(beams, ended, float(scores[0]), prompt=prompt, generated=generated, most=search.most):
            break
        texts = followers([texts[parent] for parent in running.parents], running.tokens.tolist(), beams.scores)
        rows += len(texts)
    return ended, rows


def _pairs(found: Continuations) -> list[tuple[int, int]]:
    return list(zip(found.parents.tolist(), found.tokens.tolist(), strict=True))


def _totals(
    texts: Sequence[RunningText], scores: NDArray[np.float64], beams: Beams, some_ended: bool
) -> NDArray[np.float64]:
    """Score of each text with each token more; a text that is a dead end has -inf throughout."""
    totals = np.full((len(texts), texts[0].logits.size), -np.inf)
    dead = 0
    for text, before, row in zip(texts, scores, totals, strict=True):
        try:
            weighed = text.weighed(beams.scores)
        except LogitsError as problem:
            dead += 1
            if not dead_end(problem) or (dead == len(texts) and not some_ended):
                raise
            continue
        row[weighed.ids] = before + weighed.logprobs
    return totals


def _parted(
    beams: Beams, found: Continuations, whole: list[bool], *, last: bool
) -> tuple[Continuations, Continuations]:
    """Those that run on and those that end; at the limit nothing runs on."""
    if not last:
        return part(beams, found, whole)
    if beams.candidates == "together":
        return part(beams, found, [True] * len(whole))
    running, ending = part(beams, found, whole)
    return running.take(np.arange(0)), ending.then(running)


def _ended(beams: Beams, text: RunningText, token: int, logprob: float, prompt: int, ends: Sequence[int]) -> Ended:
    tokens = (*text.history.output, token)
    by_token = token in ends
    by_rule = by_token or text.ends(token, ())
    value = penalised_score(beams, float(logprob), prompt=prompt, generated=len(tokens), end=int(by_token))
    return Ended(tokens=tokens, logprob=float(logprob), score=value, reason="stop" if by_rule else "length")


def _shown(search: Search, text: Ended) -> BeamText:
    return BeamText(
        tokens=text.tokens,
        text=search.text(text.tokens, text.reason),
        logprob=text.logprob,
        score=text.score,
        finish_reason=text.reason,
    )
