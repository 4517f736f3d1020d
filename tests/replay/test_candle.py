import json
import zlib
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.replay.candle import LogitsProcessor, Sampling, apply_repeat_penalty
from fairdraw.replay.candle_softmax import softmax, total
from fairdraw.replay.weighted_index import WeightedIndex
from fairdraw.streams.candle_metal import MetalGenerator

REPLAY = json.loads((Path(__file__).parents[1] / "golden/candle_replay.json").read_text())["cases"]
SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
WEIGHING = [
    Sampling.All(temperature=0.7),
    Sampling.TopK(k=40, temperature=0.7),
    Sampling.TopP(p=0.9, temperature=0.7),
    Sampling.TopKThenTopP(k=40, p=0.5, temperature=0.7),
]


def seen_by_f(processor: LogitsProcessor, logits) -> np.ndarray:
    seen = []
    processor.sample_f(logits, lambda probabilities: seen.append(probabilities.copy()))
    return seen[0]


def long_row(vocab: int, tied: bool) -> np.ndarray:
    mixed = (np.arange(vocab, dtype=np.uint64) * np.uint64(2654435761) % np.uint64(2**32)) >> np.uint64(8)
    row = mixed.astype(np.float32) * np.float32(2.0**-19) - np.float32(16)
    return np.rint(row * 4) / np.float32(4) if tied else row


def long_sampling(case: dict) -> Sampling:
    names = {"All": (), "TopK": ("k",), "TopP": ("p",), "TopKThenTopP": ("k", "p")}[case["kind"]]
    return getattr(Sampling, case["kind"])(temperature=case["temperature"], **{name: case[name] for name in names})


@pytest.mark.parametrize("case", REPLAY, ids=lambda case: "-".join(str(value) for value in list(case.values())[:7]))
def test_20000_tokens_of_a_long_row_are_those_of_rust(case):
    processor = LogitsProcessor.from_sampling(299792458, long_sampling(case), sum_order=case["sum_order"])
    tokens = processor.sample_many(long_row(case["vocab"], case["tied"]), 20_000)
    assert tokens[:8].tolist() == case["first"]
    assert zlib.crc32(tokens.astype("<u4").tobytes()) == case["crc32"]


@pytest.mark.parametrize(
    "case", [case for case in REPLAY if case["kind"] == "All"], ids=lambda case: str(case["sum_bits"])
)
def test_the_softmax_of_a_long_row_has_rusts_sum(case):
    scaled = long_row(case["vocab"], case["tied"]) * np.float32(1 / case["temperature"])
    exponentials = np.exp((scaled - scaled.max()).astype(np.float64)).astype(np.float32)
    assert total(exponentials, case["sum_order"]).view(np.uint32) == case["sum_bits"]


def test_the_orders_of_summation_add_these_lanes_first():
    # Behind 2^24 a 1 is lost in float32, and 1 + 1 is not: what is added first shows.
    def sums(*places):
        values = np.zeros(32, np.float32)
        values[[0, *places]] = 2.0**24, 1, 1
        return {order: float(total(values, order)) - 2.0**24 for order in ("sequential", "neon", "avx2")}

    assert sums(8, 12) == {"sequential": 0, "neon": 2, "avx2": 0}
    assert sums(4, 12) == {"sequential": 0, "neon": 0, "avx2": 2}


def test_orders_of_summation_agree_below_32_values():
    row = long_row(31, tied=False)
    assert len({softmax(row, order).tobytes() for order in ("sequential", "neon", "avx2")}) == 1


@pytest.mark.parametrize("sampling", WEIGHING, ids=lambda sampling: type(sampling).__name__)
@pytest.mark.parametrize("row", range(3))
def test_on_a_real_row_nothing_outside_the_dialects_kept_set_is_drawn(sampling, row, real_rows):
    fields = " ".join(
        f"{name}={getattr(sampling, name)}" for name in ("k", "p", "temperature") if hasattr(sampling, name)
    )
    law = fd.law(fd.Plan.parse(f"candle@0.11: {type(sampling).__name__} {fields}"), real_rows[row])
    tokens = LogitsProcessor.from_sampling(7, sampling).sample_many(real_rows[row], 20_000)
    assert np.all(law.probabilities[tokens] > 0)
    best = int(np.argmax(law.probabilities))
    share, expected = np.mean(tokens == best), law.probabilities[best]
    # 6 standard errors: a false alarm of 2e-9 each, 2.4e-8 in all twelve.
    assert abs(share - expected) <= 6 * np.sqrt(expected * (1 - expected) / 20_000) + 1e-12


def test_logits_are_multiplied_by_the_rounded_inverse_and_not_divided():
    row = long_row(1000, tied=False)
    seen = seen_by_f(LogitsProcessor.from_sampling(1, Sampling.All(temperature=0.7)), row)
    assert seen.tobytes() == softmax(row * np.float32(1 / 0.7), "sequential").tobytes()
    assert seen.tobytes() != softmax(row / np.float32(0.7), "sequential").tobytes()


def test_a_uniform_has_23_bits():
    # The first step of 2^-23 takes 512 words; with 24 bits, words from 256 on would already be beyond half of it.
    weights = np.float32([2.0**-23, 1 - 2.0**-23])
    words = np.array([0, 511, 512, 2**32 - 1], np.uint32)
    assert WeightedIndex.of(weights, "weights").places(words).tolist() == [0, 0, 1, 1]


def test_running_sums_are_float32_and_swallow_light_weights():
    # 2^-25 vanishes behind 1: those two tokens can never win.
    def edit(probabilities):
        probabilities[:] = [1.0, 2.0**-25, 2.0**-25, 1.0]

    table = WeightedIndex.of(np.float32([1.0, 2.0**-25, 2.0**-25, 1.0]), "weights")
    assert table.sums.tolist() == [1.0, 1.0, 1.0, 2.0]
    tokens = [
        LogitsProcessor.from_sampling(s, Sampling.All(temperature=1.0)).sample_f(SIX[:4], edit) for s in range(30)
    ]
    assert set(tokens) == {0, 3}


def test_survivors_of_top_k_are_summed_in_the_order_of_the_selection():
    # 20 equal tokens and k = 5: neither the lowest ids nor ascending ones.
    tokens = LogitsProcessor.from_sampling(3, Sampling.TopK(k=5, temperature=1.0)).sample_many([0.0] * 20, 1000)
    assert set(tokens.tolist()) == {2, 3, 4, 5, 8}
    kept, _ = Sampling.TopK(k=5, temperature=1.0).kept(np.full(20, 0.05, np.float32))
    assert kept.tolist() != sorted(kept.tolist())


def test_with_all_but_one_the_first_of_the_smallest_is_dropped():
    kept, _ = Sampling.TopK(k=3, temperature=1.0).kept(np.float32([0.4, 0.2, 0.2, 0.2]))
    assert kept.tolist() == [0, 3, 2]


def test_k_of_the_whole_row_or_more_keeps_all_in_the_order_of_ids():
    row = np.float32([0.1, 0.7, 0.2])
    for k in (3, 4, 10**9):
        ids, weights = Sampling.TopK(k=k, temperature=1.0).kept(row)
        assert ids is None
        assert weights.tolist() == row.tolist()


def test_top_p_keeps_the_token_that_crosses_p_and_sets_the_rest_to_zero():
    row = np.float32([0.125, 0.5, 0.25, 0.125])
    kept = {
        p: Sampling.TopP(p=p, temperature=1.0).kept(row)[1].tolist() for p in (0.5, 0.51, 0.875, 0.0, 1.0, -1.0, 2.0)
    }
    assert kept[0.5] == [0, 0.5, 0, 0]
    assert kept[0.51] == [0, 0.5, 0.25, 0]
    assert kept[0.875] == [0.125, 0.5, 0.25, 0]
    assert kept[0.0] == kept[1.0] == kept[-1.0] == kept[2.0] == row.tolist()


def test_in_top_k_then_top_p_p_measures_the_whole_row():
    row = np.float32([0.5, 0.25, 0.125, 0.125])
    ids, weights = Sampling.TopKThenTopP(k=2, p=0.6, temperature=1.0).kept(row)
    assert (ids.tolist(), weights.tolist()) == ([0, 1], [0.5, 0.25])
    _, weights = Sampling.TopKThenTopP(k=2, p=0.5, temperature=1.0).kept(row)
    assert weights.tolist() == [0.5, 0]
    for off in (0.75, 0.9, 0.0, -1.0):
        assert Sampling.TopKThenTopP(k=2, p=off, temperature=1.0).kept(row)[1].tolist() == [0.5, 0.25]


def test_a_p_that_rounds_to_1_may_still_cut():
    # float32 sums reach 1 before the end: TopP with p = 1 is off, TopKThenTopP with k >= vocab is not.
    row = np.float32([0.75, 0.25, 2.0**-30])
    assert Sampling.TopP(p=1.0, temperature=1.0).kept(row)[1].tolist() == row.tolist()
    assert Sampling.TopP(p=1 - 1e-9, temperature=1.0).kept(row)[1].tolist() == [0.75, 0.25, 0]
    assert Sampling.TopKThenTopP(k=3, p=1.0, temperature=1.0).kept(row)[1].tolist() == [0.75, 0.25, 0]


def test_f_is_called_once_a_row_and_not_at_all_where_nothing_is_weighed():
    calls = []
    for sampling in (*WEIGHING, Sampling.ArgMax(), Sampling.GumbelSoftmax(temperature=1.0)):
        processor = LogitsProcessor.from_sampling(1, sampling, device_generator=MetalGenerator())
        name = type(sampling).__name__
        processor.sample_f(SIX, lambda _, name=name: calls.append(name))
    assert calls == ["All", "TopK", "TopP", "TopKThenTopP"]


def test_f_acts_before_the_cut():
    def swap(probabilities):
        probabilities[:] = probabilities[::-1].copy()

    processor = LogitsProcessor.from_sampling(1, Sampling.TopK(k=1, temperature=1.0))
    assert processor.sample_f(SIX, swap) == 5


@pytest.mark.parametrize("sampling", WEIGHING, ids=lambda sampling: type(sampling).__name__)
def test_many_draws_are_as_many_single_ones(sampling):
    single, many = (LogitsProcessor.from_sampling(2**64 - 1, sampling) for _ in range(2))
    assert [single.sample(SIX) for _ in range(100)] == many.sample_many(SIX, 100).tolist()
    assert many.sample_many(SIX, 0).tolist() == []


def test_new_is_argmax_without_a_temperature_or_below_a_ten_millionth():
    row = [1.0, 3.0, 3.0]
    for temperature in (None, 0.0, -1.0, 9e-8, float("-inf")):
        assert LogitsProcessor.new(3, temperature, 0.9).sample_many(row, 50).tolist() == [1] * 50
    assert set(LogitsProcessor.new(3, 1e-7).sample_many(row, 50).tolist()) == {1, 2}


def test_new_is_top_p_where_it_is_given_and_all_where_not():
    for new, same in (
        ((5, 0.8, 0.5), Sampling.TopP(p=0.5, temperature=0.8)),
        ((5, 0.8), Sampling.All(temperature=0.8)),
    ):
        expected = LogitsProcessor.from_sampling(5, same).sample_many(SIX, 200)
        assert LogitsProcessor.new(*new).sample_many(SIX, 200).tolist() == expected.tolist()


def test_a_temperature_below_zero_turns_the_order_round_as_in_candle():
    tokens = LogitsProcessor.from_sampling(1, Sampling.TopK(k=1, temperature=-1.0)).sample_many(SIX, 10)
    assert set(tokens.tolist()) == {5}


def test_gumbel_at_zero_or_below_is_argmax_and_needs_no_device():
    for temperature in (0.0, -1.0):
        processor = LogitsProcessor.from_sampling(1, Sampling.GumbelSoftmax(temperature=temperature))
        assert processor.sample([1.0, 3.0, 3.0]) == 1


def test_gumbel_noise_is_clipped_and_scaled_by_the_temperature():
    class Fixed(MetalGenerator):
        def uniforms(self, count, low=0.0, high=1.0):
            assert (count, low, high) == (2, 1e-7, 0.999)
            return np.float32([0.9, 0.5])

    # -ln(-ln u) is 2.2504 and 0.3665: token 0 wins by 2.2504 - 1.3665 at T = 1, loses by 1.1833 - 1.1252 at T = 1/2.
    drawn = {
        temperature: LogitsProcessor.from_sampling(
            1, Sampling.GumbelSoftmax(temperature=temperature), device_generator=Fixed()
        ).sample([0.0, 1.0])
        for temperature in (1.0, 0.5)
    }
    assert drawn == {1.0: 0, 0.5: 1}


def test_gumbels_noise_depends_on_the_device_and_not_on_the_processors_seed():
    def draw(seed, device):
        gumbel = Sampling.GumbelSoftmax(temperature=0.5)
        return LogitsProcessor.from_sampling(seed, gumbel, device_generator=device).sample_many(SIX, 32).tolist()

    assert draw(1, MetalGenerator()) == draw(2, MetalGenerator(42))
    assert draw(1, MetalGenerator(42, seed_reading="as_meant")) != draw(1, MetalGenerator(7, seed_reading="as_meant"))


def test_the_callers_row_is_never_written():
    row = np.float32([2.0, -2.0, 0.5])
    row.flags.writeable = False
    assert apply_repeat_penalty(row, 2.0, [0, 1]).tolist() == [1.0, -4.0, 0.5]
    LogitsProcessor.from_sampling(1, Sampling.All(temperature=1.0)).sample_f(row, lambda p: p.fill(1))


def test_a_penalty_is_float32_and_once_an_id():
    assert apply_repeat_penalty([1.0, 0.0], 1.1, [0, 0, 1]).tolist() == [float(np.float32(1) / np.float32(1.1)), 0.0]
    assert apply_repeat_penalty([1.0, 2.0], 1.1, []).tolist() == [1.0, 2.0]
