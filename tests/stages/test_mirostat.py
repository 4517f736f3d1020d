import math

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.masses import RealMasses
from fairdraw.rows import Row
from fairdraw.stages import Mirostat1, Mirostat2, Temperature
from stages import long_tail
from stages.one_stage import kept

FIVE = np.log([0.5, 0.25, 0.125, 0.0625, 0.0625])
"""Surprises of 1, 2, 3, 4 and 4 bits."""


def support(stage, logits, mu: float) -> list[int]:
    return fd.law(fd.Plan.of(stage), logits, memory={stage.name: mu}).support.tolist()


def mu_after(stage, logits, token: int, mu: float) -> float:
    row = Row.of(np.float32(logits), RealMasses)
    return stage.advance(row, Context(memory={stage.name: mu}), token)


@pytest.mark.parametrize(
    ("mu", "ids"), [(-7.0, [0]), (0.5, [0]), (1.5, [0]), (2.5, [0, 1]), (3.9, [0, 1, 2]), (4.1, [0, 1, 2, 3, 4])]
)
def test_mirostat_2_keeps_tokens_with_at_most_mu_bits_of_surprise(mu, ids):
    assert support(Mirostat2(), FIVE, mu) == ids


def test_mirostat_2_starts_at_twice_the_target():
    assert kept(FIVE, Mirostat2(tau=1.25)) == [0, 1]
    assert Mirostat2(tau=1.25).start() == 2.5


@pytest.mark.parametrize(("token", "mu"), [(0, 2.5 - 0.5 * (0.584963 - 1.0)), (1, 2.5 - 0.5 * (1.584963 - 1.0))])
def test_mu_moves_by_eta_times_what_the_token_lacks_among_those_kept(token, mu):
    """Two thirds and one third: 0.585 and 1.585 bits."""
    assert mu_after(Mirostat2(tau=1.0, eta=0.5), FIVE, token, 2.5) == pytest.approx(mu, abs=1e-6)


def test_a_token_that_was_cut_leaves_mu_as_it_is():
    assert mu_after(Mirostat2(), FIVE, 4, 2.5) == 2.5


def zipf(logits, mu, most=100) -> int:
    """k in float64."""
    p = np.sort(long_tail.probabilities(np.float32(logits)))[::-1]
    ranks = np.arange(1, p.size + 1)[:most]
    t, b = np.diff(np.log(ranks)), -np.diff(np.log(p[:most]))
    s = (t @ b) / (t @ t)
    e = s - 1
    return max(1, min(p.size, int((e * 2**mu / (1 - p.size**-e)) ** (1 / s))))


@pytest.mark.parametrize("mu", [-3.0, 0.0, 2.0, 5.0, 10.0, 14.0, 60.0])
@pytest.mark.parametrize("slope", [0.3, 0.98, 1.0001, 1.4, 3.0])
def test_mirostat_1_keeps_as_many_as_the_zipf_law_says(mu, slope):
    logits = -slope * np.log(np.arange(1, 5001))
    assert len(support(Mirostat1(), logits, mu)) == pytest.approx(zipf(logits, mu), abs=1, rel=1e-5)


def test_mirostat_1_on_a_long_tail():
    scores = long_tail.row()
    for mu in (2.0, 6.0, 9.0):
        assert len(support(Mirostat1(), scores, mu)) == zipf(scores, mu)


@pytest.mark.parametrize(("mu", "size"), [(1.0, 1), (2.0, 6), (9.0, 6)])
def test_mirostat_1_on_equal_tokens_keeps_one_or_all(mu, size):
    """N - 1 = 5 lies between 2^2 and 2^3: at mu = 2 the formula is 4 / 5 to the power of infinity."""
    assert len(support(Mirostat1(), [0.0] * 6, mu + (1 if size == 6 else 0))) == size


def test_mirostat_1_leaves_one_token_alone():
    assert kept([0.0, -np.inf], Mirostat1()) == [0]


@pytest.mark.parametrize("stage", [Mirostat1(tau=2.0), Mirostat2(tau=2.0)], ids=lambda stage: stage.name)
def test_the_surprise_of_a_text_comes_to_the_target(stage):
    """300 tokens of a long tail of 8 bits; the mean of mu's error telescopes to (mu_0 - mu_n) / (eta n)."""
    plan, scores, memory, surprises = fd.Plan.of(stage), long_tail.row(), None, []
    history = fd.History(prompt=[0])
    for position in range(1, 301):
        drawn = fd.sample(plan, scores, seed=5, position=position, history=history, memory=memory)
        surprises.append(-drawn.logprob / math.log(2))
        memory = drawn.memory
        history.append(drawn.token)
    moved = stage.start() - memory[stage.name]
    assert np.mean(surprises) - 2.0 == pytest.approx(moved / (0.1 * 300), abs=1e-6)
    assert np.mean(surprises) == pytest.approx(2.0, abs=0.3)


def test_a_temperature_before_it_counts():
    """Squared, the second has 0.186, or 2.43 bits; at temperature 1 it has 2."""
    half = fd.Plan.of(Temperature(value=0.5), Mirostat2())
    assert [fd.law(half, FIVE, memory={"mirostat_2": mu}).support.tolist() for mu in (2.3, 2.5)] == [[0], [0, 1]]
    assert support(Mirostat2(), FIVE, 2.3) == [0, 1]
