"""Where the rows of logits come from: the target, asked one token at a time, or for a tree ahead.

The loop draws one token after the other either way.  Looking ahead only changes when the target computed a row: if
the drawn token is among the candidates, its row is there already, else the session goes back to what was drawn.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairdraw.generation.speculation.drafts.base import Drafter, DraftRequest
from fairdraw.generation.speculation.picking import Picker
from fairdraw.generation.speculation.tally import Tally
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.tree import ROOT, Candidate, Tree
from fairdraw.models.protocol import LookingSession, Session

Logits = NDArray[np.float32]


class Rows(Protocol):
    """The target's rows along a text."""

    def next(self, text: Tentative) -> Logits:
        """Logits of the token after the text; the caller's to keep."""
        ...

    def take(self, token: int) -> None:
        """Note the token that was drawn from them."""
        ...


@dataclass(slots=True, kw_only=True)
class OneByOne:
    """Without speculation: a feed for each token."""

    session: Session
    pending: Sequence[int]
    """What the model has not read: the prompt, then the last token."""

    def next(self, text: Tentative) -> Logits:
        """Feed it."""
        return self.session.feed(self.pending)

    def take(self, token: int) -> None:
        """It is fed next."""
        self.pending = (token,)


@dataclass(slots=True, kw_only=True)
class LookAhead:
    """With speculation: a feed for each tree.

    The prompt is fed as without speculation, and no guess is made before the first token.  Further rows have the
    bits of one-by-one feeding if the session's `feed_all` keeps its promise; then a text in the way "match" does.
    """

    session: LookingSession
    pending: Sequence[int]
    drafter: Drafter
    picker: Picker
    widths: tuple[int, ...]
    ends: Collection[int]
    """Ids that end the text: nothing is guessed after them."""
    most: int
    """Tokens that the text may have."""
    context: int
    """Tokens that the session may hold."""
    tally: Tally
    tree: Tree = field(default_factory=Tree)
    """What was guessed last."""
    node: int = ROOT
    """Where in it the text stands."""
    rows: Logits | None = None
    """The target's rows: after the token before the tree, then after each of its candidates."""

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """The guesses for the position that comes next."""
        return tuple(self.tree.candidates[index] for index in self.tree.children(self.node))

    def row_after(self, node: int) -> Logits:
        """The target's row after a candidate; ROOT: before the first ones."""
        assert self.rows is not None, "next comes first"
        return self.rows[node + 1]

    def next(self, text: Tentative) -> Logits:
        """Give a row that is there, or ask the target for this one and those of new guesses."""
        if self.pending:
            self._ask(text)
        return self.row_after(self.node).copy()

    def take(self, token: int) -> None:
        """Go on to the candidate that was drawn, or let the guesses go."""
        children = self.tree.children(self.node)
        chosen = next((index for index in children if self.tree.candidates[index].token == token), None)
        self.tally.tokens += 1
        self.tally.reached += bool(children)
        if chosen is None:
            self.pending = (token,)
        else:
            self.tally.accepted += 1
            self.node = chosen

    def _ask(self, text: Tentative) -> None:
        if self.tree.candidates:
            # The token before the tree, and the way that was taken through it.
            self.session.keep([0, *(index + 1 for index in self.tree.way(self.node))])
        # Nothing is guessed before the first token: how a prompt is split between calls changes its last digits.
        self.tree = self._guess(text) if self.rows is not None else Tree()
        if self.tree.candidates:
            parents = [ROOT, *(parent + 1 for parent in self.tree.parents)]
            self.rows = self.session.feed_all([*self.pending, *self.tree.tokens], parents)
        else:
            self.rows = self.session.feed(self.pending)[np.newaxis]
        self.pending, self.node = (), ROOT
        self.tally.target_steps += 1
        self.tally.proposed += len(self.tree.candidates)

    def _guess(self, text: Tentative) -> Tree:
        """A tree that fits what is left of the text and of the context."""
        depth = min(len(self.widths), self.most - text.history.output_length - 1)
        if depth < 1:
            return Tree()
        request = DraftRequest(
            text=text,
            widths=self.widths[:depth],
            picker=self.picker,
            hidden=self.session.hidden,
        )
        tree = self.drafter.propose(request).without_what_follows(self.ends)
        return tree if self.session.length + 1 + len(tree.candidates) <= self.context else Tree()
