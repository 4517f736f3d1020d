"""By which rules two plans that are written differently mean the same: each as a sentence with its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from fairdraw.draws import Greedy
from fairdraw.plan import Plan
from fairdraw.stages import (
    AllowedIds,
    Checkpoint,
    Dry,
    ForbidStage,
    LogitBias,
    Mask,
    MinP,
    PivotCut,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopNSigma,
    TopP,
)
from fairdraw.translation.meaning import meaning, near

_CUTS = (TopK, TopP, MinP, TopNSigma)
_COMMUTES = {
    frozenset({"temperature", "top_k"}): "top_k commutes with temperature: dividing changes no order",
    frozenset({"temperature", "top_n_sigma"}): "top_n_sigma commutes with temperature: the deviation scales with it",
    frozenset({"min_p", "top_k"}): "min_p and top_k commute: each keeps the best tokens up to a place of its own",
    frozenset({"top_k", "top_p"}): "top_k and this top_p commute: p measures the same row before or after",
    frozenset({"min_p", "top_p"}): "min_p and this top_p commute: p measures the same row before or after",
    frozenset({"min_p", "top_n_sigma"}): "min_p and this top_n_sigma commute: each has a place of its own",
}


def identities(source: Plan, target: Plan) -> tuple[str, ...]:
    """The rules that turn one plan into the other of the same meaning; none if they are written alike.

    Examples
    --------
    >>> source = Plan.parse("custom: min_p(p=0.25) > temperature(value=0.5)")
    >>> identities(source, Plan.parse("vllm: min_p=0.0625 temperature=0.5"))
    ('min_p 0.25 before temperature 0.5 is min_p 0.0625 after it: 0.25^(1/0.5) = 0.0625',)
    """
    greedy = meaning(source).is_greedy
    own, theirs = (_moving(plan) for plan in (source, target))
    found: list[str] = []
    if greedy:
        ways = [isinstance(plan.draw, Greedy) for plan in (source, target)]
        if ways[0] != ways[1]:
            found.append("keeping one token is greedy, at any temperature")
        elif [type(s) for s in own] != [type(s) for s in theirs]:
            found.append("greedy sees no temperature, and no cut that leaves the best token")
        own, theirs = ([s for s in stages if not isinstance(s, (*_CUTS, Temperature))] for stages in (own, theirs))
    else:
        found += _shares(own, theirs)
    found += [*_numbers(own, theirs), *_orders(own, theirs), *_measures(own, theirs), *_idle(own, theirs)]
    return tuple(dict.fromkeys(found))


def _moving(plan: Plan) -> list[Stage]:
    """The stages whose order is written down: not those that forbid, nor checkpoints."""
    out: list[Stage] = []
    for stage in plan.stages:
        if isinstance(stage, PivotCut) and not any(isinstance(s, _CUTS) for s in out):
            out += [TopK(k=stage.k)] if stage.k else []
            out += [TopP(p=stage.p)] if stage.p is not None else []
        elif not isinstance(stage, (Mask, Checkpoint, AllowedIds, ForbidStage)):
            out.append(stage)
    return out


def _first(stages: Sequence[Stage], kind: type[Stage]) -> int | None:
    return next((i for i, stage in enumerate(stages) if isinstance(stage, kind)), None)


def _shares(own: Sequence[Stage], theirs: Sequence[Stage]) -> list[str]:
    """min-p on the other side of a temperature."""
    a, b = (_first(stages, MinP) for stages in (own, theirs))
    heat = _first(own, Temperature)
    if a is None or b is None or heat is None:
        return []
    p, q, t = own[a].p, theirs[b].p, own[heat].value  # type: ignore[attr-defined]
    if near(p, q):
        return []
    earlier = a < heat
    power = f"{p:.6g}^(1/{t:.6g})" if earlier else f"{p:.6g}^{t:.6g}"
    places = ("before", "after") if earlier else ("after", "before")
    return [f"min_p {p:.6g} {places[0]} temperature {t:.6g} is min_p {q:.6g} {places[1]} it: {power} = {q:.6g}"]


def _numbers(own: Sequence[Stage], theirs: Sequence[Stage]) -> list[str]:
    """Additions on the other side of a temperature, and engines that add something to it."""
    found = []
    for kind, names in (
        (PresenceFrequencyPenalty, ("presence", "frequency")),
        (Dry, ("multiplier",)),
        (Temperature, ("value",)),
    ):
        a, b = (_first(stages, kind) for stages in (own, theirs))
        if a is None or b is None:
            continue
        for name in names:
            x, y = getattr(own[a], name), getattr(theirs[b], name)
            if x and y and not near(x, y):
                found.append(f"{kind.name} {name} {x:.6g} before a temperature is {y:.6g} after it, or the reverse")
    a, b = (_first(stages, LogitBias) for stages in (own, theirs))
    if a is not None and b is not None and own[a].bias != theirs[b].bias:  # type: ignore[attr-defined]
        found.append("a bias before a temperature T is the bias over T after it")
    return found


def _orders(own: Sequence[Stage], theirs: Sequence[Stage]) -> list[str]:
    names = [[stage.name for stage in stages] for stages in (own, theirs)]
    common = [name for name in dict.fromkeys(names[0]) if name in names[1]]
    found = []
    for x, y in combinations(common, 2):
        if (names[0].index(x) < names[0].index(y)) != (names[1].index(x) < names[1].index(y)):
            pair = frozenset({x, y})
            if pair == {"temperature", "min_p"}:
                continue  # told with its numbers
            edit = any(name in (RepetitionPenalty.name, Dry.name, LogitBias.name) for name in pair)
            plain = f"{x} and {y} commute" + (": one scales, the other adds or multiplies in step" if edit else "")
            found.append(_COMMUTES.get(pair, plain))
    return found


def _measures(own: Sequence[Stage], theirs: Sequence[Stage]) -> list[str]:
    a, b = (_first(stages, TopP) for stages in (own, theirs))
    if a is None or b is None or own[a].mass == theirs[b].mass:  # type: ignore[attr-defined]
        return []
    return ["p measures the whole row in both: in one by its place, in the other by a remembered row"]


def _idle(own: Sequence[Stage], theirs: Sequence[Stage]) -> list[str]:
    """Stages that only one of the two has, or has more often."""
    names = [[stage.name for stage in stages] for stages in (own, theirs)]
    odd = sorted({n for n in (*names[0], *names[1]) if names[0].count(n) != names[1].count(n)})
    return [f"of several {name} the narrowest counts, and temperatures multiply" for name in odd]
