"""``fairdraw dialects``: the engines whose sampling is known exactly."""

from __future__ import annotations

from dataclasses import asdict

from fairdraw.cli.output import Kind, print_json, print_table, say, shown, words
from fairdraw.dialects import DIALECTS
from fairdraw.dialects.base import Dialect
from fairdraw.dialects.finding import find_dialect
from fairdraw.plan_format import plain_value
from fairdraw.verify.switches import GROUPS, all_switches, heading


def dialects_command(engine: str | None, *, as_json: bool) -> int:
    """Print the table of dialects, or the parameters of one."""
    if engine is not None:
        return _one(find_dialect(engine), as_json)
    if as_json:
        print_json({"dialects": [_json(dialect) for dialect in DIALECTS.values()]})
        return 0
    rows = [(name, _variants(dialect), dialect.summary) for name, dialect in DIALECTS.items()]
    print_table("", [("dialect", "left"), ("variants", "wrap"), ("in one line", "wrap")], rows)
    words("fairdraw dialects NAME shows its parameters")
    return 0


def matrix_command(engine: str | None, *, as_json: bool) -> int:
    """Print in which switches the engines differ, or those of one engine."""
    chosen = find_dialect(engine).engine if engine is not None else None
    rows = [row for row in all_switches() if chosen in (None, row.engine.partition(" ")[0].partition("@")[0])]
    if as_json:
        print_json({"matrix": [asdict(row) for row in rows]})
        return 0
    for title, names in GROUPS.items():
        columns: list[tuple[str, Kind]] = [("engine", "left"), *((heading(name), "wrap") for name in names)]
        print_table(title, columns, [(row.engine, *(getattr(row, name) for name in names)) for row in rows])
    return 0


def _one(dialect: Dialect, as_json: bool) -> int:
    if as_json:
        print_json(_json(dialect))
        return 0
    say(dialect.name, style="bold")
    say(f"{dialect.summary}\nread: {dialect.source}\n")
    if any(dialect.variants):
        rows = [
            (name or "-", v.meaning, ", ".join(p.name for p in v.parameters)) for name, v in dialect.variants.items()
        ]
        print_table("variants", [("variant", "left"), ("meaning", "wrap"), ("parameters", "wrap")], rows)
    columns: list[tuple[str, Kind]] = [("parameter", "wrap"), ("default", "left"), ("must be", "wrap")]
    print_table("parameters", [*columns, ("meaning", "wrap")], _parameters(dialect))
    if dialect.unmodelled:
        unmodelled = list(dialect.unmodelled.items())
        print_table("known, not modelled yet", [("parameter", "left"), ("meaning", "wrap")], unmodelled)
    return 0


def _parameters(dialect: Dialect) -> list[tuple[str, ...]]:
    """Each parameter once; with the variants where the same name means something else in others."""
    found: dict[tuple[str, ...], list[str]] = {}
    for variant_name, variant in dialect.variants.items():
        for p in variant.parameters:
            found.setdefault((p.name, shown(p.default), p.domain.text, p.meaning), []).append(variant_name or "-")
    names = [row[0] for row in found]
    return [
        (row[0] if names.count(row[0]) == 1 else f"{row[0]} ({', '.join(variants)})", *row[1:])
        for row, variants in found.items()
    ]


def _variants(dialect: Dialect) -> str:
    return " ".join(name for name in dialect.variants if name) or "-"


def _json(dialect: Dialect) -> dict[str, object]:
    return {
        "name": dialect.name,
        "summary": dialect.summary,
        "source": dialect.source,
        "variants": {
            name: [
                {"name": p.name, "default": plain_value(p.default), "domain": p.domain.text, "meaning": p.meaning}
                for p in variant.parameters
            ]
            for name, variant in dialect.variants.items()
        },
        "unmodelled": dict(dialect.unmodelled),
    }
