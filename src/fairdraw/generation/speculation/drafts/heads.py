"""Several heads on the target that propose at once: the interface that Medusa, multi-token prediction and EAGLE need.

- Medusa: head d reads the last hidden vector alone; ``row`` depends on how many tokens are ahead, not on which.
- Multi-token prediction: module d also reads the embeddings of the tokens ahead.
- EAGLE: ``read`` extends a small model's own cache by the hidden vectors of the tokens that the target kept, and
  ``row`` goes on from its last state through the tokens ahead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairdraw.generation.speculation.drafts.base import Drafter, DraftRequest, grow
from fairdraw.generation.speculation.tree import Tree
from fairdraw.models.protocol import Model


class HeadsInProgress(Protocol):
    """Heads along one text."""

    @property
    def reach(self) -> int:
        """How many positions they see ahead."""
        ...

    def read(self, tokens: Sequence[int], hidden: NDArray[np.float32]) -> None:
        """Take note of what the target kept.

        Parameters
        ----------
        tokens : sequence of int
            The whole text; the target has read all but the last.
        hidden : float32, shape (count, width)
            What the target's output head read for the ``count`` tokens before the last.
        """
        ...

    def row(self, ahead: Sequence[int]) -> NDArray[np.float32]:
        """Logits of the token after the text and these proposed ones; shape (vocab,)."""
        ...


class Heads(Protocol):
    """A set of heads for a target."""

    @property
    def name(self) -> str:
        """What to call them."""
        ...

    def start(self) -> HeadsInProgress:
        """Begin a text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadsDraft:
    """Propose by heads."""

    heads: Heads

    @property
    def name(self) -> str:
        """``heads:NAME``."""
        return f"heads:{self.heads.name}"

    def start(self, target: Model) -> Drafter:
        """Begin a text."""
        return HeadsDrafter(self.heads.start())


class HeadsDrafter:
    """Heads along one text."""

    def __init__(self, heads: HeadsInProgress) -> None:
        self._heads = heads

    def propose(self, request: DraftRequest) -> Tree:
        """Draw a tree as deep as the heads see."""
        tokens = request.text.tokens
        self._heads.read(tokens, request.hidden)
        near = DraftRequest(
            text=request.text,
            widths=request.widths[: self._heads.reach],
            picker=request.picker,
            hidden=request.hidden,
        )
        return grow(near, lambda text, ahead: self._heads.row(text.tokens[len(tokens) :]))
