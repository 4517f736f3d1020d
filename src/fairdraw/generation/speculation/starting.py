"""Put the parts together for one text: where rows come from, and how guesses are verified."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from fairdraw.errors import ParameterError
from fairdraw.generation.speculation.block import Block
from fairdraw.generation.speculation.chance import Chance, KeyedChance
from fairdraw.generation.speculation.inexact import InexactTypical
from fairdraw.generation.speculation.looking import LookAhead
from fairdraw.generation.speculation.picking import CommonNoise, OwnNoise
from fairdraw.generation.speculation.settings import Speculation
from fairdraw.generation.speculation.siblings import TokenWise
from fairdraw.generation.speculation.tally import Speculated, Tally
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.verifying import AcceptBlock, AcceptTokens, Verifier, law_at
from fairdraw.models.protocol import Model
from fairdraw.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """One text with speculation."""

    rows: LookAhead
    verify: Verifier | None
    """Draws where guesses stand; None: the target draws as it would alone."""
    plan: Plan
    speculation: Speculation

    def measure(self, logits: object, text: Tentative) -> None:
        """In the way "match", work out what acceptance is possible here, if that is asked for."""
        if self.verify is None and self.speculation.bound == "measured" and self.rows.candidates:
            self.rows.tally.measure(law_at(self.plan, logits, text), self.rows.candidates)

    def report(self) -> Speculated:
        """What it was worth so far."""
        return self.rows.tally.report(self.speculation.draft.name, self.speculation.way)


def begin(
    speculation: Speculation,
    model: Model,
    plan: Plan,
    *,
    prompt_tokens: tuple[int, ...],
    seed: int,
    sample_index: int,
    most: int,
    chance: Chance | None = None,
) -> Begun:
    """Begin a text.

    Parameters
    ----------
    speculation : Speculation
        What is asked.
    model, plan, prompt_tokens, seed, sample_index
        Of the text.
    most : int
        How many tokens it may have.
    chance : Chance, optional
        None: the keyed noise of seed and sample index.

    Raises
    ------
    ParameterError
        The model cannot look ahead, or the draft does not fit it.
    """
    session = model.start()
    if not hasattr(session, "feed_all"):
        hint = "its session needs feed_all, keep and hidden: see LookingSession"
        raise ParameterError("speculation", speculation, f"None for {model.name}, which cannot look ahead", hint)
    chance = chance or KeyedChance(seed=seed, sample_index=sample_index)
    if speculation.way == "match":
        laws = speculation.bound == "measured"
        picker = CommonNoise(plan=plan, seed=seed, sample_index=sample_index, laws=laws)
    else:
        picker = OwnNoise(plan=plan, chance=chance, siblings=speculation.siblings)
    rows = LookAhead(
        session=session,  # type: ignore[arg-type]
        pending=prompt_tokens,
        drafter=speculation.draft.start(model),
        picker=picker,
        widths=speculation.shape,
        ends=_ends(model, plan),
        most=most,
        context=model.facts.context_length or 2**32,
        tally=Tally(),
    )
    return Begun(rows=rows, verify=_verifier(speculation, plan, rows, chance), plan=plan, speculation=speculation)


def _verifier(speculation: Speculation, plan: Plan, rows: LookAhead, chance: Chance) -> Verifier | None:
    if speculation.way == "match":
        return None
    if speculation.way == "block":
        return AcceptBlock(rule=Block(), plan=plan, rows=rows, chance=chance)
    rule = TokenWise() if speculation.way == "accept" else InexactTypical()
    return AcceptTokens(rule=rule, plan=plan, rows=rows, chance=chance)


def _ends(model: Model, plan: Plan) -> Collection[int]:
    own = () if plan.limits.ignore_eos else model.facts.end_token_ids
    return frozenset((*own, *plan.limits.stop_token_ids))
