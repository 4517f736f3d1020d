"""Write the reference pages that follow from the tables of the code; ``--check`` fails when one is not current."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from fairdraw.dialects import DIALECTS
from fairdraw.dialects.base import Dialect
from fairdraw.draws import DRAWS
from fairdraw.plan_format import plain_value
from fairdraw.stages import STAGES
from fairdraw.verify.switches import GROUPS, Switches, all_switches, heading

DOCS = Path(__file__).resolve().parent.parent / "docs"
HEADER = "<!-- Written by scripts/generate_docs.py from the code; edit the code. -->\n\n"


def table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def dialects_page() -> str:
    """Every dialect with its variants, parameters and defaults."""
    return HEADER + "# Dialects\n\n" + "\n\n".join(_dialect(dialect) for dialect in DIALECTS.values()) + "\n"


def _dialect(dialect: Dialect) -> str:
    module = inspect.getdoc(sys.modules[f"fairdraw.dialects.{dialect.engine}"]) or ""
    parts = [f"## {dialect.name}", module, f"Source: {dialect.source}."]
    for name, variant in dialect.variants.items():
        if name:
            parts.append(f"### {dialect.name}: {name}\n\n{variant.meaning}")
        rows = [
            (
                f"`{p.name}`",
                f"`{plain_value(p.default)}`" if p.default is not None else "unset",
                p.domain.text,
                p.meaning,
            )
            for p in variant.parameters
        ]
        parts.append(table(("parameter", "default", "must be", "meaning"), rows))
    if dialect.unmodelled:
        names = ", ".join(f"`{name}`" for name in dialect.unmodelled)
        parts.append(f"Known and refused, because no stage models them yet: {names}.")
    return "\n\n".join(parts)


def stages_page() -> str:
    """Every stage and every draw with its fields."""
    parts = [HEADER + "# Stages and draws"]
    for title, kinds in (("Stages", STAGES), ("Draws", DRAWS)):
        parts.append(f"## {title}")
        for name, kind in kinds.items():
            summary = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
            parts.append(f"### `{name}`\n\n{summary}")
            rows = [
                (
                    f"`{f.name}`",
                    kind.domains[f.name].text,
                    "required" if "MISSING" in repr(f.default) else f"`{f.default}`",
                )
                for f in fields(kind)
            ]
            if rows:
                parts.append(table(("field", "must be", "default"), rows))
    return "\n\n".join(parts) + "\n"


def matrix_page() -> str:
    """Rows engines, columns the switches in which they differ."""
    meanings = {field.name: meaning for field, meaning in zip(fields(Switches), _field_meanings(Switches), strict=True)}
    parts = [HEADER + "# The matrix", (inspect.getdoc(Switches) or "").replace("\n", " ")]
    for title, names in GROUPS.items():
        parts.append(f"## {title[0].upper()}{title[1:]}")
        told = [f"- {heading(name)}: {meanings[name]}" for name in names if meanings[name]]
        parts += ["\n".join(told)] if told else []
        headings = ("engine", *(heading(name) for name in names))
        parts.append(table(headings, [(r.engine, *(getattr(r, name) for name in names)) for r in all_switches()]))
    return "\n\n".join(parts) + "\n"


def _field_meanings(kind: type) -> list[str]:
    """The sentence under each field of a dataclass; "" where there is none."""
    body = ast.parse(inspect.getsource(kind)).body[0].body  # type: ignore[attr-defined]
    meanings: list[str] = []
    for node in body:
        if isinstance(node, ast.AnnAssign):
            meanings.append("")
        elif meanings and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            meanings[-1] = " ".join(str(node.value.value).split())
    return meanings


def main() -> int:
    """Write the pages, or compare them."""
    stale = []
    pages = (("dialects.md", dialects_page()), ("stages.md", stages_page()), ("matrix.md", matrix_page()))
    for name, text in pages:
        path = DOCS / name
        if "--check" not in sys.argv:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        sys.stderr.write(f"not current: {', '.join(stale)}; run python scripts/generate_docs.py\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
