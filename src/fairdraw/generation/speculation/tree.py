"""What a draft proposes: a tree of tokens, each with the law that it was drawn from."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from fairdraw.generation.speculation.chance import Reals

ROOT = -1
"""The text itself, which the first tokens follow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One proposed token."""

    token: int
    law: Reals | None = field(default=None, compare=False)
    """What it was drawn from, given its siblings before it: float64, shape (vocab,). None: it was not drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """Candidates and what each follows; a parent stands before its children, siblings in the order drawn.

    Examples
    --------
    >>> tree = Tree(candidates=tuple(Candidate(token=t) for t in (7, 8, 9)), parents=(ROOT, 0, ROOT))
    >>> tree.children(ROOT), tree.children(0), tree.way(1), tree.is_chain
    ((0, 2), (1,), (0, 1), False)
    >>> tree.without_what_follows({7}).tokens
    (7, 9)
    """

    candidates: tuple[Candidate, ...] = ()
    parents: tuple[int, ...] = ()
    """For each the index of the candidate it follows, or ROOT."""

    @property
    def tokens(self) -> tuple[int, ...]:
        """The ids."""
        return tuple(candidate.token for candidate in self.candidates)

    @property
    def is_chain(self) -> bool:
        """Whether each candidate follows the one before it."""
        return self.parents == tuple(range(ROOT, len(self.parents) - 1))

    def children(self, node: int) -> tuple[int, ...]:
        """Indices of the candidates that follow a node."""
        return tuple(index for index, parent in enumerate(self.parents) if parent == node)

    def way(self, node: int) -> tuple[int, ...]:
        """Indices from the text to a node, the node included; none for ROOT."""
        return () if node == ROOT else (*self.way(self.parents[node]), node)

    def without_what_follows(self, tokens: Collection[int]) -> Tree:
        """Leave out everything after these tokens: they end a text."""
        kept: dict[int, int] = {ROOT: ROOT}
        builder = TreeBuilder()
        for index, (candidate, parent) in enumerate(zip(self.candidates, self.parents, strict=True)):
            if parent in kept and (parent == ROOT or self.candidates[parent].token not in tokens):
                kept[index] = builder.add(kept[parent], candidate)
        return builder.tree()


class TreeBuilder:
    """Collects candidates."""

    def __init__(self) -> None:
        self._candidates: list[Candidate] = []
        self._parents: list[int] = []

    def add(self, parent: int, candidate: Candidate) -> int:
        """Add a candidate after a node and give its index."""
        self._candidates.append(candidate)
        self._parents.append(parent)
        return len(self._parents) - 1

    def children(self, node: int) -> dict[int, int]:
        """From token to index, of what follows a node."""
        pairs = zip(self._candidates, self._parents, strict=True)
        return {c.token: index for index, (c, parent) in enumerate(pairs) if parent == node}

    def tree(self) -> Tree:
        """What was collected."""
        return Tree(candidates=tuple(self._candidates), parents=tuple(self._parents))
