"""What one shard of a row knows and answers.  It sees its own ids and the question, and nothing else.

::

    Summarise   how many ids are kept, which is best, is the row usable     -> Summary
    List        your best k                                                 -> Listed
    Refine      what lies in these stretches of the order                   -> Buckets
    Weigh       your mass inside a cut                                      -> Shares
    Race        your first arrivals inside a cut                            -> Arrivals
    Walk        the id in which this point of your mass falls               -> Found

NumPy, written to be read.  A faster shard answers the same questions with the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fairdraw.arrays import broken_entry
from fairdraw.context import Context
from fairdraw.errors import FairdrawError, LogitsError
from fairdraw.kernels.codes import NO_CUT, Codes, Cut, best_codes, decode, encode
from fairdraw.kernels.merge import Arrivals, Buckets, Found, Listed, Partial, Refusal, Shares, Summary, first_arrivals
from fairdraw.masses import Ids, IntegerMasses, Scores
from fairdraw.readings import stage_error
from fairdraw.rows import Row
from fairdraw.stages import EditStage, Stage
from fairdraw.stages.base import known_ids
from fairdraw.stages.masks import AllowedIds
from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import Noise

BUCKETS = 256
"""Into how many stretches one `Refine` divides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """How masses are counted: all shards with the peak of the whole row."""

    peak: float
    scale: float
    """log2(e) / temperature."""

    def of(self, scores: Scores) -> Ids:
        """Integer masses of scores."""
        return IntegerMasses(scores=scores, scale=self.scale, peak=np.float32(self.peak)).values


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What every shard is asked; it concerns the ids inside the cut."""

    cut: Cut = NO_CUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarise(Question):
    """Round 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class List(Question):
    """The best ids."""

    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refine(Question):
    """How much lies in each of `BUCKETS` stretches of codes, of this width, from the first on."""

    first: int
    width: int
    measure: Measure | None
    """None: only count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weigh(Question):
    """The mass."""

    measure: Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Race(Question):
    """The first arrivals, by the keyed noise of their ids, and the mass."""

    measure: Measure
    seed: int
    position: int
    sample_index: int
    most: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk(Question):
    """Of the shard whose first kept id this is: the id in which the point of its mass falls."""

    measure: Measure
    first: int
    point: int


@dataclass(frozen=True, kw_only=True)
class Shard:
    """The kept ids of a piece of a row after the plan's edits, and what was found on the way."""

    ids: Ids
    """Ascending; numbered in the whole vocabulary."""
    scores: Scores
    summary: Summary

    @classmethod
    def enter(cls, piece: Scores, *, first: int, edits: Sequence[Stage], context: Context, vocab: int) -> Shard:
        """Apply the edits of a plan to a piece.

        Parameters
        ----------
        piece : float32, shape (ids,)
            Logits of the ids from ``first`` on; may be empty.
        first : int
            The first of these ids in the vocabulary.
        edits : sequence of Stage
            `fairdraw.kernels.shapes.Program.edits`.
        context : Context
            The history; the mask of these ids alone.
        vocab : int
            Width of the whole row.
        """
        refusal = _broken(piece, first)
        kept = np.flatnonzero(piece > -np.inf) if refusal is None else np.zeros(0, np.int64)
        row, counts = _row(piece, kept), [kept.size]
        for number, stage in enumerate(edits, 1):
            if refusal is None:
                row, refusal = _edited(row, stage, number, first, context, vocab)
            counts.append(row.kept.size)
        ids, scores = row.kept + first, row.scores[row.kept]
        best = best_codes(encode(scores, ids), 1)
        return cls(ids=ids, scores=scores, summary=Summary(counts=np.array(counts), best=best, refusal=refusal))

    @classmethod
    def of_listed(cls, listed: Listed) -> Shard:
        """The best ids of a row as if they were all: inside their own cut they answer for every shard."""
        scores, ids = decode(listed.codes)
        order = np.argsort(ids)
        best = Summary(counts=np.array([ids.size]), best=listed.codes[:1])
        return cls(ids=ids[order], scores=scores[order], summary=best)

    def answer(self, question: Question) -> Partial:
        """Answer for the shard's own ids."""
        match question:
            case Summarise():
                return self.summary
            case List(most=most):
                return Listed(codes=best_codes(self._inside(question.cut), most), most=most)
            case Refine():
                return self._refine(question)
            case Weigh(measure=measure):
                scores, _ = decode(self._inside(question.cut))
                return Shares(first=self.ids[:1].astype(np.uint32), masses=_sums(measure.of(scores), self.ids.size > 0))
            case Race():
                return self._race(question)
            case Walk():
                return self._walk(question)
        raise AssertionError(f"no answer to {question}")

    @cached_property
    def codes(self) -> Codes:
        """Codes of the kept ids, in the order of the ids."""
        return encode(self.scores, self.ids)

    def _inside(self, cut: Cut) -> Codes:
        return self.codes[self.codes <= np.uint64(cut.code)]

    def _refine(self, question: Refine) -> Buckets:
        codes = self._inside(question.cut)
        codes = codes[codes >= np.uint64(question.first)]
        place = ((codes - np.uint64(question.first)) // np.uint64(question.width)).astype(np.int64)
        assert not place.size or place.max() < BUCKETS
        counts = np.bincount(place, minlength=BUCKETS).astype(np.uint32)
        masses = np.zeros(0 if question.measure is None else BUCKETS, np.int64)
        if question.measure is not None:
            np.add.at(masses, place, question.measure.of(decode(codes)[0]))
        return Buckets(counts=counts, masses=masses)

    def _race(self, question: Race) -> Arrivals:
        codes, measure = self._inside(question.cut), question.measure
        scores, ids = decode(codes)
        noise = Noise(seed=question.seed, position=question.position, sample_index=question.sample_index)
        times = scores.astype(np.float64) * measure.scale - log2(noise.exponentials(ids))
        return first_arrivals(times, codes, int(measure.of(scores).sum()), question.most)

    def _walk(self, question: Walk) -> Found:
        codes = self._inside(question.cut)
        if self.ids[:1].tolist() != [question.first]:
            return Found(codes=codes[:0])
        sums = np.cumsum(question.measure.of(decode(codes)[0]))
        place = int(np.searchsorted(sums, question.point, side="right"))
        return Found(codes=codes[place : place + 1])


def _sums(masses: Ids, there: bool) -> Ids:
    """The sum, for a shard that has any ids."""
    return masses.sum(keepdims=True) if there else masses[:0]


def _row(scores: Scores, kept: Ids) -> Row:
    peak = scores[kept].max(initial=np.float32(-np.inf))
    return Row(masses=IntegerMasses(scores=scores, scale=1.0, peak=peak), kept=kept)


def _broken(piece: Scores, first: int) -> Refusal | None:
    """NaN or +inf, with its id in the whole row."""
    error = broken_entry(piece, piece, "logits", first)
    if error is None:
        return None
    wrong = np.isnan(piece) if np.isnan(piece).any() else piece == np.inf
    return Refusal(place=(0, _rank(error), first + int(np.argmax(wrong))), error=error)


def _edited(
    row: Row, stage: Stage, number: int, first: int, context: Context, vocab: int
) -> tuple[Row, Refusal | None]:
    """The piece after an edit; it may lose its last id, which only the whole row must not."""
    try:
        return _applied(row, stage, first, context, vocab), None
    except LogitsError as problem:
        if problem.got == "none":
            return replace(row, kept=row.kept[:0]), None
        error: FairdrawError = stage_error(problem, stage.name, (), (), context.history.output_length)
        return row, Refusal(place=(number, _rank(problem), 0), error=error)
    except FairdrawError as error:
        return row, Refusal(place=(number, 0, 0), error=error)


def _applied(row: Row, stage: Stage, first: int, context: Context, vocab: int) -> Row:
    match stage:
        case EditStage():
            # Edits name ids of the whole vocabulary, of which they read no other scores than they change.
            whole = np.full(vocab, -np.inf, np.float32)
            whole[first : first + row.vocab] = row.scores
            ids, values = stage.edits(whole, context)
            here = (ids >= first) & (ids < first + row.vocab)
            return row.edited(ids[here] - first, values[here]) if row.kept.size and here.any() else row
        case AllowedIds():
            ids = np.array(stage.ids, np.int64)
            known_ids("allowed_token_ids", ids, vocab)
            allowed = np.isin(np.arange(first, first + row.vocab), ids)
            return row.rescored(np.where(allowed, row.scores, np.float32(-np.inf)))
        case _:  # a mask or a float32 temperature, id by id
            return stage.apply(row, context) if row.kept.size else row


def _rank(error: LogitsError) -> int:
    """NaN is told before +inf."""
    return 1 if error.got.startswith("NaN") else 2
