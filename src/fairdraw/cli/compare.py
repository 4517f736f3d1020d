"""``fairdraw compare``: two plans on the same rows, side by side."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import as_logits
from fairdraw.cli.compare_all import compare_all_command
from fairdraw.cli.explain import listed, token_text
from fairdraw.cli.inputs import Rows, Source, parse_plan
from fairdraw.cli.output import Kind, number, percent, print_json, print_table, say, words
from fairdraw.domains import COUNTER, SEED, Whole, require
from fairdraw.errors import PlanError
from fairdraw.history import History
from fairdraw.models.progress import progress
from fairdraw.plan import Plan
from fairdraw.verify.comparison import Comparison, compare
from fairdraw.verify.drawing import POWER, DrawnComparison, compare_draws

CODES = {"same": 0, "differ": 1, "could not tell": 3}
_PATIENCE_SECONDS = 10.0
"""Whoever waits longer is told so."""


def compare_command(
    plan_a: str | None,
    plan_b: str | None,
    source: Source,
    *,
    draws: int,
    seed: int,
    as_json: bool,
    everywhere: str | None = None,
    html: str | None = None,
) -> int:
    """Compare on every row; print one table for one row, a line a row for several; or compare every engine."""
    draws = int(require("--draws", draws, Whole(0, COUNTER.high)))  # type: ignore[call-overload]
    seed = int(require("--seed", seed, SEED))  # type: ignore[call-overload]
    if everywhere is None and (plan_a is None or plan_b is None):
        raise PlanError("compare needs two plans", 'or --all "temperature=0.7 top_k=40" for every engine')
    if source.logits is None and source.prompt is None:
        raise PlanError("compare needs rows", "--logits FILE, or --prompt TEXT for the row that the model gives")
    if everywhere is not None:
        if plan_a is not None or draws:
            other = "--draws" if draws else "a plan"
            raise PlanError(f"--all cannot be combined with {other}", "it compares every engine")
        rows = source.rows(source.load_model())
        assert rows is not None
        return compare_all_command(everywhere, rows, html=html, as_json=as_json)
    assert plan_a is not None
    assert plan_b is not None
    if html is not None:
        raise PlanError("--html needs --all", "a page shows every engine")
    loaded = source.load_model()
    a, b = (parse_plan(text, loaded) for text in (plan_a, plan_b))
    rows = source.rows(loaded)
    assert rows is not None
    checked = [as_logits(row, f"logits row {n}") for n, row in zip(rows.numbers, rows.logits, strict=True)]
    if not as_json:
        words(f"a: {a}\nb: {b}\n{rows.source}, vocabulary {rows.logits.shape[1]}\n")
    results = _compare_rows(a, b, checked, rows.history)
    code = exit_code(results)
    if not as_json:
        _print_laws(rows, results, token_text(loaded))
    drawn = _draw_rows(a, b, rows, draws, seed) if draws else []
    if as_json:
        print_json({"source": rows.source, "rows": _json(rows, results, drawn), "verdict": _overall(code)})
    else:
        _print_drawn(rows, drawn, token_text(loaded))
    return code


def _compare_rows(a: Plan, b: Plan, rows: Sequence[NDArray[np.float32]], history: History) -> list[Comparison]:
    results = []
    with progress("Comparing rows", len(rows)) as show:
        for row in rows:
            results.append(compare(a, b, row, history=history))
            show(len(results))
    return results


def _draw_rows(a: Plan, b: Plan, rows: Rows, draws: int, seed: int) -> list[DrawnComparison]:
    """Draws at the position that the history says; both plans use the same noise."""
    results = []
    total = 2 * draws
    everything = total * len(rows.numbers)
    with progress(f"Drawing {draws} tokens of each plan", everything) as show:
        told = _told(show, everything)
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
                    on_progress=lambda done, index=index: told(index * total + done),
                )
            )
    return results


def _told(show: Callable[[int], None], total: int) -> Callable[[int], None]:
    """Progress that says once how long it takes, where no bar is seen."""
    begun, silent = time.monotonic(), sys.stderr.isatty()

    def told(done: int) -> None:
        nonlocal silent
        show(done)
        elapsed = time.monotonic() - begun
        if not silent and elapsed > 1:
            silent = True
            left = elapsed / done * (total - done)
            if left > _PATIENCE_SECONDS:
                words(f"drawing takes about {left:.0f} s more: the noise of every kept token; a cut makes it faster")

    return told


def exit_code(results: Sequence[Comparison]) -> int:
    """0 if all are the same, 1 if any differs, else 3."""
    verdicts = {result.verdict for result in results}
    return CODES["differ" if "differ" in verdicts else "could not tell" if "could not tell" in verdicts else "same"]


def _overall(code: int) -> str:
    return next(verdict for verdict, value in CODES.items() if value == code)


def _print_laws(rows: Rows, results: Sequence[Comparison], text: Callable[[int], str]) -> None:
    if len(results) == 1:
        _print_one(results[0], text)
    else:
        _print_many(rows, results)


def _print_one(result: Comparison, text: Callable[[int], str]) -> None:
    rows = [
        ("kept", result.kept_a, result.kept_b),
        ("ids only here", listed(result.only_a, text), listed(result.only_b, text)),
        ("mass outside the other", percent(result.mass_a_outside_b), percent(result.mass_b_outside_a)),
        ("entropy, nats", f"{result.entropy_a:.4f}", f"{result.entropy_b:.4f}"),
    ]
    if result.in_doubt_a or result.in_doubt_b:
        rows.append(("in doubt (rounding)", listed(result.in_doubt_a, text), listed(result.in_doubt_b, text)))
    if result.tied_a or result.tied_b:
        rows.append(("left open (equal)", listed(result.tied_a, text), listed(result.tied_b, text)))
    print_table("", [("", "left"), ("a", "wrap"), ("b", "wrap")], rows)
    place = f" at {text(result.max_difference_id)}" if result.max_difference else ""
    say(f"total variation  {number(result.total_variation)}")
    say(f"max |dp|         {number(result.max_difference)}{place}")
    say(f"verdict          {result.verdict}", style="bold")
    for sentence in (result.reason, result.note):
        if sentence:
            say(sentence)


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
    print_table("", [(heading, "left" if heading == "verdict" else "right") for heading in headings], lines)
    counts = {verdict: sum(r.verdict == verdict for r in results) for verdict in CODES}
    say(", ".join(f"{verdict} {count}" for verdict, count in counts.items() if count), style="bold")
    for sentence in dict.fromkeys(s for r in results for s in (r.reason, r.note) if s):
        here = [str(n) for n, r in zip(rows.numbers, results, strict=True) if sentence in (r.reason, r.note)]
        say(f"row{'s' if len(here) > 1 else ''} {', '.join(here)}: {sentence}")


def _print_drawn(rows: Rows, drawn: Sequence[DrawnComparison], text: Callable[[int], str]) -> None:
    """For each row, four lines: each plan's draws by its own law, and by the other's."""
    if not drawn:
        return
    lines = [
        (
            number_of_row,
            f"{tokens} by {law}",
            f"{f.largest_deviation:.4f}",
            text(f.largest_deviation_id) if f.largest_deviation else "-",
            percent(f.outside / result.draws) if f.outside else "0",
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
    columns: list[tuple[str, Kind]] = [
        ("row", "right"),
        ("draws by law", "left"),
        ("largest deviation", "right"),
        ("at", "left"),
        ("outside", "right"),
        ("G / df", "right"),
        ("p-value", "right"),
        ("", "left"),
        ("detectable", "right"),
    ]
    if len(drawn) == 1:
        columns, lines = columns[1:], [line[1:] for line in lines]
    first = drawn[0]
    say()
    say(f"{first.draws} draws of each plan, seed {first.seed}, position {first.position}", style="bold")
    print_table("", columns, lines)
    say(
        f'"a by b": draws of a against the law of b; a pooled G-test that refutes a true law once in '
        f"{1 / first.level:.0f}. Detectable: the total variation that it sees with power {POWER:g}."
    )


def _json(rows: Rows, results: Sequence[Comparison], drawn: Sequence[DrawnComparison]) -> list[dict[str, object]]:
    entries: list[dict[str, object]] = [
        {"row": n, **result.to_json()} for n, result in zip(rows.numbers, results, strict=True)
    ]
    for entry, frequencies in zip(entries, drawn, strict=False):
        entry["drawn"] = frequencies.to_json()
    return entries
