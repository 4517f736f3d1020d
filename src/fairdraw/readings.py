"""Running stages over a row in both arithmetics, so that law and draw keep the same set.

A cut is computed in float64 and in integers.  Where its threshold is within 2^-20 of the mass, the integers decide,
the law weighs that set in float64, and the other sets become further readings.  A difference beyond that is a bug.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, product

import numpy as np

from fairdraw.context import Context
from fairdraw.errors import LogitsError
from fairdraw.masses import IntegerMasses, RealMasses, Scores
from fairdraw.rows import Row
from fairdraw.stages import Stage, StatefulStage
from fairdraw.streams.noise import Noise, Purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class Path:
    """One way through the stages: its probability, and the rows before and after every stage."""

    probability: float
    stages: tuple[Stage, ...]
    rows: tuple[Row, ...]


def apply_stage(stage: Stage, rows: Sequence[Row], names: Sequence[str], context: Context) -> Row:
    """The row after a stage; an error names the stage, and those before it that had removed tokens."""
    try:
        return stage.apply(rows[-1], context)
    except LogitsError as problem:
        counts = [row.kept.size for row in rows]
        raise stage_error(problem, stage.name, names, counts, context.history.output_length) from None


def stage_error(
    problem: LogitsError, name: str, names: Sequence[str], counts: Sequence[int], output_length: int
) -> LogitsError:
    """What a stage found wrong, with its name and place; ``counts`` is what was kept at first and after ``names``."""
    earlier = [
        f"{stage} left {after} of {before}"
        for stage, before, after in zip(names, counts, counts[1:], strict=False)
        if after < before
    ]
    hint = f"{'; '.join(earlier)}; then {name} left none" if earlier and problem.got == "none" else ""
    if problem.got == "inf":
        hint = f"{name} overflows float32 on this row: its number is too extreme"
    where = f"logits after {name}, {output_length} tokens into the output,"
    return LogitsError(where, problem.requirement, problem.got, hint)


def drawn_row(stages: Sequence[Stage], logits: Scores, context: Context, noise: Noise) -> Row:
    """The row from which a token is drawn, in integer arithmetic; a random stage tosses its coin."""
    rows, names = [Row.of(logits, IntegerMasses)], []
    for index, stage in enumerate(stages):
        rows.append(apply_stage(_tossed(stage, noise, index), rows, names, context))
        names.append(stage.name)
    return rows[-1]


def advanced(
    stages: Sequence[Stage], logits: Scores, context: Context, noise: Noise, token: int
) -> Mapping[str, object]:
    """What the stateful stages remember once a token was drawn from this row; the same coins are tossed again."""
    if not any(isinstance(stage, StatefulStage) for stage in stages):
        return {}
    rows, names, memory = [Row.of(logits, IntegerMasses)], [], {}
    for index, stage in enumerate(stages):
        if isinstance(stage, StatefulStage):
            memory[stage.name] = stage.advance(rows[-1], context, token)
        rows.append(apply_stage(_tossed(stage, noise, index), rows, names, context))
        names.append(stage.name)
    return memory


def readings(stages: Sequence[Stage], logits: Scores, context: Context) -> tuple[tuple[Path, ...], ...]:
    """Every distribution the stages may mean: the law first, then with cuts in doubt the other way.

    Each is the set of paths that the branches of the random stages open.
    """
    start = Path(probability=1.0, stages=(), rows=(Row.of(logits, RealMasses),))
    return tuple(_readings(tuple(stages), start, Row.of(logits, IntegerMasses), context))


def _readings(stages: tuple[Stage, ...], path: Path, drawn: Row, context: Context) -> Iterator[tuple[Path, ...]]:
    if not stages:
        yield (path,)
        return
    first, *rest = stages
    choices = []
    names = [stage.name for stage in path.stages]
    for chance, branch in first.branches():
        real = apply_stage(branch, path.rows, names, context)
        integer = apply_stage(branch, (*path.rows[:-1], drawn), names, context)
        choices.append(
            [
                reading
                for row in _settled(real, integer)
                for reading in _readings(
                    tuple(rest),
                    Path(
                        probability=path.probability * chance,
                        stages=(*path.stages, first),
                        rows=(*path.rows, row),
                    ),
                    replace(_like(integer, row), kept=row.kept, open_ties=row.open_ties),
                    context,
                )
            ]
        )
    for combination in product(*choices):
        yield tuple(path for reading in combination for path in reading)


def _settled(real: Row, drawn: Row) -> tuple[Row, ...]:
    """The row of the law, keeping what the draw keeps; then, if its last cut is in doubt, how else it may fall."""
    if not real.others and np.array_equal(real.kept, drawn.kept):
        return (real,)
    certain, possible = real.kept, real.kept
    for row in real.others:
        certain, possible = np.intersect1d(certain, row.kept), np.union1d(possible, row.kept)
    for ids in real.doubtful:
        certain, possible = np.setdiff1d(certain, ids), np.union1d(possible, ids)
    agree = np.isin(certain, drawn.kept).all() and np.isin(drawn.kept, possible).all()
    assert agree, "law and draw differ beyond doubt"
    law = replace(_like(real, drawn), kept=drawn.kept, open_ties=drawn.open_ties)
    rows = (real, *real.others)
    others = (row for row in rows if row.scores is not real.scores or not np.array_equal(row.kept, drawn.kept))
    return tuple(replace(row, others=(), doubtful=()) for row in (law, *others))


def _like(row: Row, other: Row) -> Row:
    """The row with another one's scores and peak, in its own arithmetic: a doubt may have gone the other way there."""
    if row.masses.peak == other.masses.peak and np.array_equal(row.scores, other.scores):
        return row
    return replace(row, masses=replace(row.masses, scores=other.scores, peak=other.masses.peak))


def _tossed(stage: Stage, noise: Noise, index: int) -> Stage:
    """The branch that a coin chooses; a stage without chance has one."""
    branches = stage.branches()
    if len(branches) == 1:
        return branches[0][1]
    coin = float(replace(noise, purpose=Purpose.COIN).single_uniform(index))
    limits = accumulate(probability for probability, _ in branches)
    return next((branch for limit, (_, branch) in zip(limits, branches, strict=True) if coin < limit), branches[-1][1])
