"""A prompt that is read once and continued by several texts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fairdraw.generation.speculation.looking import OneByOne
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.models.protocol import Model, Session

Logits = NDArray[np.float32]


@dataclass(slots=True, kw_only=True)
class SharedPrompt:
    """The session after a prompt, for several texts to go on from.

    It is read when the first text asks, in one go, as a text alone reads its own: so the rows have the same bits.
    """

    model: Model
    tokens: tuple[int, ...]
    texts: int
    """How many will go on from it; the last one takes the session itself."""
    _read: tuple[Session, Logits] | None = None

    def go_on(self) -> tuple[Session, Logits]:
        """A session of one's own after the prompt, and the row there."""
        if self._read is None:
            session = self.model.start()
            self._read = session, session.feed(self.tokens)
        session, row = self._read
        self.texts -= 1
        if self.texts > 0:
            return session.fork(), row.copy()
        self._read = None
        return session, row

    def leave(self) -> None:
        """One text fewer will go on from it."""
        self.texts -= 1
        if self.texts <= 0:
            self._read = None


@dataclass(slots=True, kw_only=True)
class FromPrompt:
    """The rows of one of these texts."""

    prompt: SharedPrompt
    _rest: OneByOne | None = field(default=None)

    def next(self, text: Tentative) -> Logits:
        """Give the row after the prompt, then feed token after token."""
        if self._rest is not None:
            return self._rest.next(text)
        session, row = self.prompt.go_on()
        self._rest = OneByOne(session=session, pending=())
        return row

    def take(self, token: int) -> None:
        """It is fed next."""
        assert self._rest is not None, "next comes first"
        self._rest.take(token)
