"""Requests of an engine that may mean what a plan means: every variant, mode and switch, filled from the meaning.

Nothing here decides whether a request is right; `fairdraw.translation.meaning` does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import chain, product

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Variant
from fairdraw.dialects.fairdraw import FAIRDRAW
from fairdraw.domains import Choice, Truth
from fairdraw.draws import Greedy
from fairdraw.errors import FairdrawError, ParameterError
from fairdraw.plan import Plan
from fairdraw.plan_format import plain_value
from fairdraw.stages import (
    AllowedIds,
    BadWords,
    CandidateTypical,
    DynamicTemperature,
    MinTokens,
    Stage,
    Temperature,
    TopK,
)
from fairdraw.translation.meaning import ENDLESS, Edit, Meaning, meaning

NEUTRAL = {p.canonical: p.default for p in FAIRDRAW.variants[""].parameters}
"""The off value of each parameter that everybody knows."""
_OUR_NAMES = {
    (step.stage, stage_field): source
    for mode in FAIRDRAW.variants[""].modes
    for step in mode.steps
    for stage_field, source in step.fields.items()
    if isinstance(source, str)
}
_FIELDS = {name: key for key, name in _OUR_NAMES.items()}
_EDIT_NUMBERS = {
    "repetition_penalty": "repetition",
    "presence_penalty": "presence",
    "frequency_penalty": "frequency",
    "dry_multiplier": "dry",
}
_KIND_OF_FIELD = {"penalty": "repetition", "presence": "presence", "frequency": "frequency", "multiplier": "dry"}
_DRY_DETAIL = {"dry_base": 0, "dry_allowed_length": 1}
_SAMPLERS = {
    "top_k": "top_k",
    "gap": "min_p",
    "top_p": "top_p",
    "sigma": "top_n_sigma",
    "typical": "typ_p",
    "xtc": "xtc",
    "dynamic_temperature": "temperature",
}
"""Cut or stage to llama.cpp's sampler."""
_LARGEST_OFFSET = 1e-3
_ABSENT = object()
ALL_IDS = object()
"""A window that sees every token; engines write it as 0, or need a number larger than any text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A request of the target engine, and the plan that it resolves to."""

    variant: str
    request: Mapping[str, object]
    plan: Plan


def candidates(
    source: Plan, wanted: Meaning, dialect: Dialect, facts: ModelFacts | None
) -> tuple[list[Candidate], list[str]]:
    """Every request worth trying, the plainest first, and the engine's reasons against those it refuses."""
    found: list[Candidate] = []
    refusals: dict[str, None] = {}
    seen: set[Plan] = set()
    for variant, request in chain(_own_request(source, dialect), _requests(wanted, dialect)):
        try:
            plan = Plan.resolve(request, dialect=dialect.name, variant=variant, facts=facts)
        except ParameterError as problem:
            if problem.parameter in request and request[problem.parameter] not in NEUTRAL.values():
                refusals[f"{problem.parameter} must be {problem.domain}, not {problem.value!r}"] = None
            continue
        except FairdrawError:
            continue
        if plan not in seen:
            seen.add(plan)
            found.append(_offset(wanted, Candidate(variant=variant, request=request, plan=plan), dialect, facts))
    return found, list(refusals)


def _own_request(source: Plan, dialect: Dialect) -> Iterator[tuple[str, dict[str, object]]]:
    """What the source itself asked for, where the target is the same engine."""
    if source.dialect.partition("@")[0] == dialect.engine and source.variant in dialect.variants:
        known = {p.name for p in dialect.variants[source.variant].parameters}
        values = ((s.name, s.value) for s in source.settings if s.value is not None and s.name in known)
        yield source.variant, {name: plain_value(value) for name, value in values}


def _offset(wanted: Meaning, found: Candidate, dialect: Dialect, facts: ModelFacts | None) -> Candidate:
    """The same request to an engine that adds something to a temperature, less what it adds."""
    heat, own = total_temperature(wanted), total_temperature(meaning(found.plan))
    name = next((p.name for p in dialect.variants[found.variant].parameters if p.canonical == "temperature"), "")
    given = found.request.get(name)
    if not isinstance(given, float) or own == heat or not math.isclose(own, heat, rel_tol=_LARGEST_OFFSET):
        return found
    request = {**found.request, name: given + heat - own}
    try:
        plan = Plan.resolve(request, dialect=dialect.name, variant=found.variant, facts=facts)
    except FairdrawError:
        return found
    nearer = abs(total_temperature(meaning(plan)) - heat) < abs(own - heat)
    return Candidate(variant=found.variant, request=request, plan=plan) if nearer else found


def _requests(wanted: Meaning, dialect: Dialect) -> Iterator[tuple[str, dict[str, object]]]:
    for name, variant in dialect.variants.items():
        for switches in _switches(variant):
            # A plan that draws is not looked for in a mode that does not.
            for mode in (m for m in variant.modes if wanted.is_greedy or not isinstance(m.draw, Greedy)):
                for order, top_k in product(_orders(wanted, variant), _top_k_names(mode)):
                    arranged = _arranged(mode, variant, order)
                    base = None if arranged is None else _filled(wanted, variant, arranged, top_k)
                    if base is None:
                        continue
                    for extra, window in product(_greedy_ways(wanted, variant, mode), (0, ENDLESS)):
                        request = base | extra | switches | order
                        if window == 0 or ALL_IDS in request.values():
                            yield name, {n: window if value is ALL_IDS else value for n, value in request.items()}


def _orders(wanted: Meaning, variant: Variant) -> tuple[dict[str, object], ...]:
    """The engine's own order, and the source's where a request may say it (llama.cpp's samplers, exllamav3's steps)."""
    samplers = next((p for p in variant.parameters if p.name in ("samplers", "steps")), None)
    if samplers is None or wanted.is_greedy:
        return ({},)
    cuts: list[str] = []
    for section in wanted.sections:
        measuring = sorted((c for c in section.cuts if c.kind in ("top_p", "sigma")), key=lambda cut: len(cut.inside))
        ordered = [cut for own in measuring for cut in (*own.inside, own)]
        cuts += [_SAMPLERS[cut.kind] for cut in (*ordered, *section.cuts)]
        cuts += [_SAMPLERS[section.stage.name]] if section.stage and section.stage.name in _SAMPLERS else []
    cuts = [cut for cut in dict.fromkeys(cuts) if cut != "temperature"]
    places = range(len(cuts) + 1)
    first = ["penalties", "dry"] if samplers.name == "samplers" else []
    orders = ([*first, *cuts[:place], "temperature", *cuts[place:]] for place in places)
    found: list[dict[str, object]] = [{}]
    found.extend({samplers.name: order} for order in orders)
    return tuple(found)


def _arranged(mode: Mode, variant: Variant, order: Mapping[str, object]) -> Mode | None:
    """The mode with its steps as they run in an order; None where the engine has no such sampler."""
    if not order:
        return mode
    try:
        return replace(mode, steps=mode.arranged({**{p.name: p.default for p in variant.parameters}, **order}))
    except ParameterError:
        return None


def _switches(variant: Variant) -> Iterator[dict[str, object]]:
    """Every setting of the parameters that choose between ways of one engine."""
    read = {name for mode in variant.modes for name in mode.reads}
    read |= {name for mode in variant.modes for step in mode.steps for name in step.parameters}
    options: dict[str, tuple[object, ...]] = {}
    for p in variant.parameters:
        if p.name in read and isinstance(p.domain, Truth):
            options[p.name] = (bool(p.default), not p.default)
        elif p.name in read and isinstance(p.domain, Choice):
            options[p.name] = tuple(sorted(p.domain.words, key=lambda word, own=p.default: word != own))
    for values in product(*options.values()):
        yield dict(zip(options, values, strict=True))


def _top_k_names(mode: Mode) -> tuple[str, ...]:
    """Parameters that may carry k: candle has two places for it."""
    names = [source for step in mode.steps if step.stage is TopK for source in step.fields.values()]
    return tuple(dict.fromkeys(name for name in names if isinstance(name, str))) or ("",)


def _greedy_ways(wanted: Meaning, variant: Variant, mode: Mode) -> Iterator[dict[str, object]]:
    """How an engine may be asked for the best token."""
    yield {}
    if not wanted.is_greedy:
        return
    by_canonical = {p.canonical: p for p in variant.parameters}
    for canonical, value in (("temperature", 0.0), ("top_k", 1)):
        p = by_canonical.get(canonical)
        if p is not None and p.domain.holds(value):
            yield {p.name: value}


def _filled(wanted: Meaning, variant: Variant, mode: Mode, top_k: str) -> dict[str, object] | None:
    """A request for one mode, every parameter explicit; None if a stage that is not wanted cannot be left out."""
    parameters = {p.name: p for p in variant.parameters}
    request: dict[str, object] = {}
    temperature = scaled = 1.0
    for step in mode.steps:
        others = _top_k_names(mode) if step.stage is TopK else ()
        values = {
            name: _ABSENT
            if name in others and name != top_k
            else _value(wanted, step, parameters[name], temperature, scaled)
            for name in step.parameters
        }
        asked = any(value is not _ABSENT for value in values.values())
        settled = False
        for name, value in values.items():
            p = parameters[name]
            if value is _ABSENT and name not in request:
                # Where a step is wanted, what nobody asks for is neutral, and else the engine's own.
                alone = settled and p.canonical not in NEUTRAL
                value = NEUTRAL.get(p.canonical, _ABSENT) if asked else _ABSENT if alone else _off(step, p)
                settled = settled or value is not _ABSENT
                if value is _ABSENT and p.required:
                    return None
            if value is not _ABSENT:
                request[name] = value
        if step.stage in (Temperature, DynamicTemperature):
            temperature = total_temperature(wanted)
            scaled = 1.0 if step.switches.get("operation", "exact") == "exact" else temperature
    for name in mode.reads:
        p = parameters[name]
        if name not in request and p.canonical in NEUTRAL and not p.limit and not isinstance(mode.draw, Greedy):
            value = _value(wanted, None, p, temperature, scaled)
            request[name] = NEUTRAL[p.canonical] if value is _ABSENT else value
    return {name: value for name, value in request.items() if value is not None}


def total_temperature(wanted: Meaning) -> float:
    """What all logits are divided by, in the end."""
    return math.prod(section.temperature for section in wanted.sections)


def _value(wanted: Meaning, step: Step | None, p: Parameter, temperature: float, scaled: float) -> object:
    """What a parameter should be, where the target has come to a temperature already; absent if nobody asks."""
    name = p.canonical
    cuts = [cut for section in wanted.sections for cut in section.cuts]
    if step is not None and not name:
        name = next((_OUR_NAMES.get((step.stage, f), "") for f, source in step.fields.items() if source == p.name), "")
    heated = next((s.stage for s in wanted.sections if isinstance(s.stage, DynamicTemperature)), None)
    if heated is not None and name in ("temperature", "dynatemp_range"):
        return (heated.high + heated.low) / 2 if name == "temperature" else (heated.high - heated.low) / 2
    if name == "temperature":
        return total_temperature(wanted)
    kind = {"top_k": "top_k", "top_p": "top_p", "min_p": "gap", "top_n_sigma": "sigma"}.get(name)
    if kind:
        numbers = [cut.number for cut in cuts if cut.kind == kind]
        if not numbers and name == "top_p":
            # TensorRT-LLM's C++ kernels give their p to the draw.
            return getattr(wanted.draw, "p", _ABSENT)
        if not numbers:
            return _ABSENT
        number = min(numbers)
        return int(number) if kind == "top_k" else math.exp(-number / temperature) if kind == "gap" else number
    if name in _EDIT_NUMBERS or name in _DRY_DETAIL or name in ("logit_bias", "penalty_last_n", "dry_penalty_last_n"):
        return _edit_value(wanted, name, scaled, step)
    return _stage_value(wanted, step, p, name)


def _edit_value(wanted: Meaning, name: str, temperature: float, step: Step | None) -> object:
    edits = {edit.kind: edit for group in wanted.edits for edit in group}
    if name == "logit_bias":
        return _bias(edits["bias"], temperature) if "bias" in edits else _ABSENT
    if name in ("penalty_last_n", "dry_penalty_last_n"):
        kinds = [_KIND_OF_FIELD[f] for f in (step.fields if step else ()) if f in _KIND_OF_FIELD]
        windows = [edits[kind].detail[-1] for kind in kinds if kind in edits]
        return _ABSENT if not windows else ALL_IDS if windows[0] is None else windows[0]
    if name in _DRY_DETAIL:
        return edits["dry"].detail[_DRY_DETAIL[name]] if "dry" in edits else _ABSENT
    edit = edits.get(_EDIT_NUMBERS[name])
    if edit is None:
        return _ABSENT
    return edit.numbers[0] if edit.kind == "repetition" else edit.numbers[0] / temperature


def _bias(edit: Edit, temperature: float) -> dict[str, float]:
    return {str(token): number / temperature for token, number in zip(edit.detail, edit.numbers, strict=True)}


def _stage_value(wanted: Meaning, step: Step | None, p: Parameter, name: str) -> object:
    """A field of a stage that no rule moves, or of one that forbids."""
    stages: list[Stage] = [s.stage for s in wanted.sections if s.stage is not None]
    stages += sorted(wanted.forbidden, key=lambda stage: stage.name)
    by_type = {type(stage): stage for stage in stages}
    if name == "bad_words_ids" and BadWords in by_type:
        return [list(words) for words in by_type[BadWords].sequences]  # type: ignore[attr-defined]
    if name == "min_tokens" and MinTokens in by_type:
        return by_type[MinTokens].count  # type: ignore[attr-defined]
    if name == "allowed_token_ids" and AllowedIds in by_type:
        return list(by_type[AllowedIds].ids)  # type: ignore[attr-defined]
    if name == "typical_p" and CandidateTypical in by_type:
        return by_type[CandidateTypical].p  # type: ignore[attr-defined]
    key = _FIELDS.get(name)
    if key is None and step is not None:
        key = next(((step.stage, f) for f, source in step.fields.items() if source == p.name), None)
    if key is None or key[0] not in by_type:
        return _ABSENT
    stage = by_type[key[0]]
    return getattr(stage, key[1]) if key[1] in {f.name for f in fields(stage)} else _ABSENT


def _off(step: Step, p: Parameter) -> object:
    """A value of a parameter that leaves its step out; absent if there is none, None if it is best left unset."""
    options = [NEUTRAL.get(p.canonical, _ABSENT), p.default]
    options += [value for off in step.off if off.parameter == p.name for value in off.values]
    for value in options:
        if value is _ABSENT or isinstance(value, str) or not (value is None or p.domain.holds(value)):
            continue
        for off in step.off:
            own, other = (
                off.parameter == p.name,
                off.relation == "falsy with" and p.name in (*off.values, off.parameter),
            )
            if (other and not value) or (own and off.relation != "falsy with" and off.holds({p.name: value})):
                return value
    return _ABSENT
