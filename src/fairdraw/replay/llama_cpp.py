"""llama.cpp's own tokens: mt19937, one double a token over the candidates in their order, on the CPU.

The common chain is top-k, top-p, min-p, temperature, then the draw.  The order of the candidates matters: top-k and
top-p leave them sorted by logit, min-p alone leaves them by id; the draw walks them until their weights, summed in
float64, reach a uniform share of the total.  Bias and penalties come first in the engine: hand in rows that have them.

Source: llama.cpp 0c1e57098, src/llama-sampler.cpp (``llama_sampler_top_k_impl``, ``_top_p_apply``, ``_min_p_apply``,
``_temp_impl``, ``_dist_apply``), common/common.h (the defaults); run: the library and the server of xllamacpp
2026.10.11549.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import as_logits
from fairdraw.domains import Choice, Real, Whole, require
from fairdraw.errors import ParameterError
from fairdraw.masses import Ids, Scores
from fairdraw.replay.result import Replayed
from fairdraw.streams.torch_mt19937 import mt19937

RANDOM_SEED = 0xFFFFFFFF
"""``LLAMA_DEFAULT_SEED``: the engine takes a fresh seed."""
CUT_DOUBT = 2.0**-20
"""A float32 sum as near as this to top-p's threshold may lie on its other side in the engine."""
EDGE_DOUBT = 2.0**-26
"""The same for the draw's float64 sums, as a share of the total: a few weights differ in their last place."""
Lone = Literal["draws", "spares"]
"""What a single candidate does to the generator: uses up a double (the versions named above), or leaves it alone
(older ones, such as 00efb3e)."""


class LlamaGenerator:
    """The state of the engine's ``std::mt19937``; drawing moves it on.

    Parameters
    ----------
    seed : int, 0 to 2^32-2
        2^32-1 (the server's -1) asks the engine for a fresh one, which cannot be drawn again.

    Examples
    --------
    >>> generator = LlamaGenerator(42)
    >>> [round(generator.uniform(), 6) for _ in range(2)]
    [0.796543, 0.183435]
    """

    __slots__ = ("_engine",)

    def __init__(self, seed: int) -> None:
        hint = "2^32-1 and -1 mean a random seed: ask the server for the one it took"
        self._engine = mt19937(int(require("seed", seed, Whole(0, RANDOM_SEED - 1), hint)))  # type: ignore[call-overload]

    def uniform(self) -> float:
        """The next double in [0, 1): first word + second word * 2^32, over 2^64, as libstdc++ and libc++ do."""
        first, second = (float(word) for word in self._engine.random_raw(2))
        return min((first + second * 2.0**32) / 2.0**64, 1 - 2.0**-53)


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The tokens that are left, in the engine's order."""

    ids: Ids
    logits: Scores
    ordered: bool = False
    """Whether they stand by logit, the best first; else by id."""
    tied: Ids = field(default_factory=lambda: np.zeros(0, np.int64))
    """Ids that a sort met with equals: the engine's sort leaves their order open, ours is by id."""
    doubts: tuple[str, ...] = ()
    """Cuts that rounding may have set elsewhere."""

    @property
    def weights(self) -> NDArray[np.float32]:
        """exp(logit - largest) in float32, each rounded once: the C library's expf, within a rare last place."""
        return np.exp((self.logits - self.logits.max()).astype(np.float64)).astype(np.float32)

    def only(self, chosen: Ids | slice) -> Candidates:
        """Some of them, in the order given."""
        return replace(self, ids=self.ids[chosen], logits=self.logits[chosen])

    def sorted(self, most: int | None = None) -> Candidates:
        """The best ones by logit; equal logits by id, and noted."""
        if self.ordered:
            return self.only(slice(most))
        order = np.argsort(-self.logits, kind="stable")
        falling = self.logits[order]
        equal = np.flatnonzero((falling[1:] == falling[:-1]) & (falling[1:] > -np.inf))
        tied = self.ids[order[np.union1d(equal, equal + 1)]]
        return replace(self.only(order[:most]), ordered=True, tied=np.union1d(self.tied, tied))


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """The common chain, with the engine's defaults; penalties, DRY, typical, top-n-sigma and XTC are off in them.

    Examples
    --------
    >>> left = Chain(top_k=3, min_p=0.5).apply([0.5, 2.0, 1.5, 1.0])
    >>> left.ids.tolist(), left.logits.tolist()
    ([1, 2], [2.5, 1.875])
    """

    top_k: int = 40
    """Exactly so many stay; 0 or less is off."""
    top_p: float = 0.95
    """Mass of the prefix, at temperature 1; from 1 on it is off."""
    min_p: float = 0.05
    """Share of the best one's mass; 0 or less is off."""
    temperature: float = 0.8
    """Divides the logits that are left; 0 or less leaves the first best alone, with a double used up."""
    min_keep: int = 0
    """At least so many stay after top-p and min-p."""

    def __post_init__(self) -> None:
        whole = Whole(-(2**31), 2**31 - 1)
        domains = {"top_k": whole, "top_p": Real(), "min_p": Real(), "temperature": Real(), "min_keep": Whole(0)}
        for name, domain in domains.items():
            object.__setattr__(self, name, require(name, getattr(self, name), domain))

    def apply(self, logits: object) -> Candidates:
        """What is left of a row, in order.

        Parameters
        ----------
        logits : array_like of float, shape (vocab,)
            After bias and penalties, before any cut.

        Raises
        ------
        LogitsError
            The row cannot be sampled from.
        """
        row = as_logits(logits)
        left = Candidates(ids=np.arange(row.size), logits=row)
        if self.top_k > 0:
            left = left.sorted(self.top_k)
        if self.top_p < 1:
            left = self._top_p(left)
        if self.min_p > 0:
            left = self._min_p(left)
        return self._scaled(left)

    def _top_p(self, left: Candidates) -> Candidates:
        weights = left.weights
        # The engine sums in the order at hand, then sorts: float32, one after the other.
        shares = weights / np.add.accumulate(weights)[-1]
        best = left.sorted()
        if not left.ordered:
            shares = shares[np.argsort(-left.logits, kind="stable")]
        sums, threshold = np.add.accumulate(shares), np.float32(self.top_p)
        reached = sums >= threshold
        reached[: max(0, self.min_keep - 1)] = False
        count = int(np.argmax(reached)) + 1 if reached.any() else sums.size
        near = np.abs(sums[max(0, count - 2) : count + 1].astype(np.float64) - float(threshold)) < CUT_DOUBT
        return _doubted(best.only(slice(count)), "top_p's cut is within rounding", bool(near.any()))

    def _min_p(self, left: Candidates) -> Candidates:
        best = left.logits.max()
        least = best + np.float32(np.log(np.float64(np.float32(self.min_p))))
        passes = left.logits >= least
        if not left.ordered and np.count_nonzero(passes) < max(1, self.min_keep):
            left = left.sorted()
            passes = left.logits >= least
        if left.ordered:
            passes[: max(1, self.min_keep)] = True
        near = (left.logits < best) & (np.abs(left.logits - least) <= np.spacing(np.abs(least)))
        return _doubted(left.only(np.flatnonzero(passes)), "min_p's cut is within rounding", bool(near.any()))

    def _scaled(self, left: Candidates) -> Candidates:
        if self.temperature > 0:
            with np.errstate(over="ignore"):
                return replace(left, logits=left.logits / np.float32(self.temperature))
        logits = np.full_like(left.logits, -np.inf)
        best = int(np.argmax(left.logits))
        logits[best] = left.logits[best]
        return replace(left, logits=logits)


def draw(candidates: Candidates, generator: LlamaGenerator, *, lone: Lone = "draws") -> Replayed:
    """Draw one token as the engine's ``dist`` does.

    Parameters
    ----------
    candidates : Candidates
        In the engine's order: what `Chain.apply` gives, or your own.
    generator : LlamaGenerator
        Its state moves on by one double.
    lone : "draws" or "spares"
        Whether a single candidate uses up a double too.

    Returns
    -------
    Replayed
        The token, and what could make the engine's another one.

    Examples
    --------
    >>> row = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
    >>> generator = LlamaGenerator(42)
    >>> [draw(Candidates(ids=np.arange(6), logits=row), generator).token for _ in range(8)]
    [2, 0, 2, 1, 1, 0, 1, 0]
    """
    require("lone", lone, Choice(("draws", "spares")))
    if not candidates.ids.size:
        raise ParameterError("candidates", "none", "at least one token")
    if candidates.ids.size == 1 and lone == "spares":
        return Replayed(token=int(candidates.ids[0]), doubt="; ".join(candidates.doubts))
    sums = np.add.accumulate(candidates.weights.astype(np.float64))
    target = sums[-1] * generator.uniform()
    place = min(int(np.searchsorted(sums, target, side="left")), sums.size - 1)
    token = int(candidates.ids[place])
    doubts = list(candidates.doubts)
    if np.any(candidates.tied == token):
        doubts.append(f"the engine's sort leaves the order of id {token} and its equals open")
    inner = sums[max(0, place - 1) : place + 1]
    if np.any(np.abs(inner[inner < sums[-1]] - target) < EDGE_DOUBT * sums[-1]):
        doubts.append("the uniform falls within rounding of the edge between two tokens")
    return Replayed(token=token, doubt="; ".join(doubts))


def replay(chain: Chain, rows: Iterable[object], *, seed: int, lone: Lone = "draws") -> tuple[Replayed, ...]:
    """Draw a run of one request again.

    Parameters
    ----------
    chain : Chain
        The request's sampling parameters.
    rows : iterable of array_like, shape (vocab,)
        The logits of each step, after bias and penalties.
    seed : int, 0 to 2^32-2
        The request's seed; the engine starts a generator for each request.
    lone : "draws" or "spares"
        As in `draw`.

    Returns
    -------
    tuple of Replayed
        One a row.

    Examples
    --------
    >>> rows = [[2.0, 1.5, 1.0, 0.5, 0.0, -1.0]] * 8
    >>> [step.token for step in replay(Chain(temperature=1.5), rows, seed=42)]
    [3, 0, 3, 1, 1, 0, 1, 0]
    """
    generator = LlamaGenerator(seed)
    return tuple(draw(chain.apply(row), generator, lone=lone) for row in rows)


def _doubted(candidates: Candidates, doubt: str, near: bool) -> Candidates:
    return replace(candidates, doubts=(*candidates.doubts, doubt)) if near else candidates
