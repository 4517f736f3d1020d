"""The race: the argmax that its definition says, and what follows from it."""

import math

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.masses import LOG2E
from fairdraw.stages import AllowedIds, Mask, MinP, Temperature, TopK, TopP
from fairdraw.streams.noise import Noise

ROW = (np.random.default_rng(5).standard_normal(3000) * 3).astype(np.float32)
EVERYTHING = fd.Plan.of()


def race_written_out(logits: np.ndarray, temperature: float, allowed: list[int], noise: Noise) -> int:
    """The token whose z / T - ln(E) is largest, one token after the other, with the library's logarithm."""
    best, token = -math.inf, -1
    for candidate in allowed:
        arrival = float(logits[candidate]) / temperature - math.log(noise.exponentials(np.array([candidate])).item())
        if arrival > best:
            best, token = arrival, candidate
    return token


@pytest.mark.parametrize("temperature", [0.3, 1.0, 2.5])
def test_the_token_is_the_argmax_of_logit_minus_log_of_noise(temperature: float) -> None:
    plan = fd.Plan.of(Temperature(value=temperature))
    for position in range(10):
        noise = Noise(seed=3, position=position, sample_index=2)
        token = race_written_out(ROW[:300], temperature, list(range(300)), noise)
        assert fd.sample(plan, ROW[:300], seed=3, position=position, sample_index=2).token == token


def test_the_token_of_a_cut_is_the_argmax_over_the_kept_set() -> None:
    plan = fd.Plan.of(Temperature(value=1.5), TopK(k=40), TopP(p=0.9))
    allowed = fd.law(plan, ROW).support.tolist()
    assert 5 < len(allowed) < 40
    for position in range(30):
        noise = Noise(seed=4, position=position)
        assert fd.sample(plan, ROW, seed=4, position=position).token == race_written_out(ROW, 1.5, allowed, noise)


def test_the_logprob_is_that_of_the_law() -> None:
    plan = fd.Plan.of(Temperature(value=0.7), TopK(k=5))
    drawn = fd.sample(plan, ROW, seed=1, position=1)
    assert drawn.logprob == pytest.approx(fd.law(plan, ROW).log_weights[drawn.token], abs=1e-6)


def test_seed_position_and_sample_index_each_change_some_tokens() -> None:
    def tokens(seed: int = 42, sample_index: int = 0, first: int = 0) -> list[int]:
        return fd.sample_many(
            EVERYTHING, ROW, seed=seed, positions=np.arange(first, first + 50), sample_indices=sample_index
        ).tolist()

    others = [tokens(43), tokens(2**32 + 42), tokens(2**63 + 42), tokens(sample_index=1), tokens(first=1000)]
    for other in others:
        equal = sum(a == b for a, b in zip(tokens(), other, strict=True))
        assert equal < 15


def test_removing_a_token_that_did_not_win_changes_nothing() -> None:
    rng, plan = np.random.default_rng(6), fd.Plan.of(Mask())
    for position in range(50):
        token = fd.sample(plan, ROW, seed=7, position=position).token
        mask = rng.random(ROW.size) < 0.3
        mask[token] = True
        assert fd.sample(plan, ROW, seed=7, position=position, mask=mask).token == token


def test_removing_the_winner_leaves_the_second_arrival() -> None:
    for position in range(20):
        noise = Noise(seed=7, position=position)
        arrivals = ROW * LOG2E - np.log2(noise.exponentials(np.arange(ROW.size)))
        first, second = np.argsort(-arrivals)[:2].tolist()
        mask = np.arange(ROW.size) != first
        assert fd.sample(fd.Plan.of(Mask()), ROW, seed=7, position=position).token == first
        assert fd.sample(fd.Plan.of(Mask()), ROW, seed=7, position=position, mask=mask).token == second


def test_a_cut_changes_the_token_only_if_it_removes_the_winner() -> None:
    positions = np.arange(300)
    free = fd.sample_many(EVERYTHING, ROW, seed=8, positions=positions)
    for cut in (TopK(k=30), TopP(p=0.8), MinP(p=0.05)):
        plan = fd.Plan.of(cut)
        survives = np.isin(free, fd.law(plan, ROW).support)
        assert 0 < survives.sum() < 300
        assert fd.sample_many(plan, ROW, seed=8, positions=positions)[survives].tolist() == free[survives].tolist()


def test_padding_the_vocabulary_with_forbidden_ids_changes_nothing() -> None:
    padded = np.concatenate([ROW, np.full(1096, -np.inf, np.float32)])
    positions = np.arange(100)
    expected = fd.sample_many(EVERYTHING, ROW, seed=9, positions=positions).tolist()
    assert fd.sample_many(EVERYTHING, padded, seed=9, positions=positions).tolist() == expected


def test_a_token_keeps_its_noise_when_the_others_are_gone() -> None:
    plan = fd.Plan.of(AllowedIds(ids=(5, 700, 2900)))
    for position in range(20):
        noise = Noise(seed=9, position=position)
        token = race_written_out(ROW, 1.0, [5, 700, 2900], noise)
        assert fd.sample(plan, ROW, seed=9, position=position).token == token


def test_sample_many_draws_what_sample_draws_for_every_draw() -> None:
    positions, samples = np.array([0, 7, 2**32 - 1, 7, 8]), np.array([0, 3, 2**32 - 1, 4, 0])
    for draw in (fd.draws.Race(), fd.draws.Greedy(), fd.draws.InverseCdf(), fd.draws.ExponentialRace()):
        plan = fd.Plan.of(Temperature(value=1.3), TopK(k=500), draw=draw)
        many = fd.sample_many(plan, ROW, seed=10, positions=positions, sample_indices=samples)
        pairs = zip(positions.tolist(), samples.tolist(), strict=True)
        single = [fd.sample(plan, ROW, seed=10, position=p, sample_index=s).token for p, s in pairs]
        assert many.tolist() == single


def test_sample_many_draws_the_same_in_parts_as_at_once() -> None:
    whole = fd.sample_many(EVERYTHING, ROW, seed=11, positions=np.arange(1000)).tolist()
    parts = [fd.sample_many(EVERYTHING, ROW, seed=11, positions=np.arange(i, i + 100)) for i in range(0, 1000, 100)]
    assert np.concatenate(parts).tolist() == whole
    assert fd.sample_many(EVERYTHING, ROW, seed=11, positions=np.zeros(0, int)).tolist() == []


def test_minus_zero_is_plus_zero() -> None:
    plus = np.float32([0, 0, 0, 0, -1, 1])
    minus = np.float32([-0.0, 0, -0.0, 0, -1, 1])
    for plan in (EVERYTHING, fd.Plan.of(TopK(k=3)), fd.Plan.of(draw=fd.draws.Greedy())):
        positions = np.arange(200)
        same = [fd.sample_many(plan, row, seed=12, positions=positions).tolist() for row in (plus, minus)]
        assert same[0] == same[1]
    assert fd.sample(fd.Plan.of(draw=fd.draws.Greedy()), minus[:4], seed=0, position=0).token == 0


def test_the_row_may_be_moved_up_or_down_by_whole_numbers_without_changing_a_token() -> None:
    row = np.round(ROW * 64) / np.float32(64)
    positions = np.arange(100)
    expected = fd.sample_many(EVERYTHING, row, seed=13, positions=positions).tolist()
    assert fd.sample_many(EVERYTHING, row + np.float32(16), seed=13, positions=positions).tolist() == expected


def test_equal_arrivals_go_to_the_lower_id() -> None:
    # z * log2(e) / T is about 1e31 here: float64 has no digit left for the noise, and both arrive together.
    plan = fd.Plan.of(Temperature(value=1e-30))
    assert fd.sample_many(plan, np.float32([4, 5, 5, 3]), seed=14, positions=np.arange(50)).tolist() == [1] * 50


def test_arrivals_are_compared_in_float64(numpy_draws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    # -log2(1 - 2^-45) = 4e-14: six steps of float64 at 30 * log2(e) = 43, far below one of float32.
    monkeypatch.setattr(Noise, "exponentials", lambda self, ids: np.array([1.0, 1 - 2.0**-45])[ids])
    assert fd.sample(EVERYTHING, np.float32([30, 30]), seed=0, position=0).token == 1


def test_a_low_temperature_draws_what_greedy_draws() -> None:
    cold, greedy = fd.Plan.of(Temperature(value=1e-3)), fd.Plan.of(draw=fd.draws.Greedy())
    gap = np.sort(ROW)[-1] - np.sort(ROW)[-2]
    assert gap > 0.05
    positions = np.arange(100)
    drawn = [fd.sample_many(plan, ROW, seed=15, positions=positions).tolist() for plan in (cold, greedy)]
    assert drawn[0] == drawn[1] == [int(ROW.argmax())] * 100


def test_the_callers_row_is_never_written() -> None:
    row = np.float32([1, 0, -0.0, -np.inf])
    before = row.tobytes()
    fd.sample(fd.Plan.of(Temperature(value=0.5), TopK(k=2)), row, seed=0, position=0)
    assert row.tobytes() == before
