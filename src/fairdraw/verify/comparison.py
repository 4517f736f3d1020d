"""Whether two plans draw from the same law on one row, and if not, why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.history import History
from fairdraw.masses import Ids
from fairdraw.plan import Plan, require_plan
from fairdraw.sampling import law
from fairdraw.verify.admissible import Admissible
from fairdraw.verify.cause import Question, reason
from fairdraw.verify.sides import Side, listed, names
from fairdraw.weights import Weights

TOLERANCE = 1e-6
"""Laws as near as this in total variation are the same: an engine's float32 scaling moves them by less."""
Verdict = Literal["same", "differ", "could not tell"]


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Two laws on one row, side by side.

    ``"same"``: the laws are the same within the tolerance.  ``"differ"``: no reading of one plan equals one of the
    other.  ``"could not tell"``: an engine leaves open which of several equal tokens it keeps, or a cut lies within
    2^-20 of its threshold, and some reading of one plan equals some reading of the other.
    """

    plan_a: Plan
    plan_b: Plan
    verdict: Verdict
    reason: str
    """One sentence: the cause, or what is in doubt; "" when the verdict is "same"."""
    note: str
    """What else is worth knowing; often ""."""
    total_variation: float
    """Half the sum of |dp|: the largest difference in the probability of any event."""
    max_difference: float
    """Largest |dp| of one token."""
    max_difference_id: int
    """The token that has it."""
    kept_a: int
    """How many tokens the first plan can draw."""
    kept_b: int
    only_a: tuple[int, ...]
    """Ids that the first plan alone can draw, most probable first."""
    only_b: tuple[int, ...]
    mass_a_outside_b: float
    """Probability that the first plan draws a token which the second never does."""
    mass_b_outside_a: float
    entropy_a: float
    """In nats."""
    entropy_b: float
    in_doubt_a: tuple[int, ...]
    """Ids that rounding at a cut of the first plan may add or remove, ascending."""
    in_doubt_b: tuple[int, ...]
    tied_a: tuple[int, ...]
    """Equal ids of which the first plan's engine keeps an unspecified part, ascending."""
    tied_b: tuple[int, ...]
    tolerance: float = TOLERANCE

    def to_json(self) -> dict[str, object]:
        """Everything as plain data; plans as text; nothing in it is NaN or infinite."""
        sides = {
            side: {
                "plan": str(getattr(self, f"plan_{side}")),
                "kept": getattr(self, f"kept_{side}"),
                "entropy": getattr(self, f"entropy_{side}"),
                "only": list(getattr(self, f"only_{side}")),
                "mass_outside_other": getattr(self, f"mass_{side}_outside_{other}"),
                "in_doubt": list(getattr(self, f"in_doubt_{side}")),
                "tied": list(getattr(self, f"tied_{side}")),
            }
            for side, other in ("ab", "ba")
        }
        return {
            "verdict": self.verdict,
            "reason": self.reason,
            "note": self.note,
            "total_variation": self.total_variation,
            "max_difference": self.max_difference,
            "max_difference_id": self.max_difference_id,
            "tolerance": self.tolerance,
            **sides,
        }


def compare(
    plan_a: Plan,
    plan_b: Plan,
    logits: object,
    *,
    history: History | None = None,
    mask: ArrayLike | None = None,
) -> Comparison:
    """Compare what two plans draw from on one row, exactly: nothing is drawn.

    Parameters
    ----------
    plan_a, plan_b : Plan
        The two plans, for instance of two engines.
    logits : array_like of float, shape (vocab,)
        One row, before any stage.
    history : History, optional
        Prompt and output ids, the same for both.
    mask : array_like of bool, shape (vocab,), optional
        True allows a token; both plans need a mask stage.

    Returns
    -------
    Comparison
        Verdict, numbers, and the cause in one sentence.  A cause is one that was tried: with it settled, the laws
        are the same on this row.

    Raises
    ------
    LogitsError, ParameterError
        As in `fairdraw.law`, for either plan.

    Notes
    -----
    The row decides: plans that differ in structure may mean the same on it.  About 0.1 s at a vocabulary of 49152;
    up to some seconds where many differences act together.

    Examples
    --------
    >>> a = Plan.parse("transformers: do_sample=true top_k=3 top_p=0.75")
    >>> b = Plan.parse("candle: TopKThenTopP k=3 p=0.75 temperature=1")
    >>> result = compare(a, b, [2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
    >>> print(result.verdict, result.kept_a, result.kept_b, round(result.total_variation, 4))
    differ 2 3 0.1863
    >>> print(result.reason)
    candle measures p on the whole row, transformers inside the top 3.
    """
    for plan in (plan_a, plan_b):
        require_plan(plan)

    def law_of(plan: Plan) -> Weights:
        return law(plan, logits, history=history, mask=mask)

    a, b = (
        Side(name=name, plan=plan, weights=law_of(plan))
        for name, plan in zip(names(plan_a, plan_b), (plan_a, plan_b), strict=True)
    )
    question = Question(a=a, b=b, law=law_of, tolerance=TOLERANCE, masked=mask is not None)
    verdict, sentence = _judged(question)
    p, q = a.weights.probabilities, b.weights.probabilities
    only_a, only_b = _only(p, q), _only(q, p)
    apart = np.abs(p - q)
    return Comparison(
        plan_a=plan_a,
        plan_b=plan_b,
        verdict=verdict,
        reason=sentence,
        note=_note(question, verdict),
        total_variation=a.weights.total_variation(b.weights),
        max_difference=float(apart.max()),
        max_difference_id=int(apart.argmax()),
        kept_a=a.weights.support.size,
        kept_b=b.weights.support.size,
        only_a=_ints(only_a),
        only_b=_ints(only_b),
        mass_a_outside_b=float(p[only_a].sum()),
        mass_b_outside_a=float(q[only_b].sum()),
        entropy_a=a.weights.entropy,
        entropy_b=b.weights.entropy,
        in_doubt_a=_ints(a.weights.in_doubt),
        in_doubt_b=_ints(b.weights.in_doubt),
        tied_a=_ints(Admissible.of(a.weights).tied),
        tied_b=_ints(Admissible.of(b.weights).tied),
    )


def _judged(question: Question) -> tuple[Verdict, str]:
    a, b = question.a, question.b
    if (a.plan.dialect, a.plan.stages, a.plan.draw) == (b.plan.dialect, b.plan.stages, b.plan.draw):
        return "same", ""
    open_a, open_b = (Admissible.of(side.weights) for side in (a, b))
    tied = open_a.tied.size or open_b.tied.size
    if a.weights.total_variation(b.weights) <= question.tolerance:
        return ("could not tell", _ties(question)) if tied else ("same", "")
    if open_a.meets(open_b, question.tolerance):
        return "could not tell", _ties(question)
    readings = [[Admissible.of(reading) for reading in (side.weights, *side.weights.others)] for side in (a, b)]
    if any(x.meets(y, question.tolerance) for x in readings[0] for y in readings[1]):
        return "could not tell", f"{_doubt(question)}, so that rounding decides whether the two laws are the same."
    return "differ", reason(question)


def _ties(question: Question) -> str:
    """Who leaves open which of several equal tokens it keeps."""
    parts = []
    for side in (question.a, question.b):
        admitted = Admissible.of(side.weights)
        if admitted.tied.size:
            ids = listed(admitted.tied.tolist())
            parts.append(f"{side.name} leaves open which {admitted.count} of the equal ids {ids} it keeps")
    return f"{' and '.join(parts)}."


def _doubt(question: Question) -> str:
    """Whose cut lies so near to its threshold that rounding decides."""
    sides = [side for side in (question.a, question.b) if side.weights.in_doubt.size]
    every = sorted({int(i) for side in sides for i in side.weights.in_doubt})
    ids = f"ids {listed(every)} lie" if len(every) > 1 else f"id {every[0]} lies"
    owners = " and ".join(side.name for side in sides)
    return f"{ids} within 2^-20 of a cut of {owners}"


def _note(question: Question, verdict: Verdict) -> str:
    a, b = question.a.weights, question.b.weights
    notes = []
    parts = [difference.name for difference in question.differences if not difference.quiet]
    if verdict == "same" and parts:
        notes.append(f"The plans differ in {listed(parts)}, but mean the same on this row.")
    elif verdict == "same" and question.differences and a.total_variation(b) > 0:
        notes.append("The engines' float32 operations round differently; no other difference is known.")
    if verdict == "could not tell" and a.total_variation(b) > question.tolerance:
        notes.append(f"In exact arithmetic, with the lower ids first, {reason(question)}")
    elif a.in_doubt.size or b.in_doubt.size:
        notes.append(f"{_doubt(question).capitalize()}, where an engine's own rounding decides.")
    return " ".join(notes)


def _only(p: NDArray[np.float64], q: NDArray[np.float64]) -> Ids:
    """Ids that p has and q has not, most probable first."""
    ids = np.flatnonzero((p > 0) & (q == 0))
    return ids[np.argsort(-p[ids], kind="stable")]


def _ints(ids: Ids) -> tuple[int, ...]:
    return tuple(ids.tolist())
