"""What a dialect is: how one engine at one version reads its own parameters, as data.

A dialect has variants (one, but for candle); a variant has parameters and modes; a mode is an ordered list of steps
and a draw.  A step fills one stage's fields from parameters and fixes its switches.  Reading a request means: check
every value, fill in the engine's defaults, take the first mode that applies, and build its steps that are not off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from fairdraw.context import ModelFacts
from fairdraw.domains import Domain
from fairdraw.draws import Draw, Race
from fairdraw.errors import ParameterError
from fairdraw.params import SamplingParams
from fairdraw.stages import Stage

Values = Mapping[str, object]
"""Effective value of every parameter of a variant."""
Fill = Callable[[Values, ModelFacts | None], object]
"""Computes a stage's field where a parameter alone is not enough."""
_NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One parameter in the engine's own name."""

    name: str
    domain: Domain
    """What the engine accepts; what it clamps or takes as off by definition is inside."""
    meaning: str
    """One line; a limit or a stage of the text, and its off value."""
    default: object = None
    """What holds when nobody sets it; None: the parameter stays unset."""
    default_source: str = ""
    """Where the engine's default stands."""
    required: bool = False
    """Whether the engine has no way without it."""
    aliases: tuple[str, ...] = ()
    canonical: str = ""
    """The field of `SamplingParams` that means the same."""
    limit: str = ""
    """The field of `Limits` that it sets, for parameters of the text."""
    refusal: str | Callable[[object], str] = ""
    """What the engine itself says of a value outside the domain, with ``{value}``."""

    def engine_words(self, value: object) -> str:
        """What the engine itself says of an illegal value; "" when it says nothing."""
        if callable(self.refusal):
            return self.refusal(value)
        return self.refusal.replace("{value}", str(value))


@dataclass(frozen=True, slots=True)
class Off:
    """When a step is left out: ``parameter relation value``."""

    parameter: str
    relation: str
    """"is" (one of the values; None means unset), ">=", "<=", ">", or "falsy with" (this and another parameter)."""
    values: tuple[object, ...]

    def holds(self, values: Values) -> bool:
        """Whether the step is left out."""
        value = values[self.parameter]
        if self.relation == "falsy with":
            return not value and not values[str(self.values[0])]
        if self.relation == "is":
            return any(value is option or value == option for option in self.values)
        limit = self.values[0]
        tests = {">=": lambda: value >= limit, "<=": lambda: value <= limit, ">": lambda: value > limit}  # type: ignore[operator]
        return value is not None and tests[self.relation]()


def off_if(parameter: str, relation: str, *values: object) -> Off:
    """Shorthand: ``off_if("top_k", "is", None, 0)``."""
    return Off(parameter, relation, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One stage of a mode: which parameters fill its fields, and the switches in which engines differ."""

    stage: type[Stage]
    fields: Mapping[str, str | Fill] = field(default_factory=lambda: _NOTHING)
    """Stage field to the parameter that fills it, or to a function of all values and the model's facts."""
    switches: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    """Stage fields that the engine fixes."""
    off: tuple[Off, ...] = ()
    """The step is left out when one of these holds."""
    reads: tuple[str, ...] = ()
    """Parameters that a function in ``fields`` reads."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of all parameters that this step reads."""
        named = (source for source in self.fields.values() if isinstance(source, str))
        return tuple(dict.fromkeys((*named, *self.reads, *(off.parameter for off in self.off))))

    def build(self, values: Values, facts: ModelFacts | None) -> Stage | None:
        """The stage, or None if it is off."""
        if any(off.holds(values) for off in self.off):
            return None
        filled = {
            name: values[source] if isinstance(source, str) else source(values, facts)
            for name, source in self.fields.items()
        }
        return self.stage(**filled, **self.switches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mode:
    """One way in which the engine goes on, once it knows the values."""

    name: str
    steps: tuple[Step, ...]
    when: Callable[[Values], bool] = lambda values: True
    """Whether this mode applies; the first that does is taken."""
    draw: Draw | Callable[[Values], Draw] = Race()
    """How a token is chosen; a function of the values where one of them is the draw's own number."""
    reads: tuple[str, ...] = ()
    """Parameters that chose the mode."""
    ignores: str = ""
    """Why a parameter that no step of this mode reads has no effect."""
    unread: tuple[str, ...] = ()
    """Parameters that the engine does not look at in this mode: any number will do."""
    arrange: Callable[[Values], tuple[Step, ...]] | None = None
    """Which of the steps run, and in which order, where a request may say so; None: all of them, as they stand."""

    def arranged(self, values: Values) -> tuple[Step, ...]:
        """The steps that run."""
        return self.steps if self.arrange is None else self.arrange(values)

    def make_draw(self, values: Values) -> Draw:
        """The draw, with its numbers."""
        return self.draw if isinstance(self.draw, Draw) else self.draw(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One set of parameters and what the engine makes of it."""

    parameters: tuple[Parameter, ...]
    modes: tuple[Mode, ...]
    meaning: str = ""
    fixed_limits: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    """Limits of the text that the engine fixes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How one engine at one version reads parameters."""

    engine: str
    version: str
    """"" when the engine has none."""
    summary: str
    """One line for tables."""
    source: str
    """Package, version and files that were read."""
    variants: Mapping[str, Variant]
    """Name to variant; "" is the one taken when none is named."""
    from_params: Callable[[SamplingParams], tuple[str, Mapping[str, object]]]
    """Variant and parameters, in the engine's names, that mean the same as a request in ours."""
    unmodelled: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Parameters that the engine has and this dialect does not model, and what each does."""
    elsewhere: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    """Names that people bring from other engines, and the name here."""
    refuses: Literal["numbers", "types"] = "numbers"
    """What its own words of refusal hold for: numbers out of range alone, or values of another type as well."""

    @property
    def name(self) -> str:
        """``engine@version``."""
        return f"{self.engine}@{self.version}" if self.version else self.engine


def canonical_reading(
    dialect_name: str, parameters: tuple[Parameter, ...], params: SamplingParams
) -> dict[str, object]:
    """A request in our names, in the engine's own names.

    Raises
    ------
    ParameterError
        A field is set that the engine has no parameter for.
    """
    known = {parameter.canonical: parameter.name for parameter in parameters if parameter.canonical}
    request: dict[str, object] = {}
    for name, value in params.given():
        if name in known:
            request[known[name]] = value
        elif name != "seed":
            raise ParameterError(name, value, f"unset for {dialect_name}, which has no such parameter")
    return request


def by_our_names(
    engine: str, parameters: tuple[Parameter, ...]
) -> Callable[[SamplingParams], tuple[str, Mapping[str, object]]]:
    """How an engine without variants reads a request in our names: each field by the parameter that means the same."""

    def from_params(params: SamplingParams) -> tuple[str, Mapping[str, object]]:
        return "", canonical_reading(engine, parameters, params)

    return from_params
