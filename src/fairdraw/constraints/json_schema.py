"""JSON that follows a schema; what the engine would not enforce is refused by name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, NoReturn

from fairdraw.constraints.engine import GrammarState, start_grammar
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.domains import Choice, require
from fairdraw.errors import ParameterError

_ANNOTATIONS = frozenset(
    [
        "$anchor",
        "$comment",
        "$defs",
        "$id",
        "$schema",
        "contentEncoding",
        "contentMediaType",
        "default",
        "definitions",
        "deprecated",
        "description",
        "examples",
        "id",
        "readOnly",
        "title",
        "writeOnly",
    ]
)
_ENFORCED = frozenset(
    [
        "$ref",
        "additionalItems",
        "additionalProperties",
        "allOf",
        "anyOf",
        "const",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "oneOf",
        "pattern",
        "patternProperties",
        "prefixItems",
        "properties",
        "required",
        "type",
    ]
)
_ONE = ("items", "additionalItems", "additionalProperties")
_SEVERAL = ("items", "prefixItems", "anyOf", "allOf", "oneOf")
_NAMED = ("properties", "patternProperties", "$defs", "definitions")
_DOMAIN = "a JSON schema that can be enforced"


@dataclass(frozen=True, slots=True)
class JsonSchema:
    """The text must be JSON that a schema accepts.

    Parameters
    ----------
    schema : mapping or str
        A JSON schema (draft 2020-12), as data or as JSON.
    whitespace : "any" or "none"
        What may stand between the parts: whatever JSON allows, or nothing.

    Raises
    ------
    ParameterError
        No JSON object, or it has a keyword that is not enforced: unknown, or not implemented.

    Notes
    -----
    Every text is valid, but not every valid text can be written: listed properties come in the schema's order, and
    ``oneOf`` is taken only where its parts exclude each other.  A property that ``additionalProperties`` or
    ``patternProperties`` allows may come twice.  Masks come from llguidance.

    Examples
    --------
    >>> from fairdraw.constraints.tracking import Track
    >>> toy = Vocabulary(token_bytes=(b"", b"tr", b"true", b"false", b"null"), width=5, end_ids=(0,))
    >>> Track(JsonSchema({"type": "boolean"}), toy).mask().tolist()
    [False, True, True, True, False]
    >>> JsonSchema({"properties": {"a": {"minimun": 1}}})
    Traceback (most recent call last):
    fairdraw.errors.ParameterError: json_schema must be a JSON schema that can be enforced, got 'minimun'
    hint: it stands at #/properties/a; did you mean 'minimum'?
    """

    schema: Mapping[str, object] | str
    whitespace: Literal["any", "none"] = "any"

    def __post_init__(self) -> None:
        require("whitespace", self.whitespace, Choice(("any", "none")))
        schema = _read(self.schema) if isinstance(self.schema, str) else self.schema
        if not isinstance(schema, Mapping):
            raise ParameterError("json_schema", _excerpt(self.schema), "a JSON object", '{"type": "object", ...}')
        for place, keyword in _unenforced(schema, "#"):
            raise ParameterError("json_schema", keyword, _DOMAIN, _advice(place, keyword))
        try:
            text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
        except (TypeError, ValueError) as problem:
            raise ParameterError("json_schema", _excerpt(schema), "data that JSON can write", str(problem)) from None
        # Text, so that schemas compare, hash and keep the order of their properties.
        object.__setattr__(self, "schema", text)

    @property
    def name(self) -> str:
        """``json_schema``."""
        return "json_schema"

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"kind": "json_schema", "schema": json.loads(str(self.schema)), "whitespace": self.whitespace}

    def start(self, vocabulary: Vocabulary) -> GrammarState:
        """Give the state before the first token.

        Raises
        ------
        ParameterError
            The schema contradicts itself, or asks for more than the engine can do; the hint has its words.
        UnavailableError
            llguidance is missing.
        """
        schema = json.loads(str(self.schema))
        if self.whitespace == "none":
            schema["x-guidance"] = {"whitespace_flexible": False}
        rule = f"start: %json {json.dumps(schema)}"
        return start_grammar("json_schema", _excerpt(self.schema), _DOMAIN, rule, vocabulary)


def _read(text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as problem:
        raise ParameterError("json_schema", _excerpt(text), "JSON", str(problem)) from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _unenforced(schema: object, place: str) -> Iterator[tuple[str, str]]:
    """Keywords that nothing would enforce, with the place of the schema that has them."""
    if not isinstance(schema, Mapping):
        return
    for keyword in schema:
        if keyword not in _ANNOTATIONS and keyword not in _ENFORCED:
            yield place, str(keyword)
    for path, part in _parts(schema):
        yield from _unenforced(part, f"{place}/{path}")


def _parts(schema: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for keyword in _ONE:
        yield keyword, schema.get(keyword)
    for keyword in _SEVERAL:
        parts = schema.get(keyword)
        yield from ((f"{keyword}/{n}", part) for n, part in enumerate(parts if isinstance(parts, list | tuple) else ()))
    for keyword in _NAMED:
        named = schema.get(keyword)
        yield from ((f"{keyword}/{name}", part) for name, part in (named.items() if isinstance(named, Mapping) else ()))


def _advice(place: str, keyword: str) -> str:
    close = get_close_matches(keyword, sorted(_ENFORCED | _ANNOTATIONS), n=1, cutoff=0.75)
    return f"it stands at {place}; " + (
        f"did you mean {close[0]!r}?" if close else "leave it out, and check afterwards"
    )


def _excerpt(schema: object) -> str:
    text = str(schema)
    return text if len(text) <= 80 else text[:77] + "..."
