"""A plan: everything resolved.  Only a plan runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from fairdraw import plan_format
from fairdraw.context import ModelFacts
from fairdraw.dialects.finding import find_dialect
from fairdraw.dialects.reading import ENGINE_DEFAULT, IMPLIED, Setting, implied_names, read
from fairdraw.draws import Draw, Race
from fairdraw.errors import ParameterError, PlanError
from fairdraw.limits import Limits
from fairdraw.params import SamplingParams
from fairdraw.stages import Stage

CUSTOM = "custom"
"""The name of the dialect of a plan that was composed by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """An ordered tuple of stages with all switches filled, a draw, and the limits of the text.

    Make one with `resolve`, `parse`, `from_json` or `of`.  Plans are equal, and hash alike, when they mean the same
    to the same engine; who asked for a value does not count.

    Examples
    --------
    >>> plan = Plan.parse("candle@0.11: TopKThenTopP k=40 p=0.9 temperature=0.7")
    >>> print(plan)
    candle@0.11: TopKThenTopP k=40 p=0.9 temperature=0.7
    >>> [stage.name for stage in plan.stages]
    ['mask', 'temperature', 'checkpoint', 'top_k', 'top_p']
    """

    dialect: str
    """``engine@version``, or "custom"."""
    variant: str = ""
    """Which of the engine's ways; "" for most engines."""
    mode: str = ""
    """What the engine goes on to do: sample, greedy, ..."""
    settings: tuple[Setting, ...] = ()
    """Every effective value with its origin and its effect."""
    stages: tuple[Stage, ...]
    """What runs, in this order."""
    draw: Draw = Race()
    """How a token is chosen from what the stages leave."""
    limits: Limits = Limits()
    """When a text ends."""

    @classmethod
    def resolve(
        cls,
        request: SamplingParams | Mapping[str, object] | None = None,
        *,
        dialect: str = "fairdraw",
        variant: str = "",
        facts: ModelFacts | None = None,
    ) -> Plan:
        """Read a request as an engine does, and fill in everything that it leaves open.

        Parameters
        ----------
        request : SamplingParams or mapping, optional
            Parameters in our names, or in the engine's own.  None and a value of None mean: not set.  A request in
            our names means drawing unless its temperature is 0: transformers' ``do_sample`` and candle's variant and
            temperature follow from it, with the origin "implied".
        dialect : str
            ``engine`` or ``engine@version``; without a version the newest one known.
        variant : str
            One of the engine's ways, where it has several (candle's ``Sampling``).
        facts : ModelFacts, optional
            Needed by parameters that depend on the model: ``min_tokens``, ``bad_words``.

        Raises
        ------
        PlanError
            Unknown dialect, variant or parameter name.
        ParameterError
            A value outside its domain; the hint has the engine's own words.

        Examples
        --------
        >>> plan = Plan.resolve({"do_sample": True, "temperature": 0.7}, dialect="transformers@5.24")
        >>> [(s.name, s.value, s.origin) for s in plan.settings if s.name == "top_k"]
        [('top_k', 50, 'engine default')]
        """
        chosen = find_dialect(dialect)
        implied: frozenset[str] = frozenset()
        if isinstance(request, SamplingParams):
            own_variant, own_request = chosen.from_params(request)
            variant = variant or own_variant
            implied = implied_names(chosen, variant, own_request, request)
            request = own_request
        if not isinstance(request, Mapping | None):
            hint = "Plan.parse reads a plan from text" if isinstance(request, str) else ""
            raise ParameterError("request", request, "SamplingParams or a mapping of names to values", hint)
        reading = read(chosen, variant, dict(request or {}), facts)
        return cls(
            dialect=chosen.name,
            variant=variant,
            mode=reading.mode,
            settings=tuple(replace(s, origin=IMPLIED) if s.name in implied else s for s in reading.settings),
            stages=reading.stages,
            draw=reading.draw,
            limits=reading.limits,
        )

    @classmethod
    def parse(cls, text: str, *, facts: ModelFacts | None = None) -> Plan:
        """Read a plan from one line of text.

        ``engine[@version]: [Variant] name=value ...``; a value is JSON or a bare word, a whole number for a float
        field becomes a float.  A composed plan is ``custom: stage(field=value, ...) > ... > draw()``.

        Raises
        ------
        PlanError
            The text cannot be read; the message has the place.
        ParameterError
            A value outside its domain.

        Examples
        --------
        >>> Plan.parse("fairdraw: temperature=1 top_k=40").stages[1]
        TopK(k=40, ties='lowest', beyond='off')
        """
        if not isinstance(text, str):
            raise ParameterError("text", text, "a plan as text", "Plan.resolve takes parameters, Plan.from_json data")
        engine, rest = plan_format.split_engine(text)
        if engine == CUSTOM:
            stages, draw = plan_format.parse_stages(rest)
            return cls.of(*stages, draw=draw)
        chosen = find_dialect(engine)
        variant, request = plan_format.parse_parameters(rest, chosen.variants)
        return cls.resolve(request, dialect=chosen.name, variant=variant, facts=facts)

    @classmethod
    def of(cls, *stages: Stage, draw: Draw = Race(), limits: Limits = Limits()) -> Plan:
        """Compose a plan of your own order.

        Examples
        --------
        >>> from fairdraw.stages import Temperature, TopP
        >>> print(Plan.of(TopP(p=0.9), Temperature(value=2.0)))
        custom: top_p(p=0.9) > temperature(value=2.0) > race()
        """
        for stage in stages:
            if not isinstance(stage, Stage):
                parameters = isinstance(stage, (SamplingParams, Mapping))
                hint = "Plan.resolve reads parameters" if parameters else "for instance TopK(k=40)"
                raise PlanError(f"Plan.of takes stages, got {stage!r}", hint)
        plan_format.require_checkpoints(stages)
        plan_format.require_single_memories(stages)
        return cls(dialect=CUSTOM, mode="sample", stages=tuple(stages), draw=draw, limits=limits)

    def __str__(self) -> str:
        if self.dialect == CUSTOM:
            return f"{CUSTOM}: {plan_format.format_stages(self.stages, self.draw)}"
        parts = [plan_format.format_setting(s) for s in self.settings if s.origin != ENGINE_DEFAULT]
        return f"{self.dialect}: {' '.join(part for part in (self.variant, *parts) if part)}".rstrip()

    def to_json(self) -> dict[str, object]:
        """The plan as plain data: stages, draw, limits, and every value with its origin."""
        return plan_format.plan_to_json(self)

    @classmethod
    def from_json(cls, data: Mapping[str, object]) -> Plan:
        """Read back what `to_json` wrote; nothing is resolved again.

        Raises
        ------
        PlanError
            Not a plan, or of another stream version.
        """
        return cls(**plan_format.plan_fields_from_json(data))  # type: ignore[arg-type]


def require_plan(plan: object) -> None:
    """Refuse what is no plan, with a hint how to make one.

    Raises
    ------
    ParameterError
        It is something else, for instance its text.
    """
    if not isinstance(plan, Plan):
        raise ParameterError("plan", plan, "a Plan", "Plan.parse(text), or Plan.resolve(SamplingParams(...))")
