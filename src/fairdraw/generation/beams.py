"""The rules of beam search: scores in, parents and tokens out, and the set of texts that have ended.

Everything here is a pure function of plain data; `fairdraw.generation.beam_search` has the loop over a model.

::

    totals --continuations--> candidates --part--> those that run on, those that end --with_ended--> goes_on?

Read: transformers 5.24.0, generation/utils.py (``_beam_search`` and the functions it calls);
vllm at f1b632dfe2e3, entrypoints/generate/beam_search/{offline,utils}.py.

| | transformers | vLLM |
|---|---|---|
| candidates | the best max(2, 1 + ends) * width of all beams together | the best 2 * width of each beam |
| an end counts | among the first width candidates | always |
| ended texts kept | width | all; at the limit the running ones join them |
| stages | act on log-softmax, nothing is normalised after them | none; scores are the model's own logprobs |
| length penalty divides by | generated tokens, the end among them | prompt and generated tokens but the end |
| stops before the limit | by ``early_stopping`` | never |

Left open by both engines: which of equal scores comes first. Here: the lower beam, then the lower id; of ended texts
the one that ended earlier.  Not followed: vLLM also takes its sampled token for a candidate, so that with a temperature
above 0 its beams depend on chance; and it looks for its 2 * width before it asks a grammar, here they are allowed ones.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import Choice, Domain, Real, Truth, Whole, require
from fairdraw.errors import ParameterError

Early = Literal["never", "heuristic", "full", "off"]
"""When to stop once ``width`` texts have ended.  never: when no running beam can become better than the worst of them
(transformers' "never").  heuristic: when none is better now (its False).  full: at once (its True).  off: not at all.
"""
Candidates = Literal["together", "each"]
"""The best of all beams together, an end only among the first width; or the best of each beam, and every end."""
ScoreMeaning = Literal["processed", "stages_on_logprobs", "raw"]
"""What a token adds.  processed: its logprob under the plan.  stages_on_logprobs: what the plan's stages make of the
log-softmax, not normalised again.  raw: the model's own logprob; what the plan forbids stays forbidden."""
Length = Literal["generated", "generated_but_end", "whole_but_end"]
"""Which tokens the length penalty counts; at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beams:
    """How wide, how many, and by which rules.  By default no length is favoured, and no hope is given up early.

    A text's score is its logprob / length ^ length_penalty: above 0 long texts gain, below 0 short ones.

    Examples
    --------
    >>> rule = Beams(width=4, length_penalty=1)
    >>> rule.sequences, rule.length_penalty, rule.early_stopping
    (4, 1.0, 'never')
    """

    domains: ClassVar[Mapping[str, Domain]] = MappingProxyType(
        {
            "width": Whole(1, 2**16),
            "sequences": Whole(1),
            "length_penalty": Real(-100, 100),
            "early_stopping": Choice(get_args(Early)),
            "length": Choice(get_args(Length)),
            "scores": Choice(get_args(ScoreMeaning)),
            "candidates": Choice(get_args(Candidates)),
        }
    )

    width: int
    """How many texts run at a time."""
    sequences: int | None = None
    """How many come back; None: as many as run."""
    length_penalty: float = 0.0
    early_stopping: Early = "never"
    length: Length = "generated"
    scores: ScoreMeaning = "processed"
    candidates: Candidates = "together"

    def __post_init__(self) -> None:
        if self.sequences is None:
            object.__setattr__(self, "sequences", self.width)
        for field in fields(self):
            clean = require(field.name, getattr(self, field.name), self.domains[field.name])
            object.__setattr__(self, field.name, clean)
        if self.returned > self.width:
            raise ParameterError("sequences", self.sequences, f"at most width, {self.width}")
        if self.candidates == "each" and self.early_stopping != "off":
            raise ParameterError("early_stopping", self.early_stopping, "'off' where every end is kept")

    @property
    def returned(self) -> int:
        """How many texts come back at most."""
        return self.width if self.sequences is None else self.sequences

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def transformers_beams(
    *,
    num_beams: int,
    num_return_sequences: int = 1,
    length_penalty: float = 1.0,
    early_stopping: bool | Literal["never"] = False,
) -> Beams:
    """Beam search as transformers does it, in its own names and with its own defaults.

    Raises
    ------
    ParameterError
        A value that the engine refuses, or one beam: that is greedy search there, and stops at the first end.

    Examples
    --------
    >>> transformers_beams(num_beams=3, early_stopping=True).early_stopping
    'full'
    """
    require("num_beams", num_beams, Whole(2, 2**16), "num_beams=1 is greedy search in transformers")
    require("num_return_sequences", num_return_sequences, Whole(1, num_beams))
    if early_stopping != "never" and not Truth().holds(early_stopping):
        raise ParameterError("early_stopping", early_stopping, "true, false or 'never'")
    early: Early = "never" if early_stopping == "never" else "full" if early_stopping else "heuristic"
    return Beams(
        width=num_beams,
        sequences=num_return_sequences,
        length_penalty=length_penalty,
        early_stopping=early,
        scores="stages_on_logprobs",
    )


def vllm_beams(*, beam_width: int, length_penalty: float = 1.0) -> Beams:
    """Beam search as vLLM does it, in its own names and with its own defaults; its limits are the plan's.

    Examples
    --------
    >>> vllm_beams(beam_width=2).length
    'whole_but_end'
    """
    require("beam_width", beam_width, Beams.domains["width"])
    return Beams(
        width=beam_width,
        length_penalty=length_penalty,
        early_stopping="off",
        length="whole_but_end",
        scores="raw",
        candidates="each",
    )


class Continuations(NamedTuple):
    """Beams with a token more, the best first; arrays of one length."""

    parents: NDArray[np.int64]
    """Which beam each continues."""
    tokens: NDArray[np.int64]
    scores: NDArray[np.float64]
    """Logprob of the whole text so far, in the rule's meaning."""

    def take(self, which: NDArray[np.int64] | NDArray[np.bool_]) -> Continuations:
        """Some of them, in their order."""
        return Continuations(self.parents[which], self.tokens[which], self.scores[which])

    def then(self, other: Continuations) -> Continuations:
        """These and some others after them."""
        return Continuations(
            np.concatenate([self.parents, other.parents]),
            np.concatenate([self.tokens, other.tokens]),
            np.concatenate([self.scores, other.scores]),
        )


def continuations(beams: Beams, totals: NDArray[np.float64], ends: int) -> Continuations:
    """Find the candidates of one step.

    Parameters
    ----------
    beams : Beams
        The rule.
    totals : float64, shape (running, vocab)
        Score of each running text with each token more; -inf forbids.  The running texts stand best first.
    ends : int
        How many ids end a text: so many beams more are looked at, that ``width`` remain to run on.

    Returns
    -------
    Continuations
        By score, descending; equal scores: the lower beam, then the lower id.  Fewer where fewer are allowed.

    Notes
    -----
    O(running * vocab): the candidates are found by partition, and they alone are sorted.

    Examples
    --------
    >>> found = continuations(Beams(width=1), np.array([[-3.0, -1.0, -1.0]]), 1)
    >>> found.tokens.tolist(), found.scores.tolist()
    ([1, 2], [-1.0, -1.0])
    """
    running, vocab = totals.shape
    if beams.candidates == "together":
        places = _best(totals.ravel(), max(2, 1 + ends) * beams.width)
    else:
        each = [row * vocab + _best(totals[row], 2 * beams.width) for row in range(running)]
        places = np.concatenate(each)
        places = places[np.lexsort((places, -totals.ravel()[places]))]
    return Continuations(places // vocab, places % vocab, totals.ravel()[places])


def _best(scores: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    """Places of the largest finite scores, descending; equal scores: the lower place."""
    if count < scores.size:
        places = np.flatnonzero(scores >= np.partition(scores, scores.size - count)[scores.size - count])
    else:
        places = np.arange(scores.size)
    places = places[scores[places] > -np.inf]
    return places[np.argsort(-scores[places], kind="stable")][:count]


def part(
    beams: Beams, found: Continuations, ended: Sequence[bool] | NDArray[np.bool_]
) -> tuple[Continuations, Continuations]:
    """Part the candidates into those that run on and those that end.

    Parameters
    ----------
    beams : Beams
        The rule.
    found : Continuations
        The candidates, best first.
    ended : sequence of bool, one for each candidate
        Which of them are whole texts: by an end token, by a constraint, or at the limit.

    Returns
    -------
    running, ending : Continuations
        The first ``width`` that did not end; of those that did, "together" takes the ones among the first ``width``
        candidates: the others are there only to have enough that run on.

    Examples
    --------
    >>> found = continuations(Beams(width=1), np.log([[0.2, 0.3, 0.5]]), 1)
    >>> running, ending = part(Beams(width=1), found, found.tokens == 1)
    >>> running.tokens.tolist(), ending.tokens.tolist()
    ([2], [])
    """
    whole = np.asarray(ended, np.bool_)
    counts = whole & (np.arange(whole.size) < beams.width) if beams.candidates == "together" else whole
    return found.take(np.flatnonzero(~whole)[: beams.width]), found.take(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A whole text in the set of those that have ended."""

    tokens: tuple[int, ...]
    logprob: float
    """Sum of what its tokens added, natural."""
    score: float
    """The same after the length penalty."""
    reason: Literal["stop", "length"]


def penalised_score(beams: Beams, logprob: float, *, prompt: int, generated: int, end: int) -> float:
    """Logprob / length ^ length_penalty.

    Parameters
    ----------
    prompt, generated : int
        Tokens of the prompt, and tokens after it.
    end : int, 0 or 1
        How many of the last ones are an end token.

    Examples
    --------
    >>> penalised_score(Beams(width=2, length_penalty=1), -6.0, prompt=5, generated=3, end=1)
    -2.0
    >>> odd = Beams(width=2, length_penalty=1, length="generated_but_end")
    >>> penalised_score(odd, -6.0, prompt=5, generated=3, end=1)
    -3.0
    """
    count = generated if beams.length == "generated" else generated - end
    return _penalised(beams, logprob, count + prompt if beams.length == "whole_but_end" else count)


def with_ended(beams: Beams, ended: Sequence[Ended], new: Sequence[Ended]) -> tuple[Ended, ...]:
    """The set of ended texts with some more: by score, the best first; of equal ones the older.

    "together" keeps the best ``width``, "each" keeps all.
    """
    merged = sorted([*ended, *new], key=lambda text: -text.score)
    return tuple(merged[: beams.width] if beams.candidates == "together" else merged)


def goes_on(beams: Beams, ended: Sequence[Ended], best: float, *, prompt: int, generated: int, most: int) -> bool:
    """Whether the search goes on after a step.

    Parameters
    ----------
    beams : Beams
        The rule.
    ended : sequence of Ended
        The set, best first.
    best : float
        Logprob of the best running text.
    prompt, generated, most : int
        Tokens of the prompt; tokens after it so far; at most so many.

    Notes
    -----
    No logprob is above 0, so running texts only lose; "never" measures them at the length that favours them most: the
    longest for a penalty above 0, else the present one.  "heuristic" always takes the present one, and so may give up
    a text that would have won.  Stages that raise a logprob above 0 void the argument.

    Examples
    --------
    >>> ended = [Ended(tokens=(0,), logprob=-1.0, score=-1.0, reason="stop")]
    >>> for early in ("heuristic", "never"):
    ...     rule = Beams(width=1, length_penalty=1, early_stopping=early)
    ...     print(early, goes_on(rule, ended, -3.0, prompt=1, generated=2, most=4))
    heuristic False
    never True
    """
    if beams.early_stopping == "off" or len(ended) < beams.width:
        return True
    if beams.early_stopping == "full":
        return False
    at = most if beams.early_stopping == "never" and beams.length_penalty > 0 else generated
    return _penalised(beams, best, at + prompt if beams.length == "whole_but_end" else at) > ended[-1].score


def _penalised(beams: Beams, logprob: float, length: int) -> float:
    # The exponent of a huge penalty would overflow a power; a difference of logarithms does not, but rounds otherwise.
    power = beams.length_penalty * math.log2(max(1, length))
    if abs(power) > 1000:
        raise ParameterError("length_penalty", beams.length_penalty, f"one whose power of {length} is a number")
    return logprob / float(max(1, length)) ** beams.length_penalty
