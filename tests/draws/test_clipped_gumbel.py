import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import chi2

from fairdraw.draws.clipped_gumbel import ClippedGumbel
from fairdraw.errors import ParameterError
from fairdraw.masses import LOG2E, IntegerMasses, RealMasses
from fairdraw.rows import Row
from fairdraw.streams.noise import Noise

CANDLE = ClippedGumbel()
DOCUMENT = (2, 1.5, 1, 0.5, 0, -1)
BOUNDS = ((1e-7, 0.999), (1e-300, 1 - 1e-12), (0.01, 0.99), (0.3, 0.9), (0.5, 0.6), (0.9, 0.999), (1e-7, 0.1))
FALSE_ALARM = 1e-7
VOCAB = 49152


def row_of(logits, temperature: float = 1.0) -> Row:
    return Row.of(np.asarray(logits, np.float32), RealMasses).at_temperature(temperature)


def law(logits, temperature: float = 1.0, draw: ClippedGumbel = CANDLE) -> np.ndarray:
    return draw.law(row_of(logits, temperature))


def distance(left: np.ndarray, right: np.ndarray) -> float:
    """Total variation."""
    return float(np.abs(left - right).sum() / 2)


def law_by_quadrature(logits, low: float, high: float) -> np.ndarray:
    """Density of one arrival times the survival of every other, by adaptive quadrature between all starts."""
    weights = np.exp(np.asarray(logits, np.float32).astype(float) - max(logits))
    earliest, latest = -math.log(high), -math.log(low)

    def survival(x: float) -> float:
        return 1.0 if x <= earliest else max(0.0, (math.exp(-x) - low) / (high - low))

    def density(t: float, token: int) -> float:
        others = math.prod(survival(w * t) for j, w in enumerate(weights) if j != token)
        return weights[token] * math.exp(-weights[token] * t) / (high - low) * others

    ends = sorted({t for t in earliest / weights if t < latest} | {latest})
    # More cuts: adaptive quadrature must not step over what happens early in a long interval.
    cuts = [a + (b - a) * part for a, b in pairwise(ends) for part in (0, 0.001, 0.01, 0.1, 0.3)] + [latest]
    return np.array(
        [
            sum(quad(density, a, b, (i,), epsabs=1e-13)[0] for a, b in pairwise(cuts) if a >= earliest / w)
            for i, w in enumerate(weights)
        ]
    )


def p_value(drawn: np.ndarray, expected: np.ndarray) -> float:
    """Of a chi-square test over cells of 10 or more expected draws, from the likeliest token down."""
    order = np.argsort(-expected)
    cell = (np.cumsum(expected[order]) / 10).astype(int)
    cell = np.unique(np.minimum(cell, cell[-1] - 1), return_inverse=True)[1]
    seen, hoped = np.bincount(cell, drawn[order]), np.bincount(cell, expected[order])
    return float(chi2.sf(((seen - hoped) ** 2 / hoped).sum(), len(hoped) - 1))


# Golden answers: the clip of candle 0.11.0, by an independent integration.


def test_a_gap_of_six_makes_the_lesser_token_a_third_rarer():
    assert law([6, 0]).round(4).tolist() == [0.9983, 0.0017]
    assert row_of([6, 0]).probabilities.round(4).tolist() == [0.9975, 0.0025]


def test_a_gap_of_ten_makes_the_lesser_token_impossible():
    assert law([10, 0])[1] == 0.0


def test_a_token_can_be_drawn_just_if_it_is_less_than_9_69_temperatures_below_the_best():
    gap = math.log(math.log(1e-7) / math.log(0.999))
    assert round(gap, 2) == 9.69
    for temperature in (0.5, 1.0, 2.0):
        chances = law([0, -0.999 * gap * temperature, -1.001 * gap * temperature], temperature)
        assert chances[1] > 0
        assert chances[2] == 0


@pytest.mark.parametrize(("temperature", "apart"), [(1.0, 0.00203), (0.5, 0.00295)])
def test_on_six_tokens_the_law_is_near_softmax(temperature, apart):
    row = row_of(DOCUMENT, temperature)
    assert round(distance(CANDLE.law(row), row.probabilities), 5) == apart


def test_the_best_of_six_tokens_gains():
    assert round(row_of(DOCUMENT).probabilities[0], 4) == 0.4197
    assert round(law(DOCUMENT)[0], 4) == 0.4212


def test_the_best_of_a_peaked_row_gains():
    peaked = [0, -3, -5, -7, -8, -9]
    assert round(row_of(peaked).probabilities[0], 4) == 0.9453
    assert round(law(peaked)[0], 4) == 0.9480


# The law itself.


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("logits", [(3,), (1, 1), (2, 0), (0, -9.6), (0, 0, -5), DOCUMENT, (0, -3, -5, -7, -8, -9)])
def test_the_law_is_the_integral_of_density_times_survival_of_the_others(logits, bounds):
    low, high = bounds
    expected = law_by_quadrature(logits, low, high)
    assert law(logits, draw=ClippedGumbel(low=low, high=high)) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-11, 0, width=32), min_size=1, max_size=6))
def test_the_law_of_any_small_row_is_that_integral(logits):
    assert law(logits) == pytest.approx(law_by_quadrature(logits, 1e-7, 0.999), abs=1e-9)


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("size", [1, 2, 6, VOCAB])
def test_equal_tokens_share_equally(size, bounds):
    chances = law(np.zeros(size), draw=ClippedGumbel(low=bounds[0], high=bounds[1]))
    assert np.abs(chances * size - 1).max() < 1e-10


def test_the_law_follows_the_scores_and_not_their_places():
    assert law(DOCUMENT[::-1]).tolist() == law(DOCUMENT)[::-1].tolist()


def test_only_differences_over_temperature_count():
    assert law([9, 7, 3], 2.0) == pytest.approx(law([4.5, 3.5, 1.5]), abs=1e-15)


@pytest.mark.parametrize("temperature", [1e-38, 1e38])
def test_the_law_holds_at_any_temperature(temperature):
    expected = [1, 0, 0] if temperature < 1 else [1 / 3] * 3
    assert law([3, 2, -3e38 * 1e-38], temperature) == pytest.approx(expected, abs=1e-12)


def test_a_removed_token_has_probability_zero_and_leaves_the_others_the_law_without_it():
    masses = RealMasses(scores=np.float32([5, 2, 1, 0]), scale=LOG2E, peak=np.float32(5))
    assert CANDLE.law(Row(masses=masses, kept=np.array([1, 3]))).tolist() == [0, *law([2, 0])[:1], 0, *law([2, 0])[1:]]


def test_the_law_is_the_same_in_both_arithmetics():
    integer = Row.of(np.float32(DOCUMENT), IntegerMasses)
    assert CANDLE.law(integer).tolist() == law(DOCUMENT).tolist()


@pytest.mark.parametrize(
    "logits",
    [
        -1.1 * np.log(np.arange(1, VOCAB + 1)),
        np.random.default_rng(1).normal(size=VOCAB),
        np.random.default_rng(2).normal(size=VOCAB) * 5,
        np.random.default_rng(3).normal(size=VOCAB) * 1e-5,
        np.linspace(0, -9, VOCAB),
    ],
    ids=["zipf", "flat", "wide", "nearly equal", "ramp"],
)
def test_the_law_of_a_whole_vocabulary_adds_up_to_one(logits):
    assert law(logits).sum() == pytest.approx(1, abs=1e-11)


def test_the_law_of_a_long_tail_is_far_from_softmax():
    row = row_of(-1.1 * np.log(np.arange(1, VOCAB + 1)))
    assert round(distance(CANDLE.law(row), row.probabilities), 2) == 0.36


def test_the_law_tends_to_softmax_as_the_bounds_open():
    row = row_of(-1.1 * np.log(np.arange(1, VOCAB + 1)))
    # At most 1 - exp(-e0 / p), about e0 / p, of each token's p goes to others.
    assert distance(ClippedGumbel(low=1e-300, high=1 - 1e-12).law(row), row.probabilities) < VOCAB * 1e-12


# The draw against the law.


def test_draws_follow_the_law_and_not_softmax():
    """20,000 draws, false alarm 1e-7: 600 ids spread over a vocabulary, one in six of them out of reach."""
    draws, rank = 20_000, np.arange(600)
    logits = np.full(VOCAB, -np.inf)
    logits[rank * 81] = np.where(rank % 6 == 5, -9.7, -1.1 * np.log1p(rank))
    row = row_of(logits)
    drawn = np.zeros(VOCAB)
    for positions in np.array_split(np.arange(draws, dtype=np.uint64), 20):
        drawn += np.bincount(CANDLE.choose(row, Noise(seed=7, position=positions)), minlength=VOCAB)
    chances = CANDLE.law(row)
    assert drawn[chances == 0].sum() == 0
    assert p_value(drawn, draws * chances) > FALSE_ALARM
    assert p_value(drawn, draws * row.probabilities) < FALSE_ALARM


def test_no_draw_from_a_long_tail_has_probability_zero():
    row = row_of(-1.1 * np.log(np.arange(1, VOCAB + 1)))
    chances = CANDLE.law(row)
    assert row.probabilities[chances == 0].sum() > 0.1
    for positions in np.array_split(np.arange(300, dtype=np.uint64), 10):
        assert chances[CANDLE.choose(row, Noise(seed=3, position=positions))].min() > 0


# The bounds.


@pytest.mark.parametrize("bounds", [(0.5, 0.5), (0.9, 0.1)])
def test_low_must_be_below_high(bounds):
    with pytest.raises(ParameterError, match=r"clipped_gumbel\.low must be below clipped_gumbel\.high"):
        ClippedGumbel(low=bounds[0], high=bounds[1])


@pytest.mark.parametrize(("name", "value"), [("low", 0), ("low", -1), ("high", 1), ("high", float("nan"))])
def test_each_bound_lies_inside_zero_and_one(name, value):
    with pytest.raises(ParameterError, match=rf"clipped_gumbel\.{name} must be a number in \(0, 1\)"):
        ClippedGumbel(**{name: value})
