"""What a plan means, freed of the order and the units in which its engine writes it.

Two plans with one meaning have one law on every row, up to what `edges` names: ties, exact hits and rounding.  The
rules by which different plans come to one meaning, and nothing else, make a translation exact:

- Dividing by a temperature T changes no order: top-k and top-n-sigma commute with it, and T1 then T2 is T1 T2.
- min-p with m at temperature T keeps x >= max - T ln(1/m): a gap in logits, the same at any place among the cuts.
- top-k, top-n-sigma, min-p and top-p each keep the best of the row up to a place.  Where their places do not depend
  on each other they commute, and of several top-k or min-p the narrowest counts.  A top-p depends on the temperature
  and on what it measures: what the cuts before it leave, or the row at a checkpoint.
- A number added to a logit that was divided by T is T times that number before it; a repetition penalty does not see T.
- Forbidding ids commutes with every edit; additions commute with each other, not with a repetition penalty.
- Greedy sees no temperature and no such cut; top-k with k = 1 is greedy, and so are top-p 0 and min-p 1.

Any other stage stands where it stands, with all that came before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace

from fairdraw.draws import Draw, ExponentialRace, Greedy, InverseCdf, Race
from fairdraw.plan import Plan
from fairdraw.stages import (
    AllowedIds,
    BadWords,
    CandidateTypical,
    Checkpoint,
    CutStage,
    Dry,
    DynamicTemperature,
    ForbidStage,
    LogitBias,
    Mask,
    MinP,
    PivotCut,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    SequenceBias,
    Stage,
    Temperature,
    TopK,
    TopNSigma,
    TopP,
    Typical,
)

SOFTMAX = "softmax"
EDGE_FIELDS = frozenset({"ties", "boundary", "unknown_ids", "beyond", "operation"})
"""Switches that matter at ties, exact hits and odd ids alone."""
ENDLESS = 1_000_000
"""A window of so many tokens sees every text."""
P_TOLERANCE, RELATIVE_TOLERANCE = 2.0**-22, 5e-7
"""What an engine's float32 makes of a number: well within the 2^-20 in which a cut is reported as a boundary tie."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Keep the best tokens up to a place: ``top_k``, ``gap`` (min-p), ``top_p`` or ``sigma``."""

    kind: str
    number: float
    """k; the gap in logits; p; or the number of deviations."""
    temperature: float = 1.0
    """Of the weights that top-p measures."""
    inside: tuple[Cut, ...] = ()
    """The cuts before what top-p and sigma measure."""
    since: int = 0
    """The section whose row top-p measures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A change of logits, in the units of the row before any temperature."""

    kind: str
    numbers: tuple[float, ...]
    detail: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Cuts, in no order, and the temperature reached; then a stage that no rule moves, or the draw."""

    cuts: tuple[Cut, ...] = ()
    temperature: float = 1.0
    stage: Stage | None = None
    scaled: float = 1.0
    """The part of the temperature by which the logits that the stage reads were divided."""
    remembered: Cut | None = None
    """The row of the checkpoint that the stage reads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a plan means; see the module."""

    forbidden: frozenset[Stage]
    edits: tuple[tuple[Edit, ...], ...]
    """Groups in order; inside a group the order does not matter."""
    sections: tuple[Section, ...]
    draw: Draw | str
    """``"softmax"``, or a draw with a law of its own."""
    edges: Mapping[str, str] = field(default_factory=dict, compare=False)
    """What holds at ties, exact hits and in rounding: topic to rule."""

    @property
    def last(self) -> Section:
        """The section that ends in the draw."""
        return self.sections[-1]

    @property
    def is_greedy(self) -> bool:
        """Whether the best token is taken."""
        return isinstance(self.draw, Greedy)


def meaning(plan: Plan) -> Meaning:
    """What a plan means.

    Examples
    --------
    >>> last = meaning(Plan.parse("custom: min_p(p=0.05) > top_k(k=40) > temperature(value=0.5)"))
    >>> first = meaning(Plan.parse("custom: temperature(value=0.5) > top_k(k=40) > min_p(p=0.0025)"))
    >>> same_meaning(last, first)
    True
    """
    reader = _Reader()
    for stage in plan.stages:
        reader.take(stage)
    return _settled(reader, plan.draw)


def same_meaning(a: Meaning, b: Meaning) -> bool:
    """Whether two meanings are one, but for what `Meaning.edges` says."""
    return (
        same_draw(a.draw, b.draw)
        and a.forbidden == b.forbidden
        and _same_edits(a.edits, b.edits)
        and len(a.sections) == len(b.sections)
        and all(same_section(x, y) for x, y in zip(a.sections, b.sections, strict=True))
    )


def same_draw(a: Draw | str, b: Draw | str) -> bool:
    """Whether two draws are one, within float32's rounding."""
    p, q = getattr(a, "p", None), getattr(b, "p", None)
    if p is None or q is None:
        return a == b
    return type(a) is type(b) and abs(p - q) <= P_TOLERANCE


def same_section(a: Section, b: Section) -> bool:
    """Whether two sections are one, within float32's rounding."""
    same_heat = near(a.temperature, b.temperature) and near(a.scaled, b.scaled)
    rows = [() if s.remembered is None else (s.remembered,) for s in (a, b)]
    return same_heat and same_cuts(a.cuts, b.cuts) and same_cuts(*rows) and same_stage(a.stage, b.stage)


def same_stage(a: Stage | None, b: Stage | None) -> bool:
    """Whether two stages are one, but for ties, exact hits and odd ids."""
    if a is None or b is None or type(a) is not type(b):
        return a is b
    return all(alike(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.name not in EDGE_FIELDS)


def same_cuts(a: tuple[Cut, ...], b: tuple[Cut, ...]) -> bool:
    """Whether two sets of cuts are one, within float32's rounding."""
    return len(a) == len(b) and all(same_cut(x, y) for x, y in zip(a, b, strict=True))


def same_cut(a: Cut, b: Cut) -> bool:
    """Whether two cuts are one, within float32's rounding."""
    if a.kind != b.kind or a.since != b.since or not same_cuts(a.inside, b.inside):
        return False
    if a.kind == "top_p":
        return abs(a.number - b.number) <= P_TOLERANCE and near(a.temperature, b.temperature)
    return near(a.number, b.number)


def near(a: float, b: float) -> bool:
    """Whether two numbers are one number, rounded."""
    return math.isclose(a, b, rel_tol=RELATIVE_TOLERANCE, abs_tol=1e-12)


def same_edit(a: Edit, b: Edit) -> bool:
    """Whether two edits are one, within float32's rounding."""
    same_kind = (a.kind, a.detail, len(a.numbers)) == (b.kind, b.detail, len(b.numbers))
    return same_kind and all(near(x, y) for x, y in zip(a.numbers, b.numbers, strict=True))


def _same_edits(a: tuple[tuple[Edit, ...], ...], b: tuple[tuple[Edit, ...], ...]) -> bool:
    return [len(group) for group in a] == [len(group) for group in b] and all(
        same_edit(x, y) for group, other in zip(a, b, strict=True) for x, y in zip(group, other, strict=True)
    )


def alike(a: object, b: object) -> bool:
    """Whether two values are one, but for rounding."""
    return near(a, b) if isinstance(a, float) and isinstance(b, float) else a == b


class _Reader:
    """Reads stages in order; what it holds is the meaning so far."""

    def __init__(self) -> None:
        self.forbidden: set[Stage] = set()
        self.edits: list[list[Edit]] = []
        self.sections: list[Section] = []
        self.cuts: list[Cut] = []
        self.temperature = self.scaled = 1.0
        self.checkpoints: dict[str, Cut] = {}
        self.edges: dict[str, str] = {}

    def take(self, stage: Stage) -> None:
        begun = bool(self.cuts or self.sections)
        match stage:
            case Mask():
                pass
            case Checkpoint():
                self.checkpoints[stage.label] = self._measure("top_p", 1.0)
            case Temperature():
                self._edge("temperature", stage.operation)
                self.temperature *= stage.value
                # An exact temperature is kept beside the logits: an edit after it sees them as they were.
                self.scaled *= 1.0 if stage.operation == "exact" else stage.value
            case TopK() | TopP() | MinP() | TopNSigma():
                self._cut(stage)
            case PivotCut() if not self.cuts and not self.sections:
                self._pivot(stage)
            case AllowedIds() | ForbidStage() if not begun:
                self._forbid(stage)
            case _ if not begun and type(stage) in _EDITS:
                self._edit(stage)
            case _:
                self._stop_at(stage)

    def _measure(self, kind: str, number: float) -> Cut:
        return Cut(
            kind=kind,
            number=number,
            temperature=self.temperature if kind == "top_p" else 1.0,
            inside=narrowest(self.cuts),
            since=len(self.sections),
        )

    def _cut(self, stage: Stage) -> None:
        match stage:
            case TopK():
                self._edge("top_k", stage.ties)
                if stage.beyond != "off":
                    self._edge("beyond", stage.beyond)
                self.cuts.append(Cut(kind="top_k", number=stage.k))
            case MinP() if stage.p > 0:
                self._edge("min_p", stage.boundary)
                self.cuts.append(Cut(kind="gap", number=-self.temperature * math.log(stage.p)))
            case TopNSigma():
                self.cuts.append(self._measure("sigma", stage.n))
            case TopP() if stage.p < 1:
                self._edge("top_p", stage.ties)
                self._edge("hit", stage.boundary)
                whole = self._measure("top_p", stage.p) if stage.mass == "current" else self.checkpoints[stage.mass]
                self.cuts.append(replace(whole, number=stage.p))

    def _pivot(self, stage: PivotCut) -> None:
        self._edge("pivot", "yes")
        if stage.k is not None:
            self._cut(TopK(k=stage.k))
        if stage.p is not None:
            self._cut(TopP(p=stage.p))

    def _forbid(self, stage: Stage) -> None:
        if getattr(stage, "scope", "") == "padded":
            self._edge("padding", "seen")
            stage = replace(stage, scope="all")  # type: ignore[call-arg]
        if isinstance(stage, BadWords):
            self._edge("bad_words", stage.scope)
            stage = replace(stage, scope="all")
        self.forbidden.add(stage)

    def _edit(self, stage: Stage) -> None:
        for edit in self._edits_of(stage):
            alone = edit.kind == "repetition"
            if not self.edits or alone or self.edits[-1][0].kind == "repetition":
                self.edits.append([])
            self.edits[-1].append(edit)

    def _edits_of(self, stage: Stage) -> Iterable[Edit]:
        t = self.scaled
        match stage:
            case RepetitionPenalty():
                yield Edit(kind="repetition", numbers=(stage.penalty,), detail=self._seen(stage))
            case PresenceFrequencyPenalty():
                for kind in ("presence", "frequency"):
                    number = getattr(stage, kind)
                    if number:
                        yield Edit(kind=kind, numbers=(number * t,), detail=self._seen(stage))
            case LogitBias():
                ids, numbers = zip(*stage.bias, strict=True) if stage.bias else ((), ())
                yield Edit(kind="bias", numbers=tuple(number * t for number in numbers), detail=ids)
            case SequenceBias():
                ids, numbers = zip(*stage.bias, strict=True) if stage.bias else ((), ())
                yield Edit(kind="sequence bias", numbers=tuple(number * t for number in numbers), detail=ids)
            case Dry():
                detail = (stage.base, stage.allowed_length, stage.breakers, stage.longest, *self._seen(stage))
                yield Edit(kind="dry", numbers=(stage.multiplier * t,), detail=detail)

    def _seen(self, stage: RepetitionPenalty | PresenceFrequencyPenalty | Dry) -> tuple[object, ...]:
        scope, window = stage.scope, stage.window
        if scope == "padded":
            self._edge("padding", "seen")
            scope = "all"
        if window is not None and window >= ENDLESS:
            self._edge("window", str(window))
            window = None
        return scope, window

    def _stop_at(self, stage: Stage) -> None:
        for name in sorted(EDGE_FIELDS & {f.name for f in fields(stage)}):
            self._edge(f"{stage.name}.{name}", str(getattr(stage, name)))
        stage = self._without_candidates(stage)
        scaled = 1.0 if isinstance(stage, CutStage) else self.scaled
        self.sections.append(
            Section(
                cuts=narrowest(self.cuts),
                temperature=self.temperature,
                stage=stage,
                scaled=scaled,
                remembered=self.checkpoints.get(getattr(stage, "mass", "current")),
            )
        )
        self.cuts, self.temperature = [], 1.0

    def _without_candidates(self, stage: Stage) -> Stage:
        """A stage of llama.cpp that counts forbidden candidates as the one that does not, where there is none."""
        counted = getattr(stage, "candidates", None) or 0
        # As many candidates as tokens: no cut yet, or a top-k that leaves at least so many.
        whole = not self.forbidden and not self.sections
        whole = whole and all(cut.kind == "top_k" and cut.number >= counted for cut in self.cuts)
        match stage:
            case CandidateTypical() if stage.least <= 1 and (whole or not counted):
                plain: Stage = Typical(p=stage.p, boundary="strict", ties="any")
            case DynamicTemperature() if whole and stage.candidates is not None:
                plain = replace(stage, candidates=None)
            case _:
                return stage
        if counted:
            self._edge("candidates", "counted")
        return plain

    def _edge(self, topic: str, rule: str) -> None:
        rules = dict.fromkeys((*filter(None, self.edges.get(topic, "").split(", ")), rule))
        self.edges[topic] = ", ".join(rules)


_EDITS = frozenset({RepetitionPenalty, PresenceFrequencyPenalty, LogitBias, SequenceBias, Dry})


def narrowest(cuts: Iterable[Cut]) -> tuple[Cut, ...]:
    """The cuts without those that a narrower one of their kind makes idle, in a fixed order."""
    chosen: list[Cut] = []
    for kind in ("top_k", "gap"):
        same = [cut for cut in cuts if cut.kind == kind]
        chosen += [min(same, key=lambda cut: cut.number)] if same else []
    others = dict.fromkeys(cut for cut in cuts if cut.kind not in ("top_k", "gap"))
    return tuple(sorted((*chosen, *others), key=lambda cut: (cut.kind, cut.number, cut.temperature, len(cut.inside))))


def _settled(reader: _Reader, draw: Draw) -> Meaning:
    last = Section(cuts=narrowest(reader.cuts), temperature=reader.temperature)
    law: Draw | str = draw
    if draw in (Race(), ExponentialRace(), InverseCdf()) or (draw.name == "truncated" and getattr(draw, "p") == 1):  # noqa: B009
        law = SOFTMAX
    if law == SOFTMAX and any(_leaves_the_best(cut) for cut in last.cuts):
        reader.edges["one"] = next(_ONE_BY[cut.kind] for cut in last.cuts if _leaves_the_best(cut))
        law = Greedy()
    elif isinstance(draw, Greedy):
        reader.edges["one"] = "greedy"
    if isinstance(law, Greedy):
        last = Section()
    edits = tuple(tuple(sorted(group, key=lambda edit: (edit.kind, repr(edit.detail)))) for group in reader.edits)
    return Meaning(
        forbidden=frozenset(reader.forbidden),
        edits=edits,
        sections=(*reader.sections, last),
        draw=law,
        edges=reader.edges,
    )


_ONE_BY = {"top_k": "top_k", "gap": "min_p", "top_p": "top_p"}


def _leaves_the_best(cut: Cut) -> bool:
    return (cut.kind, cut.number) in (("top_k", 1), ("gap", 0.0), ("top_p", 0.0))
