"""The setting of a target engine that comes nearest to a plan on some rows: a search over one parameter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect
from fairdraw.errors import FairdrawError, LogitsError
from fairdraw.history import History
from fairdraw.plan import Plan
from fairdraw.sampling import law
from fairdraw.stages import Checkpoint, Mask, MinP, Temperature, TopK, TopP
from fairdraw.translation.candidates import Candidate, total_temperature
from fairdraw.translation.meaning import Meaning, same_meaning
from fairdraw.translation.mismatches import Mismatch, mismatches

MOST_CANDIDATES, COARSE_ROWS, FINE_ROWS = 3, 4, 8
"""How many requests are tried, on how many rows at first, and on how many in the end."""
_GRIDS: Mapping[str, tuple[float, ...]] = {
    "top_p": (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999),
    "min_p": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3),
    "top_k": (1, 2, 5, 10, 20, 50, 200, 1000),
}
HEAD, TAIL = 8192, 1e-3
"""How many tokens of a row a search looks at, if the others have no more mass than this; the end is measured whole."""
_OF_THE_HEAD = frozenset({Mask, Checkpoint, Temperature, TopK, TopP, MinP})
_ROUNDS, _POINTS = 3, 4
_STEP = 0.6
"""How far the first round of the fine search looks, as a share of the parameter's own scale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The nearest setting that was found."""

    candidate: Candidate
    parameter: str
    """The parameter that was searched, in the target's name; "" if nothing else came nearer."""
    unchanged: float
    """Mean total variation with the source's own numbers."""
    total_variation: tuple[float, ...]
    """Of each row, with the nearest setting."""


def _head(row: NDArray[Any], temperature: float) -> NDArray[Any]:
    """The best tokens of a row, in their order; the row itself if the others weigh more than `TAIL`."""
    if row.size <= HEAD:
        return row
    ids = np.sort(np.argpartition(row, -HEAD)[-HEAD:])
    weights = np.exp((row.astype(np.float64) - float(row.max())) / temperature)
    return row[ids] if weights[ids].sum() >= (1 - TAIL) * weights.sum() else row


class Rows:
    """Rows with the law that is wanted on each; every further law is asked for once."""

    def __init__(self, plan: Plan, logits: Sequence[NDArray[Any]], history: History | None) -> None:
        self._logits, self._history, self._plan = logits, history, plan
        self._wanted = [law(plan, row, history=history) for row in logits]

    def heads(self, temperature: float) -> Rows:
        """The rows for a search: their best tokens alone, where the others weigh next to nothing."""
        if any(type(stage) not in _OF_THE_HEAD for stage in self._plan.stages):
            return self
        return Rows(self._plan, [_head(row, max(1.0, temperature)) for row in self._logits], None)

    def apart(self, plan: Plan, count: int | None = None) -> list[float]:
        """Total variation on each of some rows, evenly chosen; 1 where a plan leaves no token."""
        total = len(self._wanted)
        chosen = range(total) if count is None else np.unique(np.linspace(0, total - 1, min(count, total)).astype(int))
        found = []
        for i in chosen:
            try:
                found.append(self._wanted[i].total_variation(law(plan, self._logits[i], history=self._history)))
            except LogitsError:
                found.append(1.0)
        return found


def nearest(
    wanted: Meaning,
    ranked: Sequence[Candidate],
    missing: Callable[[Candidate], tuple[Mismatch, ...]],
    dialect: Dialect,
    rows: Rows,
    facts: ModelFacts | None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
) -> Nearest:
    """Search the parameter that stands for what the target does otherwise.

    Parameters
    ----------
    wanted : Meaning
        What the source means.
    ranked : sequence of Candidate
        The target's requests, the best first.
    missing : callable
        What each does otherwise.
    dialect : Dialect
        The target.
    rows : Rows
        Where to measure.
    facts : ModelFacts, optional
        As for `Plan.resolve`.
    on_progress : callable
        Told how many of how many steps are done.
    """
    tries = [(c, name) for c in ranked[:MOST_CANDIDATES] for name in ("", *_parameters(c, missing(c), dialect))]
    heads = rows.heads(total_temperature(wanted))
    found: list[tuple[float, Candidate, str, float]] = []
    for done, (candidate, name) in enumerate(tries):
        on_progress(done, len(tries) + 1)
        for value in _grid(wanted, candidate, name, dialect):
            moved = _moved(candidate, name, value, dialect, facts)
            if moved is not None:
                found.append((float(np.mean(heads.apart(moved.plan, COARSE_ROWS))), moved, name, value))
    # Of equals one with a parameter to search: a finer step may come nearer.
    best = min(found, key=lambda entry: (entry[0], entry[2] == ""))
    origin = ranked[0]
    if best[2]:
        best = _refined(best, dialect, heads, facts)
    on_progress(len(tries) + 1, len(tries) + 1)
    unchanged = float(np.mean(rows.apart(origin.plan)))
    apart = tuple(rows.apart(best[1].plan))
    if float(np.mean(apart)) >= unchanged:
        best, apart = (unchanged, origin, "", 0.0), tuple(rows.apart(origin.plan))
    return Nearest(candidate=best[1], parameter=best[2], unchanged=unchanged, total_variation=apart)


def _parameters(candidate: Candidate, found: Sequence[Mismatch], dialect: Dialect) -> tuple[str, ...]:
    """Parameters, in the target's names, that may make up for what is otherwise."""
    by_canonical = {p.canonical: p.name for p in dialect.variants[candidate.variant].parameters if p.canonical}
    names: list[str] = []
    for mismatch in found:
        if mismatch.kind == "different" and mismatch.stage in by_canonical:
            names.append(mismatch.stage)
        if mismatch.kind == "missing" or mismatch.stage in ("draw", ""):
            on = {s.effect for s in candidate.plan.settings if s.effect not in ("off", "not used")}
            names += [name for name in _GRIDS if name not in on]
        if mismatch.stage in ("draw", "temperature", "dynamic_temperature", "smoothing"):
            names.append("temperature")
    return tuple(dict.fromkeys(by_canonical[name] for name in names if name in by_canonical))


def _canonical(candidate: Candidate, name: str, dialect: Dialect) -> str:
    return next((p.canonical for p in dialect.variants[candidate.variant].parameters if p.name == name), "")


def _grid(wanted: Meaning, candidate: Candidate, name: str, dialect: Dialect) -> tuple[float, ...]:
    if not name:
        return (0.0,)
    canonical = _canonical(candidate, name, dialect)
    own = candidate.request.get(name)
    given = (own,) if isinstance(own, (int, float)) and own else ()
    if canonical == "temperature":
        heat = total_temperature(wanted)
        return tuple(heat * factor for factor in (0.01, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5))
    return tuple(dict.fromkeys((*given, *_GRIDS.get(canonical, ()))))


def _moved(
    candidate: Candidate, name: str, value: float, dialect: Dialect, facts: ModelFacts | None
) -> Candidate | None:
    """The candidate with one parameter at another value; None if the engine refuses it."""
    if not name:
        return candidate
    whole = _canonical(candidate, name, dialect) == "top_k"
    number: float = max(1, round(value)) if whole else float(f"{value:.4g}")
    request = {**candidate.request, name: number}
    try:
        plan = Plan.resolve(request, dialect=dialect.name, variant=candidate.variant, facts=facts)
    except FairdrawError:
        return None
    return Candidate(variant=candidate.variant, request=request, plan=plan)


def _refined(
    best: tuple[float, Candidate, str, float], dialect: Dialect, rows: Rows, facts: ModelFacts | None
) -> tuple[float, Candidate, str, float]:
    """Look around the best value in ever smaller steps: of a share in its odds, of anything else in its logarithm."""
    _, candidate, name, value = best
    share = _canonical(candidate, name, dialect) in ("top_p", "min_p")
    best = (float(np.mean(rows.apart(candidate.plan, FINE_ROWS))), candidate, name, value)
    step = _STEP
    for _ in range(_ROUNDS):
        centre = best[3]
        for offset in np.linspace(-step, step, _POINTS):
            odds = centre / (1 - centre) * np.exp(offset) if share and centre < 1 else 0.0
            value = float(odds / (1 + odds)) if share else float(centre * np.exp(offset))
            moved = _moved(candidate, name, value, dialect, facts) if value > 0 else None
            if moved is not None:
                best = min(best, (float(np.mean(rows.apart(moved.plan, FINE_ROWS))), moved, name, value), key=_apart)
        step /= 3
    return best


def _apart(entry: tuple[float, Candidate, str, float]) -> float:
    return entry[0]


def ranked_by_meaning(wanted: Meaning, found: Sequence[Candidate], meanings: Sequence[Meaning]) -> list[Candidate]:
    """Candidates with the fewest and lightest mismatches first, each meaning once."""

    def weight(pair: tuple[Candidate, Meaning]) -> tuple[float, ...]:
        differing = mismatches(wanted, pair[1])
        kinds = [m.kind for m in differing]
        greedy = wanted.is_greedy != pair[1].is_greedy
        return (
            sum(not m.of_row for m in differing),
            greedy,
            kinds.count("missing"),
            kinds.count("extra") + kinds.count("order"),
            kinds.count("different"),
        )

    ranked: list[tuple[Candidate, Meaning]] = []
    for candidate, own in sorted(zip(found, meanings, strict=True), key=weight):
        if not any(same_meaning(own, other) for _, other in ranked):
            ranked.append((candidate, own))
    return [candidate for candidate, _ in ranked]
