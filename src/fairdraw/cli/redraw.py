"""``fairdraw redraw``: a recorded text drawn again."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from fairdraw.cli.output import Kind, number, print_json, print_table, words
from fairdraw.errors import ParameterError, PlanError
from fairdraw.models import load
from fairdraw.models.progress import progress
from fairdraw.verify.redrawing import Redrawing, redraw

SHOWN = 10
"""How many differences are printed."""


def redraw_command(trace: str, *, model: str, as_json: bool) -> int:
    """Draw every completion of a file again; 0 if all are the same, 1 if not."""
    records = read_records(trace)
    loaded = load(model)
    results = []
    total = sum(len(tokens) for record in records if isinstance(tokens := record.get("tokens"), list))
    with progress("Drawing again", total) as show:
        for record in records:
            before = sum(result.steps for result in results)
            results.append(redraw(record, loaded, on_progress=lambda done, before=before: show(before + done)))
    code = 0 if all(result.same for result in results) else 1
    if as_json:
        print_json({"same": code == 0, "completions": [result.to_json() for result in results]})
        return code
    for index, result in enumerate(results):
        _print(index, result, loaded.tokenizer.token_text)
    return code


def read_records(trace: str) -> list[Mapping[str, object]]:
    """The records of a file that ``generate --json`` wrote, or of one completion.

    Raises
    ------
    ParameterError
        The file is not there.
    PlanError
        It is no JSON, or no record.
    """
    if trace != "-" and not Path(trace).is_file():
        raise ParameterError("TRACE", trace, "a file that exists", "`fairdraw generate ... --json > FILE` writes one")
    try:
        data = json.loads(sys.stdin.read() if trace == "-" else Path(trace).read_text(encoding="utf-8"))
    except ValueError as problem:
        raise PlanError(f"{trace} is no JSON: {problem}", "`fairdraw generate ... --json` writes it") from None
    records = data.get("completions", [data]) if isinstance(data, dict) else None
    if not isinstance(records, list) or not records or not all(isinstance(record, dict) for record in records):
        raise PlanError(f"{trace} has no completions", "`fairdraw generate ... --json` writes it")
    return records


def _print(index: int, result: Redrawing, text: Callable[[int], str]) -> None:
    again = result.steps - len(result.differences)
    verdict = "same tokens" if result.same else "other tokens"
    print(f"[{index}] {verdict}: {again} of {result.steps} drawn again")
    if result.same:
        return
    rows = [
        (
            d.step,
            f"{d.recorded} {text(d.recorded)}",
            f"{d.drawn} {text(d.drawn)}",
            number(d.probability_recorded),
            number(d.probability_drawn),
        )
        for d in result.differences[:SHOWN]
    ]
    columns: list[tuple[str, Kind]] = [
        ("step", "right"),
        ("recorded", "left"),
        ("drawn", "left"),
        ("p recorded", "right"),
        ("p drawn", "right"),
    ]
    print_table("", columns, rows)
    if len(result.differences) > SHOWN:
        words(f"{len(result.differences) - SHOWN} more")
    print(f"step {result.differences[0].step}: {result.differences[0].reason}")
