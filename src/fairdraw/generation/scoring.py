"""How probable a text is: for a model alone, or under the law of a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Memory
from fairdraw.domains import Choice, TokenIds, Whole, require
from fairdraw.errors import ParameterError
from fairdraw.generation.memories import next_memory
from fairdraw.generation.prompts import Prompt, encode_prompt, require_model
from fairdraw.generation.scored import Scored, Window
from fairdraw.history import History
from fairdraw.logprobs import Meaning, TokenLogprobs, report, row_logprobs
from fairdraw.models.protocol import Model, Session
from fairdraw.plan import Plan, require_plan
from fairdraw.stages import StatefulStage

Feeding = Literal["together", "singly"]
"""Many tokens in one go, fast; or with the bits that a text has while it is written."""
_FEEDINGS = Choice(("together", "singly"))
_CHUNK = 64
"""Rows of logits held at once."""


def score(
    model: Model,
    text: str | Sequence[int],
    plan: Plan | None = None,
    *,
    meaning: Meaning | None = None,
    prompt: Prompt | None = None,
    top: int = 0,
    named: Sequence[int] = (),
    window: int | None = None,
    stride: int | None = None,
    feeding: Feeding | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Scored:
    """Say how probable each token of a text is after those before it.

    Parameters
    ----------
    model : Model
        Where the logits come from.
    text : str or sequence of int
        Plain text, or token ids as they are.
    plan : Plan, optional
        Whose law is asked; its stages see prompt and text as prompt and output. Its limits end nothing here, but
        ``min_tokens`` forbids early ends as ever.
    meaning : "raw", "temperature" or "processed", optional
        As in `fairdraw.logprobs`. None: raw without a plan, processed with one.
    prompt : str, sequence of int, or sequence of mappings, optional
        What the text follows, as in `fairdraw.generate`; it is not scored. None: the first token is not scored.
    top : int, at least 0
        How many of the best tokens to report for each.
    named : sequence of int
        Ids whose logprob is reported at each place, whatever stands there.
    window : int, optional
        At most this many tokens are read before a scored one. None: as many as the model's context holds.
    stride : int, in 1..window, optional
        Where a text is longer: so many tokens are scored before what is read moves on. None: half the window.
    feeding : "together" or "singly", optional
        Read many tokens in one go, fast, with other last digits than a text has while it is written (under 1e-3 in
        SmolLM2's logits); or one by one. None: singly for "processed", where a last digit can decide whether a
        token lies in the kept set, else together.
    on_progress : callable, optional
        Gets how many tokens are scored.

    Returns
    -------
    Scored
        Logprobs, ranks, their total, perplexity, and where the plan could not have drawn the token: -inf.

    Raises
    ------
    LogitsError, ParameterError
        A value is out of range, nothing is left to score, or a stage leaves no token at some place.

    Notes
    -----
    Each token is scored once, after at least ``window - stride + 1`` tokens, or after all before it if they are fewer.
    Every window starts a new session. A plan's history is the whole text, whatever the window.
    """
    require_model(model)
    meaning = _meaning(plan, meaning)
    tokens, first = _tokens(model, text, prompt)
    named = _require_ids(model, "named", named)
    most = model.facts.context_length or len(tokens)
    width: int = require("window", min(most, len(tokens)) if window is None else window, Whole(1, most))  # type: ignore[assignment]
    step: int = require("stride", max(1, width // 2) if stride is None else stride, Whole(1, width))  # type: ignore[assignment]
    chosen = require("feeding", feeding or ("singly" if meaning == "processed" else "together"), _FEEDINGS)
    # What is raw asks no stage, and so no memory.
    law = _Law(
        plan=Plan.of() if plan is None or meaning == "raw" else plan,
        meaning=meaning,
        history=History(prompt=tokens[:first]),
    )
    rows = _rows(model, tokens, windows(len(tokens), first, width, step), chosen)  # type: ignore[arg-type]
    entries: list[TokenLogprobs] = []
    others: list[NDArray[np.float64]] = []
    for token, row in zip(tokens[first:], rows, strict=True):
        values = law.next(row, token)
        entries.append(report(values, token, meaning=meaning, top=top))
        others.append(values[list(named)])
        if on_progress:
            on_progress(len(entries))
    return Scored(
        model=model.name,
        plan=plan,
        meaning=meaning,
        tokens=tokens,
        first=first,
        entries=tuple(entries),
        named={token: np.array([values[place] for values in others]) for place, token in enumerate(named)},
        bytes=sum(len(model.tokenizer.token_bytes(token)) for token in tokens[first:]),
    )


@dataclass(kw_only=True)
class PromptReports:
    """The logprobs of a prompt's own tokens, worked out when they are first asked for."""

    model: Model
    plan: Plan
    tokens: tuple[int, ...]
    meaning: Meaning
    top: int

    @cached_property
    def entries(self) -> tuple[TokenLogprobs | None, ...]:
        """One for each token; None for the first, which follows nothing."""
        if len(self.tokens) == 1:
            return (None,)
        return None, *score(self.model, self.tokens, self.plan, meaning=self.meaning, top=self.top).entries


def windows(count: int, first: int, window: int, stride: int) -> Iterator[Window]:
    """Cut a text into what is read at once.

    Parameters
    ----------
    count : int
        Tokens of the text.
    first : int, at least 1
        Index of the first that is scored.
    window : int
        At most this many tokens are read before a scored one.
    stride : int, in 1..window
        How many are scored in a window after the first.

    Examples
    --------
    >>> [(w.begin, w.first, w.end) for w in windows(10, 1, 4, 2)]
    [(0, 1, 5), (2, 5, 7), (4, 7, 9), (5, 9, 10)]
    """
    while first < count:
        end = min(count, max(window + 1, first + stride))
        yield Window(begin=max(0, end - 1 - window), first=first, end=end)
        first = end


@dataclass(slots=True, kw_only=True)
class _Law:
    """The logprobs of a plan along a text."""

    plan: Plan
    meaning: Meaning
    history: History
    memory: Memory | None = None

    def next(self, row: NDArray[np.float32], token: int) -> NDArray[np.float64]:
        """The logprobs at the next place, where this token stands."""
        history, memory = self.history, self.memory
        values = row_logprobs(self.plan, row, meaning=self.meaning, history=history, memory=memory)
        self.memory = next_memory(self.plan, row, token, 0, 0, history, None, memory)
        history.append(token)
        return values


def _meaning(plan: Plan | None, meaning: Meaning | None) -> Meaning:
    if plan is None:
        if meaning not in (None, "raw"):
            raise ParameterError("meaning", meaning, "raw without a plan", "only a plan has a temperature and a law")
        return "raw"
    require_plan(plan)
    chosen: Meaning = require("meaning", meaning or "processed", Choice(("raw", "temperature", "processed")))  # type: ignore[assignment]
    stateful = [stage.name for stage in plan.stages if isinstance(stage, StatefulStage)]
    if chosen != "raw" and stateful and any(len(stage.branches()) > 1 for stage in plan.stages):
        hint = f"what {stateful[0]} remembers depends on a coin, and a text alone does not say how it fell"
        raise ParameterError("plan", str(plan), "without chance among its stages, or without memory", hint)
    return chosen


def _tokens(model: Model, text: str | Sequence[int], prompt: Prompt | None) -> tuple[tuple[int, ...], int]:
    """Prompt and text, and where scoring begins."""
    before = [] if prompt is None else encode_prompt(model, prompt)
    after = _encoded(model, text)
    if len(after) < 1 + (prompt is None):
        least, hint = "at least 1 token", ""
        if prompt is None:
            least, hint = "at least 2 tokens", "a prompt gives the first token something to follow"
        raise ParameterError("text", f"{len(after)} token{'' if len(after) == 1 else 's'}", least, hint)
    return (*before, *_require_ids(model, "text", after)), max(1, len(before))


def _encoded(model: Model, text: str | Sequence[int]) -> Sequence[int]:
    if isinstance(text, str):
        return model.tokenizer.encode(text)
    return require("text", text, TokenIds())  # type: ignore[return-value]


def _require_ids(model: Model, name: str, given: Sequence[int]) -> tuple[int, ...]:
    ids: tuple[int, ...] = require(name, given, TokenIds())  # type: ignore[assignment]
    if ids and max(ids) >= model.facts.vocab_size:
        raise ParameterError(name, max(ids), f"token ids in 0..{model.facts.vocab_size - 1}")
    return ids


def _rows(
    model: Model, tokens: Sequence[int], cuts: Iterator[Window], feeding: Feeding
) -> Iterator[NDArray[np.float32]]:
    """The row before each scored token."""
    for cut in cuts:
        session = model.start()
        yield session.feed(tokens[cut.begin : cut.first])
        for begin in range(cut.first, cut.end - 1, _CHUNK):
            yield from _fed(session, tokens[begin : min(begin + _CHUNK, cut.end - 1)], feeding)


def _fed(session: Session, tokens: Sequence[int], feeding: Feeding) -> Iterator[NDArray[np.float32]]:
    """The row after each of these tokens."""
    # `feed_all` promises the bits of one-by-one feeding.
    names = ("feed_together", "feed_all") if feeding == "together" else ("feed_all",)
    several = next((getattr(session, name) for name in names if hasattr(session, name)), None)
    if several is not None:
        yield from several(tokens)
    else:
        for token in tokens:
            yield session.feed([token])
