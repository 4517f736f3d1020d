"""``fairdraw compare``: two plans on the same rows, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fairdraw.arrays import as_logits
from fairdraw.cli.explain import rows_for, token_text
from fairdraw.cli.inputs import Rows, model_named
from fairdraw.cli.output import number, percent, print_json, stdout, table, words
from fairdraw.errors import ParameterError
from fairdraw.models.progress import progress
from fairdraw.plan import Plan
from fairdraw.verify.comparison import Comparison, compare
from fairdraw.verify.drawing import POWER, DrawnComparison, compare_draws

CODES = {"same": 0, "differ": 1, "could not tell": 3}


def compare_command(
    plan_a: str,
    plan_b: str,
    *,
    logits: str | None,
    prompt: str | None,
    tensor: str | None,
    row: int | None,
    prompt_ids: Sequence[int],
    output_ids: Sequence[int],
    model: str | None,
    draws: int,
    seed: int,
    as_json: bool,
) -> int:
    """Compare on every row; print one table for one row, a line a row for several."""
    loaded = model_named(model or "smollm2") if prompt is not None or model is not None else None
    facts = loaded.facts if loaded else None
    a, b = (Plan.parse(text, facts=facts) for text in (plan_a, plan_b))
    rows = rows_for(prompt, logits, tensor, row, prompt_ids, output_ids, loaded)
    if rows is None:
        raise ParameterError(
            "--logits", None, "given (or --prompt): plans are compared on rows", "FILE.npy, for instance"
        )
    results = _compare_rows(a, b, rows)
    drawn = _draw_rows(a, b, rows, draws, seed) if draws else []
    code = exit_code(results)
    if as_json:
        print_json({"source": rows.source, "rows": _json(rows, results, drawn), "verdict": _overall(code)})
        return code
    words(f"a: {a}\nb: {b}\n{rows.source}, vocabulary {rows.logits.shape[1]}")
    if len(results) == 1:
        _print_one(results[0], token_text(loaded))
    else:
        _print_many(rows, results)
    _print_drawn(rows, drawn, token_text(loaded))
    return code


def _compare_rows(a: Plan, b: Plan, rows: Rows) -> list[Comparison]:
    results = []
    with progress("Comparing rows", len(rows.numbers)) as show:
        for number_of_row, values in zip(rows.numbers, rows.logits, strict=True):
            row_of_logits = as_logits(values, f"logits row {number_of_row}")
            results.append(compare(a, b, row_of_logits, history=rows.history))
            show(len(results))
    return results


def _draw_rows(a: Plan, b: Plan, rows: Rows, draws: int, seed: int) -> list[DrawnComparison]:
    """Draws at the position that the history says; both plans use the same noise."""
    results = []
    total = 2 * draws
    with progress("Drawing", total * len(rows.numbers)) as show:
        for index, values in enumerate(rows.logits):
            results.append(
                compare_draws(
                    a,
                    b,
                    values,
                    draws=draws,
                    seed=seed,
                    position=len(rows.history),
                    history=rows.history,
                    on_progress=lambda done, index=index: show(index * total + done),
                )
            )
    return results


def exit_code(results: Sequence[Comparison]) -> int:
    """0 if all are the same, 1 if any differs, else 3."""
    verdicts = {result.verdict for result in results}
    return CODES["differ" if "differ" in verdicts else "could not tell" if "could not tell" in verdicts else "same"]


def _overall(code: int) -> str:
    return next(verdict for verdict, value in CODES.items() if value == code)


def _print_one(result: Comparison, text: Callable[[int], str]) -> None:
    rows = [
        ("kept", result.kept_a, result.kept_b),
        ("ids only here", _ids(result.only_a, text), _ids(result.only_b, text)),
        ("mass outside the other", percent(result.mass_a_outside_b), percent(result.mass_b_outside_a)),
        ("entropy, nats", f"{result.entropy_a:.4f}", f"{result.entropy_b:.4f}"),
    ]
    if result.in_doubt_a or result.in_doubt_b:
        rows.append(("in doubt (rounding)", _ids(result.in_doubt_a, text), _ids(result.in_doubt_b, text)))
    if result.tied_a or result.tied_b:
        rows.append(("left open (equal)", _ids(result.tied_a, text), _ids(result.tied_b, text)))
    out = stdout()
    out.print(table("", [("", "left"), ("a", "wrap"), ("b", "wrap")], rows))
    out.print(f"total variation  {number(result.total_variation)}")
    out.print(f"max |dp|         {number(result.max_difference)} at {text(result.max_difference_id)}")
    out.print(f"verdict          {result.verdict}", style="bold")
    for sentence in (result.reason, result.note):
        if sentence:
            out.print(sentence, soft_wrap=True)


def _print_many(rows: Rows, results: Sequence[Comparison]) -> None:
    lines = [
        (
            number_of_row,
            r.verdict,
            r.kept_a,
            r.kept_b,
            number(r.max_difference),
            number(r.total_variation),
            percent(r.mass_a_outside_b),
            percent(r.mass_b_outside_a),
        )
        for number_of_row, r in zip(rows.numbers, results, strict=True)
    ]
    headings = ("row", "verdict", "kept a", "kept b", "max |dp|", "total variation", "a outside b", "b outside a")
    columns = [(heading, "left" if heading == "verdict" else "right") for heading in headings]
    out = stdout()
    out.print(table("", columns, lines))
    counts = {verdict: sum(r.verdict == verdict for r in results) for verdict in CODES}
    out.print(", ".join(f"{verdict} {count}" for verdict, count in counts.items() if count), style="bold")
    for reason in dict.fromkeys(r.reason for r in results if r.reason):
        here = [str(n) for n, r in zip(rows.numbers, results, strict=True) if r.reason == reason]
        out.print(f"rows {', '.join(here)}: {reason}" if len(here) > 1 else f"row {here[0]}: {reason}", soft_wrap=True)


def _print_drawn(rows: Rows, drawn: Sequence[DrawnComparison], text: Callable[[int], str]) -> None:
    """For each row, four lines: each plan's draws by its own law, and by the other's."""
    if not drawn:
        return
    lines = [
        (
            number_of_row,
            f"{tokens} by {law}",
            f"{f.largest_deviation:.4f} at {text(f.largest_deviation_id)}",
            f"{f.outside} ({percent(f.outside / result.draws)})",
            f"{f.test.statistic:.1f} / {f.test.degrees_of_freedom}",
            f"{f.test.p_value:.3g}",
            "follows" if f.follows else "refuted",
            number(f.smallest_detectable),
        )
        for number_of_row, result in zip(rows.numbers, drawn, strict=True)
        for tokens, law, f in (
            ("a", "a", result.a_by_a),
            ("b", "b", result.b_by_b),
            ("a", "b", result.a_by_b),
            ("b", "a", result.b_by_a),
        )
    ]
    headings = ("row", "draws of, law of", "max |freq - p|", "outside", "G / df", "p-value", "", "detectable")
    first = drawn[0]
    drawn_at = f"seed {first.seed}, position {first.position}"
    title = f"{first.draws} draws of each plan, {drawn_at}; pooled G-test, level {first.level:g}"
    out = stdout()
    out.print(table(title, [(heading, "right" if heading == "row" else "left") for heading in headings], lines))
    out.print(
        f"detectable: total variation from which on the test sees a difference with power {POWER:g}", soft_wrap=True
    )


def _ids(ids: Sequence[int], text: Callable[[int], str]) -> str:
    shown = ", ".join(text(token) for token in ids[:8])
    return f"{shown} and {len(ids) - 8} more" if len(ids) > 8 else shown or "-"


def _json(rows: Rows, results: Sequence[Comparison], drawn: Sequence[DrawnComparison]) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = [
        {"row": n, **result.to_json()} for n, result in zip(rows.numbers, results, strict=True)
    ]
    for entry, frequencies in zip(entries, drawn, strict=False):
        entry["drawn"] = frequencies.to_json()
    return entries
