"""Draws of two plans against both of their laws: what the exact comparison says, seen in tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.domains import COUNTER, SEED, Whole, require
from fairdraw.history import History
from fairdraw.plan import Plan
from fairdraw.sampling import law, sample_many
from fairdraw.verify.statistics import SHARE, GTest, g_test, scipy_stats, smallest_detectable
from fairdraw.weights import Weights

LEVEL = 1e-6
"""How often one test may refute a true law."""
POWER = 0.99
CHUNK = 1 << 22
"""Noise values between two reports of progress."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frequencies:
    """Draws of one plan against one law."""

    largest_deviation: float
    """Largest |frequency - probability| of one token."""
    largest_deviation_id: int
    """The token that has it."""
    outside: int
    """Draws that the law cannot give."""
    test: GTest
    smallest_detectable: float
    """Total variation from which on the test sees a difference with power 0.99, whatever its direction."""
    level: float

    @property
    def follows(self) -> bool:
        """Whether the draws may come from the law: the test does not refute it at the level."""
        return self.test.p_value > self.level

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {
            "follows": self.follows,
            "largest_deviation": self.largest_deviation,
            "largest_deviation_id": self.largest_deviation_id,
            "outside": self.outside,
            "frequency_outside": self.outside / self.test.draws,
            "smallest_detectable": self.smallest_detectable,
            "g_test": self.test.to_json(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnComparison:
    """Draws of two plans, each against its own law (a check of fairdraw) and against the other's."""

    a_by_a: Frequencies
    """Draws of the first plan by the first plan's law."""
    b_by_b: Frequencies
    a_by_b: Frequencies
    """Draws of the first plan by the second plan's law: does it explain them?"""
    b_by_a: Frequencies
    draws: int
    """How many for each plan."""
    seed: int
    position: int
    level: float
    """False-alarm level of each of the four tests."""

    def to_json(self) -> dict[str, object]:
        """Everything as plain data."""
        return {
            "draws": self.draws,
            "seed": self.seed,
            "position": self.position,
            "level": self.level,
            "power": POWER,
            **{name: getattr(self, name).to_json() for name in ("a_by_a", "b_by_b", "a_by_b", "b_by_a")},
        }


def compare_draws(
    plan_a: Plan,
    plan_b: Plan,
    logits: object,
    *,
    draws: int,
    seed: int,
    position: int = 0,
    level: float = LEVEL,
    history: History | None = None,
    mask: ArrayLike | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> DrawnComparison:
    """Draw from one row under both plans, and test the tokens against both laws.

    Parameters
    ----------
    plan_a, plan_b, logits, history, mask
        As in `compare`.
    draws : int, at least 1
        How many tokens to draw for each plan: sample indices 0 to draws - 1.
    seed : int, 0 to 2^64-1
        Chooses the noise.  Both plans use the same, so their tokens differ as seldom as the laws allow.
    position : int, 0 to 2^32-1
        Where in the text the row stands.
    level : float, in (0, 1)
        How often each of the four tests may refute a true law.
    on_progress : callable, optional
        Gets, again and again, how many of the 2 * draws tokens are drawn.

    Returns
    -------
    DrawnComparison
        Frequencies, draws outside of each support, pooled G-tests, and what they could have seen.

    Raises
    ------
    LogitsError, ParameterError
        As in `fairdraw.sample_many`; or no draws.
    UnavailableError
        SciPy is not installed.

    Notes
    -----
    Where a plan leaves something open the tests take its main reading, the one that `fairdraw.sample` draws from.
    On a row of which every token is kept a draw costs as much noise as the row is wide.

    Examples
    --------
    >>> a = Plan.parse("transformers: do_sample=true top_k=3 top_p=0.75")
    >>> b = Plan.parse("candle: TopKThenTopP k=3 p=0.75 temperature=1")
    >>> drawn = compare_draws(a, b, [2.0, 1.5, 1.0, 0.5, 0.0, -1.0], draws=1000, seed=1)
    >>> drawn.a_by_a.follows, drawn.b_by_b.follows, drawn.a_by_b.follows, drawn.b_by_a.follows
    (True, True, False, False)
    """
    draws = int(require("draws", draws, Whole(1, COUNTER.high)))  # type: ignore[call-overload]
    seed = int(require("seed", seed, SEED))  # type: ignore[call-overload]
    position = int(require("position", position, COUNTER))  # type: ignore[call-overload]
    level = float(require("level", level, SHARE))  # type: ignore[arg-type]
    scipy_stats()  # rather now than after a million draws
    laws = tuple(law(plan, logits, history=history, mask=mask) for plan in (plan_a, plan_b))
    counts, done = [], 0
    for plan, weights in zip((plan_a, plan_b), laws, strict=True):
        counted = np.zeros(weights.probabilities.size, np.int64)
        for indices in _chunks(draws, weights.trace[-1].kept):
            tokens = sample_many(
                plan, logits, seed=seed, positions=position, sample_indices=indices, history=history, mask=mask
            )
            counted += np.bincount(tokens, minlength=counted.size)
            done += indices.size
            if on_progress:
                on_progress(done)
        counts.append(counted)
    return DrawnComparison(
        a_by_a=_frequencies(counts[0], laws[0], level),
        b_by_b=_frequencies(counts[1], laws[1], level),
        a_by_b=_frequencies(counts[0], laws[1], level),
        b_by_a=_frequencies(counts[1], laws[0], level),
        draws=draws,
        seed=seed,
        position=position,
        level=level,
    )


def _chunks(draws: int, kept: int) -> Iterator[NDArray[np.int64]]:
    """Sample indices 0 to draws - 1, in parts of about the same work."""
    step = max(64, CHUNK // kept)
    for start in range(0, draws, step):
        yield np.arange(start, min(draws, start + step))


def _frequencies(counts: NDArray[np.int64], weights: Weights, level: float) -> Frequencies:
    draws, probabilities = int(counts.sum()), weights.probabilities
    apart = np.abs(counts / draws - probabilities)
    test = g_test(counts, probabilities)
    return Frequencies(
        largest_deviation=float(apart.max()),
        largest_deviation_id=int(apart.argmax()),
        outside=test.out_of_support,
        test=test,
        smallest_detectable=smallest_detectable(draws, probabilities, level, POWER),
        level=level,
    )
