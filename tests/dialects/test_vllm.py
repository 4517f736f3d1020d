"""vLLM: what is its own, in numbers small enough to check by hand."""

import numpy as np
import pytest

import fairdraw as fd

TIE = [3.0, 2.0, 2.0, 1.0]
FACTS = fd.ModelFacts(vocab_size=64, end_token_ids=(2,), encode=lambda text: [ord(letter) - 32 for letter in text])


def kept(text: str, row: list[float] = TIE) -> list[int]:
    return fd.law(fd.Plan.parse(text), np.float32(row)).support.tolist()


def stages(text: str) -> list[str]:
    return [stage.name for stage in fd.Plan.parse(text, facts=FACTS).stages]


def test_equal_tokens_at_the_cut_depend_on_the_back_end():
    assert kept("vllm: torch top_k=2") == kept("vllm: flashinfer top_k=2") == [0, 1, 2]
    assert kept("vllm: triton top_k=2") == [0, 1]


def test_a_seed_of_its_own_sends_a_request_to_triton():
    assert fd.Plan.parse("vllm: top_k=2").mode == "flashinfer"
    assert fd.Plan.parse("vllm: top_k=2 seed=0").mode == "triton"
    assert fd.Plan.parse("vllm: top_k=2 seed=0 temperature=0").mode == "greedy"


def test_min_p_comes_before_top_k_and_top_p_and_after_temperature():
    text = 'vllm: temperature=0.5 top_k=9 top_p=0.9 min_p=0.1 repetition_penalty=1.1 logit_bias={"3":1}'
    assert stages(text) == ["mask", "logit_bias", "repetition_penalty", "temperature", "min_p", "top_k", "top_p"]


@pytest.mark.parametrize(("asked", "used"), [(0.001, 0.01), (1e-30, 0.01), (0.01, 0.01), (0.5, 0.5)])
def test_a_temperature_below_a_hundredth_is_a_hundredth(asked, used):
    plan = fd.Plan.resolve({"temperature": asked}, dialect="vllm")
    assert [stage.value for stage in plan.stages if stage.name == "temperature"] == [used]


def test_a_row_of_equals_is_left_whole_by_triton_alone():
    assert kept("vllm: triton top_k=1 top_p=0.3", [0.0] * 4) == [0, 1, 2, 3]
    assert len(kept("vllm: torch top_p=0.5", [0.0] * 4)) == 2


def test_triton_loses_the_least_token_that_top_p_needs_behind_min_p():
    """0.6, 0.3, 0.1 are left; 0.95 needs all three, and the search keeps what is above the least."""
    row = np.log([0.6, 0.3, 0.1, 0.01]).tolist()
    assert kept("vllm: triton min_p=0.1 top_k=3 top_p=0.95", row) == [0, 1]
    assert kept("vllm: torch min_p=0.1 top_k=3 top_p=0.95", row) == [0, 1, 2]


def test_a_bias_is_held_inside_a_hundred():
    plan = fd.Plan.resolve({"logit_bias": {"1": 500.0, "2": -500.0, "3": 1.0}}, dialect="vllm")
    assert [stage.bias for stage in plan.stages if stage.name == "logit_bias"] == [((1, 100.0), (2, -100.0), (3, 1.0))]


def test_a_bad_word_after_a_space_counts_if_it_has_as_many_ids_and_another_first():
    """One id a letter: with a space in front the word has one more, so it is not forbidden there."""
    (words,) = (
        s for s in fd.Plan.resolve({"bad_words": [" AB"]}, dialect="vllm", facts=FACTS).stages if s.name == "bad_words"
    )
    assert words.sequences == ((33, 34),)
    assert words.scope == "output"
    whole = fd.ModelFacts(vocab_size=64, encode=lambda text: [9 if text[0] == " " else 8])
    (words,) = (
        s for s in fd.Plan.resolve({"bad_words": ["AB"]}, dialect="vllm", facts=whole).stages if s.name == "bad_words"
    )
    assert words.sequences == ((8,), (9,))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"temperature": 0, "n": 2}, "n must be 1 when using greedy sampling"),
        ({"min_tokens": 9, "max_tokens": 8}, "min_tokens must be less than or equal to max_tokens=8, got 9"),
        ({"allowed_token_ids": []}, "allowed_token_ids is not None and empty"),
        ({"top_k": 2.5}, "top_k must be an integer"),
    ],
)
def test_combinations_that_the_engine_refuses_are_refused_in_its_words(request_, words):
    with pytest.raises(fd.ParameterError) as caught:
        fd.Plan.resolve(request_, dialect="vllm", facts=FACTS)
    assert words in caught.value.hint


def test_defaults_of_the_models_file_count():
    facts = fd.ModelFacts(vocab_size=4, defaults={"temperature": 0.6, "top_k": 20, "do_sample": True})
    plan = fd.Plan.resolve(None, dialect="vllm", facts=facts)
    assert {s.name: s.origin for s in plan.settings}["top_k"] == "model file"
