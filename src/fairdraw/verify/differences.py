"""How two plans differ in structure, and a plan that takes over some of another's differences."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal

from fairdraw.plan import Plan
from fairdraw.stages import STAGES, Stage

Key = tuple[str, int]
"""Name of a stage, and which one of that name it is."""
Kind = Literal["presence", "draw", "order", "field"]

QUIET_FIELDS = frozenset(
    {
        ("temperature", "operation"),
        ("presence_frequency_penalty", "operation"),
        ("repetition_penalty", "unknown_ids"),
        ("presence_frequency_penalty", "unknown_ids"),
        ("top_k", "beyond"),
    }
)
"""Switches that round or refuse differently and else mean the same."""
SOFTMAX_DRAWS = frozenset({"race", "exponential_race", "inverse_cdf"})
"""Draws that follow the row's own weights."""
ROUNDING = 1e-6
"""Numbers as near as this, relatively, are the same number, rounded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One thing in which two plans differ."""

    kind: Kind
    key: Key = ("", 0)
    """The stage; ("", 0) for draw and order."""
    field: str = ""
    """The stage's field, for the kind "field"."""
    quiet: bool = False
    """Whether it only rounds or refuses differently."""

    @property
    def name(self) -> str:
        """``top_p.mass``, ``top_k``, ``draw`` or ``order``."""
        parts = (self.key[0] or self.kind, self.field)
        return ".".join(part for part in parts if part)


def keyed(plan: Plan) -> dict[Key, Stage]:
    """The stages of a plan under their keys, in order."""
    out: dict[Key, Stage] = {}
    for stage in plan.stages:
        nth = sum(name == stage.name for name, _ in out)
        out[stage.name, nth] = stage
    return out


def differences(plan_a: Plan, plan_b: Plan, *, masked: bool = False) -> tuple[Difference, ...]:
    """Everything in which two plans differ: what matters most first, mere rounding last.

    Parameters
    ----------
    plan_a, plan_b : Plan
        The two.
    masked : bool
        Whether there is a mask; without one a mask stage does nothing, wherever it stands.

    Notes
    -----
    A checkpoint changes nothing by itself and is no difference; what measures mass on it is.

    Examples
    --------
    >>> a = Plan.parse("fairdraw: temperature=0.5 top_k=40")
    >>> b = Plan.parse("fairdraw: temperature=0.7 top_p=0.9")
    >>> [difference.name for difference in differences(a, b)]
    ['top_k', 'top_p', 'temperature.value']
    """
    silent = {"checkpoint"} if masked else {"checkpoint", "mask"}
    own, theirs = (
        {key: stage for key, stage in keyed(plan).items() if key[0] not in silent} for plan in (plan_a, plan_b)
    )
    found = [
        Difference(kind="presence", key=key)
        for key in merged(list(own), list(theirs))
        if (key in own) != (key in theirs)
    ]
    if plan_a.draw != plan_b.draw:
        quiet = {plan_a.draw.name, plan_b.draw.name} <= SOFTMAX_DRAWS
        found.insert(0, Difference(kind="draw", quiet=quiet))
    common = [key for key in own if key in theirs]
    if common != [key for key in theirs if key in own]:
        found.append(Difference(kind="order"))
    for key in common:
        found += _field_differences(key, own[key], theirs[key])
    return tuple(sorted(found, key=lambda difference: difference.quiet))


def take_over(plan: Plan, other: Plan, chosen: Collection[Difference]) -> Plan:
    """The plan with some of its differences to the other one settled as in the other.

    Examples
    --------
    >>> a = Plan.parse("fairdraw: temperature=0.5 top_k=40")
    >>> b = Plan.parse("fairdraw: temperature=0.7")
    >>> mixed = take_over(a, b, [Difference(kind="presence", key=("top_k", 0))])
    >>> [stage.name for stage in mixed.stages]
    ['mask', 'temperature']
    """
    own, theirs = keyed(plan), keyed(other)
    reordered = any(difference.kind == "order" for difference in chosen)
    order = merged(list(theirs), list(own)) if reordered else merged(list(own), list(theirs))
    moved = {difference.key for difference in chosen if difference.kind == "presence"}
    kept = [key for key in order if key[0] == "checkpoint" or (key in own) != (key in moved)]
    stages = []
    for key in kept:
        stage = own[key] if key in own else theirs[key]
        names = [d.field for d in chosen if d.kind == "field" and d.key == key]
        stages.append(replace(stage, **{name: getattr(theirs[key], name) for name in names}))
    draw = other.draw if any(difference.kind == "draw" for difference in chosen) else plan.draw
    return replace(plan, stages=tuple(stages), draw=draw)


def merged(first: list[Key], second: list[Key]) -> list[Key]:
    """The first list, with what only the second has put behind its neighbour there.

    What only the first has may stand at the same place; the table of the stages then says which one comes first.
    """
    out = list(first)
    for place, key in enumerate(second):
        if key in first:
            continue
        spot = out.index(second[place - 1]) + 1 if place else 0
        while spot < len(out) and out[spot] not in second and _rank(out[spot]) < _rank(key):
            spot += 1
        out.insert(spot, key)
    return out


def _rank(key: Key) -> int:
    """Place of a stage in the table; a user's own stage comes last."""
    return [*STAGES, key[0]].index(key[0])


def _field_differences(key: Key, own: Stage, theirs: Stage) -> list[Difference]:
    pairs: Mapping[str, tuple[object, object]] = {
        field.name: (getattr(own, field.name), getattr(theirs, field.name)) for field in fields(own)
    }
    return [
        Difference(kind="field", key=key, field=name, quiet=(key[0], name) in QUIET_FIELDS or _is_rounding(*pair))
        for name, pair in pairs.items()
        if pair[0] != pair[1]
    ]


def _is_rounding(a: object, b: object) -> bool:
    return isinstance(a, float) and isinstance(b, float) and math.isclose(a, b, rel_tol=ROUNDING)
