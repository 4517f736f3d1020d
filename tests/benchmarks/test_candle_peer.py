"""The peer draws from candle's law; its loops against NumPy and against the exact replay."""

from dataclasses import replace

import numpy as np
import pytest

import fairdraw as fd
from benchmarks.laws import LEVEL, p_value
from fairdraw.benchmarks.contenders import Work
from fairdraw.benchmarks.modes import MODES, Mode
from fairdraw.benchmarks.peers.candle import CANDLE, uniform
from fairdraw.benchmarks.rows import make_rows
from fairdraw.replay.candle_sampling import All, TopP
from fairdraw.replay.candle_softmax import softmax
from fairdraw.replay.weighted_index import WeightedIndex

PLANS = {
    "greedy": "candle: ArgMax",
    "temperature": "candle: All temperature=0.8",
    "top_k": "candle: TopK k=50 temperature=0.8",
    "top_p": "candle: TopP p=0.9 temperature=0.8",
    "top_k_top_p": "candle: TopKThenTopP k=50 p=0.9 temperature=0.8",
}


def drawn(mode: Mode, row: np.ndarray, draws: int) -> np.ndarray:
    job = CANDLE.prepare(Work(mode=mode, rows=row[np.newaxis], batch=1, threads=1))
    return np.array([job(0, step) for step in range(draws)])


def loops():
    from fairdraw.benchmarks.peers import candle_loops

    return candle_loops


@pytest.mark.parametrize("mode", PLANS)
def test_draws_follow_candles_law(mode):
    row = make_rows("flat", 300, 1)[0] * np.float32(2)
    law = fd.law(fd.Plan.parse(PLANS[mode]), row).probabilities
    assert p_value(drawn(MODES[mode], row, 50_000), law) > LEVEL or mode == "greedy"
    if mode == "greedy":
        assert set(drawn(MODES[mode], row, 5)) == {row.argmax()}


def test_draws_from_a_long_tail_follow_its_law():
    row = make_rows("lm-like", 32_768, 1)[0]
    law = fd.law(fd.Plan.parse(PLANS["temperature"]), row).probabilities
    assert p_value(drawn(MODES["temperature"], row, 5_000), law) > LEVEL


def test_the_chi_square_refutes_another_temperature():
    row = make_rows("flat", 300, 1)[0] * np.float32(2)
    law = fd.law(fd.Plan.parse(PLANS["temperature"]), row).probabilities
    assert p_value(drawn(replace(MODES["temperature"], temperature=0.85), row, 50_000), law) < LEVEL


@pytest.mark.parametrize("kind", ["peaky", "lm-like", "flat", "equal", "half-inf"])
@pytest.mark.parametrize("vocab", [1, 2, 24, 25, 26, 27, 100, 32_768])
def test_the_sort_is_by_falling_weight_then_by_id_and_the_selection_takes_its_first_ids(kind, vocab):
    weights = loops().softmax(make_rows(kind, vocab, 1)[0].round(1), np.float32(1.25))
    falling = np.argsort(-weights, kind="stable")
    np.testing.assert_array_equal(loops().sort_falling(weights), falling)
    for k in {1, min(50, vocab), (vocab + 1) // 2, vocab}:
        np.testing.assert_array_equal(np.sort(loops().select_heaviest(weights, k)), np.sort(falling[:k]))


@pytest.mark.parametrize("shape", [np.arange, lambda n: np.arange(n)[::-1], lambda n: np.arange(n) % 7])
def test_rows_in_order_or_in_waves_are_sorted_too(shape):
    weights = shape(5000).astype(np.float32)
    np.testing.assert_array_equal(loops().sort_falling(weights), np.argsort(-weights, kind="stable"))


@pytest.mark.parametrize("sampling", [All(temperature=0.8), TopP(p=0.9, temperature=0.8)])
def test_the_same_uniform_draws_the_replays_token(sampling):
    row = make_rows("flat", 500, 1)[0]
    words = np.random.default_rng(5).integers(2**32, size=2000, dtype=np.uint32)
    _, weights = sampling.kept(softmax(row * sampling.factor, "sequential"))
    expected = WeightedIndex.of(weights, "weights").places(words)
    uniforms = (words >> np.uint32(9)).astype(np.float32) * np.float32(2.0**-23)
    if isinstance(sampling, TopP):
        tokens = [loops().draw_top_p(row, sampling.factor, np.float32(0.9), u) for u in uniforms]
    else:
        tokens = [loops().draw_all(row, sampling.factor, u) for u in uniforms]
    # An exponential's last bit is the machine's own.
    assert np.mean(tokens == expected) > 0.99


@pytest.mark.parametrize(("share", "expected"), [(0.0, 0), (0.49, 0), (0.5, 1), (0.74, 1), (0.75, 3), (0.999, 3)])
def test_a_place_is_drawn_by_its_weight(share, expected):
    weights = np.float32([2, 1, 0, 1])
    assert loops().draw_weighted(weights, np.float32(share)) == expected


def test_top_p_after_top_k_is_a_share_of_the_whole_row():
    # Four equal tokens: two of them have half of the row, so that p = 0.6 cuts nothing and p = 0.2 cuts to one.
    row, one = np.zeros(4, np.float32), np.float32(1)
    for p, count in ((0.6, 2), (0.2, 1)):
        tokens = {loops().draw_top_k_top_p(row, one, 2, np.float32(p), np.float32(u)) for u in np.linspace(0, 0.99, 50)}
        assert len(tokens) == count


def test_a_batch_draws_each_row_with_a_uniform_of_its_own():
    rows = np.zeros((64, 1000), np.float32)
    job = CANDLE.prepare(Work(mode=MODES["temperature"], rows=rows, batch=64, threads=1))
    tokens = job(0, 5)
    assert len(tokens) == 64
    assert len(set(tokens)) > 50


def test_uniforms_are_below_1_and_spread():
    values = np.array([uniform(step, row) for step in range(1000) for row in range(10)])
    assert 0 <= values.min() < 0.001
    assert 0.999 < values.max() < 1
    assert abs(values.mean() - 0.5) < 0.02
    assert len(set(values.tolist())) > 9_980
