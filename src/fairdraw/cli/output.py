"""How the commands print: data to stdout, words to stderr, tables and bars; no colour and no wrapping when piped."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import IO, Any, Literal

from rich import box
from rich.align import Align
from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairdraw.plan_format import plain_value

PIPED_WIDTH = 140
_EIGHTHS = " ▏▎▍▌▋▊▉"
Kind = Literal["left", "right", "wrap"]
"""A column of short cells, at one of its sides; or one of long cells, which may go on in the next line."""


class _Console(Console):
    def on_broken_pipe(self) -> None:
        # Rich would exit with a code of its own, which for ``compare`` means "differ".
        raise BrokenPipeError


def _console(stream: IO[str]) -> Console:
    return _Console(file=stream, highlight=False, width=None if stream.isatty() else PIPED_WIDTH)


def say(text: str = "", style: str = "") -> None:
    """Print a sentence that is data; between words it wraps on a terminal, and nowhere else."""
    _console(sys.stdout).print(Text(text, style=style), soft_wrap=not sys.stdout.isatty())


def words(text: str) -> None:
    """Print a sentence that is not data."""
    _console(sys.stderr).print(Text(text, style="dim"), soft_wrap=not sys.stderr.isatty())


def print_json(data: Mapping[str, Any]) -> None:
    """Print one object; NaN and infinities never reach it."""
    escaped = not _can_write("é☃", sys.stdout)
    sys.stdout.write(json.dumps(data, ensure_ascii=escaped, allow_nan=False, indent=2) + "\n")


def print_table(title: str, columns: Sequence[tuple[str, Kind]], rows: Sequence[Sequence[object]]) -> None:
    """Print a table under its title.  Short cells are never cut: where it is narrow, headings wrap first."""
    console = _console(sys.stdout)
    if title:
        say(title, style="bold")
    cells = [[cell if isinstance(cell, Text) else Text(str(cell)) for cell in row] for row in rows]
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    widths = [max((row[i].cell_len for row in cells), default=0) for i in range(len(columns))]
    natural = sum(max(width, len(heading)) + 2 for width, (heading, _) in zip(widths, columns, strict=True))
    narrow = natural > console.width
    for width, (heading, kind) in zip(widths, columns, strict=True):
        side: Literal["left", "right"] = "right" if kind == "right" else "left"
        least = max(width, *(len(word) for word in heading.split(" ")))
        table.add_column(
            Align(Text(heading), side, vertical="bottom"),
            justify=side,
            width=least if narrow and kind != "wrap" else None,
            overflow="fold",
        )
    for row in cells:
        table.add_row(*row)
    with console.capture() as captured:
        console.print(table)
    # Rich fills every line up to the table's width.
    sys.stdout.write("".join(line.rstrip() + "\n" for line in captured.get().splitlines()) + "\n")


def bar(share: float, width: int = 30) -> Text:
    """A bar for a share in [0, 1], to an eighth of a character where the stream can write one."""
    if not _can_write("█▏", sys.stdout):
        return Text("#" * max(share > 0, round(max(0.0, min(1.0, share)) * width)))
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return Text("█" * full + (_EIGHTHS[rest] if rest else ""), style="cyan")


def shown(value: object) -> str:
    """A parameter's value as a person writes it."""
    plain = plain_value(value)
    return "unset" if plain is None else json.dumps(plain, ensure_ascii=False) if not isinstance(plain, str) else plain


def percent(share: float) -> str:
    """A share as percent, with enough digits to be read."""
    return f"{share:.2%}" if share >= 1e-4 or share == 0 else f"{share:.1e}"


def number(value: float) -> str:
    """A small quantity, readable from 1 down to nothing."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.4f}" if abs(value) >= 1e-3 else f"{value:.2e}"


def _can_write(text: str, stream: IO[str]) -> bool:
    try:
        text.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
