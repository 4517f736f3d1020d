"""The flags that let a draft guess ahead, and the line that says what it was worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from fairdraw.cli.flags import IDS, WHOLE
from fairdraw.errors import ParameterError, PlanError
from fairdraw.generation.speculation.settings import Speculation, Way, read_draft
from fairdraw.generation.speculation.tally import Speculated

GROUP = Group("Speculation", help="Guess ahead, so that the model is asked less often.", sort_key=5)
_WORD = Parameter(group=GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeculationFlags:
    """Who guesses, how far, and how it is verified."""

    speculate: Annotated[str | None, _WORD] = None
    """Who guesses: lookup[:N], what followed the last N tokens earlier in the text; or layers:N, the first N layers
    of the model."""
    speculate_way: Annotated[Way | None, _WORD] = None
    """match, if not given: the same text as without. accept, block: another text of the same law.
    inexact_typical: another law."""
    speculate_tokens: Annotated[int | None, WHOLE, _WORD] = None
    """How many tokens to guess ahead; 4 if not given."""
    speculate_widths: Annotated[tuple[int, ...] | None, IDS, _WORD] = None
    """How many candidates at each of these positions: 2 2, or 2,2. 1 if not given."""

    def speculation(self) -> Speculation | None:
        """What is asked for; the bound is worked out, since it is printed.

        Raises
        ------
        ParameterError
            A value makes no sense.
        PlanError
            A flag stands without ``--speculate``.
        """
        given = {"way": self.speculate_way, "tokens": self.speculate_tokens, "widths": self.speculate_widths}
        asked = {name: value for name, value in given.items() if value is not None}
        if self.speculate is None:
            if asked:
                name = next(iter(asked))
                raise PlanError(f"--speculate-{name} needs --speculate", "who guesses: --speculate lookup")
            return None
        try:
            draft = read_draft(self.speculate)
        except ParameterError as problem:
            raise ParameterError("--speculate", problem.value, problem.domain, problem.hint) from None
        return Speculation(draft=draft, bound="measured", **asked)  # type: ignore[arg-type]


def worth(counts: Speculated) -> str:
    """One line: guesses, steps and the bound."""
    parts = [f"{counts.draft}, {counts.way}: {counts.accepted} of {counts.proposed} guesses accepted"]
    parts.append(f"{counts.target_steps} steps of the model for {counts.tokens} tokens, {counts.steps_saved} saved")
    if counts.reached:
        bound = "" if counts.bound is None else f", expected at best {counts.bound:.3f}"
        parts.append(f"right at {counts.acceptance:.3f} of {counts.reached} positions{bound}")
    return " | ".join(parts)
