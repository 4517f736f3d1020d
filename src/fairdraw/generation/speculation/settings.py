"""What a caller asks for: which draft, how far ahead, and how its guesses are verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal, get_args

from fairdraw.domains import Choice, Domain, Whole, require
from fairdraw.errors import ParameterError
from fairdraw.generation.speculation.drafts import DRAFTS
from fairdraw.generation.speculation.drafts.base import Draft
from fairdraw.generation.speculation.rounds import Siblings
from fairdraw.plan import Plan
from fairdraw.stages import StatefulStage

Way = Literal["match", "accept", "block", "inexact_typical"]
"""The target's own draw; accept or reject token by token, or a chain at once; or a rule that changes the law."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Speculation:
    """Guess ahead and verify, so that the target is asked less often than there are tokens.

    - ``match``: the target draws each token with its own noise, exactly as alone, and goes on as long as a guess is
      that token. The text has the same bits as without speculation, for any draft. A draft that draws does so with
      the target's noise, and agrees at least with probability (1 - TV) / (1 + TV).
    - ``accept``: each guess is accepted or rejected. Another text of the same law; accepts 1 - TV.
    - ``block``: the same for a chain at once; accepts more of it.
    - ``inexact_typical``: accepts whatever is typical. **Not** the target's law.

    Examples
    --------
    >>> from fairdraw.generation.speculation.drafts.lookup import PromptLookup
    >>> Speculation(draft=PromptLookup(), tokens=4, widths=(2,)).shape
    (2, 1, 1, 1)
    """

    draft: Draft
    """What guesses."""
    way: Way = "match"
    """How guesses are verified."""
    tokens: int = 4
    """How many tokens to guess ahead, at least 1."""
    widths: tuple[int, ...] = ()
    """How many candidates at each depth, 1 where it ends; not for ``block``."""
    siblings: Siblings = "distinct"
    """How several candidates of one position are drawn: without replacement, or each anew."""
    bound: Literal["measured", "off"] = "off"
    """Whether ``match`` works out what acceptance was possible, at the cost of a law for each token; the other ways
    always do."""
    domains: ClassVar[Mapping[str, Domain]] = MappingProxyType(
        {
            "way": Choice(get_args(Way)),
            "tokens": Whole(1, 255),
            "siblings": Choice(get_args(Siblings)),
            "bound": Choice(("measured", "off")),
        }
    )
    """What each field may be."""

    def __post_init__(self) -> None:
        for name, domain in self.domains.items():
            require(f"speculation.{name}", getattr(self, name), domain)
        if not hasattr(self.draft, "start"):
            hint = f"PromptLookup(), or read_draft(text) of {', '.join(DRAFTS)}"
            raise ParameterError("speculation.draft", self.draft, "a draft", hint)
        widths = self.widths if isinstance(self.widths, tuple) else (0,)
        if len(widths) > self.tokens or not all(Whole(1, 255).holds(width) for width in widths):
            raise ParameterError("speculation.widths", self.widths, f"at most {self.tokens} whole numbers in 1..255")
        if self.way == "block" and self.shape != (1,) * self.tokens:
            raise ParameterError("speculation.widths", self.widths, "() for block", "a block is a chain")

    @property
    def shape(self) -> tuple[int, ...]:
        """How many candidates at each depth."""
        return (*self.widths, *(1,) * (self.tokens - len(self.widths)))


def require_speculation(speculation: object, plan: Plan) -> None:
    """Refuse what is no speculation, and one that a plan cannot have.

    Raises
    ------
    ParameterError
        It is something else, for instance a draft; or it decides a block where a stage remembers each token.
    """
    if not isinstance(speculation, Speculation):
        hint = "for instance Speculation(draft=PromptLookup())"
        raise ParameterError("speculation", speculation, "a Speculation", hint)
    stateful = [stage.name for stage in plan.stages if isinstance(stage, StatefulStage)]
    if speculation.way == "block" and stateful:
        hint = f"{stateful[0]} remembers each token, and a block is decided before its tokens are drawn"
        raise ParameterError("speculation.way", "block", "match or accept for this plan", hint)


def read_draft(text: str) -> Draft:
    """Read a draft from its text, ``NAME`` or ``NAME:NUMBER``.

    Raises
    ------
    ParameterError
        No draft has this name, or its number is missing or not one.

    Examples
    --------
    >>> read_draft("lookup"), read_draft("layers:25")
    (PromptLookup(longest=3, shortest=1), FirstLayers(layers=25))
    """
    name, colon, number = text.partition(":")
    if name not in DRAFTS or (colon and not number.isdecimal()):
        raise ParameterError("draft", text, " or ".join(f"{name}:NUMBER" for name in DRAFTS))
    kind, field, needed = DRAFTS[name]
    if not colon:
        if needed:
            raise ParameterError("draft", text, f"{name}:NUMBER", needed)
        return kind()
    if int(number) < 1:
        raise ParameterError("draft", text, f"{name}:NUMBER with a whole number >= 1")
    return kind(**{field: int(number)})
