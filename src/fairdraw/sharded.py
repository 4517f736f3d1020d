"""A token from a row that no machine has whole: each of several holds a piece of the vocabulary.

`fairdraw.kernels.rounds.converse` says who is asked what; `fairdraw.kernels.shards` what one answers;
`fairdraw.kernels.merge` how answers become one.  Here all of it runs in one process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from fairdraw.arrays import as_piece
from fairdraw.context import Context
from fairdraw.domains import Whole, require
from fairdraw.errors import ParameterError
from fairdraw.history import History
from fairdraw.kernels.codes import Cut
from fairdraw.kernels.merge import Partial, merge_all, size_in_bytes
from fairdraw.kernels.rounds import converse, require_program
from fairdraw.kernels.shards import Question, Shard
from fairdraw.masses import Scores
from fairdraw.one_token import enter
from fairdraw.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One question and what each shard answered."""

    question: Question
    answers: tuple[Partial, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Bytes of each shard's answer.  The question crosses nothing: every rank derives it."""
        return tuple(size_in_bytes(answer) for answer in self.answers)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardedDrawn:
    """The result of `sample_sharded`."""

    token: int
    """Token id in the whole vocabulary."""
    logprob: float
    """As `fairdraw.Drawn.logprob`, to the last bit."""
    cut: Cut | None
    """Which ids it could have been: those inside; None for a greedy draw, which asks for no cut."""
    rounds: tuple[Round, ...] = field(repr=False)
    """Everything that was said."""


def sample_sharded(
    plan: Plan,
    shards: Sequence[object],
    *,
    seed: int,
    position: int,
    sample_index: int = 0,
    history: History | None = None,
    mask: ArrayLike | None = None,
) -> ShardedDrawn:
    """Draw one token from a row in pieces: the one that `fairdraw.sample` draws from the whole row.

    Parameters
    ----------
    plan : Plan
        One that kernels know (`fairdraw.kernels.shapes.recognise`).
    shards : sequence of array_like of float, each of shape (ids,)
        The row cut into contiguous pieces, in the order of the ids.  Any number, of any widths; a piece may be empty
        or hold ``-inf`` alone.  They are never written.
    seed, position, sample_index, history
        As in `fairdraw.sample`.
    mask : array_like of bool, shape (vocab,), optional
        Of the whole row, as in `fairdraw.sample`.

    Returns
    -------
    ShardedDrawn
        Token, processed logprob, and every question with its answers.

    Raises
    ------
    PlanError
        A stage or the draw of the plan cannot be split; it is named.
    LogitsError, ParameterError
        As in `fairdraw.sample`; an id in a message is one of the whole row.

    Notes
    -----
    Ties, rounding and noise are those of the whole row: noise belongs to an id, masses are integers.  Two rounds
    without top-p or with a k up to 1024; a search for the end of top-p, or of a larger k, adds up to eight.
    docs/shards.md has what crosses.

    Examples
    --------
    >>> import fairdraw as fd
    >>> plan = fd.Plan.parse("fairdraw: temperature=0.7 top_k=40 top_p=0.9")
    >>> pieces = [[2.0, 1.5], [1.0, 0.5, 0.0], [-1.0]]
    >>> [fd.sample_sharded(plan, pieces, seed=42, position=position).token for position in range(8)]
    [0, 2, 0, 1, 2, 0, 2, 1]
    """
    program = require_program(plan)
    pieces = _pieces(shards)
    starts = np.cumsum([0, *(piece.size for piece in pieces)]).tolist()
    vocab = starts.pop()
    # A row of zeros stands for the one that nobody has: width, history and mask are checked against it.
    _, context = enter(plan, np.zeros(vocab, np.float32), history, mask)
    talk = converse(plan, vocab=vocab, seed=seed, position=position, sample_index=sample_index, history=context.history)
    states = [
        Shard.enter(piece, first=first, edits=program.edits, context=_of_piece(context, first, piece.size), vocab=vocab)
        for first, piece in zip(starts, pieces, strict=True)
    ]
    rounds: list[Round] = []
    question = next(talk)
    while True:
        answers = tuple(state.answer(question) for state in states)
        rounds.append(Round(question=question, answers=answers))
        try:
            question = talk.send(merge_all(answers))  # type: ignore[type-var]
        except StopIteration as end:
            found = end.value
            return ShardedDrawn(token=found.token, logprob=found.logprob, cut=found.cut, rounds=tuple(rounds))


def enter_piece(
    plan: Plan,
    piece: object,
    *,
    first: int,
    vocab: int,
    history: History | None = None,
    mask: ArrayLike | None = None,
) -> Shard:
    """What one rank does before the first round: apply the plan's edits to its own ids.

    Parameters
    ----------
    plan, history, mask
        As in `sample_sharded`, the same on every rank.
    piece : array_like of float, shape (ids,)
        Logits of the ids from ``first`` on; may be empty.
    first : int
        Where the piece begins.
    vocab : int
        Width of the whole row.

    Returns
    -------
    Shard
        Its ``answer`` is what this rank sends; `fairdraw.kernels.merge.merge` joins two answers.

    Examples
    --------
    >>> import fairdraw as fd
    >>> plan = fd.Plan.parse("fairdraw: temperature=0.7")
    >>> shard, talk = enter_piece(plan, [0.5, 2.0], first=0, vocab=2), converse(plan, vocab=2, seed=1, position=0)
    >>> question = next(talk)
    >>> question = talk.send(shard.answer(question))
    >>> type(question).__name__
    'Race'
    """
    program = require_program(plan)
    scores = as_piece(piece, "piece")
    _, context = enter(plan, np.zeros(vocab, np.float32), history, mask)
    first = int(require("first", first, Whole(0, vocab - scores.size)))  # type: ignore[call-overload]
    own = _of_piece(context, first, scores.size)
    return Shard.enter(scores, first=first, edits=program.edits, context=own, vocab=vocab)


def _pieces(shards: Sequence[object]) -> list[Scores]:
    if isinstance(shards, (str, bytes)) or not isinstance(shards, Sequence):
        hint = "list(row.reshape(8, -1)) cuts a row into eight"
        raise ParameterError("shards", type(shards).__qualname__, "a sequence of pieces of the row", hint)
    return [as_piece(piece, f"logits, shard {number},") for number, piece in enumerate(shards)]


def _of_piece(context: Context, first: int, size: int) -> Context:
    return context if context.mask is None else replace(context, mask=context.mask[first : first + size])
