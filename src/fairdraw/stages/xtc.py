"""XTC, exclude top choices: remove all but the least probable of the probable tokens, by chance (p-e-w, 2024)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, TokenIds
from fairdraw.masses import Boundary, Ids
from fairdraw.rows import Reach, Row, Ties, first_of
from fairdraw.stages.base import BOUNDARY, TIES, CutStage, Domains, FilterStage, Stage, known_ids
from fairdraw.streams.logarithms import log2

_DOMAINS: Domains = MappingProxyType(
    {
        "probability": PROBABILITY,
        "threshold": PROBABILITY,
        "boundary": BOUNDARY,
        "ties": TIES,
        "protected": TokenIds(),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Xtc(CutStage):
    """With a probability, remove the tokens above a threshold but the least probable of them; else nothing.

    The threshold is a share of what is kept now.  The law is the mixture of both outcomes; a draw tosses its own
    coin (purpose 5), so one step in so many has no likely token.  With fewer than two tokens above the threshold
    nothing happens.

    Notes
    -----
    ``ties``: which of the tokens equal to the least probable one stay.  ``protected`` ids count, and stay.
    The best token left weighs as the peak from here on.
    llama.cpp 0c1e57098 (src/llama-sampler.cpp, ``llama_sample_xtc_apply``): inclusive; which of equal tokens stays
    is left to its sort; off for a threshold above 0.5.  mlx-lm 0.32.2 (sample_utils.py, ``apply_xtc``): strict, all
    equal ones stay, end and newline ids protected.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.1, 0.07, 0.03])), RealMasses)
    >>> rule = Xtc(probability=0.25, threshold=0.09)
    >>> [(chance, stage.apply(row, Context()).kept.tolist()) for chance, stage in rule.branches()]
    [(0.25, [2, 3, 4]), (0.75, [0, 1, 2, 3, 4])]
    """

    name: ClassVar[str] = "xtc"
    domains: ClassVar[Domains] = _DOMAINS

    probability: float
    """How often the likely tokens are removed. In [0, 1]; off: 0."""
    threshold: float = 0.1
    """Share of the mass from which a token is a likely one."""
    boundary: Boundary = "inclusive"
    """Whether a token with exactly that share is one ("inclusive") or not ("strict")."""
    ties: Ties = "lowest"
    """Which of the tokens equal to the least probable likely one stay."""
    protected: tuple[int, ...] = ()
    """Ids that are never removed."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row of the one outcome that a probability of 0 or 1 leaves."""
        if self.probability == 0:
            return row
        if self.probability < 1:
            return super(Xtc, self).apply(row, context)
        return _without_likely(row, self.threshold, self.boundary, self.ties, self.protected)

    def branches(self) -> tuple[tuple[float, Stage], ...]:
        """Removing, and not."""
        if self.probability in (0.0, 1.0):
            return ((1.0, self),)
        return tuple(
            (chance, Xtc(
                probability=fires, threshold=self.threshold, boundary=self.boundary,
                ties=self.ties, protected=self.protected,
            ))
            for chance, fires in ((self.probability, 1.0), (1 - self.probability, 0.0))
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class XtcAverage(FilterStage):
    """Give every token the probability that it has over both outcomes of XTC's coin, without tossing one.

    A likely token keeps the share 1 - probability of its mass; the others share what it lost, each in proportion.

    Notes
    -----
    The law of a step is `Xtc`'s, to the rounding of a float32 score; the tokens of a text are not coupled by a coin.
    exllamav3 1.6.5 (generator/sampler/custom.py): inclusive.  exllamav2 0.3.2 @da07fac (cpp/sampling.cpp,
    ``xtc_cpu``): the same if the candidates are sorted; its index is off by one otherwise.

    Examples
    --------
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.1, 0.07, 0.03])), RealMasses)
    >>> XtcAverage(probability=0.5, threshold=0.09).apply(row, Context()).probabilities.round(4).tolist()
    [0.25, 0.15, 0.3, 0.21, 0.09]
    """

    name: ClassVar[str] = "xtc_average"
    domains: ClassVar[Domains] = _DOMAINS

    probability: float
    """How much of a likely token's mass is taken. In [0, 1]; off: 0."""
    threshold: float = 0.1
    """Share of the mass from which a token is a likely one."""
    boundary: Boundary = "inclusive"
    """Whether a token with exactly that share is one ("inclusive") or not ("strict")."""
    ties: Ties = "lowest"
    """Which of the tokens equal to the least probable likely one lose nothing."""
    protected: tuple[int, ...] = ()
    """Ids that lose nothing."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the mixed weights."""
        # Integers in both arithmetics: the new scores must be the same bits for law and draw.
        whole = Row(masses=row.integers, kept=row.kept, checkpoints=row.checkpoints, open_ties=row.open_ties)
        left = _without_likely(whole, self.threshold, self.boundary, self.ties, self.protected)
        if self.probability == 0:
            return row
        if self.probability == 1:
            return _without_likely(row, self.threshold, self.boundary, self.ties, self.protected)
        others = tuple(self._mixed(row, other.kept) for other in left.others)
        return replace(self._mixed(row, left.kept), others=others)

    def _mixed(self, row: Row, stay: Ids) -> Row:
        if stay.size == row.kept.size:
            return row
        values = row.integers.values
        total, rest = int(values[row.kept].sum()), int(values[stay].sum())
        # A tail may weigh nothing in integers; one part in 2^60 then stands for it.
        gain = 1 - self.probability + self.probability * total / max(rest, total * 2.0**-60)
        factors = log2(np.array([1 - self.probability, gain])) / row.masses.scale
        scores = row.scores.astype(np.float64) + factors[0]
        scores[stay] = row.scores[stay] + factors[1]
        return row.rescored(scores.astype(np.float32))


def _without_likely(row: Row, threshold: float, boundary: Boundary, ties: Ties, protected: tuple[int, ...]) -> Row:
    """The row without the likely tokens, but for the least probable of them and the protected ones."""
    ids = np.array(protected, np.int64)
    known_ids("xtc.protected", ids, row.vocab)
    likely, ranking, count = row.at_least(threshold, "total", boundary), row.worst, row.kept.size
    spared = np.intersect1d(ids, row.kept)

    def choose(size: int) -> tuple[Ids, tuple[Ids, ...]]:
        kept, left_open = first_of(ranking, size, ties)
        return np.union1d(kept, spared), left_open

    # One above the threshold is as good as none.
    sizes = Reach(*(count - max(number - 1, 0) for number in likely))
    return row.cut(sizes, choose).at_own_peak()
