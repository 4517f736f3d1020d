"""Prompt lookup: what followed the last time the text ended like this.

No model and no chance: it proposes the tokens that followed an earlier occurrence of the last few tokens.  It is
good where answers quote their prompt, and costs nothing where they do not.  Source: Saxena, "Prompt Lookup
Decoding" (2023), github.com/apoorvumang/prompt-lookup-decoding.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.domains import Domain, Whole, require
from fairdraw.errors import ParameterError
from fairdraw.generation.speculation.drafts.base import Drafter, DraftRequest
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.tree import ROOT, Candidate, Tree, TreeBuilder
from fairdraw.models.protocol import Model

MOST_PLACES = 32
"""Earlier places that are looked at for each proposal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptLookup:
    """Propose what followed earlier; longer matches first, then later places.

    Examples
    --------
    >>> list(continuations([1, 2, 3, 4, 9, 2, 3], longest=2, shortest=1, count=3))
    [[4, 9, 2]]
    """

    longest: int = 3
    """How many last tokens to look for at most."""
    shortest: int = 1
    """At least; 1 to `longest`."""
    domains: ClassVar[Mapping[str, Domain]] = MappingProxyType({"longest": Whole(1), "shortest": Whole(1)})
    """What each field may be."""

    def __post_init__(self) -> None:
        for name, domain in self.domains.items():
            require(name, getattr(self, name), domain)
        if self.shortest > self.longest:
            raise ParameterError("shortest", self.shortest, f"at most {self.longest}, the longest")

    @property
    def name(self) -> str:
        """``lookup:N``, N the longest match."""
        return f"lookup:{self.longest}"

    def start(self, target: Model) -> Drafter:
        """It fits every target."""
        return self

    def propose(self, request: DraftRequest) -> Tree:
        """Merge what followed into a tree as wide as asked; what a constraint forbids is left out."""
        builder, depth = TreeBuilder(), len(request.widths)
        found = continuations(request.text.tokens, longest=self.longest, shortest=self.shortest, count=depth)
        for continuation in found:
            _insert(builder, request.text, ROOT, continuation, request.widths)
            if request.widths == (1,) * depth:
                break
        return builder.tree()


def continuations(tokens: Sequence[int], *, longest: int, shortest: int, count: int) -> Iterator[list[int]]:
    """What followed earlier occurrences of the last tokens: longer matches first, then later places.

    A place that a longer match gave is not given again.
    """
    ids, seen = list(tokens), set()
    for length in range(min(longest, len(ids) - 1), shortest - 1, -1):
        last = ids[-length:]
        for end in range(len(ids) - 1, length - 1, -1):
            if len(seen) == MOST_PLACES:
                return
            if ids[end - 1] == last[-1] and end not in seen and ids[end - length : end] == last:
                seen.add(end)
                yield ids[end : end + count]


def _insert(builder: TreeBuilder, text: Tentative, parent: int, tokens: Sequence[int], widths: Sequence[int]) -> None:
    if not tokens or not text.allows(tokens[0]):
        return
    children = builder.children(parent)
    node = children.get(tokens[0])
    if node is None:
        if len(children) >= widths[0]:
            return
        node = builder.add(parent, Candidate(token=tokens[0]))
    with text.after(tokens[0]):
        _insert(builder, text, node, tokens[1:], widths[1:])
