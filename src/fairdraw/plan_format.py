"""A plan as text and as JSON, both ways."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fairdraw.dialects.base import Variant
from fairdraw.dialects.reading import Setting, did_you_mean
from fairdraw.domains import BiasMap, Real
from fairdraw.draws import DRAWS, Draw, Race
from fairdraw.errors import PlanError
from fairdraw.limits import Limits
from fairdraw.stages import STAGES, Stage, StatefulStage
from fairdraw.streams.noise import STREAM_VERSION

if TYPE_CHECKING:
    from fairdraw.plan import Plan

FORMAT = 1
"""Version of the JSON form."""
_WORD = re.compile(r"[A-Za-z_][\w.\-]*")
_BARE = re.compile(r"[^\s,()]+")
_PYTHON = {"True": "true", "False": "false", "None": "null, or leave the parameter out"}
_RESERVED = {"true", "false", "null", "NaN", "Infinity"}


# Text: engine[@version]: [Variant] name=value ...


def split_engine(text: str) -> tuple[str, str]:
    """``engine[@version]`` and the rest of a plan's text."""
    engine, colon, rest = text.partition(":")
    if not colon or not re.fullmatch(r"\s*[\w.\-]+(@[\w.\-]+)?\s*", engine):
        words = re.fullmatch(r"\s*([\w.\-]+(?:@[\w.\-]+)?)\s+(\w+)\s*", engine) if colon else None
        hint = "for instance: fairdraw: temperature=0.7 top_k=40"
        if words:
            hint = f"a variant stands after the colon: {words[1]}: {words[2]}{rest}"
        raise PlanError(f"a plan must begin with 'engine:' or 'engine@version:', got {text!r}", hint)
    return engine.strip(), rest.strip()


def parse_parameters(text: str, variants: Mapping[str, Variant]) -> tuple[str, dict[str, object]]:
    """A variant, if one is named, and the parameters of a plan's text."""
    variant, place = "", 0
    # A name with a space before its '=' is no variant.
    first = re.match(r"([A-Za-z]\w*)(?=\s|$)(?!\s*=)", text)
    if first:
        variant, place = first[1], first.end()
    floats = {p.name for v in variants.values() for p in v.parameters if isinstance(p.domain, Real)}
    request: dict[str, object] = {}
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        name = re.compile(r"(\w+)\s*=\s*").match(text, place)
        if not name:
            raise PlanError(f"a plan must go on with name=value, got {text[place:]!r}", "values follow a '='")
        if name[1] in request:
            raise PlanError(f"{name[1]} is given twice in {text!r}")
        value, place = _read_value(text, name.end())
        if place < len(text) and not text[place].isspace():
            raise PlanError(
                f"a space must stand between parameters, got {text[place:]!r} after {name[0].strip()}...", ""
            )
        if name[1] in floats and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        request[name[1]] = value
    return variant, request


def format_setting(setting: Setting) -> str:
    """``name=value``, canonical."""
    return f"{setting.name}={_format_value(setting.value)}"


# Text of a composed plan: stage(field=value, ...) > ... > draw(...)


def parse_stages(text: str) -> tuple[tuple[Stage, ...], Draw]:
    """Stages and draw of a composed plan's text."""
    parts: list[Stage | Draw] = []
    place = 0
    while place < len(text) or not parts:
        part, place = _read_call(text, place)
        parts.append(part)
        arrow = re.compile(r"\s*>\s*|\s*$").match(text, place)
        if not arrow:
            raise PlanError(f"a composed plan must go on with '>', got {text[place:]!r}")
        place = arrow.end()
    draws = [part for part in parts if isinstance(part, Draw)]
    if len(draws) > 1 or (draws and not isinstance(parts[-1], Draw)):
        raise PlanError("a composed plan must have one draw, at its end", f"draws: {', '.join(DRAWS)}")
    return tuple(part for part in parts if isinstance(part, Stage)), draws[0] if draws else Race()


def format_stages(stages: Sequence[Stage], draw: Draw) -> str:
    """``stage(field=value, ...) > ... > draw(...)``, canonical."""
    return " > ".join(format_part(part) for part in (*stages, draw))


def require_checkpoints(stages: Iterable[Stage]) -> None:
    """Refuse a stage that measures mass on a checkpoint which no earlier stage sets."""
    known = {"current"}
    for stage in stages:
        if stage.name == "checkpoint":
            known.add(getattr(stage, "label"))  # noqa: B009
        mass = getattr(stage, "mass", "current")
        if mass not in known:
            raise PlanError(
                f"{stage.name} measures mass on {mass!r}, which no stage before it sets",
                f"put Checkpoint(label={mass!r}) where that row is",
            )


def require_single_memories(stages: Iterable[Stage]) -> None:
    """Refuse two stateful stages of one name: a context keeps memories by name."""
    seen: set[str] = set()
    for stage in stages:
        if isinstance(stage, StatefulStage) and stage.name in seen:
            raise PlanError(f"a plan must have one {stage.name} at most, got two", "both would share one memory")
        seen.add(stage.name)


def format_part(part: Stage | Draw) -> str:
    """``name(field=value, ...)`` with the fields that are not at their defaults, canonical."""
    given = (
        f"{field.name}={_format_value(getattr(part, field.name))}"
        for field in fields(part)
        if getattr(part, field.name) != field.default
    )
    return f"{part.name}({', '.join(given)})"


def _read_call(text: str, place: int) -> tuple[Stage | Draw, int]:
    head = re.compile(r"\s*([A-Za-z_]\w*)\s*\(\s*").match(text, place)
    if not head:
        raise PlanError(f"a composed plan must have stage(field=value, ...), got {text[place:]!r}", _stage_names())
    kind, place, given = _kind(head[1]), head.end(), {}
    while text[place : place + 1] != ")":
        name = re.compile(r"(\w+)\s*=\s*").match(text, place)
        if not name:
            raise PlanError(f"{head[1]} must have field=value, got {text[place:]!r}")
        given[name[1]], place = _read_value(text, name.end())
        comma = re.compile(r"\s*(,\s*|(?=\)))").match(text, place)
        if not comma:
            raise PlanError(f"{head[1]} must close with ')', got {text[place:]!r}")
        place = comma.end()
    return _make(kind, given), place + 1


def _kind(name: str) -> type[Stage] | type[Draw]:
    kind = STAGES.get(name) or DRAWS.get(name)
    if kind is None:
        raise PlanError(f"no stage or draw is called {name!r}", did_you_mean(name, [*STAGES, *DRAWS]) or _stage_names())
    return kind


def _stage_names() -> str:
    return f"stages: {', '.join(STAGES)}; draws: {', '.join(DRAWS)}"


def _make(kind: type[Stage] | type[Draw], given: Mapping[str, Any]) -> Stage | Draw:
    known = {field.name: field for field in fields(kind)}
    for name in given:
        if name not in known:
            hint = did_you_mean(name, known) or f"known: {', '.join(known) or 'none'}"
            raise PlanError(f"{kind.name} has no field {name!r}", hint)
    try:
        return kind(**given)
    except TypeError:
        # A required field is the only thing that may still be missing.
        missing = [name for name, field in known.items() if name not in given and "MISSING" in repr(field.default)]
        raise PlanError(f"{kind.name} needs {', '.join(missing)}") from None


# Values: JSON or a bare word.


def _read_value(text: str, place: int) -> tuple[object, int]:
    try:
        return json.JSONDecoder().raw_decode(text, place)
    except json.JSONDecodeError:
        word = _BARE.match(text, place)
        if not word or text[place] in "[{\"'":
            hint = "texts stand in double quotes" if text[place : place + 1] == "'" else ""
            raise PlanError(f"a value must be JSON or one word, got {text[place:]!r}", hint) from None
        if word[0] in _PYTHON:
            raise PlanError(f"a value must be JSON or one word, got {word[0]!r}", f"write {_PYTHON[word[0]]}") from None
        if re.match(r"[-+.]*[0-9]", word[0]):
            raise PlanError(f"a number must be written as in JSON, got {word[0]!r}", "0.9, not .9 or 0,9") from None
        return word[0], word.end()


def _format_value(value: object) -> str:
    plain = plain_value(value)
    if isinstance(plain, str) and _WORD.fullmatch(plain) and plain not in _RESERVED:
        return plain
    return json.dumps(plain, ensure_ascii=False)


def plain_value(value: object) -> object:
    """A clean value as JSON data: pairs (id, bias) become an object, tuples become lists."""
    if isinstance(value, tuple):
        if value and all(isinstance(v, tuple) and len(v) == 2 and isinstance(v[1], float) for v in value):
            # Only a bias map has pairs that end in a float; ids are whole numbers.
            return {json.dumps(plain_value(key)): bias for key, bias in value}
        return [plain_value(item) for item in value]
    return value


# JSON.


def plan_to_json(plan: Plan) -> dict[str, object]:
    """Everything that a plan holds, as plain data."""
    return {
        "fairdraw_plan": FORMAT,
        "stream_version": STREAM_VERSION,
        "text": str(plan),
        "dialect": plan.dialect,
        "variant": plan.variant,
        "mode": plan.mode,
        "settings": [
            {"name": s.name, "value": plain_value(s.value), "origin": s.origin, "effect": s.effect}
            for s in plan.settings
        ],
        "stages": [{"stage": stage.name, **_fields(stage)} for stage in plan.stages],
        "draw": {"draw": plan.draw.name, **_fields(plan.draw)},
        "limits": _fields(plan.limits),
    }


def plan_fields_from_json(data: Mapping[str, object]) -> dict[str, object]:
    """The fields of a plan from what `plan_to_json` wrote."""
    if isinstance(data, str):
        raise PlanError("a plan's JSON must be parsed data, got a string", "json.loads(text) first")
    if not isinstance(data, Mapping) or data.get("fairdraw_plan") != FORMAT:
        raise PlanError(f"a plan's JSON must have fairdraw_plan = {FORMAT}", "Plan.to_json writes it")
    if data.get("stream_version") != STREAM_VERSION:
        came = data.get("stream_version")
        raise PlanError(f"the plan must be of stream version {STREAM_VERSION}, got {came!r}")
    try:
        stages = tuple(_part(entry, "stage") for entry in _list(data["stages"]))
        draw = _part(data["draw"], "draw")
        settings = tuple(
            Setting(name=e["name"], value=_frozen(e["value"]), origin=e["origin"], effect=e["effect"])
            for e in _list(data["settings"])
        )
        limits = Limits(**data["limits"])  # type: ignore[arg-type]
        words = {name: str(data[name]) for name in ("dialect", "variant", "mode")}
    except (KeyError, TypeError, AttributeError) as problem:
        raise PlanError(f"a plan's JSON is not complete: {problem}", "Plan.to_json writes it") from None
    require_checkpoints(stages)
    require_single_memories(stages)
    return {**words, "settings": settings, "stages": stages, "draw": draw, "limits": limits}


def _fields(part: Stage | Draw | Limits) -> dict[str, object]:
    return {field.name: plain_value(getattr(part, field.name)) for field in fields(part)}


def _part(entry: Any, key: str) -> Any:
    given = {name: value for name, value in entry.items() if name != key and value is not None}
    return _make(_kind(entry[key]), given)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError("a list is missing")
    return value


def _frozen(value: object) -> object:
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, dict):
        return (
            BiasMap().clean(value)
            if BiasMap().holds(value)
            else tuple((_frozen(json.loads(key)), bias) for key, bias in value.items())
        )
    return value
