"""llama.cpp: what is its own, by hand; tests/golden/llama_cpp.json has the engine's answers."""

import math

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages.candidate_typical import order_without_comparisons

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
OFF = "temperature=1.0 top_k=0 top_p=1.0 min_p=0.0"


def plan(text: str, variant: str = "") -> fd.Plan:
    return fd.Plan.parse(f"llama_cpp: {variant} {text}")


def law(text: str, row=SIX, variant: str = "", **more) -> fd.Weights:
    return fd.law(plan(text, variant), np.float32(row), **more)


def names(text: str) -> list[str]:
    return [stage.name for stage in plan(text).stages]


def test_the_default_chain_cuts_before_its_temperature():
    assert names("") == ["mask", "top_k", "top_p", "min_p", "temperature"]


@pytest.mark.parametrize("order", ['["temp", "top-k", "minp"]', "tkm", '["Temperature", "top_k", "min_p"]'])
def test_samplers_may_be_spelled_in_several_ways_and_reorder_the_chain(order):
    assert names(f"samplers={order}") == ["mask", "temperature", "top_k", "min_p"]


def test_a_sampler_that_is_not_listed_does_nothing_and_the_plan_says_so():
    asked = plan("samplers=t top_k=1")
    assert [stage.name for stage in asked.stages] == ["mask", "temperature"]
    assert {s.name: s.effect for s in asked.settings}["top_k"] == "ignored: its sampler is not among samplers"


def test_an_unknown_sampler_is_refused_where_the_engine_would_pass_over_it():
    with pytest.raises(fd.ParameterError, match="samplers must be names") as caught:
        plan('samplers=["top_k", "infill"]')
    assert "passes over" in caught.value.hint


def test_a_temperature_of_zero_is_greedy_among_what_the_cuts_before_it_left():
    """XTC takes away the two best of three likely tokens; the third is then the best one."""
    row = np.log([0.4, 0.3, 0.2, 0.1])
    text = f"{OFF} temperature=0 xtc_probability=1 xtc_threshold=0.15".replace("temperature=1.0 ", "")
    assert law(text, row).support.tolist() == [2]
    assert law("temperature=0", row).support.tolist() == [0]


def test_a_temperature_of_zero_is_not_greedy_with_a_range():
    assert law("temperature=0 dynatemp_range=1.0 min_p=0 top_p=1").support.size == 6


def test_mirostat_takes_the_place_of_every_sampler_but_the_temperature():
    text = "mirostat=2 top_k=1 repeat_penalty=2.0"
    assert names(text) == ["mask", "temperature", "mirostat_2"]
    assert {s.name: s.effect for s in plan(text).settings}["top_k"].startswith("ignored: mirostat knows only")
    assert names("mirostat=1 temperature=1") == ["mask", "mirostat_1"]


def test_adaptive_p_runs_last_and_only_if_it_is_named():
    assert names("adaptive_target=0.3")[-1] == "temperature"
    assert names("adaptive_target=0.3 samplers=akt")[1:] == ["top_k", "temperature", "adaptive_p"]
    assert names("samplers=at") == ["mask", "temperature"]


def test_all_penalties_see_the_prompt_and_a_window_of_nothing_is_off():
    history = fd.History(prompt=[0], output=[1, 1])
    scores = law(f"{OFF} presence_penalty=0.5 frequency_penalty=0.25", history=history).trace[-1].row.scores
    assert scores[:3].tolist() == [1.25, 0.5, 1.0]
    assert names(f"{OFF} presence_penalty=0.5 repeat_last_n=-1") == ["mask"]


def test_breakers_of_dry_are_refused_until_there_is_a_table_of_texts():
    with pytest.raises(fd.ParameterError, match=r"dry_sequence_breakers must be \[\] beside dry_multiplier"):
        plan("dry_multiplier=0.8")


def test_ignoring_the_end_forbids_it():
    facts = fd.ModelFacts(vocab_size=6, end_token_ids=(0,))
    asked = fd.Plan.parse(f"llama_cpp: ignore_eos=true {OFF}", facts=facts)
    assert fd.law(asked, SIX).support.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(fd.ParameterError, match="ignore_eos must be false where no end id is known"):
        plan("ignore_eos=true")


def test_a_grammar_after_the_draw_gives_its_part_to_the_masked_law():
    """top_k=2 of 4, 3, 2, 1 tenths: f = 4/7, 3/7.  Id 0 is forbidden: g = 3/5, 2/5 on ids 1 and 2."""
    row, mask = np.log([0.4, 0.3, 0.2, 0.1]), np.array([False, True, True, True])
    text = "temperature=1.0 top_k=2 top_p=1.0 min_p=0.0"
    after = law(text, row, "grammar_after_draw", mask=mask)
    assert after.probabilities.tolist() == pytest.approx([0, 3 / 7 + 4 / 7 * 0.6, 4 / 7 * 0.4, 0], abs=1e-6)
    assert law(text, row, mask=mask).probabilities.tolist() == pytest.approx([0, 0.6, 0.4, 0], abs=1e-6)


@pytest.mark.parametrize("mask", [None, np.array([True, True, True, False, True, True])])
def test_a_grammar_that_forbids_nothing_drawn_changes_nothing(mask):
    text = "temperature=1.5 top_k=3 xtc_probability=0.5"
    after = law(text, variant="grammar_after_draw", mask=mask)
    assert after.probabilities.tolist() == pytest.approx(law(text).probabilities.tolist(), abs=1e-12)


def test_tokens_under_a_grammar_after_the_draw_follow_that_law():
    """40000 draws; 6 standard deviations of 0.0025 beside a plain mask's 0.6, which is 69 away."""
    row, mask = np.float32(np.log([0.4, 0.3, 0.2, 0.1])), np.array([False, True, True, True])
    asked = plan("temperature=1.0 top_k=2 top_p=1.0 min_p=0.0", "grammar_after_draw")
    tokens = fd.sample_many(asked, row, seed=3, positions=range(40000), mask=mask)
    assert abs((tokens == 1).mean() - (3 / 7 + 4 / 7 * 0.6)) < 0.015


def test_what_remembers_has_no_grammar_after_the_draw():
    with pytest.raises(fd.ParameterError, match="mirostat must be without a memory"):
        plan("mirostat=2", "grammar_after_draw")
    with pytest.raises(fd.ParameterError, match="samplers must be without a memory"):
        plan("samplers=ka", "grammar_after_draw")


def test_the_sort_of_nothing_is_a_permutation_that_leaves_sixteen_alone():
    for size in (1, 16, 17, 40, 1000, 49152):
        order = order_without_comparisons(size)
        assert sorted(order.tolist()) == list(range(size))
    assert order_without_comparisons(17)[:3].tolist() == [8, 16, 15]


def test_typical_beside_a_forbidden_token_of_a_long_row_keeps_what_its_sort_leaves_first():
    """32768 candidates: introsort brings the middle of the order by score to the front of each part."""
    row = np.zeros(32768, np.float32)
    row[:40] = np.linspace(12, 8, 40)
    row[-1] = -math.inf
    after = law(f"{OFF} typical_p=0.00001", row)
    first = int(order_without_comparisons(32768)[0])
    assert after.support.tolist()[0] == first
    assert law(f"{OFF} typical_p=0.00001", row[:-1]).support.tolist() != after.support.tolist()


def test_a_request_in_our_names_is_read_in_its_own():
    request = fd.SamplingParams(temperature=0.5, repetition_penalty=1.1, penalty_last_n=10, typical_p=0.9, max_tokens=5)
    asked = fd.Plan.resolve(request, dialect="llama_cpp")
    assert "repeat_penalty=1.1" in str(asked)
    assert asked.limits.max_tokens == 5


def test_a_token_too_light_for_float32_breaks_typical_as_a_forbidden_one_does():
    """A bias of -100 leaves a probability of 0 in float32, and 0 * log(0) is NaN; one of -90 does not."""
    row = np.log([0.4, 0.25, 0.15, 0.12, 0.08])
    kept = [law(f'{OFF} typical_p=0.39 logit_bias={{"4": {bias}}}', row).support.tolist() for bias in (-105.0, -90.0)]
    assert kept[0] == [0]
    assert kept[1] == [0, 1]
