"""A row on its way through a plan.  A stage sees this and a context, and nothing else.

::

    edit      rescored  edited  reweighted  restarted  at_temperature  at_own_peak  checkpoint
    measure   at  best  worst  typical  reach  at_least  within  entropy  entropy_bits  deviation  kept_share
    cut       keep  keep_share  cut
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fairdraw.errors import LogitsError, ParameterError
from fairdraw.masses import LIGHTEST, LOG2E, Boundary, Ids, IntegerMasses, Masses, Scores, deviation
from fairdraw.streams.logarithms import log2

DOUBT = 2.0**-20
"""A cut whose mass is this near to its threshold, as a share of the total, is in doubt."""

SMALLEST_SCALE, LARGEST_SCALE = 2.0**-126, 2.0**127
"""log2(e) / temperature must be a normal float32: integer masses multiply by it."""

Ties = Literal["all", "lowest", "highest", "any"]
"""Equal keys at a cut: all stay; the lowest or the highest ids; or any (the engine leaves it open)."""


class Ranking(NamedTuple):
    """Kept ids in the order in which a rule takes them, and the keys by which they tie."""

    ids: Ids
    keys: NDArray[Any]
    blur: float = 0
    """Keys as near as this may stand the other way round in the other arithmetic."""

    def near(self, count: int) -> slice:
        """Where the keys are that may stand on the other side of the last one counted."""
        last = self.keys[count - 1]
        low = np.searchsorted(self.keys, last - self.blur, side="left")
        return slice(int(low), int(np.searchsorted(self.keys, last + self.blur, side="right")))

    def turned(self, span: slice) -> Ranking:
        """The same with one stretch the other way round; ids with equal keys keep their order."""
        place = np.arange(self.ids.size)
        place[span] = span.start + np.argsort(-self.keys[span], kind="stable")
        return Ranking(self.ids[place], self.keys[place])


class Reach(NamedTuple):
    """How many tokens of a ranking pass a test: for sure, by this arithmetic, at most."""

    sure: int
    count: int
    possible: int


@dataclass(frozen=True, kw_only=True)
class Row:
    """What is kept and what it weighs.  Every method returns a new row; a list of rows is a trace."""

    masses: Masses
    kept: Ids
    """Kept ids, ascending."""
    checkpoints: Mapping[str, Row] = field(default_factory=lambda: MappingProxyType({}))
    open_ties: tuple[Ids, ...] = ()
    """Tie groups of which an engine keeps an unspecified part."""
    others: tuple[Row, ...] = ()
    """This row, had the last cut fallen on the other side of a threshold in doubt."""
    doubtful: tuple[Ids, ...] = ()
    """Ids near the last cut whose order is in doubt."""

    @classmethod
    def of(cls, logits: Scores, arithmetic: type[Masses]) -> Row:
        """Start from a clean row of logits at temperature 1."""
        masses = arithmetic(scores=logits, scale=LOG2E, peak=logits.max())
        return cls(masses=masses, kept=np.flatnonzero(logits > -np.inf))

    @property
    def scores(self) -> Scores:
        """Logits after the edits so far, float32, shape (vocab,)."""
        return self.masses.scores

    @property
    def vocab(self) -> int:
        """Width of the row."""
        return self.scores.size

    @cached_property
    def order(self) -> Ids:
        """Kept ids in the total order: score descending, id ascending."""
        return self.kept[np.argsort(-self.scores[self.kept], kind="stable")]

    @cached_property
    def total(self) -> Any:
        """Mass of all kept ids."""
        return self.masses.values[self.kept].sum().item()

    # Edits: what a token weighs.

    def rescored(self, scores: Scores) -> Row:
        """New scores for all; a kept id that falls to -inf is removed, a removed one stays removed.

        Raises
        ------
        LogitsError
            A kept score is NaN or ``+inf``, or none is left.
        """
        left = scores[self.kept]
        if not left.size or not (peak := left.max()) > -np.inf:
            broken = "NaN" if left.size and np.isnan(left).any() else "none"
            raise LogitsError("the stage", "leave a token that may be drawn", broken)
        if peak == np.inf:
            raise LogitsError("the stage", "give scores inside float32's range", "inf")
        kept = self.kept if left.min() > -np.inf else self.kept[left > -np.inf]
        return self._with(replace(self.masses, scores=scores, peak=peak), kept)

    def edited(self, ids: Ids, values: Scores) -> Row:
        """New scores for a few ids."""
        scores = self.scores.copy()
        scores[ids] = values
        return self.rescored(scores)

    def at_temperature(self, temperature: float) -> Row:
        """Divide by a temperature without touching a score: the race divides, in float64."""
        peak, scale = self.scores[self.kept].max(), self.masses.scale / temperature
        if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
            domain = "in [1e-38, 1e+38] when all temperatures of a plan are multiplied"
            raise ParameterError("temperature", LOG2E / scale, domain)
        return self._with(replace(self.masses, scale=scale, peak=peak), self.kept)

    def reweighted(self, scores: Scores) -> Row:
        """New scores that say what each id weighs at temperature 1, whatever the temperature was."""
        return replace(self, masses=replace(self.masses, scale=LOG2E)).rescored(scores)

    def restarted(self, scores: Scores) -> Row:
        """New scores for all at temperature 1, as if the row had come with them: a removed id may return."""
        return replace(Row.of(scores, type(self.masses)), checkpoints=self.checkpoints)

    def at_own_peak(self) -> Row:
        """Weigh the best kept id as the peak: after a cut from the top, what is left must not weigh nothing."""
        fresh = replace(self.masses, peak=self.scores[self.kept].max())
        return replace(self, masses=fresh, others=tuple(other.at_own_peak() for other in self.others))

    def checkpoint(self, name: str) -> Row:
        """Remember this row, so that a later rule may measure mass on it."""
        return replace(self, checkpoints=MappingProxyType({**self.checkpoints, name: self}), others=())

    # Measures.

    def at(self, mass: str) -> Row:
        """The row that measures mass: this one ("current") or the one of a checkpoint."""
        return self if mass == "current" else self.checkpoints[mass]

    @property
    def best(self) -> Ranking:
        """By score, the best first."""
        return Ranking(self.order, self.scores[self.order])

    @property
    def worst(self) -> Ranking:
        """By score, the worst first."""
        scores = self.scores[self.kept]
        upwards = np.argsort(scores, kind="stable")
        return Ranking(self.kept[upwards], scores[upwards])

    @property
    def typical(self) -> Ranking:
        """By |-log p - entropy|, which is |exponent - mean exponent|: no logarithm."""
        distance = np.abs(self.masses.exponents[self.order] - self.masses.mean(self.order))
        nearest = np.argsort(distance, kind="stable")
        return Ranking(self.order[nearest], distance[nearest], blur=self.masses.steps(8 * DOUBT))

    def reach(self, ranking: Ranking, share: float, boundary: Boundary) -> Reach:
        """How many of a ranking have less than this share of my total before them; at least one."""
        sums = np.cumsum(self.masses.values[ranking.ids])
        # Shift the sums instead of subtracting: in floats (a + b) - b need not give a back.
        before = np.concatenate([sums[:1] * 0, sums[:-1]])
        need, doubt = self.masses.threshold(share, self.total, boundary), self.total * DOUBT
        sure, count, possible = (max(1, int(np.count_nonzero(before < x))) for x in (need - doubt, need, need + doubt))
        return Reach(sure, count, possible)

    def at_least(self, share: float, of: Literal["best", "total"], boundary: Boundary) -> Reach:
        """How many kept ids have at least (strict: more than) this share of the best one's mass, or of the total."""
        return self.at_least_bits(log2_of(share) if share > 2.0**-64 else -math.inf, of, boundary)

    def at_least_bits(self, bits: float, of: Literal["best", "total"], boundary: Boundary) -> Reach:
        """The same for the share 2^bits.

        By exponent, not by mass: rounding can make the mass of a smaller score the larger one.
        """
        masses, exponents = self.masses, self.masses.exponents[self.order]
        whole = exponents[0] if of == "best" else masses.steps(log2_of(self.total / masses.unit))
        least, doubt, lightest = whole + masses.steps(bits), masses.steps(DOUBT * LOG2E), masses.steps(float(LIGHTEST))
        passes = np.greater if boundary == "strict" else np.greater_equal
        # Integers do not tell apart what is lighter than that: no threshold cuts there.
        limits = (x if x >= lightest else -math.inf for x in (least + doubt, least, least - doubt))
        return Reach(*(int(np.count_nonzero(passes(exponents, x))) for x in limits))

    def within(self, distance: float) -> Reach:
        """How many kept ids have a score at most this far below the best one's."""
        scores = self.scores[self.order].astype(np.float64)
        below, doubt = scores[0] - scores, distance * DOUBT
        return Reach(*(int(np.count_nonzero(below <= x)) for x in (distance - doubt, distance, distance + doubt)))

    @cached_property
    def integers(self) -> IntegerMasses:
        """My masses as integers.

        A measure that sets a weight or a threshold is taken from these in both arithmetics: law and draw, and every
        machine, then go on from the same bits.
        """
        if isinstance(self.masses, IntegerMasses):
            return self.masses
        return IntegerMasses(scores=self.scores, scale=self.masses.scale, peak=self.masses.peak)

    @property
    def log2_shares(self) -> NDArray[np.float64]:
        """log2(probability) of the kept ids, ascending ids, from integer masses: within 2^-22 of the exact one."""
        values, unit = self.integers.values[self.kept], self.integers.unit
        return self.integers.exponents[self.kept] / 2.0**24 - log2_of(int(values.sum()) / unit)

    @property
    def entropy_bits(self) -> float:
        """Entropy in bits from integer masses: log2(total) - mean exponent, no logarithm of a share."""
        masses, ids = self.integers, self.kept
        whole = log2_of(int(masses.values[ids].sum()) / masses.unit)
        return max(0.0, whole - masses.mean(ids) / 2.0**24)

    @property
    def deviation(self) -> float:
        """Standard deviation (of the whole, not of a sample) of the kept scores."""
        return deviation(self.scores[self.kept])

    @property
    def log2_weights(self) -> NDArray[np.float64]:
        """log2(probability) of every id from its score, float64; -inf where it is not kept."""
        out = np.full(self.vocab, -np.inf)
        above = self.scores[self.kept].astype(np.float64) - float(self.masses.peak)
        out[self.kept] = above * self.masses.scale - math.log2(self.total / self.masses.unit)
        return out

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Share of the kept mass of every id, float64, shape (vocab,)."""
        out = np.zeros(self.vocab)
        out[self.kept] = self.masses.values[self.kept] / self.total
        return out

    @property
    def entropy(self) -> float:
        """Entropy of the kept tokens in nats."""
        weights = self.probabilities[self.kept]
        weights = weights[weights > 0]
        return float(-(weights * np.log(weights)).sum()) + 0.0

    @property
    def kept_share(self) -> float:
        """Share of the mass of all tokens that no edit forbade which is still kept."""
        return float(self.total / self.masses.values[self.scores > -np.inf].sum())

    # Cuts: which tokens stay.

    def keep(self, ranking: Ranking, reach: Reach | int, ties: Ties) -> Row:
        """Keep the first of a ranking, at least one, and settle equal keys at the cut."""
        return self.cut(reach, lambda count: first_of(ranking, max(count, 1), ties))

    def keep_share(self, ranking: Ranking, share: float, boundary: Boundary, ties: Ties) -> Row:
        """Keep the first of a blurred ranking by mass.

        Remember what the other order near the cut would keep and, where equal keys stay together, what keys that
        only rounding tells apart would.
        """
        reach = self.reach(ranking, share, boundary)
        row, span = self.keep(ranking, reach, ties), ranking.near(reach.count)
        if ranking.keys[span.start] == ranking.keys[span.stop - 1]:
            return row
        turned = ranking.turned(span)
        other = self.keep(turned, self.reach(turned, share, boundary), ties)
        together = (self.keep(ranking, span.stop, ties),) if ties == "all" else ()
        sets = {r.kept.tobytes(): r for r in (*row.others, replace(other, others=()), *other.others, *together)}
        sets.pop(row.kept.tobytes(), None)
        return replace(row, others=tuple(sets.values()), doubtful=(ranking.ids[span],))

    def cut(self, reach: Reach | int, choose: Callable[[int], tuple[Ids, tuple[Ids, ...]]]) -> Row:
        """Keep what ``choose`` says for the count reached; remember what it says if the count is in doubt."""
        counts = (reach,) if isinstance(reach, int) else (reach.count, reach.sure, reach.possible)
        row, *others = (self._only(*choose(count)) for count in dict.fromkeys(counts))
        return replace(row, others=tuple(other for other in others if not np.array_equal(other.kept, row.kept)))

    def _only(self, ids: Ids, left_open: tuple[Ids, ...]) -> Row:
        return replace(self._with(self.masses, np.sort(ids)), open_ties=self.open_ties + left_open)

    def _with(self, masses: Masses, kept: Ids) -> Row:
        return Row(masses=masses, kept=kept, checkpoints=self.checkpoints, open_ties=self.open_ties)


def log2_of(value: float) -> float:
    """The stream's own logarithm: the same bits on every machine."""
    return float(log2(np.array([value]))[0])


def first_of(ranking: Ranking, count: int, ties: Ties) -> tuple[Ids, tuple[Ids, ...]]:
    """The first ids of a ranking, and the tie group if the engine leaves its choice open."""
    ids, keys, _ = ranking
    if count >= ids.size or keys[count - 1] != keys[count]:
        return ids[:count], ()
    tied = np.flatnonzero(keys == keys[count])
    start, stop = int(tied[0]), int(tied[-1]) + 1
    match ties:
        case "all":
            return ids[:stop], ()
        case "lowest":
            return ids[:count], ()
        case "highest":
            return np.concatenate([ids[:start], ids[start + stop - count : stop]]), ()
        case "any":
            return ids[:count], (ids[start:stop],)
