"""The matrix: in which switches the engines differ, read off the data of the dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from fairdraw.dialects import DIALECTS
from fairdraw.dialects.base import Dialect, Mode, Step, Variant
from fairdraw.dialects.reading import Setting
from fairdraw.draws import Greedy
from fairdraw.errors import FairdrawError, ParameterError
from fairdraw.plan import Plan
from fairdraw.stages import (
    Checkpoint,
    Mask,
    MinP,
    PivotCut,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
)

GROUPS: Mapping[str, tuple[str, ...]] = {
    "order and defaults": ("nothing_asked", "order", "draw"),
    "cuts": ("top_k_ties", "top_p_boundary", "top_p_mass", "top_p_ties", "min_p_boundary"),
    "special values": ("temperature_0", "temperature_0_001", "top_k_0", "top_p_0", "min_p_1"),
    "penalties": ("repetition_sees", "presence_frequency_see"),
}
"""Title of a table to its columns, which are fields of `Switches`."""
HEADINGS = {"temperature_0_001": "temperature 0.001", "presence_frequency_see": "presence and frequency see"}


def heading(name: str) -> str:
    """What a column is called."""
    return HEADINGS.get(name, name.replace("_", " ").replace("top ", "top_").replace("min ", "min_"))


SEEN = {"all": "prompt and output", "output": "output", "padded": "prompt with padding, output"}
_HIDDEN = (Mask, Checkpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switches:
    """One engine, or one of its ways: how it decides where engines differ.  "-" where it has no such stage."""

    engine: str
    """``engine@version``, with the variant behind it."""
    nothing_asked: str
    """What it does when no parameter is set."""
    order: str
    """Its stages, first to last."""
    draw: str
    top_k_ties: str
    """Which of the tokens equal to the k-th stay."""
    top_p_boundary: str
    """Whether a token before which the mass is exactly p stays ("strict") or goes ("inclusive")."""
    top_p_mass: str
    """Whether p is a share of what is kept then ("current"), or of the whole row ("raw")."""
    top_p_ties: str
    min_p_boundary: str
    """Whether a token with exactly the least share stays ("inclusive") or goes ("strict")."""
    temperature_0: str
    temperature_0_001: str
    """What a temperature of 0.001 is taken as."""
    top_k_0: str
    top_p_0: str
    min_p_1: str
    repetition_sees: str
    presence_frequency_see: str


def all_switches() -> tuple[Switches, ...]:
    """The whole matrix: a row for each variant of each dialect that documents what it does.

    Examples
    --------
    >>> row = next(row for row in all_switches() if row.engine == "reference")
    >>> row.order, row.top_k_ties, row.top_p_boundary
    ('temperature > top_k > top_p', 'all', 'strict')
    """
    return tuple(
        switches(dialect, name)
        for dialect in DIALECTS.values()
        for name in dialect.variants
        if any(mode.steps for mode in dialect.variants[name].modes)
    )


def switches(dialect: Dialect, variant_name: str) -> Switches:
    """One row of the matrix."""
    variant = dialect.variants[variant_name]
    modes = [mode for mode in variant.modes if not isinstance(mode.draw, Greedy)] or list(variant.modes)
    steps = [step for mode in modes for step in mode.steps if not _is_foreign(step, variant)]
    return Switches(
        engine=f"{dialect.name} {variant_name}".strip(),
        nothing_asked=_nothing_asked(dialect, variant_name),
        order=" | ".join(dict.fromkeys(_order(mode, variant) for mode in modes)),
        draw=" | ".join(dict.fromkeys(_draw(mode) for mode in modes)),
        top_k_ties=_field(steps, (TopK, PivotCut), "ties"),
        top_p_boundary=_field(steps, (TopP, PivotCut), "boundary"),
        top_p_mass=_field(steps, (TopP, PivotCut), "mass"),
        top_p_ties=_field(steps, (TopP, PivotCut), "ties"),
        min_p_boundary=_field(steps, (MinP,), "boundary"),
        temperature_0=_special(dialect, variant_name, "temperature", 0.0),
        temperature_0_001=_special(dialect, variant_name, "temperature", 0.001),
        top_k_0=_special(dialect, variant_name, "top_k", 0),
        top_p_0=_special(dialect, variant_name, "top_p", 0.0),
        min_p_1=_special(dialect, variant_name, "min_p", 1.0),
        repetition_sees=_sees(variant, steps, RepetitionPenalty),
        presence_frequency_see=_sees(variant, steps, PresenceFrequencyPenalty),
    )


def _is_foreign(step: Step, variant: Variant) -> bool:
    """Whether a cut is one that the caller adds, not the engine: candle's closure."""
    canonical = {p.name: p.canonical for p in variant.parameters}
    return step.stage is TopK and not any(canonical[name] for name in step.parameters)


def _order(mode: Mode, variant: Variant) -> str:
    steps = (step for step in mode.steps if not _is_foreign(step, variant))
    names = (step.stage.name for step in steps if step.stage not in _HIDDEN)
    return " > ".join(dict.fromkeys(names)) or "-"


def _draw(mode: Mode) -> str:
    return mode.draw.name if not callable(mode.draw) else "its own, by the parameters"


def _field(steps: Sequence[Step], kinds: tuple[type[Stage], ...], name: str) -> str:
    """Every value that a switch has in some steps; a pivot cut is top-k and top-p with the lower ids first."""
    found = []
    for step in steps:
        if step.stage is PivotCut and step.stage in kinds:
            found.append({"ties": "lowest", "boundary": "inclusive", "mass": "current"}[name])
        elif step.stage in kinds:
            default = next(f.default for f in fields(step.stage) if f.name == name)
            found.append(str(step.switches.get(name, default)))
    return " | ".join(dict.fromkeys(found)) or "-"


def _sees(variant: Variant, steps: Sequence[Step], kind: type[Stage]) -> str:
    """Which tokens a penalty looks at, and how many of the last ones unless asked otherwise."""
    defaults = {p.name: p.default for p in variant.parameters if p.canonical == "penalty_last_n"}
    found = []
    for step in steps:
        if step.stage is not kind:
            continue
        scope = str(step.switches.get("scope", next(f.default for f in fields(kind) if f.name == "scope")))
        windows = [defaults[name] for name in step.parameters if defaults.get(name)]
        found.append(SEEN[scope] + (f", last {windows[0]}" if windows else ""))
    return " | ".join(dict.fromkeys(found)) or "-"


def _nothing_asked(dialect: Dialect, variant: str) -> str:
    try:
        plan = Plan.resolve({}, dialect=dialect.name, variant=variant)
    except FairdrawError as problem:
        return f"refused: {str(problem).partition(' needs ')[2].splitlines()[0] or problem} is needed"
    if isinstance(plan.draw, Greedy):
        return "greedy"
    acting = [_written(s) for s in plan.settings if _acts(s, plan)]
    return ", ".join(acting) or "every token, as the model says"


def _acts(setting: Setting, plan: Plan) -> bool:
    names = {stage.name for stage in plan.stages}
    return setting.effect in names and setting.value not in (None, False)


def _written(setting: Setting) -> str:
    value = f"{setting.value:g}" if isinstance(setting.value, float) else setting.value
    return f"{setting.name}={value}"


def _special(dialect: Dialect, variant_name: str, canonical: str, value: object) -> str:
    """What becomes of one special value, alone, in a request that draws."""
    variant = dialect.variants[variant_name]
    name = next((p.name for p in variant.parameters if p.canonical == canonical), "")
    if not name:
        return "-"
    request = _drawing(dialect, variant_name, skip=canonical) | {name: value}
    try:
        plan = Plan.resolve(request, dialect=dialect.name, variant=variant_name)
    except ParameterError as problem:
        return "refused" if problem.parameter == name else f"refused ({problem.parameter})"
    except FairdrawError:
        return "refused"
    kind = {"temperature": Temperature, "top_k": TopK, "top_p": TopP, "min_p": MinP}[canonical]
    if isinstance(plan.draw, Greedy):
        return "greedy"
    stages = [stage for stage in plan.stages if isinstance(stage, kind)]
    return _became(canonical, value, stages, plan)


def _became(canonical: str, value: object, stages: Sequence[Stage], plan: Plan) -> str:
    if canonical == "temperature":
        if plan.mode == "uniform":
            return "all tokens alike"
        return f"{getattr(stages[0], 'value'):.6g}" if stages else "off"  # noqa: B009
    if not stages:
        return "off"
    return {"top_p": "keeps one", "min_p": "equals of the best"}.get(canonical, str(value))


def _drawing(dialect: Dialect, variant_name: str, skip: str) -> dict[str, object]:
    """What a request needs beside one parameter in order to draw."""
    values = {"temperature": 0.5, "top_k": 5, "top_p": 0.5}
    variant = dialect.variants[variant_name]
    request: dict[str, object] = {p.name: True for p in variant.parameters if p.name == "do_sample"}
    for p in variant.parameters:
        heat = p.canonical == "temperature" and not p.default
        if p.canonical != skip and p.canonical in values and (p.required or heat):
            request[p.name] = values[p.canonical]
    others = (p for p in variant.parameters if p.canonical in ("top_k", "top_p") and p.canonical != skip)
    for p in others:
        try:
            plan = Plan.resolve(request, dialect=dialect.name, variant=variant_name)
        except FairdrawError:
            break
        if isinstance(plan.draw, Greedy):
            request[p.name] = values[p.canonical]
    return request
