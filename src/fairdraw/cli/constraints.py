"""The flags that say what a text must be."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from fairdraw.constraints.all_of import AllOf
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.grammar import Grammar
from fairdraw.constraints.json_schema import JsonSchema
from fairdraw.constraints.protocol import Constraint
from fairdraw.constraints.regex import Regex
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.errors import ParameterError, PlanError, UnavailableError

GROUP = Group("Constraint", help="What the text must be; several are all meant at once.", sort_key=4)
_LIST = Parameter(negative="", json_list=False, group=GROUP)
_BYTES = Vocabulary(token_bytes=(*(bytes([byte]) for byte in range(256)), b""), width=257, end_ids=(256,))
"""A vocabulary for which every text can be spelled, to find a constraint's own mistakes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintFlags:
    """What the text must be, as the flags say it."""

    choice: Annotated[tuple[str, ...] | None, _LIST] = None
    """One of these texts: --choice yes --choice no."""
    regex: Annotated[str | None, Parameter(group=GROUP)] = None
    """A regular expression that the whole text matches."""
    json_schema: Annotated[str | None, Parameter(group=GROUP)] = None
    """JSON that follows a schema: a file, or the schema itself."""
    grammar: Annotated[str | None, Parameter(group=GROUP)] = None
    """A Lark grammar with a rule named start: a file, or the rules themselves."""

    def constraint(self, *, replay: str | None) -> Constraint | None:
        """The constraint, checked as far as it can be without a model.

        Raises
        ------
        ParameterError
            One is malformed, or a file is not there.
        PlanError
            They stand beside ``--replay``.
        UnavailableError
            A file cannot be read, or llguidance is missing.
        """
        parts: list[Constraint] = []
        if self.choice is not None:
            parts.append(Choice(self.choice))
        if self.regex is not None:
            parts.append(Regex(self.regex))
        if self.json_schema is not None:
            parts.append(JsonSchema(_text("--json-schema", self.json_schema, "{")))
        if self.grammar is not None:
            parts.append(Grammar(_text("--grammar", self.grammar, ":")))
        if not parts:
            return None
        if replay:
            raise PlanError(f"--replay and a {parts[0].name} cannot be combined", "an engine's tokens are drawn freely")
        for part in parts:
            part.start(_BYTES)
        return parts[0] if len(parts) == 1 else AllOf(parts)


def _text(flag: str, given: str, sign: str) -> str:
    """The text itself, which has the sign in it, or what stands in a file."""
    if sign in given and not _is_file(given):
        return given
    if not _is_file(given):
        raise ParameterError(flag, given, f"a file that exists, or a text with {sign!r} in it")
    try:
        return Path(given).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UnavailableError(f"{given} is no UTF-8 text") from None


def _is_file(given: str) -> bool:
    try:
        return Path(given).is_file()
    except (OSError, ValueError):
        # A schema can be too long for a file's name.
        return False
