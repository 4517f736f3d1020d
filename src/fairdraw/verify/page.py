"""A matrix of engines as one HTML page that needs nothing else: a plot in SVG, and every number as a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from fairdraw.dialects.reading import ENGINE_DEFAULT, acting
from fairdraw.plan import Plan
from fairdraw.plan_format import format_part
from fairdraw.verify.matrix import Matrix

CELL, LABEL, TOP = 56, 170, 16
"""Sizes of the plot, in pixels: a cell, the names beside it, the room above."""
_SHADES = 9
_SCALES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
"""Total variations that may have the darkest shade."""
_STYLE = """
:root { color-scheme: light dark; --ink: #1c2330; --soft: #5b6472; --paper: #ffffff; --line: #d9dee5; --zero: #eef1f5;
  --hot: 24, 95, 165; --on: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ee; --soft: #9aa4b2; --paper: #14181f; --line: #323a46;
  --zero: #1f2630; --hot: 96, 174, 245; --on: #0b1017; } }
body { margin: 2rem auto; padding: 0 1rem; max-width: 70rem; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
p.note, figcaption, .soft { color: var(--soft); }
code { font: .92em ui-monospace, Menlo, Consolas, monospace; overflow-wrap: anywhere; }
figure { margin: 1rem 0; } .wide { overflow-x: auto; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); } svg text.on { fill: var(--on); }
svg text.name { font-size: 13px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .9rem; }
th, td { padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
td.number, th.number { text-align: right; }
"""


def page(matrix: Matrix, source: str) -> str:
    """The whole page.

    Parameters
    ----------
    matrix : Matrix
        What `compare_all` found.
    source : str
        Where the rows come from, in a few words.

    Returns
    -------
    str
        HTML with its style and its plot inside; it loads nothing and runs no script.
    """
    asked = " ".join(f"{name}={value}" for name, value in matrix.request.given()) or "nothing"
    count = matrix.kept.shape[1]
    rows = f"{count} row{'s' if count > 1 else ''} of {source}"
    body = (
        f"<h1>One request, {len(matrix.plans)} engines</h1>\n"
        f"<p>Asked: <code>{escape(asked)}</code>. Measured on {escape(rows)}.</p>\n"
        "<p class='note'>Total variation is the largest difference in the probability of any event: 0 is the same law, "
        "1 is nothing in common. At 0.1, one draw in ten would have to come out differently.</p>\n"
        f"<h2>How far apart</h2>\n{_plot(matrix)}\n"
        f"<h2>Who draws from one law here</h2>\n{_groups(matrix)}\n"
        f"<h2>What each engine makes of it</h2>\n{_plans(matrix)}\n"
        f"<h2>The numbers</h2>\n{_numbers(matrix)}\n{_refused(matrix)}"
    )
    head = (
        "<meta charset='utf-8'><meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>One request, {len(matrix.plans)} engines</title><style>{_STYLE}</style>"
    )
    return f"<!doctype html>\n<html lang='en'><head>{head}</head>\n<body>\n{body}</body></html>\n"


def _plot(matrix: Matrix) -> str:
    """The lower triangle as shaded cells with their numbers; hovering gives the largest of any row."""
    names = list(matrix.plans)
    parts = []
    for i, name in enumerate(names):
        middle = TOP + i * CELL + CELL / 2 + 4
        parts.append(f"<text class='name' x='{LABEL - 10}' y='{middle}' text-anchor='end'>{escape(name)}</text>")
        parts += [_cell(matrix, names, i, j) for j in range(i)]
        if i:
            parts.append(f"<text class='name' x='{LABEL + i * CELL + 8}' y='{middle}'>{escape(name)}</text>")
    width, height = LABEL + len(names) * CELL + 140, TOP + len(names) * CELL + 8
    caption = (
        "Mean total variation of each pair over the rows; the shade ends at 0.5. Neighbours are engines that are near."
    )
    svg = f"<svg role='img' aria-label='Total variation between engines' width='{width}' height='{height}'>"
    return f"<figure><div class='wide'>{svg}{''.join(parts)}</svg></div><figcaption>{caption}</figcaption></figure>"


def darkest(matrix: Matrix) -> float:
    """The total variation of the darkest shade: the largest one, rounded up."""
    return next(scale for scale in _SCALES if scale >= min(1.0, float(matrix.mean.max())))


def _cell(matrix: Matrix, names: Sequence[str], i: int, j: int) -> str:
    mean, largest = float(matrix.mean[i, j]), float(matrix.largest[i, j])
    x, y = LABEL + j * CELL, TOP + i * CELL
    shade = min(1.0, round(mean / darkest(matrix) * _SHADES + (0.5 if mean > 1e-6 else 0)) / _SHADES)
    fill = f"rgba(var(--hot), {0.12 + 0.88 * shade:.2f})" if shade else "var(--zero)"
    words = f"{names[i]} and {names[j]}: mean {_written(mean)}, largest {_written(largest)}"
    on = " class='on'" if shade > 0.5 else ""
    return (
        f"<g><title>{escape(words)}</title><rect x='{x + 1}' y='{y + 1}' width='{CELL - 2}' height='{CELL - 2}' rx='4' "
        f"style='fill:{fill}'/><text{on} x='{x + CELL / 2}' y='{y + CELL / 2 + 4}' text-anchor='middle'>"
        f"{_short(mean)}</text></g>"
    )


def _short(value: float) -> str:
    """A total variation in a cell: two places, or what it is near."""
    return "0" if value <= 1e-6 else "&lt;.01" if value < 0.005 else f"{value:.2f}".lstrip("0")


def _written(value: float) -> str:
    return "0" if value == 0 else f"{value:.4f}" if value >= 1e-3 else f"{value:.1e}"


def _table(headings: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th class='{kind}'>{escape(name)}</th>" for name, kind in headings)
    kinds = [kind for _, kind in headings]
    lines = ("".join(f"<td class='{kind}'>{cell}</td>" for kind, cell in zip(kinds, row, strict=True)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<div class='wide'><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _groups(matrix: Matrix) -> str:
    sizes = {name: matrix.kept[i] for i, name in enumerate(matrix.plans)}
    rows = (
        (", ".join(escape(name) for name in group), _range(np.concatenate([sizes[name] for name in group])))
        for group in matrix.groups
    )
    return _table((("engines", ""), ("tokens kept", "number")), rows)


def _range(numbers: np.ndarray) -> str:
    low, high = int(numbers.min()), int(numbers.max())
    return f"{low}" if low == high else f"{low} to {high}"


def _plans(matrix: Matrix) -> str:
    rows = (
        (escape(name), f"<code>{escape(runs(plan))}</code>", escape(unasked(plan)))
        for name, plan in matrix.plans.items()
    )
    return _table((("engine", ""), ("runs", ""), ("unasked", "")), rows)


def runs(plan: Plan) -> str:
    """The stages that do something, and the draw."""
    parts = [part for part in (*plan.stages, plan.draw) if part.name not in ("mask", "checkpoint")]
    return " > ".join(format_part(part) for part in parts)


def unasked(plan: Plan) -> str:
    """What acts although nobody asked for it."""
    names = {stage.name for stage in plan.stages}
    found = [
        f"{s.name}={s.value}" for s in plan.settings if s.origin == ENGINE_DEFAULT and s.value and names & {*acting(s)}
    ]
    return ", ".join(found) or "-"


def _numbers(matrix: Matrix) -> str:
    names = list(matrix.plans)
    pairs = sorted(((i, j) for i in range(len(names)) for j in range(i)), key=lambda pair: -float(matrix.mean[pair]))
    rows = (
        (escape(names[j]), escape(names[i]), _written(float(matrix.mean[i, j])), _written(float(matrix.largest[i, j])))
        for i, j in pairs
    )
    return _table((("engine", ""), ("and", ""), ("mean", "number"), ("largest", "number")), rows)


def _refused(matrix: Matrix) -> str:
    if not matrix.refused:
        return ""
    rows = ((escape(name), escape(why)) for name, why in matrix.refused.items())
    return f"<h2>Without a law for this request</h2>\n{_table((('engine', ''), ('why', '')), rows)}\n"
