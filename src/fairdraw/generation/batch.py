"""Many requests at once: they join and leave at any step, and each text is the one that it would be alone.

A step feeds each text's own session, draws all tokens together (`fairdraw.sample_batch`), and adds each to its text.
No text sees another's row, noise, history or constraint, so neither its neighbours, nor the order, nor the step at
which it joined can change it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ParamSpec, TypeVar

from fairdraw.batch import sample_batch
from fairdraw.constraints.protocol import Constraint
from fairdraw.domains import COUNTER, Whole, require
from fairdraw.errors import ParameterError
from fairdraw.generation.drawers import FAIRDRAW, Asked
from fairdraw.generation.loop import Generation, start
from fairdraw.generation.prompts import Prompt, encode_prompt, require_model
from fairdraw.generation.result import Completion, Step
from fairdraw.generation.shared_prompt import SharedPrompt
from fairdraw.generation.speculation.settings import Speculation
from fairdraw.logprobs import Meaning
from fairdraw.models.protocol import Model
from fairdraw.plan import Plan, require_plan
from fairdraw.replay.result import Replayed

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What one caller asks for; the names mean what they mean in `fairdraw.generate`."""

    prompt: Prompt
    plan: Plan
    seed: int | None = None
    """None: the plan's, or else a fresh one, which all its samples share."""
    n: int | None = None
    """How many texts; None: the plan's."""
    sample_index: int = 0
    """The first text's; the others follow."""
    max_tokens: int | None = None
    logprobs_mean: Meaning = "raw"
    stream: str = FAIRDRAW
    constraint: Constraint | None = None
    speculation: Speculation | None = None
    prompt_logprobs: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A text that could not be finished, with the very error that it would have raised alone."""

    sample_index: int
    error: Exception
    text: str
    """What was shown before."""
    tokens: tuple[int, ...]


Outcome = Completion | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What a step brought to one text: a token, its end, or its failure."""

    request: int
    """What `RequestBatch.add` gave."""
    sample_index: int
    step: Step | None
    """None if it failed."""
    outcome: Outcome | None = None
    """What became of the text, when it has ended."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Text:
    request: int
    generation: Generation

    @property
    def sample_index(self) -> int:
        return self.generation.sample_index


class RequestBatch:
    """Texts that are written side by side.

    Parameters
    ----------
    model : Model
        Where the logits come from.

    Raises
    ------
    ParameterError
        It is no model.

    Notes
    -----
    The samples of one request read its prompt once and fork the session, except with speculation. Not safe to use
    from two threads at once. What has ended stays here until `take`.

    Examples
    --------
    ::

        batch = RequestBatch(model)
        first = batch.add(Request(prompt="Write about the sea.", plan=plan, seed=1, n=2))
        for news in batch:  # until nothing runs; add and cancel at any time
            show(news.request, news.sample_index, news.step)
        batch.take(first)  # two completions
    """

    def __init__(self, model: Model) -> None:
        require_model(model)
        self.model = model
        self._running: list[_Text] = []
        self._outcomes: dict[int, dict[int, Outcome]] = {}
        self._next = 0

    @property
    def running(self) -> tuple[int, ...]:
        """Requests of which a text still runs, the oldest first."""
        return tuple(dict.fromkeys(text.request for text in self._running))

    def add(self, request: Request) -> int:
        """Let a request join; its first token comes with the next step.

        Returns
        -------
        int
            Its number.

        Raises
        ------
        ParameterError, PlanError
            As `fairdraw.generate` before the first token. Nothing joins then.
        """
        generations = _begin(self.model, request)
        number, self._next = self._next, self._next + 1
        self._running.extend(_Text(request=number, generation=generation) for generation in generations)
        self._outcomes[number] = {}
        return number

    def cancel(self, request: int) -> None:
        """Let a request leave: each of its texts that still runs ends with what was shown of it.

        Their finish reason is "cancelled". What a text held back, since it may begin a stop string, is not shown.
        A request that has ended stays as it is.

        Raises
        ------
        ParameterError
            There is no such request.
        """
        self._known(request)
        for text in [text for text in self._running if text.request == request]:
            text.generation.cancel()
            self._close(text, _attempt(text.generation.completion))

    def step(self) -> list[News]:
        """Go on by one token in each running text.

        Returns
        -------
        list of News
            One for each, in the order of joining; empty when nothing runs.
        """
        texts = tuple(self._running)
        asked = [_attempt(text.generation.ask) for text in texts]
        drawn = _draw([(text.generation, row) for text, row in zip(texts, asked, strict=True)])
        return [self._go_on(text, row, token) for text, row, token in zip(texts, asked, drawn, strict=True)]

    def __iter__(self) -> Iterator[News]:
        """Step after step until nothing runs."""
        while self._running:
            yield from self.step()

    def take(self, request: int) -> tuple[Outcome, ...]:
        """Hand over what a request came to, and forget it.

        Returns
        -------
        tuple of Completion or Failed
            One for each sample index, ascending.

        Raises
        ------
        ParameterError
            There is no such request, or a text of it still runs.
        """
        self._known(request)
        if request in self.running:
            raise ParameterError("request", request, "one that has ended", "step, iterate or cancel first")
        outcomes = self._outcomes.pop(request)
        return tuple(outcomes[index] for index in sorted(outcomes))

    def _known(self, request: int) -> None:
        if request not in self._outcomes:
            raise ParameterError("request", request, "a number that add gave, and not taken yet")

    def _go_on(self, text: _Text, asked: Asked | Exception | None, drawn: Replayed | Exception | None) -> News:
        """Bring one text forward, and close it if that was its end."""
        came: Step | Exception
        if isinstance(asked, Exception):
            came = asked
        elif asked is None:
            came = _attempt(text.generation.end)
        elif isinstance(drawn, Replayed):
            came = _attempt(text.generation.take, asked, drawn)
        else:
            assert drawn is not None, "whoever asks gets a token or an error"
            came = drawn
        step = came if isinstance(came, Step) else None
        if step is not None and step.finish_reason is None:
            return News(request=text.request, sample_index=text.sample_index, step=step)
        outcome = self._close(text, came if isinstance(came, Exception) else _attempt(text.generation.completion))
        if isinstance(outcome, Failed):
            step = None
        return News(request=text.request, sample_index=text.sample_index, step=step, outcome=outcome)

    def _close(self, text: _Text, done: Completion | Exception) -> Outcome:
        self._running.remove(text)
        writing, outcome = text.generation, done
        if writing.shared_prompt and not writing.tokens:
            writing.shared_prompt.leave()
        if isinstance(outcome, Exception):
            tokens = tuple(writing.tokens)
            outcome = Failed(sample_index=text.sample_index, error=outcome, text=writing.text, tokens=tokens)
        self._outcomes[text.request][text.sample_index] = outcome
        return outcome


def generate_many(model: Model, requests: Sequence[Request]) -> list[tuple[Outcome, ...]]:
    """Write the texts of many requests side by side.

    Parameters
    ----------
    model : Model
        Where the logits come from.
    requests : sequence of Request
        Each with its own plan, seed, constraint and limits.

    Returns
    -------
    list of tuple of Completion or Failed
        For each request one outcome for each of its samples: the text of `fairdraw.generate`, whatever the others
        are, or the error that it would have raised.

    Raises
    ------
    ParameterError
        A request that cannot begin; no text is written then.
    """
    if not isinstance(requests, Sequence):
        raise ParameterError("requests", requests, "a sequence of Requests", "one request stands in a list: [request]")
    batch = RequestBatch(model)
    numbers = [batch.add(request) for request in requests]
    for _ in batch:
        pass
    return [batch.take(number) for number in numbers]


def _begin(model: Model, request: Request) -> list[Generation]:
    """Start each sample; all have one seed, and read the prompt once."""
    if not isinstance(request, Request):
        raise ParameterError("request", request, "a Request", "Request(prompt=..., plan=...)")
    require_plan(request.plan)
    count: int = request.plan.limits.n if request.n is None else require("n", request.n, Whole(1))  # type: ignore[assignment, call-overload]
    first: int = require("sample_index", request.sample_index, COUNTER)  # type: ignore[assignment]
    require("sample_index + n - 1", first + count - 1, COUNTER)
    plan = replace(request.plan, limits=replace(request.plan.limits, n=1))
    prompt, seed = encode_prompt(model, request.prompt), request.seed
    shared = SharedPrompt(model=model, tokens=tuple(prompt), texts=count)
    generations = []
    for index in range(first, first + count):
        writing = start(
            model,
            prompt,
            plan,
            seed=seed,
            sample_index=index,
            max_tokens=request.max_tokens,
            logprobs_mean=request.logprobs_mean,
            stream=request.stream,
            constraint=request.constraint,
            speculation=request.speculation,
            prompt_logprobs=request.prompt_logprobs,
        )
        generations.append(writing)
        writing.shared_prompt, seed = shared, writing.seed
        writing.prompt_reports = generations[0].prompt_reports
    return generations


def _draw(asked: Sequence[tuple[Generation, Asked | Exception | None]]) -> list[Replayed | Exception | None]:
    """A token for each text that asks: together where a plan alone draws, one by one elsewhere."""
    drawn: list[Replayed | Exception | None] = [None] * len(asked)
    together: list[tuple[int, Generation, Asked]] = []
    for index, (text, row) in enumerate(asked):
        if not isinstance(row, Asked):
            continue
        # A stage that remembers has no kernel, so nothing is gained by drawing it with the others.
        if text.needs_own_draw or row.text.memory is not None:
            drawn[index] = _attempt(text.draw, row)
        else:
            together.append((index, text, row))
    tokens = _attempt(_sample, together) if together else None
    for place, (index, text, row) in enumerate(together):
        token = tokens[place] if isinstance(tokens, list) else None
        # A row that failed is drawn alone, so that its error names nothing of the batch.
        drawn[index] = _attempt(text.draw, row) if token is None else Replayed(token=token)
    return drawn


def _sample(together: Sequence[tuple[int, Generation, Asked]]) -> list[int | None]:
    batch = sample_batch(
        [text.plan for _, text, _ in together],
        [row.logits for _, _, row in together],
        seeds=[text.seed for _, text, _ in together],
        positions=[row.text.position for _, _, row in together],
        sample_indices=[text.sample_index for _, text, _ in together],
        histories=[row.text.history for _, _, row in together],
        masks=[row.mask for _, _, row in together],
        on_error="return",
        report="tokens",
    )
    return [int(token) if ok else None for token, ok in zip(batch.tokens, batch.ok, strict=True)]


def _attempt(
    function: Callable[Arguments, Result], *arguments: Arguments.args, **named: Arguments.kwargs
) -> Result | Exception:
    """What a function returns, or raises: the fault of one text must not reach the others."""
    try:
        return function(*arguments, **named)
    except Exception as problem:
        return problem
