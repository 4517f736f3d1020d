"""``fairdraw compare --all``: one request in every engine, as a table, a picture, and a page."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from rich.text import Text

from fairdraw.cli.inputs import Rows
from fairdraw.cli.output import PIPED_WIDTH, Kind, number, print_json, print_table, say, words
from fairdraw.dialects.fairdraw import FAIRDRAW
from fairdraw.dialects.reading import did_you_mean
from fairdraw.errors import PlanError
from fairdraw.models.progress import progress
from fairdraw.params import DOMAINS, SamplingParams
from fairdraw.plan_format import parse_parameters
from fairdraw.verify.matrix import Matrix, compare_all
from fairdraw.verify.page import darkest, page, runs, unasked

_SHADES = " .:-=+*%#"
"""What stands beside a number, so that a table reads as a picture without colour too."""
_NAME, _CELL = 16, 7
"""Columns that the names take, and a cell with its mark."""
_STEPS = 100


def params_of(text: str) -> SamplingParams:
    """A request in our names: ``temperature=0.7 top_k=40 top_p=0.9``.

    Raises
    ------
    PlanError
        It cannot be read, or a name is not one of ours.
    """
    if ":" in text.partition("=")[0]:
        raise PlanError("--all must be parameters without an engine", 'for instance --all "temperature=0.7 top_k=40"')
    variant, request = parse_parameters(text, FAIRDRAW.variants)
    unknown = [name for name in (variant, *request) if name and name not in DOMAINS]
    if unknown:
        hint = did_you_mean(unknown[0], DOMAINS) or "the flags of fairdraw generate are the names"
        raise PlanError(f"--all has no parameter {unknown[0]!r}", hint)
    return SamplingParams(**request)  # type: ignore[arg-type]


def compare_all_command(request: str, rows: Rows, *, html: str | None, as_json: bool) -> int:
    """Print the matrix; write the page where one is asked for.  The exit code says whether all are one law."""
    params = params_of(request)
    with progress("Comparing engines", _STEPS) as show:
        matrix = compare_all(
            params,
            rows.logits,
            history=rows.history,
            on_progress=lambda done, total: show(round(done / total * _STEPS)),
        )
    if html is not None:
        Path(html).write_text(page(matrix, rows.source), encoding="utf-8")
        words(f"written: {html}")
    if as_json:
        print_json({"source": rows.source, "rows": list(rows.numbers), **matrix.to_json()})
    else:
        _print(matrix, rows)
    return 0 if len(matrix.groups) == 1 else 1


def _print(matrix: Matrix, rows: Rows) -> None:
    count = len(rows.numbers)
    words(f"{count} row{'s' if count > 1 else ''} of {rows.source}, vocabulary {rows.logits.shape[1]}\n")
    names = list(matrix.plans)
    columns: list[tuple[str, Kind]] = [("engine", "left"), *((str(i + 1), "right") for i in range(len(names) - 1))]
    marks = _SHADES if _width() >= _NAME + _CELL * len(names) else ""
    full = darkest(matrix)
    lines = [
        (
            f"{i + 1:>2} {name.partition('@')[0]}",
            *(_shaded(float(matrix.mean[i, j]), full, marks) if j < i else "" for j in range(len(names) - 1)),
        )
        for i, name in enumerate(names)
    ]
    print_table("mean total variation of each pair", columns, lines)
    kept = [(", ".join(group), _kept(matrix, group)) for group in matrix.groups]
    print_table("one law on all of these rows", [("engines", "wrap"), ("tokens kept", "right")], kept)
    table = [(name, runs(plan), unasked(plan)) for name, plan in matrix.plans.items()]
    print_table("what each makes of it", [("engine", "left"), ("runs", "wrap"), ("unasked", "wrap")], table)
    worst = divmod(int(matrix.largest.argmax()), len(names))
    if matrix.largest[worst] > 0:
        say(f"largest on one row: {number(float(matrix.largest[worst]))}, {names[worst[0]]} and {names[worst[1]]}")
    for name, why in matrix.refused.items():
        say(f"{name}: no law for this request: {why}")


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPED_WIDTH


def _shaded(value: float, full: float, marks: str) -> Text:
    """A number and, where there is room, a mark as dark as it is large."""
    last = len(_SHADES) - 1
    level = 0 if value <= 1e-6 else max(1, min(last, round(value / full * last)))
    text = "0" if value <= 1e-6 else "<.01" if value < 0.005 else f"{value:.2f}".lstrip("0")
    return Text(f"{text}{marks[level : level + 1]}", style="bold" if level > last / 2 else "" if level else "dim")


def _kept(matrix: Matrix, group: tuple[str, ...]) -> str:
    numbers = [int(n) for i, name in enumerate(matrix.plans) if name in group for n in matrix.kept[i]]
    low, high = min(numbers), max(numbers)
    return str(low) if low == high else f"{low} to {high}"
