"""Greedy, inverse CDF and exponential race: each against its definition."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.draws import ExponentialRace, Greedy, InverseCdf, Race
from fairdraw.masses import LOG2E, IntegerMasses
from fairdraw.stages import Temperature, TopK
from fairdraw.streams.noise import Noise, Purpose

ROW = (np.random.default_rng(5).standard_normal(2000) * 3).astype(np.float32)
HALVINGS = Temperature(value=LOG2E)
"""One logit is one power of two."""


def test_greedy_takes_the_lower_of_equal_ids_and_has_all_of_the_law() -> None:
    plan, row = fd.Plan.of(draw=Greedy()), np.float32([1, 3, 2, 3])
    assert fd.sample_many(plan, row, seed=1, positions=range(5)).tolist() == [1] * 5
    assert fd.law(plan, row).probabilities.tolist() == [0, 1, 0, 0]


def test_greedy_obeys_the_stages_before_it() -> None:
    plan, mask = fd.Plan.of(fd.stages.Mask(), draw=Greedy()), np.array([True, False, True, False])
    assert fd.sample(plan, np.float32([1, 3, 2, 3]), seed=1, position=0, mask=mask).token == 2


def inverse_cdf_written_out(masses: list[int], bits: int) -> int:
    """Walk along the masses in id order."""
    target, passed = (2 * bits + 1) * sum(masses) // 2**53, 0
    for token, mass in enumerate(masses):
        passed += mass
        if passed > target:
            return token
    raise AssertionError("the walk left the row")


def test_the_inverse_cdf_walks_along_the_integer_masses_in_id_order() -> None:
    plan = fd.Plan.of(draw=InverseCdf())
    masses = IntegerMasses(scores=ROW, scale=LOG2E, peak=ROW.max()).values.tolist()
    for position in range(100):
        noise = Noise(seed=2, position=position, sample_index=1, purpose=Purpose.INVERSE_CDF)
        token = inverse_cdf_written_out(masses, int(noise.single_bits(0)))
        assert fd.sample(plan, ROW, seed=2, position=position, sample_index=1).token == token


@pytest.mark.parametrize(
    ("bits", "token"),
    # Masses 0, 1, 1/2, 0, 1/2 of 2: the boundaries lie at k = 2^51 and 3 * 2^50.
    [(0, 1), (2**51 - 1, 1), (2**51, 2), (3 * 2**50 - 1, 2), (3 * 2**50, 4), (2**52 - 1, 4)],
)
def test_the_inverse_cdf_steps_at_exact_boundaries_and_over_ids_without_mass(
    bits: int, token: int, numpy_draws: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Noise, "single_bits", lambda self, index: np.uint64(bits))
    row = np.float32([-50, 0, -1, -np.inf, -1])
    assert fd.sample(fd.Plan.of(HALVINGS, draw=InverseCdf()), row, seed=0, position=0).token == token


def test_the_inverse_cdf_counts_the_half_of_its_uniform(numpy_draws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # Shares 1/3 and 2/3. Here k / 2^52 is below 1/3 and (k + 1/2) / 2^52 above: 2k < 2^53 / 3 < 2k + 1.
    k = 1501199875790165
    assert 3 * 2 * k < 2**53 < 3 * (2 * k + 1)
    monkeypatch.setattr(Noise, "single_bits", lambda self, index: np.uint64(k))
    assert fd.sample(fd.Plan.of(HALVINGS, draw=InverseCdf()), np.float32([-1, 0]), seed=0, position=0).token == 1


def test_the_exponential_race_takes_the_largest_mass_over_noise() -> None:
    plan = fd.Plan.of(draw=ExponentialRace())
    masses = IntegerMasses(scores=ROW, scale=LOG2E, peak=ROW.max()).values
    for position in range(50):
        noise = Noise(seed=3, position=position).exponentials(np.arange(ROW.size))
        assert fd.sample(plan, ROW, seed=3, position=position).token == int(np.argmax(masses / noise))


def test_the_exponential_race_draws_the_races_token() -> None:
    positions = np.arange(1000)
    drawn = [
        fd.sample_many(fd.Plan.of(draw=draw), ROW, seed=4, positions=positions) for draw in (Race(), ExponentialRace())
    ]
    assert (drawn[0] == drawn[1]).all()


def test_a_token_without_mass_is_never_drawn_by_mass_yet_may_win_the_race(
    numpy_draws: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The second token has probability 2^-45; its noise is 2^-50 of the first one's.
    monkeypatch.setattr(Noise, "exponentials", lambda self, ids: np.where(ids == 0, 1.0, 2.0**-50))
    row, plans = np.float32([0, -45]), [fd.Plan.of(HALVINGS, draw=draw) for draw in (Race(), ExponentialRace())]
    assert [fd.sample(plan, row, seed=0, position=0).token for plan in plans] == [1, 0]


def test_equal_quotients_of_the_exponential_race_go_to_the_lower_id(
    numpy_draws: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Noise, "exponentials", lambda self, ids: np.array([1.0, 0.25, 0.25, 1.0])[ids])
    for draw in (Race(), ExponentialRace()):
        plan = fd.Plan.of(draw=draw)
        assert fd.sample(plan, np.float32([2, 2, 2, 2]), seed=0, position=0).token == 1


def test_the_inverse_cdf_and_the_race_draw_apart() -> None:
    positions = np.arange(200)
    drawn = [
        fd.sample_many(fd.Plan.of(TopK(k=50), draw=draw), ROW, seed=5, positions=positions)
        for draw in (Race(), InverseCdf())
    ]
    assert (drawn[0] != drawn[1]).sum() > 100
