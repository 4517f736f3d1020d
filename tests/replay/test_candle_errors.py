import numpy as np
import pytest

from fairdraw.errors import LogitsError, ParameterError
from fairdraw.replay.candle import LogitsProcessor, Sampling, apply_repeat_penalty

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
ALL = Sampling.All(temperature=0.7)


def test_a_way_is_frozen_and_takes_candles_fields_by_name():
    with pytest.raises(AttributeError):
        ALL.temperature = 1.0
    with pytest.raises(TypeError):
        Sampling.All(0.7)
    with pytest.raises(TypeError):
        Sampling.TopK(k=3)


@pytest.mark.parametrize("temperature", [0, 0.0, -0.0, float("nan"), 1e-39, -1e-39, True, "0.7", None])
def test_a_temperature_that_candle_cannot_use_is_refused_by_name(temperature):
    with pytest.raises(ParameterError, match=r"(?s)^temperature must be a number other than 0 .*A weight is negative"):
        Sampling.All(temperature=temperature)


def test_a_temperature_too_small_for_the_row_is_refused_by_name():
    processor = LogitsProcessor.from_sampling(1, Sampling.All(temperature=1e-38))
    assert processor.sample([2.0, 1.0]) == 0
    with pytest.raises(ParameterError, match=r"(?s)^temperature must be such that .*A weight is negative"):
        processor.sample([12.0, 1.0])


def test_a_masked_token_and_an_infinite_temperature_do_not_go_together():
    processor = LogitsProcessor.from_sampling(1, Sampling.All(temperature=float("inf")))
    assert set(processor.sample_many(SIX, 200).tolist()) == set(range(6))
    with pytest.raises(ParameterError, match=r"^temperature must be such that"):
        processor.sample([1.0, float("-inf")])


@pytest.mark.parametrize("way", [Sampling.TopK, Sampling.TopKThenTopP])
def test_k_of_zero_is_refused_by_name(way):
    fields = {"p": 0.5} if way is Sampling.TopKThenTopP else {}
    with pytest.raises(ParameterError, match=r"(?s)^k must be a whole number >= 1, got 0.*Weights sequence is empty"):
        way(k=0, temperature=1.0, **fields)


def test_a_p_that_leaves_nothing_is_refused_by_name():
    with pytest.raises(ParameterError, match=r"(?s)^p must be 0 or less .*Not enough weights > zero"):
        Sampling.TopP(p=1e-46, temperature=1.0)
    processor = LogitsProcessor.from_sampling(1, Sampling.TopKThenTopP(k=6, p=0.0, temperature=1.0))
    with pytest.raises(ParameterError, match=r"(?s)^p must be above 0 .*k \(6\).*Not enough weights > zero"):
        processor.sample(SIX)
    processor.sample([*SIX, 0.0])


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda p: p.fill(0), "have an entry above 0, got zeros alone\n.*Not enough weights > zero"),
        (lambda p: p.fill(-1), "be >= 0 everywhere, got -1.0 as weight 0 .*A weight is negative"),
        (lambda p: p.__setitem__(3, np.nan), "be >= 0 everywhere, got nan as weight 3 .*A weight is negative"),
        (lambda p: p.fill(3e38), "have a finite sum in float32, got inf\n.*NonFinite"),
    ],
)
def test_what_f_may_not_leave_behind_is_refused(edit, words):
    with pytest.raises(LogitsError, match=f"(?s)^probabilities after f must {words}"):
        LogitsProcessor.from_sampling(1, Sampling.All(temperature=1.0)).sample_f(SIX, edit)


@pytest.mark.parametrize("row", [[float("nan"), 1.0], [float("inf"), 1.0], [float("-inf")] * 2, []])
@pytest.mark.parametrize("sampling", [Sampling.ArgMax(), ALL], ids=["ArgMax", "All"])
def test_a_broken_row_is_refused_in_every_way(row, sampling):
    with pytest.raises(LogitsError, match=r"^logits must"):
        LogitsProcessor.from_sampling(1, sampling).sample(np.float32(row))


def test_gumbel_on_the_cpu_says_that_nobody_can_seed_it():
    with pytest.raises(ParameterError, match=r"^device_generator must be a MetalGenerator for GumbelSoftmax"):
        LogitsProcessor.from_sampling(1, Sampling.GumbelSoftmax(temperature=1.0)).sample(SIX)


def test_other_arguments_are_refused_by_name():
    with pytest.raises(ParameterError, match=r"^sum_order must be one of"):
        LogitsProcessor.from_sampling(1, ALL, sum_order="avx512")
    with pytest.raises(ParameterError, match=r"^sampling must be one of candle's six ways"):
        LogitsProcessor.from_sampling(1, 0.7)
    with pytest.raises(ParameterError, match=r"^seed must be"):
        LogitsProcessor.from_sampling(-1, ALL)
    with pytest.raises(ParameterError, match=r"^draws must be"):
        LogitsProcessor.from_sampling(1, ALL).sample_many(SIX, -1)
    with pytest.raises(ParameterError, match=r"^temperature must be"):
        LogitsProcessor.new(1, "0.7")


@pytest.mark.parametrize("penalty", [0.0, -0.0, 1e-50, float("nan"), float("inf"), "1.1"])
def test_a_penalty_that_breaks_the_row_is_refused_by_name(penalty):
    with pytest.raises(ParameterError, match=r"^penalty must be"):
        apply_repeat_penalty(SIX, penalty, [0])


@pytest.mark.parametrize("context", [[-1], [2**32], [0.5], [True]])
def test_a_context_is_of_32_bit_ids(context):
    with pytest.raises(ParameterError, match=r"^context must be a whole number in 0..4294967295"):
        apply_repeat_penalty(SIX, 1.1, context)
