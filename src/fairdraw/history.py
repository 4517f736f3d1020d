"""The token ids so far: prompt and output, with their counts kept up to date."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import address_of
from fairdraw.domains import TOKEN_ID, TokenIds, Whole, require

Scope = Literal["all", "output", "padded"]
"""Which tokens a penalty sees: prompt and output; output alone; prompt and output with the left padding."""
Counts = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Ids, and how often each was seen."""
InMemory = tuple[int, int, int, NDArray[np.int64], NDArray[np.int64]]
"""The same in memory: addresses of the ids and of the counts, how many there are, and the arrays that hold them."""


class Tally:
    """How often each id was seen: two arrays without gaps, kept up to date in O(1)."""

    __slots__ = ("_counts", "_ids", "_places", "size", "where")

    def __init__(self, tokens: Iterable[int] = ()) -> None:
        self._places: dict[int, int] = {}
        self.size = 0
        self._hold(np.empty(16, np.int64), np.empty(16, np.int64))
        for token in tokens:
            self.add(token)

    def add(self, token: int) -> None:
        """Count an id once more."""
        place = self._places.get(token)
        if place is not None:
            self._counts[place] += 1
            return
        if self.size == self._ids.size:
            self._hold(*(np.concatenate([part, part]) for part in (self._ids, self._counts)))
        self._places[token] = self.size
        self._ids[self.size], self._counts[self.size] = token, 1
        self.size += 1

    def remove(self, token: int) -> None:
        """Count an id once less; the last one moves into the gap of one that is gone."""
        place = self._places[token]
        self._counts[place] -= 1
        if self._counts[place]:
            return
        self.size -= 1
        last = int(self._ids[self.size])
        self._ids[place], self._counts[place] = last, self._counts[self.size]
        self._places[last] = place
        del self._places[token]

    def arrays(self) -> Counts:
        """Ids and counts, in no order; views that the next change may change."""
        return self._ids[: self.size], self._counts[: self.size]

    def copy(self) -> Tally:
        """An independent copy."""
        twin = Tally()
        twin._places, twin.size = dict(self._places), self.size
        twin._hold(self._ids.copy(), self._counts.copy())
        return twin

    def _hold(self, ids: NDArray[np.int64], counts: NDArray[np.int64]) -> None:
        self._ids, self._counts = ids, counts
        self.where = address_of(ids), address_of(counts), ids, counts


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
    `append` and `rollback` in O(1).  `seen` answers in O(1), `counts` sorts.  `fork` costs O(tokens).

    Examples
    --------
    >>> history = History(prompt=[5, 7], output=[7])
    >>> [part.tolist() for part in history.counts("all", window=None)]
    [[5, 7], [1, 2]]
    >>> [part.tolist() for part in history.counts("output", window=None)]
    [[7], [1]]
    """

    __slots__ = ("_left_padding", "_prompt_length", "_tallies", "_tokens")

    def __init__(self, *, prompt: Sequence[int] = (), output: Sequence[int] = (), left_padding: int = 0) -> None:
        before = require("prompt", prompt, TokenIds())
        after = require("output", output, TokenIds())
        self._tokens: list[int] = [*before, *after]  # type: ignore[misc]
        self._prompt_length = len(before)  # type: ignore[arg-type]
        self._left_padding = int(require("left_padding", left_padding, Whole(0, self._prompt_length)))  # type: ignore[call-overload]
        self._tallies: dict[tuple[Scope, int | None], Tally] = {}

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
        for (scope, window), tally in self._tallies.items():
            tally.add(token)
            leaving = len(self._tokens) - 1 - window if window is not None else -1
            if leaving >= self._start(scope):
                tally.remove(self._tokens[leaving])

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
            for (scope, window), tally in self._tallies.items():
                tally.remove(token)
                entering = len(self._tokens) - window if window is not None else -1
                if entering >= self._start(scope):
                    tally.add(self._tokens[entering])

    def fork(self) -> History:
        """Return an independent copy."""
        copy = History.__new__(History)
        copy._tokens = list(self._tokens)
        copy._prompt_length, copy._left_padding = self._prompt_length, self._left_padding
        copy._tallies = {key: tally.copy() for key, tally in self._tallies.items()}
        return copy

    def seen(self, scope: Scope, window: int | None) -> Counts:
        """Ids seen in the last ``window`` tokens of a scope, in no order, and how often; O(1).

        Parameters
        ----------
        scope : "all", "output" or "padded"
            Which tokens are looked at.
        window : int or None
            How many of the last tokens of the scope; None looks at all of them.

        Returns
        -------
        ids, counts : int64, shape (distinct,)
            Views: read them before the next token is appended, and do not write them.
        """
        return self._tally(scope, window).arrays()

    def seen_in_memory(self, scope: Scope, window: int | None) -> InMemory:
        """The same for whoever reads memory: in a third of the time, and as long as `seen` says."""
        tally = self._tallies.get((scope, window)) or self._tally(scope, window)
        size = tally.size  # before the arrays: another thread may just be putting longer ones in their place
        ids_at, counts_at, ids, counts = tally.where
        return ids_at, counts_at, size, ids, counts

    def counts(self, scope: Scope, window: int | None) -> Counts:
        """The same in ascending order of the ids, the caller's to keep.

        Returns
        -------
        ids, counts : int64, shape (distinct,)
            How often each was seen, at least 1.
        """
        ids, often = self.seen(scope, window)
        order = np.argsort(ids)
        return ids[order], often[order]

    def tail(self, scope: Scope, window: int | None) -> NDArray[np.int64]:
        """The last ``window`` ids of a scope in the order of the text, or all of them; int64, shape (tokens,)."""
        first = self._start(scope) if window is None else max(self._start(scope), len(self._tokens) - window)
        return np.array(self._tokens[first:], np.int64)

    def ends_with(self, tokens: Sequence[int], scope: Scope = "all") -> bool:
        """Whether these ids are the last ones of a scope."""
        count = len(tokens)
        return count <= self.length(scope) and (count == 0 or self._tokens[-count:] == list(tokens))

    def _tally(self, scope: Scope, window: int | None) -> Tally:
        tally = self._tallies.get((scope, window))
        if tally is None:
            tokens = self._tokens[self._start(scope) :]
            tally = Tally(tokens if window is None else tokens[max(0, len(tokens) - window) :])
            self._tallies[scope, window] = tally
        return tally

    def _start(self, scope: Scope) -> int:
        return {"all": self._left_padding, "output": self._prompt_length, "padded": 0}[scope]
