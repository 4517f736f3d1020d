"""The token ids so far: prompt and output, with their counts kept up to date."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import TOKEN_ID, TokenIds, Whole, require

Scope = Literal["all", "output", "padded"]
"""Which tokens a penalty sees: prompt and output; output alone; prompt and output with the left padding."""


class History:
    """Prompt and output ids: append-only, with counts per scope and window in O(1) a token.

    Parameters
    ----------
    prompt : sequence of int, optional
        Token ids given to the model before the first drawn one.
    output : sequence of int, optional
        Token ids drawn so far.
    left_padding : int, optional
        How many of the first prompt ids only fill up a batch.  No scope sees them but ``"padded"``.

    Raises
    ------
    ParameterError
        An id is not a whole number >= 0, or there is more padding than prompt.

    Notes
    -----
    The first question for a pair of scope and window costs O(tokens); from then on its counts follow every
    `append` and `rollback` in O(1), and an answer costs O(distinct ids).  `fork` costs O(tokens).

    Examples
    --------
    >>> history = History(prompt=[5, 7], output=[7])
    >>> [part.tolist() for part in history.counts("all", window=None)]
    [[5, 7], [1, 2]]
    >>> [part.tolist() for part in history.counts("output", window=None)]
    [[7], [1]]
    """

    __slots__ = ("_counters", "_left_padding", "_prompt_length", "_tokens")

    def __init__(self, *, prompt: Sequence[int] = (), output: Sequence[int] = (), left_padding: int = 0) -> None:
        before = require("prompt", prompt, TokenIds())
        after = require("output", output, TokenIds())
        self._tokens: list[int] = [*before, *after]  # type: ignore[misc]
        self._prompt_length = len(before)  # type: ignore[arg-type]
        self._left_padding = int(require("left_padding", left_padding, Whole(0, self._prompt_length)))  # type: ignore[call-overload]
        self._counters: dict[tuple[Scope, int | None], Counter[int]] = {}

    def __repr__(self) -> str:
        padding = f", left_padding={self._left_padding}" if self._left_padding else ""
        return f"History(prompt={list(self.prompt)}, output={list(self.output)}{padding})"

    def __len__(self) -> int:
        return len(self._tokens)

    @property
    def prompt(self) -> tuple[int, ...]:
        """The ids of the prompt, left padding included."""
        return tuple(self._tokens[: self._prompt_length])

    @property
    def output(self) -> tuple[int, ...]:
        """The ids drawn so far."""
        return tuple(self._tokens[self._prompt_length :])

    @property
    def output_length(self) -> int:
        """How many ids were drawn so far."""
        return len(self._tokens) - self._prompt_length

    def length(self, scope: Scope) -> int:
        """How many ids a scope has."""
        return len(self._tokens) - self._start(scope)

    def append(self, token: int) -> None:
        """Add a drawn id."""
        token = int(require("token", token, TOKEN_ID))  # type: ignore[call-overload]
        self._tokens.append(token)
        for (scope, window), counter in self._counters.items():
            counter[token] += 1
            leaving = len(self._tokens) - 1 - window if window is not None else -1
            if leaving >= self._start(scope):
                self._remove(counter, self._tokens[leaving])

    def rollback(self, count: int) -> None:
        """Forget the last ids of the output; the prompt cannot be forgotten.

        Raises
        ------
        ParameterError
            There are fewer ids in the output.
        """
        require("count", count, Whole(0, self.output_length))
        for _ in range(count):
            token = self._tokens.pop()
            for (scope, window), counter in self._counters.items():
                self._remove(counter, token)
                entering = len(self._tokens) - window if window is not None else -1
                if entering >= self._start(scope):
                    counter[self._tokens[entering]] += 1

    def fork(self) -> History:
        """Return an independent copy."""
        copy = History.__new__(History)
        copy._tokens = list(self._tokens)
        copy._prompt_length, copy._left_padding = self._prompt_length, self._left_padding
        copy._counters = {key: Counter(counter) for key, counter in self._counters.items()}
        return copy

    def counts(self, scope: Scope, window: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Ids seen in the last ``window`` tokens of a scope, ascending, and how often.

        Parameters
        ----------
        scope : "all", "output" or "padded"
            Which tokens are looked at.
        window : int or None
            How many of the last tokens of the scope; None looks at all of them.

        Returns
        -------
        ids : int64, shape (distinct,)
            In ascending order.
        counts : int64, shape (distinct,)
            How often each was seen, at least 1.
        """
        key = (scope, window)
        if key not in self._counters:
            seen = self._tokens[self._start(scope) :]
            self._counters[key] = Counter(seen if window is None else seen[max(0, len(seen) - window) :])
        counter = self._counters[key]
        ids = np.fromiter(counter.keys(), np.int64, len(counter))
        often = np.fromiter(counter.values(), np.int64, len(counter))
        order = np.argsort(ids)
        return ids[order], often[order]

    def ends_with(self, tokens: Sequence[int]) -> bool:
        """Whether these ids are the last ones of prompt and output together (padding apart)."""
        count = len(tokens)
        return count <= len(self._tokens) - self._left_padding and (count == 0 or self._tokens[-count:] == list(tokens))

    def _start(self, scope: Scope) -> int:
        return {"all": self._left_padding, "output": self._prompt_length, "padded": 0}[scope]

    @staticmethod
    def _remove(counter: Counter[int], token: int) -> None:
        counter[token] -= 1
        if not counter[token]:
            del counter[token]
