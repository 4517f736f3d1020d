"""A text beyond what is committed: history and constraint go forward together, and always back.

What is tentative and what is committed: the tokens that were drawn are committed, and history, constraint and the
shown text hold only them.  The model's session runs ahead of them by the tokens it was asked to look at
(`fairdraw.generation.speculation.looking`); a draft, and a block that is verified at once, run ahead here.  The text
is made of committed tokens alone, so nothing that was shown is ever taken back.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from fairdraw.constraints.tracking import Track
from fairdraw.context import Memory
from fairdraw.history import History


class Tentative:
    """The committed history and constraint, with a way to try tokens on them.

    Parameters
    ----------
    history : History
        Prompt and output.
    track : Track, optional
        The constraint after the output.
    memory : Memory, optional
        What the plan's stateful stages remember after the output. It stays as it is while tokens are tried.

    Examples
    --------
    >>> text = Tentative(History(prompt=[1]))
    >>> with text.after(5), text.after(6):
    ...     text.tokens
    (1, 5, 6)
    >>> text.tokens
    (1,)
    """

    def __init__(self, history: History, track: Track | None = None, memory: Memory | None = None) -> None:
        self.history, self.memory, self.track = history, memory, track

    @property
    def tokens(self) -> tuple[int, ...]:
        """Prompt, output and what is tried."""
        return (*self.history.prompt, *self.history.output)

    @property
    def position(self) -> int:
        """How many tokens stand before the next one."""
        return len(self.history)

    def mask(self) -> NDArray[np.bool_] | None:
        """Allowed ids of the next position, or None without a constraint."""
        return None if self.track is None else self.track.mask()

    def allows(self, token: int) -> bool:
        """Whether the constraint lets a token come next."""
        return self.track is None or self.track.state.allows(token)

    @contextmanager
    def after(self, token: int) -> Generator[None]:
        """Try a token that is allowed; it is taken back at the end, whatever happens."""
        if self.track is not None:
            self.track.advance(token)
        try:
            self.history.append(token)
            try:
                yield
            finally:
                self.history.rollback(1)
        finally:
            if self.track is not None:
                self.track.rollback(1)
