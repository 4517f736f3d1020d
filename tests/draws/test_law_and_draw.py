"""Law and draw keep the same set and weigh alike: random rows under random plans over all stages and switches."""

import math
from collections import Counter
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np
import pytest
from scipy import stats

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.masses import IntegerMasses, RealMasses
from fairdraw.readings import drawn_row
from fairdraw.rows import Row
from fairdraw.stages import (
    BadWords,
    Checkpoint,
    LogitBias,
    Mask,
    MinP,
    MinTokens,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
    TopK,
    TopP,
    Typical,
)
from fairdraw.streams.noise import Noise

PLANS = 600
HISTORY = fd.History(prompt=(0, 1), output=(1, 2, 2))


def some_row(rng: np.random.Generator, vocab: int) -> np.ndarray:
    """Normal; or with ties, holes, half the digits; equal, Zipf, or powers of two, where thresholds are hit exactly."""
    row = (rng.standard_normal(vocab) * rng.choice([0.5, 2, 5])).astype(np.float32)
    kind = int(rng.integers(8))
    match kind:
        case 1:
            row = np.round(row * 4) / np.float32(4)
        case 2:
            row[rng.random(vocab) < 0.5] = -np.inf
        case 3:
            row = (row.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
        case 4:
            row[:] = row[0]
        case 5:
            row = np.log2(np.arange(1, vocab + 1)).astype(np.float32) * np.float32(-math.log(2))
        case 6:
            row = (rng.integers(-5, 1, vocab) * math.log(2)).astype(np.float32)
        case 7:
            row = np.zeros(vocab, np.float32)
    if kind < 6:
        row[rng.integers(vocab)] = 3
    return row


class Choices:
    """Random stages with all their switches."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def pick(self, *options: object) -> object:
        return options[self.rng.integers(len(options))]

    def stage(self, kind: type[Stage], **fields: object) -> Stage:
        return kind(**fields)

    def switches(self) -> dict[str, object]:
        return {"boundary": self.pick("inclusive", "strict"), "ties": self.pick("all", "lowest", "highest", "any")}

    def share(self) -> object:
        return self.pick(0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.999, 1.0, float(self.rng.random()))

    def edits(self) -> list[Stage]:
        every = [
            Mask(),
            LogitBias(bias=((0, 2.0), (3, -1.0))),
            RepetitionPenalty(penalty=1.3, scope=self.pick("all", "output"), window=self.pick(None, 2)),  # type: ignore[arg-type]
            PresenceFrequencyPenalty(
                presence=0.5,
                frequency=0.2,
                operation=self.pick("frequency_first", "together"),  # type: ignore[arg-type]
            ),
            BadWords(sequences=((2, 1), (2, 2, 3))),
            MinTokens(count=4, end_ids=(2,)),
        ]
        return [every[i] for i in np.sort(self.rng.permutation(len(every))[: self.rng.integers(0, 5)])]

    def cuts(self) -> list[Stage]:
        every = [
            self.stage(TopK, k=self.pick(1, 2, 5, 40), ties=self.switches()["ties"]),
            self.stage(TopP, p=self.share(), mass=self.pick("current", "raw"), **self.switches()),
            self.stage(MinP, p=self.share(), boundary=self.switches()["boundary"]),
            self.stage(Typical, p=self.share(), **self.switches()),
        ]
        return [every[i] for i in self.rng.permutation(len(every))[: self.rng.integers(0, 5)]]

    def temperature(self) -> Stage:
        value, operation = self.pick(0.05, 0.25, 0.7, 1.0, 2.0), self.pick("exact", "divide", "multiply")
        return self.stage(Temperature, value=value, operation=operation)

    def plan(self) -> fd.Plan:
        edits, cuts, temperature = self.edits(), self.cuts(), [self.temperature()]
        before = bool(self.rng.random() < 0.5)
        return fd.Plan.of(
            *edits, *(temperature if before else ()), Checkpoint(), *cuts, *(() if before else temperature)
        )


def agreement(plans: int, seed: int) -> Counter[str]:
    """Check random plans; count what was met."""
    rng, met = np.random.default_rng(seed), Counter()
    choices = Choices(rng)
    for index in range(plans):
        vocab = int(rng.choice([4 + rng.integers(5), 40, 500, 5000]))
        row, plan = some_row(rng, vocab), choices.plan()
        mask = rng.random(vocab) < 0.7
        mask[[0, int(np.argmax(row))]] = True
        given = {"history": HISTORY, "mask": mask if any(stage.name == "mask" for stage in plan.stages) else None}
        try:
            weights = fd.law(plan, row, **given)  # raises where the sets differ beyond doubt
        except fd.LogitsError:
            met["no token left"] += 1
            with pytest.raises(fd.LogitsError):
                fd.sample(plan, row, seed=7, position=index, **given)
            continue
        drawn = drawn_row(plan.stages, row, Context(**given), Noise(seed=7, position=index))
        assert drawn.kept.tolist() == weights.trace[-1].row.kept.tolist(), plan
        assert np.isin(weights.support, drawn.kept).all(), plan
        token = fd.sample(plan, row, seed=7, position=index, **given).token
        assert token in weights.support, plan
        met["plans"] += 1
        met["with a cut in doubt"] += bool(weights.others)
        met["with an open tie"] += bool(weights.open_ties)
        met["that cut"] += drawn.kept.size < np.isfinite(row).sum()
    return met


def test_law_and_draw_keep_the_same_set_under_six_hundred_random_plans() -> None:
    met = agreement(PLANS, seed=1)
    assert met["plans"] > 0.9 * PLANS
    assert met["that cut"] > 0.5 * PLANS
    assert met["with a cut in doubt"] > 10
    assert met["with an open tie"] > 10


def test_the_integer_masses_are_within_1_5e_7_of_the_real_ones_in_total_variation() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        row = some_row(rng, int(rng.choice([6, 300, 50_000])))
        for temperature in (0.1, 1.0, 3.0):
            real, integer = (Row.of(row, masses).at_temperature(temperature) for masses in (RealMasses, IntegerMasses))
            assert np.abs(real.probabilities - integer.probabilities).sum() / 2 <= 1.5e-7


@dataclass(frozen=True, slots=True, kw_only=True)
class Sometimes(Stage):
    """A stage with chance: one in four times only the best two stay."""

    name: ClassVar[str] = "sometimes"
    domains: ClassVar[MappingProxyType] = MappingProxyType({})

    def branches(self) -> tuple[tuple[float, Stage], ...]:
        return ((0.25, TopK(k=2)), (0.75, Mask()))


CHANCE = fd.Plan.of(Sometimes(), Sometimes())
FOUR = np.float32([2, 1, 0.5, 0])


def test_the_law_of_a_stage_with_chance_is_the_mixture_of_its_branches() -> None:
    all_four = np.exp(FOUR.astype(float)) / np.exp(FOUR.astype(float)).sum()
    best_two = np.append(all_four[:2] / all_four[:2].sum(), [0, 0])
    expected = (1 - 0.75**2) * best_two + 0.75**2 * all_four
    np.testing.assert_allclose(fd.law(CHANCE, FOUR).probabilities, expected, rtol=1e-12)


def test_draws_through_stages_with_chance_follow_the_mixture_at_level_1e_9() -> None:
    tokens = fd.sample_many(CHANCE, FOUR, seed=3, positions=np.arange(5000))
    counts, p = np.bincount(tokens, minlength=4), fd.law(CHANCE, FOUR).probabilities
    assert stats.chisquare(counts, p * 5000).pvalue > 1e-9
    assert tokens[:20].tolist() == [fd.sample(CHANCE, FOUR, seed=3, position=i).token for i in range(20)]


def test_two_stages_with_chance_toss_their_own_coins_at_level_1e_9() -> None:
    coins = np.array(
        [
            [
                drawn_row((Mask(),) * place + (Sometimes(),), FOUR, Context(), Noise(seed=4, position=i)).kept.size
                for place in (0, 1)
            ]
            for i in range(2000)
        ]
    )
    table = [[int(((coins[:, 0] == a) & (coins[:, 1] == b)).sum()) for b in (2, 4)] for a in (2, 4)]
    assert stats.chi2_contingency(table).pvalue > 1e-9
    assert stats.binomtest(int((coins == 2).sum()), coins.size, 0.25).pvalue > 1e-9


def test_where_no_rounding_is_near_the_set_of_the_law_is_the_set_written_out() -> None:
    row = np.log(np.float32([0.4, 0.25, 0.15, 0.12, 0.08]))
    plan = fd.Plan.of(TopK(k=4), TopP(p=0.6))
    # After top-k the total is 0.92; 0.4 / 0.92 = 0.43 < 0.6 <= 0.65 / 0.92 = 0.71.
    assert fd.law(plan, row).support.tolist() == [0, 1]
    assert fd.law(fd.Plan.of(Checkpoint(), TopK(k=4), TopP(p=0.7, mass="raw")), row).support.tolist() == [0, 1, 2]
    assert fd.law(fd.Plan.of(Checkpoint(), TopK(k=4), TopP(p=0.7)), row).support.tolist() == [0, 1]
