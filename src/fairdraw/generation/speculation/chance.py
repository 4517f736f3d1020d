"""Where a round gets its chance from: coins and tokens, by keyed noise.

A rule asks for "a coin of this probability" and "a token of these weights" and does not know who answers.  Keyed
noise answers with one outcome; `fairdraw.generation.speculation.outcomes` answers with all of them, each with its
probability.  So the text of a rule that draws is the text whose law is summed.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import Noise, Purpose

Reals = NDArray[np.float64]
Tokens = NDArray[np.int64]
Coins = NDArray[np.bool_]


class Chance(Protocol):
    """What answers; every array may have leading axes, one entry for each independent round."""

    def coin(self, probability: ArrayLike, *, position: int) -> Coins:
        """Toss for an acceptance at a position; True with this probability."""
        ...

    def token(self, weights: Reals, *, purpose: Purpose, position: int) -> Tokens:
        """Draw one id; weights of shape (..., vocab) need not sum to 1."""
        ...

    def tokens(self, weights: Reals, count: int, *, purpose: Purpose, position: int) -> Tokens:
        """Draw ids one after the other without replacement; shape (..., count)."""
        ...


class KeyedChance:
    """Answers by the noise of a seed.

    Parameters
    ----------
    seed : int, 0 to 2^64-1
        Chooses the noise.
    sample_index : int, or uint64, shape (rounds,)
        Which answer to the request; with an array, one round for each.

    Notes
    -----
    Purpose and position key a draw; its n-th repeat has round n.  So a position that is drafted again after a
    rejection uses fresh noise: block verification looks at all drafts of a block before it decides, and the old
    ones are no longer independent of what was written.

    Examples
    --------
    >>> chance = KeyedChance(seed=7)
    >>> weights = np.array([0.5, 0.25, 0.25])
    >>> [int(chance.token(weights, purpose=Purpose.DRAFT, position=p)) for p in (0, 0, 0, 1, 1, 1)]
    [1, 0, 2, 0, 1, 1]
    """

    def __init__(self, *, seed: int, sample_index: int | NDArray[np.uint64] = 0) -> None:
        self._seed, self._sample_index = seed, sample_index
        self._rounds: Counter[tuple[Purpose, int]] = Counter()

    def coin(self, probability: ArrayLike, *, position: int) -> Coins:
        """Whether a lone uniform lies below the probability."""
        uniform = self._noise(Purpose.ACCEPT, position).single_uniform(0)
        return np.asarray(uniform < np.asarray(probability, np.float64))

    def token(self, weights: Reals, *, purpose: Purpose, position: int) -> Tokens:
        """The first arrival of a race."""
        return self.tokens(weights, 1, purpose=purpose, position=position)[..., 0]

    def tokens(self, weights: Reals, count: int, *, purpose: Purpose, position: int) -> Tokens:
        """The first arrivals of a race: samples without replacement, in order."""
        return arrivals(weights, count, self._noise(purpose, position))

    def _noise(self, purpose: Purpose, position: int) -> Noise:
        repeat = self._rounds[purpose, position]
        self._rounds[purpose, position] += 1
        return Noise(seed=self._seed, position=position, sample_index=self._sample_index, purpose=purpose, round=repeat)


def arrivals(weights: Reals, count: int, noise: Noise) -> Tokens:
    r"""The ids that arrive first in a race of weights log2(w) - log2(E); equal scores: the lower id first.

    Parameters
    ----------
    weights : float64, shape (\*draws, vocab) or (vocab,)
        At least ``count`` of them above 0.
    count : int
        How many.
    noise : Noise
        One race for each of its draws.

    Returns
    -------
    int64, shape (\*draws, count)
    """
    ids = np.flatnonzero((weights > 0).reshape(-1, weights.shape[-1]).any(axis=0))
    shares = weights[..., ids]
    present = shares > 0
    scores = np.where(present, log2(np.where(present, shares, 1.0)), -np.inf) - log2(noise.exponentials(ids))
    if count == 1:
        return ids[np.argmax(scores, axis=-1)][..., np.newaxis]
    return ids[np.argsort(-scores, axis=-1, kind="stable")[..., :count]]
