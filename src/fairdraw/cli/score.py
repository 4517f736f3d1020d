"""``fairdraw score``: how probable a text is, token by token."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.text import Text

from fairdraw.cli.flags import IDS, WHOLE
from fairdraw.cli.inputs import SOME_MODEL, plan_of
from fairdraw.cli.output import Kind, bar, print_json, print_table, say, words
from fairdraw.dialects.reading import ENGINE_DEFAULT
from fairdraw.errors import ParameterError, PlanError, UnavailableError
from fairdraw.generation.scored import Scored
from fairdraw.generation.scoring import score
from fairdraw.limits import Limits
from fairdraw.logprobs import Meaning
from fairdraw.models import Model, load
from fairdraw.models.progress import progress
from fairdraw.plan import Plan

SHOWN = 20
"""How many tokens of a file are listed when nobody says."""
_FULL_BAR = 20.0
"""Bits of surprise that fill a bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreFlags:
    """What is scored, and how."""

    file: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """A file of UTF-8 instead of TEXT; "-" reads standard input."""
    prompt: str | None = None
    """What the text follows; it is not scored. Not given: the first token is not."""
    prompt_format: Annotated[Literal["chat", "text"] | None, Parameter(name="--format")] = None
    """Whether --prompt is a message in the model's chat template (chat, if not given) or plain text."""
    plan: str | None = None
    """Whose law is asked, as text: "fairdraw: temperature=0.7 top_p=0.9". Not given: the model's own row.
    What ends a text, how many there are, seed and logprobs are not used."""
    meaning: Meaning | None = None
    """The model's own row (raw, if there is no --plan); before any cut; the law that --plan draws from (processed)."""
    top: Annotated[int, WHOLE] = 0
    """How many of the best tokens to show for each."""
    named: Annotated[tuple[int, ...], IDS] = ()
    """Ids whose logprob is reported at each place: 1 2 3, or 1,2,3."""
    window: Annotated[int | None, WHOLE] = None
    """At most this many tokens are read before a scored one. Not given: the model's context."""
    stride: Annotated[int | None, WHOLE] = None
    """Of a longer text so many tokens are scored at a time. Not given: half the window."""
    show: Annotated[int | None, WHOLE] = None
    """List so many tokens, the most surprising. Not given: all of TEXT, 20 of a file."""
    model: str = "smollm2"
    """Where the logits come from."""


def score_command(text: str | None, flags: ScoreFlags, *, as_json: bool) -> int:
    """Print each token's logprob, rank and surprise, and what they add up to."""
    given = _text(text, flags)
    if flags.plan is not None:
        # A mistake in a plan is said at once, before a model is fetched.
        plan_of(flags.plan, SOME_MODEL)
    loaded = load(flags.model)
    ids = loaded.tokenizer.encode(given)
    prompt = flags.prompt
    with progress("Scoring", len(ids)) as show:
        scored = score(
            loaded,
            ids,
            None if flags.plan is None else plan_of(flags.plan, loaded.facts),
            meaning=flags.meaning,
            prompt=loaded.tokenizer.encode(prompt) if prompt is not None and flags.prompt_format == "text" else prompt,
            top=flags.top,
            named=flags.named,
            window=flags.window,
            stride=flags.stride,
            on_progress=show,
        )
    if scored.plan is not None:
        _say_unused(scored.plan)
    if as_json:
        print_json(scored.to_json())
        return 0
    most = flags.show if flags.show is not None else len(ids) if flags.file is None else SHOWN
    _print_tokens(scored, loaded, most, flags.top)
    _print_sums(scored, loaded)
    return 0


def _say_unused(plan: Plan) -> None:
    """Name the limits that were asked for and do nothing here."""
    unasked = {setting.name for setting in plan.settings if setting.origin == ENGINE_DEFAULT}
    # What min_tokens forbids are the ends, so it uses them.
    used = {"min_tokens", "stop_token_ids", "ignore_eos"} if plan.limits.min_tokens else {"min_tokens"}
    names = [field.name for field in fields(Limits) if field.name not in unasked | used]
    idle = [name for name in names if getattr(plan.limits, name) != getattr(Limits(), name)]
    if idle:
        words(f"not used for a score: {', '.join(idle)} of the plan")


def _text(text: str | None, flags: ScoreFlags) -> str:
    if text is not None and flags.file is not None:
        raise PlanError("TEXT and --file cannot be combined", "either TEXT or --file, not both")
    if text is None and flags.file is None:
        raise PlanError("one of TEXT and --file must be given", "fairdraw score 'The sea is blue.'")
    if flags.prompt_format is not None and flags.prompt is None:
        raise PlanError("--format needs --prompt", "it says how the prompt is written")
    for name in ("show", "top"):
        value = getattr(flags, name)
        if value is not None and value < 0:
            raise ParameterError(f"--{name}", value, "at least 0")
    if text is not None:
        return text
    assert flags.file is not None
    return _read(flags.file)


def _read(file: str) -> str:
    """The text of a file or of standard input as it is, ends of lines included."""
    if file == "-":
        whole, name = sys.stdin.buffer.read(), "standard input"
    elif Path(file).is_file():
        whole, name = Path(file).read_bytes(), file
    else:
        raise ParameterError("--file", file, "a file that exists")
    try:
        return whole.decode("utf-8")
    except UnicodeDecodeError:
        raise UnavailableError(f"{name} is no UTF-8 text") from None


def _print_tokens(scored: Scored, model: Model, most: int, top: int) -> None:
    """The tokens in the order of the text; of many only the most surprising."""
    if most == 0:
        return
    places: Sequence[int] = range(len(scored.entries))
    title = f"each token, {scored.meaning}"
    if len(scored.entries) > most:
        surprising = sorted(places, key=lambda place: scored.entries[place].chosen.logprob)[:most]
        places, title = (
            sorted(surprising),
            f"the {most} most surprising of {len(scored.entries)} tokens, {scored.meaning}",
        )
    rows: list[list[object]] = []
    for place in places:
        entry = scored.entries[place]
        chosen = entry.chosen
        bits = (0.0 - chosen.logprob) / math.log(2)
        row = [scored.first + place, model.tokenizer.token_text(chosen.token), f"{chosen.logprob:.4f}", chosen.rank]
        named = [f"{values[place]:.4f}" for values in scored.named.values()]
        rows.append([*row, f"{bits:.2f}", _bar(bits), *named])
        if top:
            rows[-1].append("  ".join(f"{model.tokenizer.token_text(a.token)} {a.logprob:.2f}" for a in entry.top))
    columns: list[tuple[str, Kind]] = [("place", "right"), ("token", "left"), ("logprob", "right"), ("rank", "right")]
    columns += [("bits", "right"), ("surprise", "left")]
    columns += [(model.tokenizer.token_text(token), "right") for token in scored.named]
    print_table(title, [*columns, ("best", "wrap")] if top else columns, rows)


def _bar(bits: float) -> Text:
    """Longer and redder the more a token surprises."""
    drawn = bar(bits / _FULL_BAR, 16)
    drawn.style = "green" if bits < 2 else "yellow" if bits < 8 else "red"
    return drawn


def _print_sums(scored: Scored, model: Model) -> None:
    for place in scored.outside[:8]:
        token = model.tokenizer.token_text(scored.tokens[place])
        say(f"the plan could not have drawn {token} at place {place}: logprob -inf")
    if len(scored.outside) > 8:
        say(f"nor {len(scored.outside) - 8} more")
    count = len(scored.entries)
    say(
        f"log-likelihood {scored.total:.4f} nats, {count} token{'' if count == 1 else 's'}, "
        f"perplexity {scored.perplexity:.4f}, {scored.bits_per_byte:.4f} bits per byte"
    )
    whose = "the model's own row" if scored.plan is None or scored.meaning == "raw" else str(scored.plan)
    before = f"{scored.first} token{'' if scored.first == 1 else 's'} before the first scored one"
    words(f"{scored.meaning}: {whose} | {scored.model} | {before}")
