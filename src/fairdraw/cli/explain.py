"""``fairdraw explain``: every value with its origin, and what each stage does to a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairdraw.arrays import as_logits
from fairdraw.cli.inputs import Rows, model_named, read_rows, row_after
from fairdraw.cli.output import bar, percent, print_json, stdout, table, words
from fairdraw.dialects.finding import find_dialect
from fairdraw.dialects.reading import ENGINE_DEFAULT
from fairdraw.errors import ParameterError
from fairdraw.models import Model
from fairdraw.plan import CUSTOM, Plan
from fairdraw.plan_format import format_part, plain_value
from fairdraw.sampling import law
from fairdraw.stages import CutStage
from fairdraw.weights import Weights


def explain_command(
    plan: str,
    *,
    prompt: str | None,
    logits: str | None,
    tensor: str | None,
    row: int | None,
    prompt_ids: Sequence[int],
    output_ids: Sequence[int],
    model: str | None,
    top: int,
    as_json: bool,
) -> int:
    """Print the settings, and with a row also the trace, the best tokens and what is left open."""
    loaded = model_named(model or "smollm2") if prompt is not None or model is not None else None
    resolved = Plan.parse(plan, facts=loaded.facts if loaded else None)
    rows = rows_for(prompt, logits, tensor, row or 0, prompt_ids, output_ids, loaded)
    values = as_logits(rows.logits[0], f"logits row {rows.numbers[0]}") if rows else None
    weights = law(resolved, values, history=rows.history) if rows else None
    if as_json:
        print_json(_json(resolved, rows, weights, loaded, top))
        return 0
    _print_plan(resolved)
    _print_notes(resolved)
    if rows and weights:
        words(f"row {rows.numbers[0]} of {rows.source}, vocabulary {rows.logits.shape[1]}")
        _print_trace(weights)
        _print_tokens(weights, token_text(loaded), top)
        _print_open(weights, token_text(loaded))
    return 0


def rows_for(
    prompt: str | None,
    logits: str | None,
    tensor: str | None,
    row: int | None,
    prompt_ids: Sequence[int],
    output_ids: Sequence[int],
    model: Model | None,
) -> Rows | None:
    """The rows that a command works on: of a file, after a prompt, or none."""
    if prompt is not None and logits is not None:
        raise ParameterError("--prompt", prompt, "absent where --logits is given", "one of the two gives the row")
    if logits is not None:
        return read_rows(logits, tensor=tensor, row=row, prompt_ids=prompt_ids, output_ids=output_ids)
    if prompt is not None and model is not None:
        return row_after(model, prompt)
    return None


def token_text(model: Model | None) -> Callable[[int], str]:
    """How a token id is shown: with its text where a model is known."""
    if model is None:
        return str
    return lambda token: (
        f"{token} {model.tokenizer.token_text(token)}" if token < model.facts.vocab_size else str(token)
    )


def _print_plan(plan: Plan) -> None:
    out = stdout()
    out.print(str(plan), style="bold", soft_wrap=True)
    if plan.dialect != CUSTOM:
        chosen = find_dialect(plan.dialect)
        words(f"{chosen.name}: {chosen.summary}. Read: {chosen.source}")
        rows = [(s.name, _shown(s.value), s.origin, s.effect) for s in plan.settings]
        columns = [("parameter", "left"), ("value", "wrap"), ("origin", "left"), ("effect", "wrap")]
        out.print(table(f"settings, mode {plan.mode}", columns, rows))
    stages = " > ".join(format_part(part) for part in (*plan.stages, plan.draw))
    out.print(f"runs: {stages}\n", soft_wrap=True)


def notes(plan: Plan) -> list[str]:
    """What a reader of the settings should not miss: what nobody asked for, and what was asked for in vain."""
    found = []
    cuts = {stage.name for stage in plan.stages if isinstance(stage, CutStage)}
    for setting in plan.settings:
        text = f"{setting.name}={_shown(setting.value)}"
        if setting.origin == ENGINE_DEFAULT and setting.effect in cuts:
            found.append(f"nobody asked for {text}: it is the engine's default")
        if setting.origin != ENGINE_DEFAULT and setting.effect.startswith(("ignored", "not used")):
            found.append(f"{text} has no effect: {setting.effect}")
    return found


def _print_notes(plan: Plan) -> None:
    for note in notes(plan):
        stdout().print(f"note: {note}", soft_wrap=True)


def _shown(value: object) -> str:
    return (
        "unset"
        if value is None
        else str(plain_value(value)).lower()
        if isinstance(value, bool)
        else str(plain_value(value))
    )


def _print_trace(weights: Weights) -> None:
    rows = [
        (step.detail or step.name, step.kept, percent(step.mass), bar(step.mass, 20), f"{step.entropy:.4f}")
        for step in weights.trace
    ]
    columns = [("stage", "wrap"), ("kept", "right"), ("mass", "right"), ("", "left"), ("entropy, nats", "right")]
    stdout().print(table("what each stage leaves", columns, rows))


def _print_tokens(weights: Weights, text: Callable[[int], str], top: int) -> None:
    best = sorted(weights.support.tolist(), key=lambda token: (-weights.probabilities[token], token))[:top]
    rows = [(text(t), percent(weights.probabilities[t]), bar(weights.probabilities[t])) for t in best]
    left = weights.support.size - len(best)
    title = f"best tokens ({left} more)" if left else "tokens"
    stdout().print(table(title, [("token", "left"), ("probability", "right"), ("", "left")], rows))


def _print_open(weights: Weights, text: Callable[[int], str]) -> None:
    if weights.others:
        ids = ", ".join(text(token) for token in weights.in_doubt.tolist())
        stdout().print(f"boundary tie: a cut is within 2^-20 of its threshold; in doubt: {ids}", soft_wrap=True)
    for tie in weights.open_ties:
        ids = ", ".join(text(token) for token in tie.group.tolist()[:10])
        more = f" and {tie.group.size - 10} more" if tie.group.size > 10 else ""
        stdout().print(f"open tie: the engine keeps {tie.count} of the equal tokens {ids}{more}", soft_wrap=True)


def _json(plan: Plan, rows: Rows | None, weights: Weights | None, model: Model | None, top: int) -> dict[str, object]:
    data: dict[str, object] = {"plan": plan.to_json(), "notes": notes(plan)}
    if rows is None or weights is None:
        return data
    best = sorted(weights.support.tolist(), key=lambda token: (-weights.probabilities[token], token))[:top]
    data["row"] = {"source": rows.source, "number": rows.numbers[0], "vocab_size": rows.logits.shape[1]}
    data["trace"] = [
        {"stage": s.name, "detail": s.detail, "kept": s.kept, "mass": s.mass, "entropy": s.entropy}
        for s in weights.trace
    ]
    data["tokens"] = [
        {"token": t, "probability": float(weights.probabilities[t])}
        | ({"text": model.tokenizer.token_text(t)} if model else {})
        for t in best
    ]
    data["kept"] = weights.support.size
    data["entropy"] = weights.entropy
    data["in_doubt"] = weights.in_doubt.tolist()
    data["open_ties"] = [
        {"certain": t.certain.tolist(), "group": t.group.tolist(), "count": t.count} for t in weights.open_ties
    ]
    return data
