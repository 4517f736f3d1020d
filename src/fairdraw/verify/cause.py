"""Why two plans differ on a row: the smallest change of one that gives the other's law, and what it is called.

Every cause is tried: a difference is named only if a plan that takes it over follows the other plan's law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from fairdraw.errors import FairdrawError
from fairdraw.plan import Plan
from fairdraw.plan_format import require_checkpoints
from fairdraw.verify.contrasts import sentence
from fairdraw.verify.differences import Difference, differences, take_over
from fairdraw.verify.sides import Side, listed
from fairdraw.weights import Weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Two plans with their laws on a row, and how to find the law of a third."""

    a: Side
    b: Side
    law: Callable[[Plan], Weights]
    tolerance: float
    masked: bool = False

    @property
    def differences(self) -> tuple[Difference, ...]:
        """What may be the cause."""
        return differences(self.a.plan, self.b.plan, masked=self.masked)


def reason(question: Question) -> str:
    """The cause as one sentence, with its full stop."""
    found, names = question.differences, (question.a.name, question.b.name)
    causes = smallest_cause(question, found)
    if causes:
        return f"{'; '.join(sentence(cause, question.a, question.b) for cause in causes)}."
    parts = listed([difference.name for difference in found])
    return f"{names[0]} and {names[1]} differ in {parts}, and none of it explains this row."


def smallest_cause(question: Question, found: Sequence[Difference]) -> tuple[Difference, ...]:
    """The differences to settle, in either plan, so that both have one law: one, else two, else as few as needed.

    Returns
    -------
    tuple of Difference
        Empty if not even all of them together do.
    """
    loud = [difference for difference in found if not difference.quiet]
    for chosen in (*combinations(found, 1), *combinations(loud, 2)):
        if _settles(question, chosen):
            return chosen
    if not _settles(question, found):
        return ()
    needed = tuple(found)
    for difference in reversed(found):
        fewer = tuple(other for other in needed if other is not difference)
        if fewer and _settles(question, fewer):
            needed = fewer
    return needed


def _settles(question: Question, chosen: Iterable[Difference]) -> bool:
    chosen = tuple(chosen)
    return any(
        _follows(question, take_over(own.plan, other.plan, chosen), other.weights)
        for own, other in ((question.a, question.b), (question.b, question.a))
    )


def _follows(question: Question, plan: Plan, target: Weights) -> bool:
    try:
        require_checkpoints(plan.stages)
        return question.law(plan).total_variation(target) <= question.tolerance
    except FairdrawError:
        # A mixture of two plans may leave no token, or ask for more than the row has: no cause, then.
        return False
