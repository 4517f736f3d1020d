"""The loop: logits, a token, its text, until something ends it.

The noise's position is the number of tokens before the drawn one, prompt included, so a text that is resumed draws
what it would have drawn in one go.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairdraw.constraints.protocol import Constraint, require_constraint
from fairdraw.context import Memory
from fairdraw.domains import Whole, require
from fairdraw.errors import ParameterError
from fairdraw.generation.constrained import draw_constrained, start_track
from fairdraw.generation.drawers import FAIRDRAW, Asked, Mask, drawer
from fairdraw.generation.memories import next_memory
from fairdraw.generation.prompts import Prompt, choose_seed, fit_prompt, require_model
from fairdraw.generation.result import Completion, FinishReason, Step
from fairdraw.generation.scoring import PromptReports
from fairdraw.generation.shared_prompt import FromPrompt, SharedPrompt
from fairdraw.generation.speculation.looking import OneByOne, Rows
from fairdraw.generation.speculation.settings import Speculation, require_speculation
from fairdraw.generation.speculation.starting import Begun, begin
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.history import History
from fairdraw.logprobs import Meaning, TokenLogprobs, logprobs
from fairdraw.models.protocol import Model
from fairdraw.plan import Plan, require_plan
from fairdraw.replay.result import Replayed
from fairdraw.text.assembly import TextAssembler
from fairdraw.text.stop_strings import StopMatch, StopStrings


def generate(
    model: Model,
    prompt: Prompt,
    plan: Plan,
    *,
    seed: int | None = None,
    sample_index: int = 0,
    max_tokens: int | None = None,
    logprobs_mean: Meaning = "raw",
    stream: str = FAIRDRAW,
    constraint: Constraint | None = None,
    speculation: Speculation | None = None,
    prompt_logprobs: int | None = None,
) -> Completion:
    """Write a text and return it whole.

    Parameters
    ----------
    model : Model
        Where the logits come from.
    prompt : str, sequence of int, or sequence of mappings
        A string is one user message in the model's chat template; ids are taken as they are.
    plan : Plan
        How each token is drawn, and when the text ends.
    seed : int, 0 to 2^64-1, optional
        None: the plan's, or else a fresh one; the result records it.
    sample_index : int
        Which of several answers to the same request this is.
    max_tokens : int, optional
        None: the plan's, or else until the model's context is full.
    logprobs_mean : "raw", "temperature" or "processed"
        What the reported logprobs mean, if the plan asks for them.
    stream : str
        Whose generator draws: "fairdraw", the keyed race; or an engine's own, seeded as that engine seeds it
        ("candle", "transformers", "nano_vllm"), for a plan of its dialect.
    constraint : Constraint, optional
        What the text must be: the ids that it does not allow are masked before each draw, and the text ends where
        nothing may follow.  Prompt and special tokens are no part of it.
    speculation : Speculation, optional
        Guess ahead, so that the model is asked less often. By default the text has the same bits as without.
    prompt_logprobs : int, at least 0, optional
        Also report the logprob of each token of the prompt, and so many of the best ones; ``max_tokens=0`` does that
        alone. The prompt is read once more for it.

    Returns
    -------
    Completion

    Raises
    ------
    LogitsError, ParameterError
        A stage or the constraint leaves no token at some step, which is named; the prompt is empty or does not fit;
        a value is out of range.

    Notes
    -----
    The text of an end token or stop id is not shown; a stop string is cut off unless the plan includes it.
    """
    generation = start(
        model,
        prompt,
        plan,
        seed=seed,
        sample_index=sample_index,
        max_tokens=max_tokens,
        logprobs_mean=logprobs_mean,
        stream=stream,
        constraint=constraint,
        speculation=speculation,
        prompt_logprobs=prompt_logprobs,
    )
    for _ in generation:
        pass
    return generation.completion()


def start(
    model: Model,
    prompt: Prompt,
    plan: Plan,
    *,
    seed: int | None = None,
    sample_index: int = 0,
    max_tokens: int | None = None,
    logprobs_mean: Meaning = "raw",
    stream: str = FAIRDRAW,
    constraint: Constraint | None = None,
    speculation: Speculation | None = None,
    prompt_logprobs: int | None = None,
) -> Generation:
    """Begin a text that arrives in steps; parameters as in `generate`.

    Returns
    -------
    Generation
        Iterate over it for `Step` after `Step`; then ask it for its completion.
    """
    require_plan(plan)
    require_model(model)
    if plan.limits.n != 1:
        raise ParameterError(
            "n", plan.limits.n, "1 here", "generate_many writes them all, or generate one for each sample_index"
        )
    chosen = choose_seed(seed, plan.limits)
    if constraint is not None:
        require_constraint(constraint)
    if speculation is not None:
        require_speculation(speculation, plan)
    _require_stream(stream, constraint, speculation)
    if prompt_logprobs is not None:
        require("prompt_logprobs", prompt_logprobs, Whole(0))
    ids, most = fit_prompt(model, prompt, plan.limits, max_tokens)
    return Generation(
        model=model,
        plan=plan,
        prompt_tokens=ids,
        seed=chosen,
        sample_index=sample_index,
        most=most,
        logprobs_mean=logprobs_mean,
        stream=stream,
        constraint=constraint,
        speculation=speculation,
        prompt_reports=None
        if prompt_logprobs is None
        else PromptReports(model=model, plan=plan, tokens=ids, meaning=logprobs_mean, top=prompt_logprobs),
    )


def _require_stream(stream: str, constraint: Constraint | None, speculation: Speculation | None) -> None:
    """What fairdraw's noise alone can draw."""
    if stream == FAIRDRAW:
        return
    if constraint is not None:
        hint = "they are drawn unmasked"
        raise ParameterError("constraint", constraint.name, f"None for {stream}'s own tokens", hint)
    if speculation is not None and speculation.way != "match":
        hint = "accepting and rejecting draws with fairdraw's noise"
        raise ParameterError("speculation.way", speculation.way, f"match for {stream}'s own tokens", hint)


@dataclass(kw_only=True)
class Generation:
    """A text that is being written: an iterator of steps that remembers what came."""

    model: Model
    plan: Plan
    prompt_tokens: tuple[int, ...]
    seed: int
    sample_index: int
    most: int
    """At most this many tokens."""
    logprobs_mean: Meaning
    stream: str
    constraint: Constraint | None = None
    speculation: Speculation | None = None
    shared_prompt: SharedPrompt | None = None
    """Where the prompt is read once for several texts; None: this text reads it."""
    prompt_reports: PromptReports | None = None

    def __post_init__(self) -> None:
        self._track = start_track(self.constraint, self.model, self.plan) if self.constraint else None
        self._memory: Memory | None = None
        self._speculated: Begun | None = None
        self._rows: Rows | None = None
        self._history = History(prompt=self.prompt_tokens)
        self._drawer = drawer(self.stream, self.plan, self.seed, self.sample_index, lambda: self._memory)
        self.doubts: list[tuple[int, str]] = []
        limits = self.plan.limits
        self.text = ""
        self.tokens: list[int] = []
        self.reports: list[TokenLogprobs] = []
        self.finish_reason: FinishReason | None = None
        self.stop_reason: str | int | None = None
        self._cut = False
        """Whether an end took something off what was drawn."""
        self._assembler = TextAssembler(StopStrings(limits.stop), armed_after=limits.min_tokens)
        self._steps = self._run()

    def __iter__(self) -> Iterator[Step]:
        return self._steps

    def completion(self) -> Completion:
        """The finished text.

        Raises
        ------
        ParameterError
            The text has not ended yet.
        """
        if self.finish_reason is None:
            raise ParameterError("generation", "one that still runs", "one that has ended", "iterate over it first")
        return Completion(
            text=self.text,
            tokens=tuple(self.tokens),
            finish_reason=self.finish_reason,
            stop_reason=self.stop_reason,
            logprobs=tuple(self.reports),
            prompt_logprobs=self.prompt_reports.entries if self.prompt_reports else (),
            text_offsets=self._assembler.offsets,
            prompt_tokens=self.prompt_tokens,
            seed=self.seed,
            sample_index=self.sample_index,
            model=self.model.name,
            plan=self.plan,
            stream=self._whose(),
            doubts=tuple(self.doubts),
            speculated=self._speculated.report() if self._speculated else None,
            constraint=self.constraint.to_json() if self.constraint else None,
            fulfilled=self._fulfilled(),
        )

    @property
    def needs_own_draw(self) -> bool:
        """Whether `draw` must draw: an engine's own generator, or a guess to verify, and not the plan alone."""
        return self.stream != FAIRDRAW or bool(self._speculated and self._speculated.verify)

    def ask(self) -> Asked | None:
        """What the next token is drawn from; None at the most tokens, where `end` comes next."""
        if len(self.tokens) >= self.most:
            return None
        if self._rows is None:
            self._rows = self._find_rows()
        text = Tentative(self._history, self._track, self._memory)
        asked = Asked(logits=self._rows.next(text), mask=self._track.mask() if self._track else None, text=text)
        if self._speculated and not self._speculated.verify:
            self._speculated.measure(asked.logits, text)
        return asked

    def draw(self, asked: Asked) -> Replayed:
        """Draw the next token; the text does not change."""
        if self._speculated and self._speculated.verify:
            return self._speculated.verify(asked.logits, asked.text)
        if self._track is None or asked.mask is None:
            return self._drawer(asked.logits, asked.text.history)
        return draw_constrained(
            self._track,
            self.plan,
            asked.logits,
            asked.mask,
            seed=self.seed,
            sample_index=self.sample_index,
            history=asked.text.history,
            memory=self._memory,
        )

    def take(self, asked: Asked, drawn: Replayed) -> Step:
        """Add the token that was drawn."""
        logits, mask, history = asked.logits, asked.mask, self._history
        if drawn.doubt:
            self.doubts.append((len(self.tokens), drawn.doubt))
        report = self._report(logits, drawn.token, history, mask)
        self._memory = next_memory(
            self.plan, logits, drawn.token, self.seed, self.sample_index, history, mask, self._memory
        )
        history.append(drawn.token)
        if self._track:
            self._track.advance(drawn.token)
        self.tokens.append(drawn.token)
        assert self._rows is not None, "ask comes first"
        self._rows.take(drawn.token)
        return self._step(drawn.token, report)

    def end(self) -> Step:
        """End at the most tokens: what was held is text."""
        return self._end("length", None)

    def cancel(self) -> None:
        """End here, by the caller's wish: the text is what was shown so far; a text that has ended stays as it is."""
        if self.finish_reason is None:
            self.finish_reason, self._cut = "cancelled", True

    def _run(self) -> Iterator[Step]:
        # The caller may cancel between two steps.
        while self.finish_reason is None and (asked := self.ask()) is not None:
            yield self.take(asked, self.draw(asked))
        if self.finish_reason is None:
            yield self.end()

    def _find_rows(self) -> Rows:
        """Where the logits come from."""
        if self.speculation is None and self.shared_prompt:
            return FromPrompt(prompt=self.shared_prompt)
        if self.speculation is None:
            return OneByOne(session=self.model.start(), pending=self.prompt_tokens)
        self._speculated = begin(
            self.speculation,
            self.model,
            self.plan,
            prompt_tokens=self.prompt_tokens,
            seed=self.seed,
            sample_index=self.sample_index,
            most=self.most,
        )
        return self._speculated.rows

    def _whose(self) -> str:
        if self.speculation is None or self.speculation.way == "match":
            return self.stream
        # Accepted and rejected tokens follow the plan's law, and are not those that it draws by itself.
        return f"{self.stream} {self.speculation.way}"

    def _fulfilled(self) -> bool | None:
        return None if self._track is None else self._track.may_end and not self._cut

    def _report(self, logits: object, token: int, history: History, mask: Mask) -> TokenLogprobs | None:
        top = self.plan.limits.logprobs
        if top is None:
            return None
        report = logprobs(
            self.plan,
            logits,
            token,
            meaning=self.logprobs_mean,
            top=top,
            history=history,
            mask=mask,
            memory=self._memory,
        )
        self.reports.append(report)
        return report

    def _step(self, token: int, report: TokenLogprobs | None) -> Step:
        limits = self.plan.limits
        own_end = token in self.model.facts.end_token_ids and not limits.ignore_eos
        if (own_end or token in limits.stop_token_ids) and len(self.tokens) > limits.min_tokens:
            shown = limits.include_stop_str_in_output and not own_end
            # To a constraint an end token is no text.
            self._cut = not shown and token not in self.model.facts.end_token_ids
            text = self._shown(self.model.tokenizer.token_bytes(token) if shown else b"")
            end = self._end("stop", None if own_end else token)
            return Step(
                text=text + end.text, token=token, logprobs=report, finish_reason="stop", stop_reason=end.stop_reason
            )
        text = self._shown(self.model.tokenizer.token_bytes(token))
        if self.finish_reason is None and self._track and self._track.is_complete:
            text += self._end("stop", None).text
        return Step(
            text=text, token=token, logprobs=report, finish_reason=self.finish_reason, stop_reason=self.stop_reason
        )

    def _shown(self, token_bytes: bytes) -> str:
        """Add a token's bytes and return the new text; a stop string that is complete ends the generation."""
        piece = self._assembler.push(token_bytes)
        return self._take(piece.text, piece.stopped)

    def _end(self, reason: FinishReason, stop_reason: str | int | None) -> Step:
        """Release what is held and close the text."""
        self.finish_reason, self.stop_reason = reason, stop_reason
        piece = self._assembler.finish()
        text = self._take(piece.text, piece.stopped)
        return Step(text=text, token=None, finish_reason=self.finish_reason, stop_reason=self.stop_reason)

    def _take(self, text: str, stopped: StopMatch | None) -> str:
        if stopped is not None:
            included = self.plan.limits.include_stop_str_in_output
            self.finish_reason, self.stop_reason = "stop", stopped.matched
            self._cut = self._cut or not included or bool(stopped.after)
            text += stopped.matched if included else ""
        self.text += text
        return text
