"""How the commands print: data to stdout, words to stderr, tables and bars; plain text when piped."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

PIPED_WIDTH = 140
_EIGHTHS = " ▏▎▍▌▋▊▉"


def stdout() -> Console:
    """The console for data."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPED_WIDTH)


def stderr() -> Console:
    """The console for words."""
    return Console(stderr=True, highlight=False, width=None if sys.stderr.isatty() else PIPED_WIDTH)


def words(text: str) -> None:
    """Print a line that is not data."""
    stderr().print(Text(text, style="dim"), soft_wrap=True)


def print_json(data: Mapping[str, Any]) -> None:
    """Print one object; NaN and infinities never reach it."""
    sys.stdout.write(json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def table(title: str, columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[object]]) -> Table:
    """A table; a column is (heading, "left" or "right" or "wrap")."""
    out = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for heading, kind in columns:
        out.add_column(
            heading,
            justify="right" if kind == "right" else "left",
            no_wrap=kind != "wrap",
            overflow="fold" if kind == "wrap" else "ellipsis",
        )
    for row in rows:
        out.add_row(*(cell if isinstance(cell, Text) else Text(str(cell)) for cell in row))
    return out


def bar(share: float, width: int = 30) -> Text:
    """A bar for a share in [0, 1], to an eighth of a character."""
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    whole, rest = divmod(eighths, 8)
    return Text("█" * whole + (_EIGHTHS[rest] if rest else ""), style="cyan")


def percent(share: float) -> str:
    """A share as percent, with enough digits to be read."""
    return f"{share:.2%}" if share >= 1e-4 or share == 0 else f"{share:.1e}"


def number(value: float) -> str:
    """A small quantity, readable from 1 down to nothing."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    return f"{value:.4f}" if abs(value) >= 1e-3 else f"{value:.2e}"
