"""Keyed noise: every token id has its own Exp(1) number, a pure function of seed, position, sample index and id.

The numbers are built top-down (after Maddison, Tarlow and Minka, "A* Sampling", NIPS 2014), so that a search may
ask for the minimum of a thousand ids before it looks at any of them:

- 64 ids form a block, 16 blocks a group (1024 ids); both are whole whatever the vocabulary's size.
- A group's minimum is an Exp(1) / 1024, held by a hashed id of the group.
- The block that holds that id has the group's minimum; every other has it plus an Exp(1) / 64 of its own, held by
  a hashed id of the block.
- The id that holds its block's minimum has that; every other has it plus an Exp(1) of its own.

The minimum of n independent Exp(1) is Exp(1) / n at a uniform place, and what exceeds it is Exp(1) again, so the
result is exactly one independent Exp(1) for each id.

Counter and words of Philox4x32-10: key = (low, high word of the seed); c0 = index of the group, block or id;
c1 = position; c2 = sample index; c3 = purpose << 24 | level << 16 | round.  Of the output, w0 and w1 make a uniform
u = (k + 1/2) / 2^52 with k = (w0 * 2^32 + w1) >> 12, and E = -ln u; w2 hashes the holder.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import COUNTER, SEED, Whole, require
from fairdraw.streams.logarithms import minus_log
from fairdraw.streams.philox import Words, philox

STREAM_VERSION = 1
"""Noise, tree, counters, polynomials and the rule of the race.  Tokens change only when this number does."""

BLOCK, GROUP = 64, 1024
"""Ids in a block and in a group."""


class Purpose(IntEnum):
    """What noise is for; different purposes are independent."""

    TARGET = 0
    DRAFT = 1
    ACCEPT = 2
    RESIDUAL = 3
    BONUS = 4
    COIN = 5
    INVERSE_CDF = 6


class Level(IntEnum):
    """Where in the tree a number stands; SINGLE is a lone uniform outside of it."""

    GROUP = 0
    BLOCK = 1
    LEAF = 2
    SINGLE = 3


_TREE = {GROUP: (Level.GROUP, None), BLOCK: (Level.BLOCK, GROUP), 1: (Level.LEAF, BLOCK)}
"""How many ids a node spans, its level, and how many its parent spans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """The randomness of one draw, or of several at once.

    Parameters
    ----------
    seed : int, 0 to 2^64-1
        Chooses the whole stream.
    position : int, 0 to 2^32-1, or uint64, shape (draws,)
        How many tokens stand before the drawn one.
    sample_index : int, 0 to 2^32-1, or uint64, shape (draws,)
        Which of the request's answers this is.
    purpose : Purpose
        Noise for different purposes is independent.
    round : int, 0 to 2^16-1
        0; the n-th repeat of the same draw has n.

    Raises
    ------
    ParameterError
        A number lies outside its range: nothing wraps.

    Examples
    --------
    >>> Noise(seed=42, position=7).exponentials(np.arange(4)).round(6).tolist()
    [0.364723, 0.127825, 0.556215, 0.353418]
    """

    seed: int
    position: int | NDArray[np.uint64]
    sample_index: int | NDArray[np.uint64] = 0
    purpose: Purpose = Purpose.TARGET
    round: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "seed", require("seed", self.seed, SEED))
        object.__setattr__(self, "round", require("round", self.round, Whole(0, 2**16 - 1)))
        for name, value in (("position", self.position), ("sample_index", self.sample_index)):
            for number in (value.min(), value.max()) if isinstance(value, np.ndarray) else (value,):
                require(name, number, COUNTER)

    @property
    def draws(self) -> tuple[int, ...]:
        """() for one draw, (n,) for n of them: the leading axis of what the methods return."""
        return np.broadcast_shapes(np.shape(self.position), np.shape(self.sample_index))

    def exponentials(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        r"""Independent Exp(1) numbers of token ids; the same number for an id whichever others are asked for.

        Parameters
        ----------
        ids : int64, shape (n,)
            Token ids, in any order.

        Returns
        -------
        float64, shape (\*draws, n)
        """
        return self._descend(ids, 1)[0]

    def minima(self, nodes: NDArray[np.int64], span: int) -> NDArray[np.float64]:
        r"""The smallest exponential of blocks or groups; each is the noise of the id that holds it.

        Parameters
        ----------
        nodes : int64, shape (n,)
            Numbers of blocks or groups.
        span : int
            `BLOCK` or `GROUP`.

        Returns
        -------
        float64, shape (\*draws, n)
        """
        return self._descend(nodes, span)[0]

    def _descend(self, nodes: NDArray[np.int64], span: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """The smallest exponential of each node and the id that holds it."""
        level, parent_span = _TREE[span]
        own, own_holder = self._nodes(nodes, level, span)
        if parent_span is None:
            return own, own_holder
        parents, parent_of = np.unique(nodes // (parent_span // span), return_inverse=True)
        minimum, holder = self._descend(parents, parent_span)
        minimum, holder = minimum[..., parent_of], holder[..., parent_of]
        inherits = holder // span == nodes
        return minimum + np.where(inherits, 0.0, own), np.where(inherits, holder, own_holder)

    def leaf_uniforms(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        r"""Independent uniforms in (0, 1) of token ids, outside of the tree; shape (\*draws, n)."""
        return self._words(ids, Level.LEAF)[0]

    def single_bits(self, index: int) -> NDArray[np.uint64]:
        """The 52 random bits k of a lone uniform (k + 1/2) / 2^52; shape draws."""
        return self._bits(np.array([index]), Level.SINGLE)[0][..., 0]

    def single_uniform(self, index: int) -> NDArray[np.float64]:
        """A lone uniform in (0, 1), for the stage or proposal of this number; shape draws."""
        return _uniform(self.single_bits(index))

    def _nodes(
        self, nodes: NDArray[np.int64], level: Level, span: int
    ) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Of each node: an Exp(1) / span, and the id that holds it if it is the node's own."""
        uniform, spare = self._words(nodes, level)
        return minus_log(uniform) / span, nodes * span + (spare % np.uint64(span)).astype(np.int64)

    def _words(self, indices: NDArray[np.int64], level: Level) -> tuple[NDArray[np.float64], Words]:
        bits, spare = self._bits(indices, level)
        return _uniform(bits), spare

    def _bits(self, indices: NDArray[np.int64], level: Level) -> tuple[Words, Words]:
        tag = int(self.purpose) << 24 | int(level) << 16 | self.round
        position, sample_index = (
            np.asarray(number, np.uint64)[..., np.newaxis] for number in (self.position, self.sample_index)
        )
        counter = (indices.astype(np.uint64), position, sample_index, np.array([tag], np.uint64))
        high, low, spare, _ = philox(counter, (self.seed & 0xFFFFFFFF, self.seed >> 32))
        return (high << np.uint64(32) | low) >> np.uint64(12), spare


def _uniform(bits: Words) -> NDArray[np.float64]:
    """The middle of the bits' cell: never 0, never 1, exact in float64."""
    return (bits.astype(np.float64) + 0.5) * 2.0**-52
