"""Fail when a file passes 400 lines or a function 50: each is a place to look."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

FILE_LINES, FUNCTION_LINES = 400, 50
ROOT = Path(__file__).resolve().parent.parent


def code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> int:
    """Lines of a function without its docstring."""
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(getattr(first, "value", None), ast.Constant)
    docstring = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (node.end_lineno or 0) - node.lineno + 1 - docstring


def problems() -> list[str]:
    """What is too long, one line each."""
    found = []
    for path in sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("tests/**/*.py")]):
        lines = path.read_text(encoding="utf-8").splitlines()
        name = path.relative_to(ROOT)
        if len(lines) > FILE_LINES:
            found.append(f"{name}: {len(lines)} lines, at most {FILE_LINES}")
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                count = code_lines(node, lines)
                if count > FUNCTION_LINES:
                    found.append(f"{name}:{node.lineno} {node.name}: {count} lines, at most {FUNCTION_LINES}")
    return found


if __name__ == "__main__":
    sys.exit("\n".join(problems()) or 0)
