"""``fairdraw explain``: every value with its origin, and what each stage does to a row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields

import numpy as np

from fairdraw.arrays import as_logits
from fairdraw.cli.asking import PLAIN, Asking
from fairdraw.cli.inputs import Rows, Source
from fairdraw.cli.output import Kind, bar, percent, print_json, print_table, say, shown, words
from fairdraw.dialects.finding import find_dialect
from fairdraw.dialects.reading import ENGINE_DEFAULT, IMPLIED, MODEL_FILE, REQUEST, UNDOCUMENTED, Setting, acting
from fairdraw.domains import Whole, require
from fairdraw.kernels.shapes import why_not
from fairdraw.models import Model
from fairdraw.plan import CUSTOM, Plan
from fairdraw.plan_format import format_part
from fairdraw.requests.base import ASIDE, SERVER, LeftOut
from fairdraw.sampling import law
from fairdraw.stages import CutStage, Dry, PresenceFrequencyPenalty, RepetitionPenalty
from fairdraw.weights import Weights


def explain_command(plan: str | None, source: Source, *, top: int, as_json: bool, asking: Asking = PLAIN) -> int:
    """Print the settings, and with a row also the trace, the best tokens and what is left open."""
    top = int(require("--top", top, Whole(0)))  # type: ignore[call-overload]
    loaded = source.load_model()
    resolved, left_out = asking.plan(plan, loaded)
    rows = source.rows(loaded)
    values = as_logits(rows.logits[0], f"logits row {rows.numbers[0]}") if rows else None
    weights = law(resolved, values, history=rows.history) if rows else None
    if as_json:
        print_json(_json(resolved, rows, weights, loaded, top) | {"left_out": [asdict(left) for left in left_out]})
        return 0
    _print_plan(resolved, left_out)
    if rows and weights:
        words(f"row {rows.numbers[0]} of {rows.source}, vocabulary {rows.logits.shape[1]}")
        _print_trace(weights)
        _print_tokens(weights, token_text(loaded), top)
        _print_open(weights, token_text(loaded))
    return 0


def token_text(model: Model | None) -> Callable[[int], str]:
    """How a token id is shown: with its text where a model is known."""
    if model is None:
        return lambda token: f"id {token}"
    return lambda token: (
        f"{token} {model.tokenizer.token_text(token)}" if token < model.facts.vocab_size else f"id {token}"
    )


def listed(ids: Sequence[int], text: Callable[[int], str], most: int = 8) -> str:
    """The first few of some ids, and how many more."""
    first = ", ".join(text(token).removeprefix("id ") for token in ids[:most])
    return f"{first} and {len(ids) - most} more" if len(ids) > most else first or "-"


def _print_plan(plan: Plan, left_out: Sequence[LeftOut]) -> None:
    say(str(plan), style="bold")
    if plan.dialect != CUSTOM:
        chosen = find_dialect(plan.dialect)
        words(f"{chosen.name}: {chosen.summary}. Read: {chosen.source}")
        say()
        quiet = [s for s in plan.settings if _is_quiet(s)]
        loud = sorted((s for s in plan.settings if s not in quiet), key=lambda s: _ORIGINS.index(s.origin))
        rows = [(s.name, shown(s.value), s.origin, s.effect) for s in loud]
        columns: list[tuple[str, Kind]] = [("parameter", "left"), ("value", "wrap"), ("origin", "left")]
        print_table(f"settings, mode {plan.mode}", [*columns, ("effect", "wrap")], rows)
        if quiet:
            values = ", ".join(f"{s.name} {shown(s.value)}" for s in quiet)
            say(f"engine defaults that change nothing: {values}")
    say("runs: " + " > ".join(format_part(part) for part in (*plan.stages, plan.draw)))
    reason = why_not(plan)
    if reason:
        say(f"drawn by NumPy, the same token more slowly: {reason}")
    for note in notes(plan):
        say(f"note: {note}")
    _print_left_out(left_out)
    say()


def _print_left_out(left_out: Sequence[LeftOut]) -> None:
    """What was said and is no part of the plan: in one line what is not about sampling, then the others one by one."""
    aside = [left.name for left in left_out if left.why.startswith(ASIDE)]
    if aside:
        say(f"not about sampling: {', '.join(aside)}")
    for left in left_out:
        if left.name not in aside:
            value = "" if left.value is None else f"={shown(left.value)}"
            say(f"left out: {left.name}{value}: {left.why}")


_ORIGINS = (REQUEST, IMPLIED, SERVER, MODEL_FILE, ENGINE_DEFAULT)
"""In this order values stand in the table: each comes before what is behind it."""
_PENALTIES = (RepetitionPenalty, PresenceFrequencyPenalty, Dry)
_NO_LIMIT = (None, False, 0, (), 1)


def _is_quiet(setting: Setting) -> bool:
    """Whether nobody asked for it and it changes neither the law nor the text."""
    silent = setting.effect in ("off", "not used") or (setting.effect == "text" and setting.value in _NO_LIMIT)
    return setting.origin == ENGINE_DEFAULT and silent


def notes(plan: Plan) -> list[str]:
    """What a reader of the settings should not miss: what nobody asked for, and what was asked for in vain."""
    found = []
    cuts = {stage.name for stage in plan.stages if isinstance(stage, CutStage)}
    penalties = {stage.name for stage in plan.stages if isinstance(stage, _PENALTIES)}
    for setting in plan.settings:
        text = f"{setting.name}={shown(setting.value)}"
        # Of a penalty its strength counts; windows and the like are no news.
        strength = penalties if setting.name.endswith(("penalty", "multiplier")) and setting.value else frozenset()
        acts = not (cuts | strength).isdisjoint(acting(setting))
        if setting.origin == ENGINE_DEFAULT and acts:
            found.append(f"nobody asked for {text}: it is the engine's default")
        if setting.origin in (SERVER, MODEL_FILE) and acts:
            found.append(f"the request did not ask for {text}: the {setting.origin} did")
        taken = _taken_as(plan, setting)
        if taken:
            found.append(f"{text} is taken as {taken}")
        if setting.origin != ENGINE_DEFAULT and setting.effect.startswith(("ignored", "not used")):
            found.append(f"{text} has no effect: {setting.effect}")
        if setting.origin != ENGINE_DEFAULT and setting.effect == UNDOCUMENTED:
            found.append(f"what {plan.dialect} does with {text} is not documented")
    return found


def _taken_as(plan: Plan, setting: Setting) -> str:
    """The number that an engine makes of one that it clamps; "" where it takes it as it is, or there is no telling."""
    asked = setting.value
    stages = [stage for stage in plan.stages if stage.name == setting.effect]
    if setting.origin == ENGINE_DEFAULT or not isinstance(asked, float) or len(stages) != 1:
        return ""
    numbers = [value for field in fields(stages[0]) if isinstance(value := getattr(stages[0], field.name), float)]
    same = len(numbers) != 1 or math.isclose(numbers[0], asked, rel_tol=1e-4, abs_tol=1e-6)
    return "" if same else f"{numbers[0]:.6g}"


def _print_trace(weights: Weights) -> None:
    """A line for each stage; a mask that masks nothing and a remembered row are no news."""
    rows = []
    for step, before in zip(weights.trace, (None, *weights.trace), strict=False):
        same = before is not None and step.kept == before.kept
        if step.name == "checkpoint" or (step.name == "mask" and same):
            continue
        rows.append(
            (step.detail or step.name, step.kept, percent(step.mass), bar(step.mass, 12), f"{step.entropy:.4f}")
        )
    columns: list[tuple[str, Kind]] = [("after", "wrap"), ("kept", "right"), ("mass", "right"), ("", "left")]
    print_table("what each stage leaves", [*columns, ("entropy, nats", "right")], rows)


def _best(weights: Weights, top: int) -> list[int]:
    """The most probable ids; of equal ones the lower first."""
    p = weights.probabilities[weights.support]
    return weights.support[np.argsort(-p, kind="stable")[:top]].tolist()


def _print_tokens(weights: Weights, text: Callable[[int], str], top: int) -> None:
    best = _best(weights, top)
    rows = [(text(t), percent(weights.probabilities[t]), bar(weights.probabilities[t])) for t in best]
    left = weights.support.size - len(best)
    if not best:
        return
    title = f"best tokens ({left} more can be drawn)" if left else "every token that can be drawn"
    print_table(title, [("token", "left"), ("probability", "right"), ("", "left")], rows)


def _print_open(weights: Weights, text: Callable[[int], str]) -> None:
    if weights.others:
        say(
            f"boundary tie: a cut is within 2^-20 of its threshold; in doubt: {listed(weights.in_doubt.tolist(), text)}"
        )
    for tie in weights.open_ties:
        say(f"open tie: the engine keeps {tie.count} of the equal tokens {listed(tie.group.tolist(), text)}")


def _json(plan: Plan, rows: Rows | None, weights: Weights | None, model: Model | None, top: int) -> dict[str, object]:
    data: dict[str, object] = {"plan": plan.to_json(), "notes": notes(plan), "no_kernel": why_not(plan)}
    if rows is None or weights is None:
        return data
    data["row"] = {"source": rows.source, "number": rows.numbers[0], "vocab_size": rows.logits.shape[1]}
    data["trace"] = [
        {"stage": s.name, "detail": s.detail, "kept": s.kept, "mass": s.mass, "entropy": s.entropy}
        for s in weights.trace
    ]
    data["tokens"] = [
        {"token": t, "probability": float(weights.probabilities[t])}
        | ({"text": model.tokenizer.token_text(t)} if model else {})
        for t in _best(weights, top)
    ]
    data["kept"] = weights.support.size
    data["entropy"] = weights.entropy
    data["in_doubt"] = weights.in_doubt.tolist()
    data["open_ties"] = [
        {"certain": t.certain.tolist(), "group": t.group.tolist(), "count": t.count} for t in weights.open_ties
    ]
    return data
