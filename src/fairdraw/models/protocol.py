"""What a source of logits offers: a model starts sessions, a session turns tokens into logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fairdraw.context import ModelFacts
    from fairdraw.text.tokenizer import Tokenizer


class Session(Protocol):
    """One text in progress: the tokens fed so far and what the model remembers of them."""

    @property
    def length(self) -> int:
        """Number of tokens fed so far."""
        ...

    def feed(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Append tokens and give the logits after the last of them.

        Parameters
        ----------
        tokens : sequence of int
            At least one token id.

        Returns
        -------
        float32, shape (vocab,)
            A fresh array, the caller's to keep and to write.

        Raises
        ------
        ParameterError
            No token, an unknown id, or more tokens than the context holds. The session is unchanged then.
        """
        ...

    def rollback(self, length: int) -> None:
        """Forget everything after the first ``length`` tokens.

        Parameters
        ----------
        length : int
            In [0, self.length].
        """
        ...

    def fork(self) -> Session:
        """Copy the session; what happens to one does not touch the other."""
        ...


class LookingSession(Session, Protocol):
    """A session that can look at several tokens at once, a chain or a tree, and keep one way through it."""

    @property
    def hidden(self) -> NDArray[np.float32]:
        """What an output head reads, of the tokens fed last and kept; shape (count, width)."""
        ...

    def feed_all(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> NDArray[np.float32]:
        """Append several tokens and give the logits after each of them.

        Parameters
        ----------
        tokens : sequence of int
            At least one token id.
        parents : sequence of int, optional
            For each token the index of the one that it follows, which comes before it; -1: the text fed so far.
            None: each follows the one before it.

        Returns
        -------
        float32, shape (count, vocab)
            A fresh array. A text with speculation has the same bits as one without only if each row has the same
            bits as feeding the tokens on its way one by one.
        """
        ...

    def keep(self, way: Sequence[int]) -> None:
        """Of the tokens of the last `feed_all`, keep these and forget the others.

        Parameters
        ----------
        way : sequence of int
            Indices of a token that follows the text, of one that follows it, and so on; none forgets all.
        """
        ...


class ScoringSession(Session, Protocol):
    """A session that gives the logits after each of several tokens fast."""

    def feed_together(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Append tokens and give the logits after each of them.

        Parameters
        ----------
        tokens : sequence of int
            At least one token id.

        Returns
        -------
        float32, shape (count, vocab)
            A fresh array. In their last digits the rows may differ from those that tokens fed one by one give.
        """
        ...


class Model(Protocol):
    """A source of logits."""

    @property
    def name(self) -> str:
        """Name in the table of models."""
        ...

    @property
    def facts(self) -> ModelFacts:
        """What sampling must know: vocabulary size, end tokens, context length."""
        ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Text into token ids and back."""
        ...

    def start(self) -> Session:
        """Open an empty session."""
        ...
