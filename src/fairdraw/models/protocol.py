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
