"""From a request in an engine's own names to stages, draw and limits, with the origin and the effect of each value."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Variant
from fairdraw.domains import Real, Whole, require
from fairdraw.draws import Draw, Undocumented
from fairdraw.errors import ParameterError, PlanError
from fairdraw.limits import Limits
from fairdraw.params import SamplingParams
from fairdraw.stages import Stage

REQUEST, IMPLIED, MODEL_FILE, ENGINE_DEFAULT = "request", "implied", "model file", "engine default"
"""Who said a value; "implied" is what an engine needs beside a request in our names."""
UNDOCUMENTED = "undocumented"
"""The effect of a value that a service takes without saying what it does with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One effective value: what it is, who said so, and what came of it."""

    name: str
    value: object
    origin: str = field(compare=False)
    """"request", "implied", "model file" or "engine default"."""
    effect: str = field(default="", compare=False)
    """The stages, limit or mode that it set, "off", "undocumented", or why it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a dialect makes of a request."""

    settings: tuple[Setting, ...]
    stages: tuple[Stage, ...]
    draw: Draw
    limits: Limits
    mode: str


def read(dialect: Dialect, variant: str, request: Mapping[str, object], facts: ModelFacts | None) -> Reading:
    """Read a request as the engine does.

    Raises
    ------
    PlanError
        An unknown variant or parameter name; the hint says what may have been meant.
    ParameterError
        A value outside its domain; the hint says what the engine itself would say.
    """
    chosen = _variant(dialect, variant)
    values, origins = _gathered(dialect, variant, chosen, request, facts)
    given = [p for p in chosen.parameters if origins[p.name] != ENGINE_DEFAULT]
    # What chooses the mode is checked first: a mode may not look at some of the others.
    choosing = {name for mode in chosen.modes for name in mode.reads}
    values |= {p.name: _checked(dialect, p, values[p.name]) for p in given if p.name in choosing}
    mode = next(mode for mode in chosen.modes if mode.when(values))
    values |= {p.name: _checked(dialect, p, values[p.name], mode) for p in given if p.name not in choosing}
    stages, effects = _build(mode, values, facts)
    settings = tuple(
        Setting(
            name=p.name,
            value=values[p.name],
            origin=origins[p.name],
            effect=_effect(p, mode, effects, origins[p.name], values[p.name]),
        )
        for p in chosen.parameters
    )
    limits = _limits(chosen, values)
    return Reading(settings=settings, stages=stages, draw=mode.make_draw(values), limits=limits, mode=mode.name)


def implied_names(
    dialect: Dialect, variant: str, request: Mapping[str, object], params: SamplingParams
) -> frozenset[str]:
    """Names of a translated request that stand for no field that was set."""
    given = {name for name, _ in params.given()}
    canonical = {p.name: p.canonical for p in dialect.variants[variant].parameters}
    return frozenset(name for name in request if canonical.get(name) not in given)


def did_you_mean(word: str, words: Iterable[str], *, cutoff: float = 0.6) -> str:
    """``did you mean 'x'?``, or "" when nothing is near: 1 is the word itself, 0 anything."""
    near = difflib.get_close_matches(word, list(words), n=1, cutoff=cutoff)
    return f"did you mean {near[0]!r}?" if near else ""


def name_here(dialect: Dialect, name: str, known: Iterable[str]) -> str:
    """What a name from another engine is called here, or what may have been meant; "" when there is no telling."""
    elsewhere = dialect.elsewhere.get(name)
    if not elsewhere:
        return did_you_mean(name, known)
    return elsewhere if elsewhere.startswith("not ") else f"here it is {elsewhere}"


def _variant(dialect: Dialect, variant: str) -> Variant:
    if variant in dialect.variants:
        return dialect.variants[variant]
    named = [name for name in dialect.variants if name]
    if not named:
        raise PlanError(f"{dialect.name} has no variants, got {variant!r}", "parameters are written name=value")
    lowered = {name.lower(): name for name in named}
    near = lowered.get(variant.lower().replace("_", "").replace("-", ""))
    hint = f"did you mean {near!r}?" if near else did_you_mean(variant, named) or f"known: {', '.join(named)}"
    raise PlanError(f"{dialect.name} has no variant {variant!r}", hint)


def _known(variant: Variant, defaults: Mapping[str, object]) -> dict[str, object]:
    names = {name for p in variant.parameters for name in (p.name, *p.aliases)}
    return {name: value for name, value in defaults.items() if name in names}


def _gathered(
    dialect: Dialect, variant: str, chosen: Variant, request: Mapping[str, object], facts: ModelFacts | None
) -> tuple[dict[str, object], dict[str, str]]:
    """Of every parameter the value that holds, unchecked, and who said so; None, asked for or not, is unset."""
    given = _by_name(dialect, variant, chosen, request)
    defaults = _by_name(dialect, variant, chosen, _known(chosen, facts.defaults)) if facts else {}
    values: dict[str, object] = {}
    origins: dict[str, str] = {}
    for parameter in chosen.parameters:
        name = parameter.name
        values[name], origins[name] = next(
            ((s[name], origin) for s, origin in ((given, REQUEST), (defaults, MODEL_FILE)) if s.get(name) is not None),
            (parameter.default, ENGINE_DEFAULT),
        )
        if parameter.required and values[name] is None:
            raise PlanError(f"{dialect.name} {variant}".strip() + f" needs {name}", parameter.meaning)
    return values, origins


def acting(setting: Setting) -> tuple[str, ...]:
    """Names of the stages that a value acts in, or the one word that says otherwise.

    Examples
    --------
    >>> acting(Setting(name="top_k", value=50, origin=ENGINE_DEFAULT, effect="top_k, knapsack_top_p"))
    ('top_k', 'knapsack_top_p')
    """
    return tuple(setting.effect.split(", "))


def _limits(chosen: Variant, values: Mapping[str, object]) -> Limits:
    given: dict[str, Any] = {**chosen.fixed_limits}
    given |= {p.limit: values[p.name] for p in chosen.parameters if p.limit and values[p.name] is not None}
    return Limits(**given)


def _by_name(dialect: Dialect, variant_name: str, variant: Variant, request: Mapping[str, object]) -> dict[str, object]:
    names = {name: p.name for p in variant.parameters for name in (p.name, *p.aliases)}
    out: dict[str, object] = {}
    for name, value in request.items():
        if not isinstance(name, str):
            raise PlanError(f"{dialect.name}: a parameter's name must be a text, got {name!r}")
        if name not in names:
            raise PlanError(*_unknown(dialect, variant_name, name, names))
        if names[name] in out:
            raise PlanError(f"{dialect.name}: {names[name]} is given twice", "an alias counts as the same name")
        out[names[name]] = value
    return out


def _unknown(dialect: Dialect, variant: str, name: str, names: Mapping[str, str]) -> tuple[str, str]:
    where = f"{dialect.name} {variant}".strip()
    if name in dialect.unmodelled:
        return (
            f"{where}: {name} is a parameter of the engine that fairdraw does not model yet",
            f"{dialect.unmodelled[name]}; leave it out, and the law is the engine's without it",
        )
    hint = name_here(dialect, name, [*names, *dialect.unmodelled])
    others = [other for other, v in dialect.variants.items() if other and any(p.name == name for p in v.parameters)]
    if not hint and others:
        hint = f"{', '.join(others)} has it"
    return f"{where} has no parameter {name!r}", hint or f"known: {', '.join(names)}"


def _checked(dialect: Dialect, parameter: Parameter, value: object, mode: Mode | None = None) -> object:
    unread = (Whole(), Real()) if mode and parameter.name in mode.unread else ()
    for domain in (parameter.domain, *unread):
        if domain.holds(value):
            return require(parameter.name, value, domain)
    raise ParameterError(parameter.name, value, parameter.domain.text, _refusal(dialect, parameter, value))


def _refusal(dialect: Dialect, parameter: Parameter, value: object) -> str:
    """What the engine itself says; where it looks at numbers alone, its words would be false of a text."""
    is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if dialect.refuses == "numbers" and isinstance(parameter.domain, Real | Whole) and not is_number:
        return "a number stands without quotes" if isinstance(value, str) else ""
    words = parameter.engine_words(value)
    return f"{dialect.name} itself says: {words}" if words else ""


def _build(
    mode: Mode, values: Mapping[str, object], facts: ModelFacts | None
) -> tuple[tuple[Stage, ...], dict[str, str]]:
    """The stages that are on, and for each parameter that a step reads: the stages, or "off"."""
    stages, effects = [], dict.fromkeys(mode.reads, "chooses the mode")
    for step in mode.arranged(values):
        stage = step.build(values, facts)
        if stage is not None:
            stages.append(stage)
        for name in step.parameters:
            effect = stage.name if stage is not None else "off"
            if effects.get(name, "off") == "off" or name in mode.reads:
                effects[name] = effect if name not in mode.reads or stage is not None else effects[name]
            elif effect not in ("off", *effects[name].split(", ")):
                effects[name] = f"{effects[name]}, {effect}"
    return tuple(stages), effects


def _effect(parameter: Parameter, mode: Mode, effects: Mapping[str, str], origin: str, value: object) -> str:
    effect = effects.get(parameter.name, "")
    if parameter.limit and (not effect or (effect == "off" and value)):
        # A stage that reads a limit may be off; the limit holds all the same.
        return "text"
    if effect:
        return effect
    if isinstance(mode.draw, Undocumented):
        return UNDOCUMENTED if value is not None else "not used"
    return f"ignored: {mode.ignores}" if origin != ENGINE_DEFAULT and mode.ignores else "not used"
