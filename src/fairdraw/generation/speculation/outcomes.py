"""Every outcome of a round, with its probability: the exact law of a rule, by enumeration.

A round that is written over a leading axis is run twice: once to count its coins and tokens, once with one entry of
that axis for each combination of their outcomes.  What each draw would have given is multiplied up; so the text that
draws is the text that is summed, in float64, or in fractions (object arrays).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from fairdraw.generation.speculation.chance import Chance, Coins, Reals, Tokens
from fairdraw.generation.speculation.siblings import at, without
from fairdraw.streams.noise import Purpose

Result = TypeVar("Result")


class EveryOutcome:
    """Answers with all outcomes side by side, or, without scripts, notes how many each question has."""

    def __init__(self, scripts: Tokens | None = None) -> None:
        self._scripts = scripts
        self.sizes: list[int] = []
        # Whole numbers: they become floats or fractions, as the rows are.
        self.probability: Reals = np.ones(1 if scripts is None else scripts.shape[1], np.int64)  # type: ignore[assignment]

    def coin(self, probability: ArrayLike, *, position: int) -> Coins:
        """False, then True."""
        passed = self._next(2) == 1
        chance = np.asarray(probability)
        self.probability = self.probability * np.where(passed, chance, 1 - chance)
        return passed

    def token(self, weights: Reals, *, purpose: Purpose, position: int) -> Tokens:
        """Every id."""
        token = self._next(weights.shape[-1])
        total = weights.sum(axis=-1)
        self.probability = self.probability * at(weights, token) / np.where(total > 0, total, 1)
        return token

    def tokens(self, weights: Reals, count: int, *, purpose: Purpose, position: int) -> Tokens:
        """Every sequence of ids; those with a repeat have probability 0."""
        taken = np.zeros((self.probability.size, 0), np.int64)
        for _ in range(count):
            law = without(weights, taken) if taken.size else weights
            token = self.token(law, purpose=purpose, position=position)
            fresh = ~(taken == token[:, np.newaxis]).any(axis=-1)
            self.probability = np.where(fresh, self.probability, 0)
            taken = np.concatenate([taken, token[:, np.newaxis]], axis=-1)
        return taken

    def _next(self, size: int) -> Tokens:
        self.sizes.append(size)
        if self._scripts is None:
            return np.zeros(1, np.int64)
        return self._scripts[len(self.sizes) - 1]


def outcomes(play: Callable[[Chance], Result]) -> tuple[Result, Reals]:
    """Play a round in every way it can go.

    Parameters
    ----------
    play : callable
        Takes a `Chance` and asks it the same number of questions whatever the answers.

    Returns
    -------
    result
        What ``play`` returned, its arrays with one leading entry for each outcome.
    probability : float64, shape (outcomes,)
        Of each; they sum to 1.

    Examples
    --------
    >>> weights = np.array([0.75, 0.25])
    >>> tokens, chances = outcomes(lambda chance: chance.token(weights, purpose=Purpose.DRAFT, position=0))
    >>> tokens.tolist(), chances.tolist()
    ([0, 1], [0.75, 0.25])
    """
    counting = EveryOutcome()
    play(counting)
    grid = np.indices(counting.sizes).reshape(len(counting.sizes), -1)
    every = EveryOutcome(grid)
    result = play(every)
    return result, every.probability


def joint_law(tokens: Tokens, probability: Reals, vocab: int) -> Reals:
    """Add the probabilities of equal sequences up; (outcomes, length) to shape (vocab,) * length."""
    law = np.zeros((vocab,) * tokens.shape[-1], probability.dtype)
    np.add.at(law, tuple(tokens.T), probability)
    return law
