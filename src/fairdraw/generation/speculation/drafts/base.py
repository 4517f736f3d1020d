"""What every draft is: it starts a drafter for a text, and the drafter proposes a tree at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fairdraw.errors import LogitsError
from fairdraw.generation.constrained import constraint_named
from fairdraw.generation.speculation.picking import Picker
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.tree import ROOT, Candidate, Tree, TreeBuilder
from fairdraw.models.protocol import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRequest:
    """What a drafter is asked."""

    text: Tentative
    """Everything that was drawn, the last token included, which the target has not read yet."""
    widths: tuple[int, ...]
    """How many candidates after each node, for each depth; its length is how far to go."""
    picker: Picker
    """How to draw a candidate from logits."""
    hidden: NDArray[np.float32]
    """What the target's output head read for the tokens it was fed last and kept: those before the last one."""


class Drafter(Protocol):
    """One text in progress."""

    def propose(self, request: DraftRequest) -> Tree:
        """Candidates for the next positions; a tree without candidates proposes nothing."""
        ...


class Draft(Protocol):
    """A way to guess ahead."""

    @property
    def name(self) -> str:
        """How the command line and the records call it."""
        ...

    def start(self, target: Model) -> Drafter:
        """Begin a text.

        Raises
        ------
        ParameterError
            It does not fit the target.
        """
        ...


def grow(request: DraftRequest, logits_after: Callable[[Tentative, int], object]) -> Tree:
    """Build a tree depth first: ask for logits, pick candidates, go on after each of them.

    Parameters
    ----------
    request : DraftRequest
        What is asked.
    logits_after : callable
        From the text with what is tried, and how many tokens are tried, to a row.
    """
    builder = TreeBuilder()

    def extend(parent: int, depth: int) -> None:
        if depth == len(request.widths):
            return
        for candidate in _candidates(request, logits_after(request.text, depth), depth):
            node = builder.add(parent, candidate)
            if depth + 1 < len(request.widths):
                with request.text.after(candidate.token):
                    extend(node, depth + 1)

    extend(ROOT, 0)
    return builder.tree()


def _candidates(request: DraftRequest, row: object, depth: int) -> list[Candidate]:
    try:
        with constraint_named(request.text.track):
            return request.picker.pick(row, request.text, request.widths[depth])
    except LogitsError:
        # A way that the text may never take: if it does, the target meets the error itself.
        if depth == 0:
            raise
        return []
