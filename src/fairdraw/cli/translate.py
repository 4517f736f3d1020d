"""``fairdraw translate``: a plan in another engine's own parameters, with a verdict."""

from __future__ import annotations

import numpy as np

from fairdraw.cli.explain import notes
from fairdraw.cli.inputs import Rows, Source, parse_plan
from fairdraw.cli.output import Kind, number, print_json, print_table, say, shown, words
from fairdraw.dialects.finding import find_dialect
from fairdraw.dialects.reading import ENGINE_DEFAULT, Setting
from fairdraw.errors import PlanError
from fairdraw.models.progress import progress
from fairdraw.plan import CUSTOM, Plan
from fairdraw.plan_format import format_part
from fairdraw.translation.pasting import pasted
from fairdraw.translation.translating import Translation, translate

CODES = {"exact": 0, "exact by an identity": 0, "row-dependent": 1, "impossible": 3}
_STEPS = 100


def translate_command(plan: str, source: Source, *, to: str, as_json: bool) -> int:
    """Print the verdict, what to paste, both sides' numbers, and why."""
    loaded = source.load_model()
    wanted = parse_plan(plan, loaded)
    name = find_dialect(to).name
    rows = source.rows(loaded)
    with progress(f"Looking for the nearest setting of {name}", _STEPS) as show:
        result = translate(
            wanted,
            to,
            logits=rows.logits if rows else None,
            history=rows.history if rows else None,
            facts=loaded.facts if loaded else None,
            on_progress=lambda done, total: show(round(done / total * _STEPS)),
        )
    if as_json:
        data = result.to_json()
        if result.plan is not None:
            data["paste"] = pasted(result.plan)
        print_json(data)
        return CODES[result.verdict]
    _print(result, rows)
    return CODES[result.verdict]


def _print(result: Translation, rows: Rows | None) -> None:
    say(f"from     {result.source}")
    say(f"to       {result.plan if result.plan is not None else result.target}")
    say(f"verdict  {_headline(result)}", style="bold")
    for sentence in result.reasons:
        say(f"         {sentence}")
    if result.plan is not None:
        say()
        say("paste", style="bold")
        say(pasted(result.plan))
        say()
        _print_sides(result.source, result.plan)
    elif result.rest is not None:
        say(f"without it: {result.rest}")
    _print_rows(result, rows)
    for title, sentences in (("the two may still differ", result.edges), ("not about the law", result.text)):
        if sentences:
            say(f"{title}:", style="bold")
            for sentence in sentences:
                say(f"- {sentence}")
    for note in notes(result.source):
        say(f"note: {note}")
    if result.verdict == "row-dependent" and rows is None:
        words("--logits FILE (or --prompt TEXT) measures it on rows and searches the nearest setting")


def _headline(result: Translation) -> str:
    return {
        "exact": "exact: the same stages with the same numbers",
        "exact by an identity": "exact by an identity",
        "row-dependent": "row-dependent: no setting has this law on every row",
        "impossible": "impossible",
    }[result.verdict]


def _print_rows(result: Translation, rows: Rows | None) -> None:
    if rows is None or result.total_variation is None:
        return
    apart = result.total_variation
    lines = [(n, number(tv)) for n, tv in zip(rows.numbers, apart, strict=True)]
    print_table(f"total variation on {rows.source}", [("row", "right"), ("total variation", "right")], lines)
    say(f"mean {number(float(np.mean(apart)))}, largest {number(max(apart))}")
    if result.searched and result.unchanged is not None:
        say(f"{result.searched} was searched for these rows; with its number unchanged the mean is "
            f"{number(result.unchanged)}")  # fmt: skip
    elif result.unchanged is not None:
        say("no other number of a single parameter came nearer")
    say()


def _print_sides(source: Plan, target: Plan) -> None:
    """Every number that acts, on both sides, with who said it; what says nothing in both is left out."""
    if source.dialect == CUSTOM:
        say("source runs: " + " > ".join(format_part(part) for part in (*source.stages, source.draw)))
        say("target runs: " + " > ".join(format_part(part) for part in (*target.stages, target.draw)))
        say()
        return
    own, theirs = _by_canonical(source), _by_canonical(target)
    lines = []
    for key in dict.fromkeys((*own, *theirs)):
        cells = [_cell(side.get(key)) for side in (own, theirs)]
        if any(cells):
            lines.append((key, cells[0] or "-", cells[1] or "-"))
    columns: list[tuple[str, Kind]] = [("parameter", "left"), (source.dialect, "wrap"), (target.dialect, "wrap")]
    print_table("", columns, lines)


def _by_canonical(plan: Plan) -> dict[str, Setting]:
    variant = find_dialect(plan.dialect).variants[plan.variant]
    names = {p.name: p.canonical or p.name for p in variant.parameters}
    return {names[s.name]: s for s in plan.settings}


def _cell(setting: Setting | None) -> str:
    if setting is None:
        return ""
    silent = setting.effect in ("off", "not used", "text") or setting.effect.startswith("ignored")
    if setting.origin == ENGINE_DEFAULT and (silent or setting.value is None):
        return ""
    off = " (off)" if setting.effect == "off" else ""
    return f"{setting.name}={shown(setting.value)}{off}, {setting.origin}"


def require_rows(rows: Rows | None, command: str) -> Rows:
    """The rows, or a sentence on which flag gives them.

    Raises
    ------
    PlanError
        There are none.
    """
    if rows is None:
        raise PlanError(f"{command} needs rows", "--logits FILE, or --prompt TEXT for the row that the model gives")
    return rows
