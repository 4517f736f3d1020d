"""One sentence for each kind of difference between two plans: the table, and how it is filled in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from fairdraw.dialects.reading import ENGINE_DEFAULT
from fairdraw.draws import ClippedGumbel, Greedy
from fairdraw.verify.differences import SOFTMAX_DRAWS, Difference, Key, keyed
from fairdraw.verify.sides import LONGEST, Side, listed, number


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """How two sides of a difference are told: ``<first> <verb> <its words>, <second> <its words>``."""

    verb: str = ""
    words: Mapping[Any, str] = field(default_factory=dict)
    """Words for each value of a switch; the side whose value stands first is named first."""
    otherwise: str = "{value}"
    """Words for any other value."""


_EQUALS = MappingProxyType(
    {
        "all": "all tokens equal to the last ({kept} in all)",
        "lowest": "the lower ids",
        "highest": "the higher ids",
        "any": "an unspecified part",
    }
)
_BOUNDARY = Contrast(
    words={
        "strict": "takes one token more when the mass before it is exactly p",
        "inclusive": "stops there",
    }
)
_SCOPE = Contrast(
    verb="penalises",
    words={
        "padded": "prompt and output with the left padding",
        "all": "prompt and output",
        "output": "the output alone",
    },
)
_WINDOW = Contrast(verb="penalises", words={None: "the whole {seen}"}, otherwise="the last {value} ids")

CONTRASTS: MappingProxyType[tuple[str, str], Contrast] = MappingProxyType(
    {
        ("top_k", "k"): Contrast(verb="keeps the best"),
        ("top_k", "ties"): Contrast(
            verb="keeps",
            words={
                "all": "every token equal to the {kth} ({kept} in all)",
                "any": "exactly {k}",
                "lowest": "exactly {k}, the lower ids first",
                "highest": "exactly {k}, the higher ids first",
            },
        ),
        ("top_p", "p"): Contrast(verb="keeps a prefix of mass"),
        ("top_p", "mass"): Contrast(verb="measures p", words={"raw": "on the whole row", "current": "{before}"}),
        ("top_p", "boundary"): _BOUNDARY,
        ("top_p", "ties"): Contrast(verb="keeps, of equal tokens at the edge of top_p,", words=_EQUALS),
        ("min_p", "p"): Contrast(verb="wants a share of the best token's mass of"),
        ("min_p", "boundary"): Contrast(
            words={"strict": "drops a token with exactly the least share", "inclusive": "keeps it"}
        ),
        ("typical", "p"): Contrast(verb="keeps the most typical tokens up to a mass of"),
        ("typical", "boundary"): _BOUNDARY,
        ("typical", "ties"): Contrast(verb="keeps, of equally typical tokens at the edge,", words=_EQUALS),
        ("temperature", "value"): Contrast(verb="divides by a temperature of"),
        ("temperature", "operation"): Contrast(
            words={
                "multiply": "multiplies by float32(1 / T), which rounds",
                "divide": "divides by T in float32, which rounds",
                "exact": "divides by T in float64",
            }
        ),
        ("repetition_penalty", "penalty"): Contrast(verb="has a repetition penalty of"),
        ("repetition_penalty", "scope"): _SCOPE,
        ("repetition_penalty", "window"): _WINDOW,
        ("presence_frequency_penalty", "presence"): Contrast(verb="subtracts once an id"),
        ("presence_frequency_penalty", "frequency"): Contrast(verb="subtracts for each time that an id was seen"),
        ("presence_frequency_penalty", "scope"): _SCOPE,
        ("presence_frequency_penalty", "window"): _WINDOW,
        ("min_tokens", "count"): Contrast(verb="forbids the end before", otherwise="{value} tokens"),
        ("min_tokens", "scope"): Contrast(
            verb="counts towards the least length", words={"padded": "the prompt too", "output": "the output alone"}
        ),
    }
)
"""(stage, field) to how it is told."""
CUTS = frozenset({"top_k", "top_p", "min_p", "typical"})


def sentence(difference: Difference, a: Side, b: Side) -> str:
    """One difference in words, without a full stop."""
    match difference.kind:
        case "presence":
            return _presence(difference.key, a if difference.key in keyed(a.plan) else b)
        case "draw":
            return _draw(a, b)
        case "order":
            return _order(a, b)
        case _:
            return _field(difference.key, difference.field, a, b)


def _field(key: Key, name: str, a: Side, b: Side) -> str:
    contrast = CONTRASTS.get((key[0], name), Contrast(verb=f"has {key[0]} {name}"))
    rank = [*contrast.words]
    sides = [(side.name, side.values(key)) for side in (a, b)]
    sides.sort(key=lambda side: rank.index(side[1][name]) if side[1][name] in rank else len(rank))
    texts = [number(values[name]) for _, values in sides]
    if texts[0] == texts[1]:
        texts = [repr(values[name]) for _, values in sides]
    (first, words), (second, other) = (
        (side, _words(contrast, values[name], {**values, "value": text}))
        for (side, values), text in zip(sides, texts, strict=True)
    )
    start = f"{first} {contrast.verb}".rstrip()
    return f"{start} {words}, {second} {other}"


def _words(contrast: Contrast, value: object, values: Mapping[str, object]) -> str:
    words = contrast.words.get(value, contrast.otherwise).format(**values)
    return words if len(words) <= LONGEST else f"{words[:LONGEST]}..."


def _presence(key: Key, side: Side) -> str:
    text, origin = side.presence(key)
    if origin == ENGINE_DEFAULT:
        verb = "cuts to" if key[0] in CUTS else "applies"
        return f"{side.name} {verb} its default {text}, which nobody asked for"
    return f"only {side.name} has {text}{f', from the {origin}' if origin else ''}"


def _draw(a: Side, b: Side) -> str:
    greedy = [side for side in (a, b) if isinstance(side.plan.draw, Greedy)]
    clipped = [side for side in (a, b) if isinstance(side.plan.draw, ClippedGumbel)]
    if greedy:
        side = greedy[0]
        reason = f"{side.name} is greedy{f' because {side.mode}' if side.mode else ''}"
        return f"{reason}, {(b if side is a else a).name} draws"
    if clipped:
        return ", ".join(f"{side.name} {_clip(side.plan.draw)}" for side in clipped)  # type: ignore[arg-type]
    kinds = " and ".join(sorted({a.plan.draw.name, b.plan.draw.name} & SOFTMAX_DRAWS))
    return f"{a.name} and {b.name} draw by different rules ({kinds})"


def _clip(draw: ClippedGumbel) -> str:
    reach = math.log(math.log(draw.low) / math.log(draw.high))
    bounds = f"[{number(draw.low)}, {number(draw.high)})"
    return (
        f"draws its Gumbel noise from uniforms in {bounds}, so it thins out rare tokens and never draws one "
        f"more than {reach:.2f} T below the best"
    )


def _order(a: Side, b: Side) -> str:
    """Which one stage stands elsewhere, if moving one settles it; else both orders."""
    orders = [[key for key in keyed(side.plan) if key[0] not in ("mask", "checkpoint")] for side in (a, b)]
    common = [key for key in orders[0] if key in orders[1]]
    theirs = [key for key in orders[1] if key in common]
    for moved in common:
        without = [[key for key in order if key != moved] for order in (common, theirs)]
        if without[0] == without[1]:
            here, there = common.index(moved), theirs.index(moved)
            passed = common[here + 1 : there + 1] if here < there else theirs[there + 1 : here + 1]
            first, second = (a, b) if here < there else (b, a)
            others = listed([name for name, _ in passed])
            after = "it" if len(passed) == 1 else "them"
            return f"{first.name} applies {moved[0]} before {others}, {second.name} after {after}"
    texts = [" > ".join(name for name, _ in order) for order in (common, theirs)]
    return f"{a.name} applies {texts[0]}, {b.name} {texts[1]}"
