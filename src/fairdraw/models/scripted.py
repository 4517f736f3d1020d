"""A model that is a function: for examples and tests, in which every law can be worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.context import ModelFacts
from fairdraw.domains import TokenIds, Whole, require
from fairdraw.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedTokenizer:
    """Each token has its bytes; a text is encoded by the longest token that fits."""

    texts: tuple[bytes, ...]
    chat_template: str | None = None

    @property
    def vocab_size(self) -> int:
        """How many tokens there are."""
        return len(self.texts)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of a token."""
        return self.texts[token]

    def token_text(self, token: int) -> str:
        """The same as text."""
        return self.texts[token].decode("utf-8", errors="replace")

    def encode(self, text: str) -> list[int]:
        """Ids of a text.

        Raises
        ------
        ParameterError
            No token spells the next byte.
        """
        rest, ids = text.encode(), []
        while rest:
            fitting = [token for token, piece in enumerate(self.texts) if piece and rest.startswith(piece)]
            if not fitting:
                raise ParameterError("text", text, "made of the model's tokens")
            ids.append(max(fitting, key=lambda token: len(self.texts[token])))
            rest = rest[len(self.texts[ids[-1]]) :]
        return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedModel:
    """Logits are a function of all tokens so far.

    Parameters
    ----------
    law : callable
        From the tokens so far, a tuple, to a row of logits.  Called once for each token fed last.
    texts : sequence of bytes
        What each token spells.
    ends : sequence of int
        Ids that end a text.

    Examples
    --------
    >>> model = ScriptedModel(law=lambda tokens: [0.0, float(len(tokens))], texts=(b"", b"a"), ends=(0,))
    >>> session = model.start()
    >>> session.feed([1, 1]).tolist(), session.fork().feed([1]).tolist(), session.length
    ([0.0, 2.0], [0.0, 3.0], 2)
    """

    law: Callable[[tuple[int, ...]], ArrayLike]
    texts: tuple[bytes, ...]
    ends: tuple[int, ...] = ()
    context_length: int | None = None
    name: str = "scripted"

    @property
    def facts(self) -> ModelFacts:
        """What sampling must know."""
        return ModelFacts(
            vocab_size=len(self.texts),
            end_token_ids=self.ends,
            context_length=self.context_length,
            encode=self.tokenizer.encode,
        )

    @property
    def tokenizer(self) -> ScriptedTokenizer:
        """Text into token ids and back."""
        return ScriptedTokenizer(texts=self.texts)

    def start(self) -> ScriptedSession:
        """Open an empty session."""
        return ScriptedSession(model=self)


@dataclass(slots=True, kw_only=True)
class ScriptedSession:
    """One text in progress: its tokens."""

    model: ScriptedModel
    tokens: tuple[int, ...] = ()

    @property
    def length(self) -> int:
        """Number of tokens fed so far."""
        return len(self.tokens)

    def feed(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        """Append tokens and give the logits after the last of them.

        Raises
        ------
        ParameterError
            No token, an unknown id, or more tokens than the context holds.
        """
        ids: tuple[int, ...] = require("tokens", tokens, TokenIds())  # type: ignore[assignment]
        most, after = self.model.context_length, (*self.tokens, *ids)
        if not ids or max(ids) >= len(self.model.texts) or (most is not None and len(after) > most):
            raise ParameterError("tokens", tokens, f"ids of the model, and at most {most} in all")
        self.tokens = after
        return np.array(self.model.law(after), np.float32)

    def rollback(self, length: int) -> None:
        """Forget everything after the first ``length`` tokens."""
        require("length", length, Whole(0, self.length))
        self.tokens = self.tokens[:length]

    def fork(self) -> ScriptedSession:
        """Copy the session."""
        return ScriptedSession(model=self.model, tokens=self.tokens)
