"""What comes of a draw: the token, what it could have been, and how probable all that was."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Memory
from fairdraw.domains import Whole, require
from fairdraw.draws import Draw
from fairdraw.masses import Ids, IntegerMasses, Scores
from fairdraw.rows import Row

WORD_BITS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactSupport:
    """A kept set in the fewer bytes: a list of ids, or one bit for each id of the vocabulary."""

    form: Literal["ids", "bitmap"]
    values: NDArray[np.int32]
    """Ids, ascending; or words of 32 bits, id i being bit i % 32 of word i // 32."""
    vocab: int
    """Width of the row."""

    @classmethod
    def of(cls, ids: Ids, vocab: int) -> CompactSupport:
        """Choose the form that takes fewer bytes; a list if both take as many.

        Examples
        --------
        >>> CompactSupport.of(np.array([3, 40]), 100)
        CompactSupport(form='ids', values=array([ 3, 40], dtype=int32), vocab=100)
        >>> CompactSupport.of(np.arange(50), 64).values.tolist()
        [-1, 262143]
        """
        words = -(-vocab // WORD_BITS)
        if ids.size <= words:
            return cls(form="ids", values=ids.astype(np.int32), vocab=vocab)
        kept = np.zeros(words * WORD_BITS, np.bool_)
        kept[ids] = True
        bits = np.packbits(kept, bitorder="little").view("<i4").astype(np.int32)
        return cls(form="bitmap", values=bits, vocab=vocab)

    @property
    def ids(self) -> Ids:
        """The ids, ascending, int64."""
        if self.form == "ids":
            return self.values.astype(np.int64)
        return np.flatnonzero(np.unpackbits(self.values.astype("<i4").view(np.uint8), bitorder="little"))


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The result of a draw.

    What is said besides the token is worked out when it is first asked for.

    Examples
    --------
    A trainer that wants the probability under the very set that was drawn from:

    >>> from fairdraw.sampling import sample
    >>> from fairdraw.plan import Plan
    >>> plan = Plan.parse("fairdraw: temperature=0.5 top_p=0.9")
    >>> drawn = sample(plan, [2.0, 1.0, 0.0, -1.0], seed=1, position=5)
    >>> drawn.token, drawn.support.tolist(), drawn.rank
    (0, [0, 1], 1)
    >>> round(drawn.logprob, 6), round(drawn.full_logprob, 6), round(drawn.log_kept_mass, 6)
    (-0.126928, -0.145078, -0.01815)
    """

    token: int
    """Token id."""
    draw: Draw = field(repr=False)
    """The rule that chose it."""
    find_row: Callable[[], Row] = field(repr=False, compare=False)
    """How to work out the row that it was chosen from."""
    find_logits: Callable[[], Scores] = field(repr=False, compare=False)
    """How to get at the logits as they came."""
    memory: Memory = field(default_factory=dict, repr=False, compare=False)
    """What the plan's stateful stages remember after this token: the next call's ``memory``."""

    @cached_property
    def row(self) -> Row:
        """The row that it was chosen from."""
        return self.find_row()

    @property
    def support(self) -> Ids:
        """The kept set: ids that could have been drawn, ascending."""
        return self.row.kept

    @property
    def compact_support(self) -> CompactSupport:
        """The kept set as ids, or as a bitmap when that is smaller."""
        return CompactSupport.of(self.support, self.row.vocab)

    @property
    def logprob(self) -> float:
        """Processed: natural logarithm of the token's probability after all stages, under the draw's own law."""
        return float(self.draw.log_law(self.row)[self.token])

    @property
    def full_logprob(self) -> float:
        """After temperature: under the softmax of all tokens that no mask forbids, before any cut; natural."""
        return float(self._uncut.log2_weights[self.token]) * math.log(2.0)

    @property
    def raw_logprob(self) -> float:
        """Raw: under the softmax of the logits as they came; natural."""
        return float(Row.of(self.find_logits(), IntegerMasses).log2_weights[self.token]) * math.log(2.0)

    @property
    def log_kept_mass(self) -> float:
        """Natural logarithm of the kept set's share of the full softmax; 0 where nothing was cut.

        ``full_logprob - log_kept_mass`` is the token's logprob in the softmax of the kept set, whatever the
        parameters; a draw with the row's own law, such as the race, has just that as its ``logprob``.
        """
        kept, whole = self.row.masses, self._uncut.masses
        above = (float(kept.peak) - float(whole.peak)) * kept.scale
        return above * math.log(2.0) + math.log(self.row.total / self._uncut.total)

    @property
    def rank(self) -> int:
        """Place of the token among all tokens after the edits, 1 for the best; equal scores: the lower id first."""
        scores = self.row.scores
        own = scores[self.token]
        return int(np.count_nonzero(scores > own) + np.count_nonzero(scores[: self.token] == own)) + 1

    def top(self, count: int) -> tuple[tuple[int, float], ...]:
        """The best tokens of the kept set with their processed logprobs, the best first.

        Parameters
        ----------
        count : int, at least 0
            More than there are gives all.
        """
        require("count", count, Whole(0))
        logprobs = self.draw.log_law(self.row)
        return tuple((int(i), float(logprobs[i])) for i in self.row.order[:count])

    @cached_property
    def _uncut(self) -> Row:
        """The same row without its cuts: a cut leaves the score of what it removes, a mask does not."""
        masses = self.row.masses
        peak = masses.scores.max()
        return Row(
            masses=IntegerMasses(scores=masses.scores, scale=masses.scale, peak=peak),
            kept=np.flatnonzero(masses.scores > -np.inf),
        )
