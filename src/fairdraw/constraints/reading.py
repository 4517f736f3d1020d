"""Constraints from plain data, as a record has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairdraw.constraints.all_of import AllOf
from fairdraw.constraints.allowed_ids import AllowedIds
from fairdraw.constraints.bad_words import BadWords
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.grammar import Grammar
from fairdraw.constraints.json_schema import JsonSchema
from fairdraw.constraints.protocol import Constraint
from fairdraw.constraints.regex import Regex
from fairdraw.errors import ParameterError

KINDS: Mapping[str, Callable[[Mapping[str, Any]], Constraint]] = {
    "choice": lambda data: Choice(data["texts"]),
    "regex": lambda data: Regex(data["pattern"]),
    "json_schema": lambda data: JsonSchema(data["schema"], whitespace=data["whitespace"]),
    "grammar": lambda data: Grammar(data["text"]),
    "allowed_ids": lambda data: AllowedIds(data["ids"]),
    "bad_words": lambda data: BadWords(data["words"], spelled=data["spelled"]),
    "all_of": lambda data: AllOf([from_json(part) for part in data["constraints"]]),
}
"""Every kind of constraint."""


def from_json(data: Mapping[str, object]) -> Constraint:
    """Read what a constraint's ``to_json`` wrote.

    Raises
    ------
    ParameterError
        Not such data.

    Examples
    --------
    >>> from_json(Choice(("yes", "no")).to_json())
    Choice(texts=('yes', 'no'))
    """
    kind = data.get("kind") if isinstance(data, Mapping) else None
    if kind not in KINDS:
        raise ParameterError("constraint", data, f"data whose kind is one of {', '.join(KINDS)}")
    try:
        return KINDS[kind](data)
    except KeyError as missing:
        raise ParameterError("constraint", data, f"data with {missing}") from None
