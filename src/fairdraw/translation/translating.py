"""Translating a plan: into another engine's own parameters, with a verdict that is proved, measured, or a refusal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import as_logits
from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Parameter
from fairdraw.dialects.finding import find_dialect
from fairdraw.errors import FairdrawError, LogitsError
from fairdraw.history import History
from fairdraw.limits import Limits
from fairdraw.plan import CUSTOM, Plan, require_plan
from fairdraw.translation.candidates import NEUTRAL, Candidate, candidates
from fairdraw.translation.edges import edges
from fairdraw.translation.identities import identities
from fairdraw.translation.meaning import Meaning, meaning, same_meaning
from fairdraw.translation.mismatches import Mismatch, mismatches
from fairdraw.translation.nearest import Nearest, Rows, nearest, ranked_by_meaning

Verdict = Literal["exact", "exact by an identity", "row-dependent", "impossible"]
_FILE_NAMES = frozenset({"temperature", "top_k", "top_p", "min_p", "repetition_penalty"})
SET_BY_FILES = MappingProxyType(
    {
        "transformers": _FILE_NAMES | {"typical_p"},
        "vllm": _FILE_NAMES | {"presence_penalty", "frequency_penalty"},
        "sglang": _FILE_NAMES,
    }
)
"""What a model's generation_config.json may set behind a request's back, in engines that read it: our names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Translation:
    """What a plan is in another engine.

    ``"exact"``: the same stages with the same numbers.  ``"exact by an identity"``: other numbers or another order
    with the same law on every row, by the rules that `reasons` lists.  Both hold up to `edges`: ties, exact hits and
    rounding, where the engines' own rules differ.  ``"row-dependent"``: no setting has this law on every row; `plan`
    is the nearest that was found.  ``"impossible"``: a stage that depends on the text, on a second row or on nothing
    documented has no counterpart; `plan` is None, `rest` is what remains without it.
    """

    source: Plan
    target: str
    """``engine@version``."""
    verdict: Verdict
    plan: Plan | None
    """The target's plan, every number that acts given explicitly."""
    rest: Plan | None = None
    """Where the verdict is "impossible": the nearest plan without the stages that have no counterpart."""
    reasons: tuple[str, ...] = ()
    """Why: the identities used, or what is otherwise."""
    edges: tuple[str, ...] = ()
    """Where two plans of one meaning may still differ."""
    text: tuple[str, ...] = ()
    """Limits of the text that the target has no parameter for, or means otherwise."""
    searched: str = ""
    """The parameter whose nearest value was searched on the rows."""
    unchanged: float | None = None
    """Mean total variation on the rows without that search."""
    total_variation: tuple[float, ...] | None = None
    """On each row given; None if there was none."""

    @property
    def is_exact(self) -> bool:
        """Whether the law is the same on every row, up to `edges`."""
        return self.verdict.startswith("exact")

    def to_json(self) -> dict[str, object]:
        """Everything as plain data."""
        return {
            "source": str(self.source),
            "target": self.target,
            "verdict": self.verdict,
            "plan": None if self.plan is None else self.plan.to_json(),
            "rest": None if self.rest is None else str(self.rest),
            "reasons": list(self.reasons),
            "edges": list(self.edges),
            "text": list(self.text),
            "searched": self.searched,
            "unchanged": self.unchanged,
            "total_variation": None if self.total_variation is None else list(self.total_variation),
        }


def translate(
    plan: Plan,
    to: str,
    *,
    logits: object = None,
    history: History | None = None,
    facts: ModelFacts | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Translation:
    """Say what a plan is in another engine's own parameters.

    Parameters
    ----------
    plan : Plan
        What is to be said otherwise.
    to : str
        ``engine`` or ``engine@version``.
    logits : array_like of float, shape (vocab,) or (rows, vocab), optional
        Rows on which to measure, and to search the nearest setting where nothing is exact.
    history : History, optional
        Prompt and output ids of these rows.
    facts : ModelFacts, optional
        Needed by parameters that depend on the model.
    on_progress : callable
        Told how many of how many steps of a search are done.

    Returns
    -------
    Translation
        Verdict, the target's plan, and why.

    Raises
    ------
    PlanError
        Unknown dialect.
    ParameterError, LogitsError
        As in `fairdraw.law`, on the rows.

    Notes
    -----
    "Exact" is proved by the rules of `fairdraw.translation.meaning`; nothing is drawn.  What they cannot prove is
    called row-dependent, also where it may hold on every row.  Milliseconds without rows; with a search some
    hundred laws, about ten seconds on ten rows of 49152.

    Examples
    --------
    >>> result = translate(Plan.parse("transformers: do_sample=true temperature=0.7"), "candle")
    >>> print(result.verdict, "|", result.plan)
    exact | candle@0.11: TopK k=50 temperature=0.7
    """
    require_plan(plan)
    dialect = find_dialect(to)
    rows = _checked_rows(logits)
    wanted = meaning(plan)
    found, refusals = candidates(plan, wanted, dialect, facts)
    meanings = [meaning(candidate.plan) for candidate in found]
    exact = [c for c, m in zip(found, meanings, strict=True) if same_meaning(wanted, m) and _is_documented(m)]
    if exact:
        best = min((_plain(wanted, c, dialect, facts) for c in exact), key=lambda c: _plainness(plan, c, dialect))
        return _exact(plan, best, dialect, rows, history, facts)
    ranked = ranked_by_meaning(wanted, found, meanings)
    return _inexact(plan, wanted, ranked, refusals, dialect, rows, history, facts, on_progress)


def _checked_rows(logits: object) -> list[NDArray[Any]]:
    if logits is None:
        return []
    try:
        # What has axes of its own, a torch tensor for instance, is taken row by row.
        array: Any = logits if hasattr(logits, "ndim") else np.asarray(logits)
    except ValueError:
        raise LogitsError("logits", "be rows of one length", type(logits).__name__) from None
    if array.ndim not in (1, 2):
        shape = f"shape {tuple(array.shape)}"
        raise LogitsError("logits", "have one axis, (vocab,), or two, (rows, vocab)", shape)
    many = [array] if array.ndim == 1 else list(array)
    return [as_logits(row, f"logits row {i}") for i, row in enumerate(many)]


def _is_documented(m: Meaning) -> bool:
    return getattr(m.draw, "name", "") != "undocumented"


def _exact(
    source: Plan,
    best: Candidate,
    dialect: Dialect,
    rows: Sequence[NDArray[Any]],
    history: History | None,
    facts: ModelFacts | None,
) -> Translation:
    carried, text = _with_limits(source, best, dialect, facts)
    rules = identities(source, carried)
    apart = tuple(Rows(source, rows, history).apart(carried)) if rows else None
    return Translation(
        source=source,
        target=dialect.name,
        verdict="exact by an identity" if rules else "exact",
        plan=carried,
        reasons=rules,
        edges=edges(source, carried),
        text=text,
        total_variation=apart,
    )


def _inexact(
    source: Plan,
    wanted: Meaning,
    ranked: Sequence[Candidate],
    refusals: Sequence[str],
    dialect: Dialect,
    rows: Sequence[NDArray[Any]],
    history: History | None,
    facts: ModelFacts | None,
    on_progress: Callable[[int, int], None],
) -> Translation:
    refused = tuple(f"{dialect.engine} refuses it: {words}" for words in refusals)
    if not ranked:
        why = refused or (f"{dialect.engine} has no request that comes near",)
        return Translation(source=source, target=dialect.name, verdict="impossible", plan=None, reasons=why)
    differing = mismatches(wanted, meaning(ranked[0].plan))
    unknown = [m for m in differing if m.stage == "draw" and not m.of_row]
    differing = tuple(unknown) or differing
    reasons = (*(_sentence(m, source, dialect) for m in differing), *refused)
    if not _is_documented(wanted):
        return Translation(
            source=source, target=dialect.name, verdict="impossible", plan=None,
            reasons=(f"{engine_name(source)} does not document what it samples from",),
        )  # fmt: skip
    if any(not m.of_row for m in differing):
        rest, text = _with_limits(source, _plain(None, ranked[0], dialect, facts), dialect, facts)
        documented = _is_documented(meaning(rest))
        return Translation(
            source=source, target=dialect.name, verdict="impossible", plan=None,
            rest=rest if documented else None, reasons=reasons, text=text,
        )  # fmt: skip
    best = Nearest(candidate=ranked[0], parameter="", unchanged=0.0, total_variation=())
    if rows:
        measured = Rows(source, rows, history)
        best = nearest(
            wanted, ranked, lambda c: mismatches(wanted, meaning(c.plan)), dialect, measured, facts, on_progress
        )
    plan, text = _with_limits(source, _plain(None, best.candidate, dialect, facts), dialect, facts)
    return Translation(
        source=source,
        target=dialect.name,
        verdict="row-dependent",
        plan=plan,
        reasons=reasons,
        text=text,
        searched=best.parameter,
        unchanged=best.unchanged if rows else None,
        total_variation=best.total_variation if rows else None,
    )


def _sentence(m: Mismatch, source: Plan, dialect: Dialect) -> str:
    """One mismatch in words."""
    own, theirs = engine_name(source), dialect.engine
    if own == theirs:
        own, theirs = source.dialect, dialect.name
    if getattr(source.draw, "name", "") == "undocumented" or (m.stage == "draw" and not m.of_row):
        name = own if getattr(source.draw, "name", "") == "undocumented" else theirs
        return f"{name} does not document what it samples from"
    match m.kind:
        case "missing":
            return f"{theirs} has no {m.stage}" if m.of_row else f"{theirs} has no {m.stage} like that of {own}"
        case "extra":
            return f"{theirs} cannot leave out {m.stage}"
        case "order" if not m.stage:
            return f"{own} and {theirs} apply the same stages in another order, and it matters"
        case "order":
            return f"{own} and {theirs} apply {m.stage} in another order among the penalties"
        case _:
            return f"{m.stage}: {own} has {m.sides[0]}; {theirs} {m.sides[1]}"


def _plainness(source: Plan, c: Candidate, dialect: Dialect) -> tuple[int, ...]:
    """How far a request is from the plainest: odd parameters, rules, edges, words."""
    foreign = {p.name for p in dialect.variants[c.variant].parameters if not p.canonical and p.required is False}
    defaults = {p.name: p.default for p in dialect.variants[c.variant].parameters}
    odd = sum(name in foreign and value != defaults[name] and not isinstance(value, bool | str)
              for name, value in c.request.items())  # fmt: skip
    place = list(dialect.variants).index(c.variant)
    return odd, len(identities(source, c.plan)), len(edges(source, c.plan)), place, len(c.request)


def _plain(wanted: Meaning | None, c: Candidate, dialect: Dialect, facts: ModelFacts | None) -> Candidate:
    """The same plan with short numbers, and without what says nothing."""
    parameters = {p.name: p for p in dialect.variants[c.variant].parameters}
    target = meaning(c.plan) if wanted is None else wanted
    request = dict(c.request)
    for name, value in c.request.items():
        if isinstance(value, float):
            short = _short(value)
            trial = _resolved(c.variant, {**request, name: short}, dialect, facts)
            if trial is not None and same_meaning(target, meaning(trial)):
                request[name] = short
    full = _resolved(c.variant, request, dialect, facts) or c.plan
    for name in list(request):
        fewer = {key: value for key, value in request.items() if key != name}
        plan = None if _by_file(parameters[name], dialect) else _resolved(c.variant, fewer, dialect, facts)
        if plan is not None and _is_silent(plan, parameters[name], full):
            request = fewer
    plan = _resolved(c.variant, request, dialect, facts)
    return Candidate(variant=c.variant, request=request, plan=plan) if plan is not None else c


def _short(value: float) -> float:
    """The number with the fewest digits that float32 cannot tell from it."""
    for digits in range(1, 17):
        short = float(f"{value:.{digits}g}")
        if abs(short - value) <= 6e-8 * abs(value):
            return short
    return value


def _by_file(p: Parameter, dialect: Dialect) -> bool:
    """Whether a model's file may set a parameter that a request leaves out."""
    return p.canonical in SET_BY_FILES.get(dialect.engine, ())


def _is_silent(plan: Plan, p: Parameter, wanted: Plan) -> bool:
    """Whether a parameter left out changes nothing, and the engine's own value for it does nothing."""
    setting = next(s for s in plan.settings if s.name == p.name)
    quiet = setting.effect in ("off", "not used") or setting.effect.startswith("ignored")
    neutral = setting.value is None or setting.value == NEUTRAL.get(p.canonical, setting)
    return (quiet or neutral) and (plan.stages, plan.draw) == (wanted.stages, wanted.draw)


def _resolved(variant: str, request: Mapping[str, object], dialect: Dialect, facts: ModelFacts | None) -> Plan | None:
    try:
        return Plan.resolve(request, dialect=dialect.name, variant=variant, facts=facts)
    except FairdrawError:
        return None


def _with_limits(
    source: Plan, c: Candidate, dialect: Dialect, facts: ModelFacts | None
) -> tuple[Plan, tuple[str, ...]]:
    """The plan with the source's limits of the text, and what could not be carried over."""
    by_limit = {p.limit: p for p in dialect.variants[c.variant].parameters if p.limit}
    plan, request, notes = c.plan, dict(c.request), []
    defaults = Limits()
    for field in fields(Limits):
        value, own = getattr(source.limits, field.name), getattr(plan.limits, field.name)
        p = by_limit.get(field.name)
        unheard = field.name == "include_stop_str_in_output" and not source.limits.stop
        if value == own or unheard:
            continue
        trial = None
        if p is not None and value is not None:
            trial = _resolved(c.variant, {**request, p.name: value}, dialect, facts)
        if trial is not None and (trial.stages, trial.draw) == (plan.stages, plan.draw):
            plan, request[p.name] = trial, value  # type: ignore[union-attr]
        elif value != getattr(defaults, field.name) or own != getattr(defaults, field.name):
            verb = "has" if p is None or value is None else "cannot take it and has"
            notes.append(f"{field.name}: {_value(value)} in the source, {dialect.engine} {verb} {_value(own)}")
    return plan, tuple(notes)


def engine_name(plan: Plan) -> str:
    """What a plan is called in a sentence."""
    return "the composed plan" if plan.dialect == CUSTOM else plan.dialect.partition("@")[0]


def _value(value: object) -> str:
    return "unset" if value is None else repr(value)
