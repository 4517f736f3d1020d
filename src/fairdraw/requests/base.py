"""What a request says, layer by layer: the request itself, the server's defaults, the model's files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect
from fairdraw.dialects.finding import find_dialect
from fairdraw.dialects.reading import ENGINE_DEFAULT, MODEL_FILE, REQUEST, name_here
from fairdraw.errors import PlanError
from fairdraw.plan import Plan

SERVER = "server"
"""Who said a value: the server's own configuration."""
ASIDE = "not about sampling"
"""How a reason begins that concerns neither the law nor the text."""
Values = Mapping[str, object]
_NOTHING: Values = MappingProxyType({})
_OFF = re.compile(r"(?:unset or )?(\S+) (?:is|are) off")


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A value that is no part of the plan, and why."""

    name: str
    value: object
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request with what stands behind it, all in the engine's own names."""

    dialect: str
    variant: str = ""
    request: Values = field(default_factory=lambda: _NOTHING)
    server: Values = field(default_factory=lambda: _NOTHING)
    """What the server says where the request is silent."""
    model_file: Values = field(default_factory=lambda: _NOTHING)
    """What the model's files say where both are silent."""
    left_out: tuple[LeftOut, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A form in which an engine is asked."""

    name: str
    engine: str
    meaning: str
    """What the text is: a JSON body, a command line."""
    read: Callable[[str], Asked]


def plan_of_request(asked: Asked, *, facts: ModelFacts | None = None) -> Plan:
    """The plan of a request, each value with the layer that it comes from.

    Raises
    ------
    PlanError, ParameterError
        As in `Plan.resolve`.

    Examples
    --------
    >>> plan = plan_of_request(Asked(dialect="vllm", request={"top_k": 20}, model_file={"top_k": 40, "top_p": 0.8}))
    >>> [(s.name, s.value, s.origin) for s in plan.settings if s.name in ("top_k", "top_p", "min_p")]
    [('top_k', 20, 'request'), ('top_p', 0.8, 'model file'), ('min_p', 0.0, 'engine default')]
    """
    dialect = find_dialect(asked.dialect)
    own = _own_names(dialect, asked.variant)
    layers = [
        (origin, {own.get(name, name): value for name, value in values.items() if value is not None})
        for origin, values in ((MODEL_FILE, asked.model_file), (SERVER, asked.server), (REQUEST, asked.request))
    ]
    merged: dict[str, object] = {}
    origins: dict[str, str] = {}
    for origin, values in layers:
        merged |= values
        origins |= dict.fromkeys(values, origin)
    plan = Plan.resolve(merged, dialect=dialect.name, variant=asked.variant, facts=facts)
    settings = tuple(replace(s, origin=origins.get(s.name, s.origin)) for s in plan.settings)
    return replace(plan, settings=settings)


def sort_out(
    dialect_name: str,
    values: Values,
    *,
    variant: str = "",
    aside: Values = _NOTHING,
    renamed: Mapping[str, str] = MappingProxyType({}),
    unset: Mapping[str, tuple[object, ...]] = MappingProxyType({}),
    unknown: str = "",
) -> tuple[dict[str, object], tuple[LeftOut, ...]]:
    """Split values into what the plan takes and what it does not, each with its reason.

    Parameters
    ----------
    dialect_name, variant : str
        Whose names they are.
    values : mapping
        As they came.
    aside : mapping
        Names that are not about sampling, and what they are.
    renamed : mapping
        Names of the format to names of the dialect.
    unset : mapping
        Values by which a name says: not set.
    unknown : str
        What the engine does with a name that it does not know; "" means that it refuses.

    Raises
    ------
    PlanError
        A name that changes the law and that no stage models, or one that the engine refuses.
    """
    dialect = find_dialect(dialect_name)
    own = _own_names(dialect, variant)
    kept: dict[str, object] = {}
    left: list[LeftOut] = []
    for given, value in values.items():
        name = renamed.get(given, given)
        if given in aside:
            left.append(LeftOut(name=given, value=value, why=f"{ASIDE}: {aside[given]}"))
        elif value is None:
            continue
        elif value in unset.get(given, ()) and not isinstance(value, bool):
            left.append(LeftOut(name=given, value=value, why="means: not set"))
        elif name in own:
            kept[own[name]] = value
        elif name in dialect.unmodelled and is_off(value, dialect.unmodelled[name]):
            left.append(LeftOut(name=given, value=value, why=f"changes nothing: {dialect.unmodelled[name]}"))
        elif name in dialect.unmodelled or not unknown:
            raise PlanError(*_refusal(dialect, name, given, value, own))
        else:
            hint = name_here(dialect, name, own)
            left.append(LeftOut(name=given, value=value, why=f"{unknown}; {hint}" if hint else unknown))
    return kept, tuple(left)


def is_off(value: object, words: str) -> bool:
    """Whether a value of a parameter without a stage leaves the law as it is, as its description says.

    Examples
    --------
    >>> is_off(1, "beam search; 1 is off"), is_off(4, "beam search; 1 is off"), is_off(3, "changes no law")
    (True, False, True)
    """
    if "changes no law" in words or "acts with beams alone" in words or value in (None, [], {}, "") or value is False:
        return True
    numbers = [match[1].rstrip(",;") for match in _OFF.finditer(words)]
    return any(_number(text) == value for text in numbers if _number(text) is not None)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _own_names(dialect: Dialect, variant: str) -> dict[str, str]:
    """Every name and alias of a variant's parameters, with the name."""
    if variant not in dialect.variants:
        return {}
    return {name: p.name for p in dialect.variants[variant].parameters for name in (p.name, *p.aliases)}


def _refusal(dialect: Dialect, name: str, given: str, value: object, own: Mapping[str, str]) -> tuple[str, str]:
    if name in dialect.unmodelled:
        words = f"{dialect.name}: {given}={value!r} changes the law, and fairdraw does not model it yet"
        return words, f"{dialect.unmodelled[name]}; leave it out, and the law is the engine's without it"
    hint = name_here(dialect, name, [*own, *dialect.unmodelled]) or f"known: {', '.join(own)}"
    return f"{dialect.name} has no parameter {given!r}", hint


def origins_of(plan: Plan) -> dict[str, list[str]]:
    """Which values come from which layer, the engine's defaults last."""
    found: dict[str, list[str]] = {}
    for setting in plan.settings:
        found.setdefault(setting.origin, []).append(setting.name)
    return dict(sorted(found.items(), key=lambda item: item[0] == ENGINE_DEFAULT))
