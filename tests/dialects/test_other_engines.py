"""FlashInfer, mlx-lm, mistral.rs, TensorRT-LLM and the hosted services: what is their own, by hand."""

import numpy as np
import pytest

import fairdraw as fd

ROW = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
TIE = [3.0, 2.0, 2.0, 1.0]
FOUR = np.log(np.float32([0.5, 0.3, 0.15, 0.05])).tolist()


def law(text: str, row: list[float] = ROW, **more) -> fd.Weights:
    return fd.law(fd.Plan.parse(text), np.float32(row), **more)


def scores(text: str, row: list[float], history: fd.History) -> list[float]:
    return law(text, row, history=history).trace[-1].row.scores.tolist()


def test_flashinfer_measures_p_on_what_k_left_or_on_the_row():
    assert law("flashinfer: top_k=3 top_p=0.75").support.tolist() == [0, 1]
    assert law("flashinfer: top_k=3 top_p=0.75 filter_apply_order=joint").support.tolist() == [0, 1, 2]


def test_flashinfers_temperature_of_zero_draws_every_allowed_token_alike():
    weights = law("flashinfer: temperature=0 top_k=1", [2.0, -np.inf, 1.0, 0.0])
    assert weights.probabilities.tolist() == pytest.approx([1 / 3, 0, 1 / 3, 1 / 3], abs=1e-15)
    with pytest.raises(fd.ParameterError, match="above 0 for flashinfer"):
        fd.Plan.resolve(fd.SamplingParams(temperature=0), dialect="flashinfer")


def test_flashinfers_fast_path_keeps_exactly_k_where_the_other_keeps_equals():
    assert law("flashinfer: top_k=2", TIE).support.tolist() == [0, 1, 2]
    assert law("flashinfer: exact_k top_k=2", TIE).support.tolist() == [0, 1]
    assert law("flashinfer: exact_k top_k=2", TIE).open_ties[0].count == 1


def test_flashinfer_takes_our_min_p_alone():
    assert fd.Plan.resolve(fd.SamplingParams(min_p=0.1, top_k=0), dialect="flashinfer").variant == "min_p_sampling"
    with pytest.raises(fd.ParameterError, match="min_p must be unset beside top_k or top_p"):
        fd.Plan.resolve(fd.SamplingParams(min_p=0.1, top_k=5), dialect="flashinfer")


def test_mlx_lm_cuts_at_temperature_one_and_top_k_last():
    plan = fd.Plan.parse("mlx_lm: temp=0.5 top_p=0.9 min_p=0.1 top_k=3 xtc_probability=0.5")
    assert [stage.name for stage in plan.stages] == ["mask", "top_p", "min_p", "xtc", "top_k", "temperature"]


def test_mlx_lm_is_greedy_unless_asked_and_our_names_ask_it_to_draw():
    assert fd.Plan.parse("mlx_lm:").mode == "greedy"
    plan = fd.Plan.resolve(fd.SamplingParams(top_p=0.9), dialect="mlx_lm")
    assert [(s.value, s.origin) for s in plan.settings if s.name == "temp"] == [(1.0, "implied")]


def test_mlx_lm_has_a_window_for_each_penalty():
    """Token 0 is three back: inside a window of 3, outside one of 2; a window of 0 is everything."""
    history, row = fd.History(output=[0, 1, 1]), [1.0, 1.0, 1.0]
    assert scores("mlx_lm: temp=1 presence_penalty=0.5 presence_context_size=2", row, history) == [1.0, 0.5, 1.0]
    assert scores("mlx_lm: temp=1 presence_penalty=0.5 presence_context_size=0", row, history) == [0.5, 0.5, 1.0]
    text = "mlx_lm: temp=1 presence_penalty=0.5 presence_context_size=1 frequency_penalty=0.25 frequency_context_size=3"
    assert scores(text, row, history) == [0.75, 0.0, 1.0]
    plan = fd.Plan.resolve(fd.SamplingParams(penalty_last_n=5), dialect="mlx_lm")
    assert {s.name: s.value for s in plan.settings}["frequency_context_size"] == 5


@pytest.mark.parametrize(("back", "logit"), [(20, 0.5), (21, 1.0)])
def test_mlx_lm_sees_the_last_twenty_tokens_unless_told_otherwise(back, logit):
    history = fd.History(output=[0] + [1] * (back - 1))
    assert scores("mlx_lm: temp=1 repetition_penalty=2.0", [1.0, 1.0], history) == [logit, 0.5]


def test_mlx_lms_xtc_keeps_every_token_that_equals_the_least_likely_one():
    """Above 0.22 are 0.3, 0.25 and 0.25: the first goes, both others stay."""
    row = np.log(np.float32([0.3, 0.25, 0.25, 0.2])).tolist()
    assert law("mlx_lm: temp=1 xtc_probability=1.0 xtc_threshold=0.22", row).support.tolist() == [1, 2, 3]


def test_mlx_lm_refuses_a_k_of_the_whole_vocabulary():
    with pytest.raises(fd.ParameterError, match="must be at most 5 on a row of 6"):
        law("mlx_lm: temp=1 top_k=6")


def test_mistral_rs_has_a_strict_min_p_that_is_off_at_one():
    half = [float(np.log(np.float32(2))), 0.0, 0.0]
    weights = law("mistral_rs: min_p=0.5", half)
    assert [0] in [reading.support.tolist() for reading in (weights, *weights.others)]
    assert [s.boundary for s in fd.Plan.parse("mistral_rs: min_p=0.5").stages if s.name == "min_p"] == ["strict"]
    assert law("mistral_rs: min_p=1.0", half).support.size == 3


def test_mistral_rs_subtracts_before_it_divides():
    history = fd.History(prompt=[1], output=[0, 0])
    text = "mistral_rs: repetition_penalty=2.0 frequency_penalty=0.5"
    assert scores(text, [2.0, 1.0, 0.5], history) == [0.5, 0.5, 0.5]


@pytest.mark.parametrize("temperature", [0.0, -3.0, 9e-8])
def test_mistral_rs_takes_every_temperature_below_a_ten_millionth_as_argmax(temperature):
    assert fd.Plan.resolve({"temperature": temperature}, dialect="mistral_rs").mode == "greedy"


def test_mistral_rs_takes_dry_without_breakers_alone():
    with pytest.raises(fd.ParameterError, match="dry_sequence_breakers"):
        fd.Plan.parse("mistral_rs: dry_multiplier=0.8")
    history = fd.History(prompt=[1, 2, 3, 4, 1, 2])
    assert scores("mistral_rs: dry_multiplier=0.75 dry_sequence_breakers=[]", [0.0] * 5, history) == [0, 0, 0, -0.75, 0]


def test_tensorrt_llm_in_cpp_gives_the_crossing_token_what_is_left_of_p():
    assert law("tensorrt_llm: cpp top_p=0.7", FOUR).probabilities.round(6).tolist() == [0.714286, 0.285714, 0, 0]
    assert law("tensorrt_llm: top_p=0.7", FOUR).probabilities.round(6).tolist() == [0.625, 0.375, 0, 0]


def test_tensorrt_llm_draws_in_cpp_from_that_law():
    plan = fd.Plan.parse("tensorrt_llm: cpp top_p=0.7")
    tokens = fd.sample_many(plan, FOUR, seed=5, positions=range(20000))
    share = (tokens == 0).mean()
    # Ten standard deviations of 0.0032: 0.625, the law of a cut, is 28 away.
    assert abs(share - 5 / 7) < 0.032
    assert set(tokens.tolist()) == {0, 1}


def test_tensorrt_llm_took_one_token_more_on_an_exact_hit_before():
    assert law("tensorrt_llm: torch top_p=0.25", [0.0] * 8).support.size == 2
    assert law("tensorrt_llm: torch_old top_p=0.25", [0.0] * 8).support.size == 3


def test_tensorrt_llm_warms_before_the_penalties_in_cpp_and_after_them_in_torch():
    history = fd.History(output=[0])
    rest = "temperature=0.5 presence_penalty=1.0 top_k=3"
    assert scores(f"tensorrt_llm: torch {rest}", [2.0, 1.0, 0.5], history) == [2.0, 2.0, 1.0]
    assert scores(f"tensorrt_llm: cpp {rest}", [2.0, 1.0, 0.5], history) == pytest.approx([3.0, 2.0, 1.0], abs=1e-5)


@pytest.mark.parametrize("rest", ["", "top_p=0.0", "top_k=1", "temperature=0", "repetition_penalty=1.1"])
def test_tensorrt_llm_is_greedy_when_nothing_asks_it_to_draw(rest):
    assert fd.Plan.parse(f"tensorrt_llm: {rest}").mode == "greedy"
    if rest.startswith(("top", "temperature")):
        return
    assert fd.Plan.parse(f"tensorrt_llm: {rest} temperature=1.0").mode == "sample"


@pytest.mark.parametrize("service", ["openai", "anthropic"])
def test_a_hosted_service_checks_a_request_and_has_no_law(service):
    plan = fd.Plan.resolve(fd.SamplingParams(temperature=0.7, max_tokens=9, stop=["x"]), dialect=service)
    assert (plan.limits.max_tokens, plan.limits.stop) == (9, ("x",))
    assert fd.Plan.parse(str(plan)) == plan
    for ask in (
        lambda: fd.law(plan, ROW),
        lambda: fd.sample(plan, ROW, seed=1, position=1),
        lambda: fd.sample_many(plan, ROW, seed=1, positions=[1]),
        lambda: fd.sample_batch(plan, [ROW], seeds=1, positions=1),
    ):
        with pytest.raises(fd.PlanError, match=f"{service} does not document what it samples from"):
            ask()


@pytest.mark.parametrize(
    ("service", "name", "value"),
    [
        ("openai", "temperature", 2.1),
        ("openai", "presence_penalty", -2.5),
        ("openai", "logit_bias", {"1": 101}),
        ("openai", "stop", ["a", "b", "c", "d", "e"]),
        ("openai", "top_logprobs", 21),
        ("anthropic", "temperature", 1.1),
        ("anthropic", "top_k", -1),
    ],
)
def test_a_hosted_services_ranges_hold(service, name, value):
    with pytest.raises(fd.ParameterError) as caught:
        fd.Plan.resolve({name: value}, dialect=service)
    assert caught.value.parameter == name
