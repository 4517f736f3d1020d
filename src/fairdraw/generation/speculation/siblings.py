"""Accept or reject candidates for one position, one after the other: the token-wise rule.

A candidate x that was drawn from q is accepted with probability min(1, p(x) / q(x)).  If it is rejected, what is
left to draw is the residual, the positive part of p - q, normalised; it takes the place of p for the next candidate.
When none is left, the token is drawn from it.  So the token follows p, whatever q was, for any number of
candidates, if each was drawn from the q that is named for it: independent siblings all have the same, siblings
without replacement have one without those before them (`without`), a certain candidate has all mass on itself.

Sources: Leviathan, Kalman, Matias, "Fast Inference from Transformers via Speculative Decoding" (ICML 2023),
algorithm 1; Miao et al., "SpecInfer" (ASPLOS 2024), algorithm 2, for independent siblings; Jeon et al., "Recursive
Speculative Decoding" (2024) for siblings without replacement.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdraw.generation.speculation.chance import Coins, Reals, Tokens

Coin = Callable[[Reals, int], Coins]
"""Toss with a probability, for the candidate of this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenWise:
    """Each candidate stands or falls by itself.

    Examples
    --------
    >>> p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.2])
    >>> rule = TokenWise()
    >>> [float(rule.acceptance(p, q, np.array(x))) for x in range(3)], rule.residual(p, q).tolist()
    ([1.0, 0.5, 1.0], [1.0, 0.0, 0.0])
    """

    def acceptance(self, left: Reals, law: Reals, token: Tokens) -> Reals:
        """How probably a token drawn from ``law`` is accepted where ``left`` is to be drawn; (..., vocab) to (...)."""
        wanted, given = at(left, token), at(law, token)
        return np.minimum(1, wanted / np.where(given > 0, given, 1))

    def residual(self, left: Reals, law: Reals) -> Reals:
        """What is left to draw after a rejection; (..., vocab)."""
        return normalised(np.maximum(left - law, 0), left)

    def verify(self, target: Reals, laws: Reals, tokens: Tokens, coin: Coin) -> tuple[Tokens, Reals]:
        """Try the candidates of one position.

        Parameters
        ----------
        target : float64, shape (..., vocab)
            p, after all stages.
        laws : float64, shape (..., candidates, vocab)
            The law that each candidate was really drawn from, given those before it.
        tokens : int64, shape (..., candidates)
            The candidates in the order in which they were drawn.
        coin : callable
            Gives the chance.

        Returns
        -------
        accepted : int64, shape (...)
            Index of the accepted candidate; the number of candidates if there is none.
        rest : float64, shape (..., vocab)
            What to draw the token from if there is none.
        """
        count = tokens.shape[-1]
        accepted, rest = np.full(tokens.shape[:-1], count), target
        for index in range(count):
            law = laws[..., index, :]
            passed = coin(self.acceptance(rest, law, tokens[..., index]), index)
            accepted = np.where((accepted == count) & passed, index, accepted)
            if (accepted < count).all():
                break
            rest = np.where((accepted == count)[..., np.newaxis], self.residual(rest, law), rest)
        return accepted, rest

    def verify_chain(self, target: Reals, laws: Reals, tokens: Tokens, coin: Coin) -> tuple[Tokens, Reals]:
        """Try the tokens of a chain until one is rejected; as `Block.verify_chain`."""
        count = tokens.shape[-1]
        accepted, rest = np.zeros(tokens.shape[:-1], np.int64), target[..., 0, :]
        for index in range(count):
            one = slice(index, index + 1)
            failed, left = self.verify(
                target[..., index, :], laws[..., one, :], tokens[..., one], lambda p, _, index=index: coin(p, index)
            )
            here = accepted == index
            rest = np.where(here[..., np.newaxis], np.where((failed > 0)[..., np.newaxis], left, 0), rest)
            accepted = np.where(here & (failed == 0), index + 1, accepted)
        return accepted, np.where((accepted == count)[..., np.newaxis], target[..., count, :], rest)


def without(law: Reals, tokens: Tokens) -> Reals:
    """The law of the next sibling without replacement: these ids taken out, the others normalised.

    Parameters
    ----------
    law : float64, shape (..., vocab)
        What the first sibling was drawn from.
    tokens : int64, shape (..., taken)
        The siblings before.

    Returns
    -------
    float64, shape (..., vocab)

    Examples
    --------
    >>> without(np.array([0.5, 0.25, 0.25]), np.array([0])).tolist()
    [0.0, 0.5, 0.5]
    """
    taken = (tokens[..., np.newaxis] == np.arange(law.shape[-1])).any(axis=-2)
    return normalised(np.where(taken, 0, law), law)


def certain(token: int, vocab: int) -> Reals:
    """The law of a candidate that was not drawn: all mass on it."""
    law = np.zeros(vocab)
    law[token] = 1.0
    return law


def at(rows: Reals, tokens: Tokens) -> Reals:
    """The entry of each row at its token; (..., vocab) to (...)."""
    shape = np.broadcast_shapes(rows.shape[:-1], np.shape(tokens))
    index = np.broadcast_to(tokens, shape)[..., np.newaxis]
    return np.take_along_axis(np.broadcast_to(rows, (*shape, rows.shape[-1])), index, axis=-1)[..., 0]


def normalised(weights: Reals, otherwise: Reals) -> Reals:
    """Weights that sum to 1; where all are 0, which happens with probability 0 or by rounding, the other row."""
    total = weights.sum(axis=-1, keepdims=True)
    empty: NDArray[np.bool_] = total == 0
    return np.where(empty, otherwise, weights / np.where(empty, 1, total))
