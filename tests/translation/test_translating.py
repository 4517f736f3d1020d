"""Verdicts, numbers and words of translations."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.errors import ParameterError, PlanError
from fairdraw.translation.pasting import pasted

ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])


def _to(text: str, engine: str, **given: object) -> fd.Translation:
    return fd.translate(fd.Plan.parse(text), engine, **given)  # type: ignore[arg-type]


def test_the_50_that_nobody_asked_for_is_written_down_for_candle():
    result = _to("transformers: do_sample=true temperature=0.7", "candle")
    assert (result.verdict, str(result.plan)) == ("exact", "candle@0.11: TopK k=50 temperature=0.7")
    assert result.edges[1] == (
        "where several tokens equal the k-th best: transformers keeps all of them, candle leaves open which it keeps"
    )


def test_min_p_before_temperature_is_its_power_after_it():
    # 0.25^(1/0.5) = 0.0625
    result = _to("mlx_lm: temp=0.5 min_p=0.25 top_k=3", "vllm")
    assert result.verdict == "exact by an identity"
    # What a model's file may set is given even where it is off.
    assert str(result.plan) == (
        "vllm@0.33: temperature=0.5 top_k=3 top_p=1.0 min_p=0.0625 repetition_penalty=1.0 presence_penalty=0.0 "
        "frequency_penalty=0.0"
    )
    assert set(result.reasons) == {
        "min_p 0.25 before temperature 0.5 is min_p 0.0625 after it: 0.25^(1/0.5) = 0.0625",
        "top_k commutes with temperature: dividing changes no order",
    }
    assert fd.law(result.plan, ROW).total_variation(fd.law(result.source, ROW)) < 1e-7


def test_the_power_holds_the_other_way_too():
    result = _to("vllm: temperature=2 min_p=0.3 max_tokens=5", "mlx_lm")
    assert str(result.plan) == "mlx_lm@0.32: temp=2.0 min_p=0.09 max_tokens=5"


def test_p_of_the_whole_row_and_k_commute():
    result = _to("candle: TopKThenTopP k=3 p=0.75 temperature=1", "mlx_lm")
    assert result.verdict == "exact by an identity"
    assert str(result.plan) == "mlx_lm@0.32: temp=1.0 top_p=0.75 top_k=3"
    assert fd.law(result.plan, ROW).support.tolist() == fd.law(result.source, ROW).support.tolist() == [0, 1, 2]


def test_p_of_what_k_left_is_another_cut_than_p_of_the_whole_row():
    # [0.6225, 0.3775] against [0.5065, 0.3072, 0.1863]: D01.
    result = _to("transformers: do_sample=true top_k=3 top_p=0.75", "sglang")
    assert result.verdict == "exact"
    assert result.plan.variant == "flashinfer_beside_min_p"
    alone = _to("sglang: top_k=3 top_p=0.75", "transformers", logits=ROW)
    assert alone.verdict == "row-dependent"
    assert alone.reasons == (
        "top_p: sglang has 0.75 of the whole row at temperature 1; "
        "transformers 0.75 of what top_k leaves at temperature 1",
    )
    assert alone.unchanged == pytest.approx(0.1863, abs=1e-4)
    assert alone.searched == "top_p"
    assert max(alone.total_variation) < 1e-6


def test_p_at_another_temperature_is_measured_and_the_nearest_is_searched():
    # mlx_lm cuts at temperature 1 and keeps 4 of 6; vllm at 0.5 would keep 3 of them at the same p.
    result = _to("mlx_lm: temp=0.5 top_p=0.9", "vllm", logits=np.stack([ROW, ROW + 3]))
    assert result.verdict == "row-dependent"
    assert result.searched == "top_p"
    assert result.unchanged > 0.03
    assert max(result.total_variation) < 1e-6
    assert len(result.total_variation) == 2


def test_without_rows_nothing_is_searched_and_nothing_is_claimed():
    result = _to("mlx_lm: temp=0.5 top_p=0.9", "vllm")
    assert (result.verdict, result.total_variation, result.searched) == ("row-dependent", None, "")


def test_greedy_is_greedy_however_it_is_asked_for():
    expected = {
        "vllm": "vllm@0.33: temperature=0.0",
        "candle": "candle@0.11:",
        "sglang": "sglang@0.5.23: temperature=0.0",
        "tensorrt_llm": "tensorrt_llm:",
        "flashinfer": "flashinfer@0.7: top_k=1",
    }
    for engine, text in expected.items():
        result = _to("mlx_lm: temp=0 repetition_penalty=1", engine)
        assert result.is_exact, engine
        assert str(result.plan).startswith(text)
        assert fd.law(result.plan, ROW).support.tolist() == [0]
    # flashinfer draws among equals, and so does transformers with a k of 1.
    assert "do_sample=true top_k=1" in str(_to("flashinfer: top_k=1", "transformers").plan).replace(
        "temperature=1.0 ", ""
    )


def test_an_engine_without_greedy_comes_near_by_a_small_temperature():
    result = _to("fairdraw: temperature=0", "nano_vllm", logits=ROW)
    assert result.verdict == "row-dependent"
    assert max(result.total_variation) < 1e-6
    assert result.searched == "temperature"


def test_what_depends_on_the_text_and_has_no_counterpart_is_impossible_and_named():
    for text, engine, stage in (
        ("fairdraw: mirostat=2", "vllm", "mirostat_2"),
        ("vllm: presence_penalty=0.5", "transformers", "presence_penalty"),
        ("mlx_lm: temp=1 repetition_penalty=1.2", "vllm", "repetition_penalty"),
    ):
        result = _to(text, engine)
        assert (result.verdict, result.plan) == ("impossible", None)
        assert stage in result.reasons[0]
        assert result.rest is not None


def test_a_window_of_everything_is_written_as_each_engine_does():
    zero = _to("vllm: repetition_penalty=1.2", "mlx_lm")
    assert "temp=1.0 repetition_penalty=1.2 repetition_context_size=0" in str(zero.plan)
    large = _to("vllm: repetition_penalty=1.2", "candle")
    assert "repeat_last_n=1000000" in str(large.plan)
    assert any("1000000 tokens" in sentence for sentence in large.edges)


def test_presence_after_a_temperature_is_presence_times_t_before_it():
    # TensorRT-LLM's C++ kernels divide first.
    divided = 'temperature(value=0.5, operation="divide")'
    source = fd.Plan.parse(f'custom: {divided} > presence_frequency_penalty(presence=0.4, scope="all")')
    result = fd.translate(source, "mlx_lm")
    assert "presence_penalty=0.2" in str(result.plan)
    history = fd.History(prompt=[0], output=[1])
    apart = fd.law(result.plan, ROW, history=history).total_variation(fd.law(source, ROW, history=history))
    assert apart < 1e-6


def test_presence_before_a_temperature_is_presence_over_t_after_it():
    # Only TensorRT-LLM's C++ kernels shorten the uniform number, and they divide before they penalise.
    source = fd.Plan.parse(
        'custom: presence_frequency_penalty(presence=0.2, scope="all") > temperature(value=0.5, operation="multiply") '
        "> top_k(k=3) > truncated(p=0.9)"
    )
    result = fd.translate(source, "tensorrt_llm")
    assert result.verdict == "exact by an identity"
    assert "presence_penalty=0.4" in str(result.plan)
    assert "temperature=0.499999" in str(result.plan)  # the engine adds 1e-6
    history = fd.History(prompt=[0], output=[1])
    apart = fd.law(result.plan, ROW, history=history).total_variation(fd.law(source, ROW, history=history))
    assert apart < 1e-6


def test_a_request_may_say_the_order_where_the_engine_lets_it():
    # llama.cpp cuts before its temperature unless `samplers` says otherwise.
    result = _to("vllm: temperature=0.5 top_k=4 top_p=0.9 min_p=0.1", "llama_cpp")
    assert result.verdict == "exact"
    assert 'samplers=["penalties", "dry", "temperature", "min_p", "top_k", "top_p"]' in str(result.plan)
    assert fd.law(result.plan, ROW).total_variation(fd.law(result.source, ROW)) < 1e-6


def test_llama_cpps_defaults_in_vllm_have_no_exact_p():
    result = _to("llama_cpp: temp=0.8", "vllm", logits=ROW)
    assert result.verdict == "row-dependent"
    assert "temperature=0.8 top_k=40" in str(result.plan)
    assert "min_p=0.02364354" in str(result.plan)  # 0.05^(1/0.8)
    assert result.reasons == (
        "top_p: llama_cpp has 0.95 of what top_k leaves at temperature 1; "
        "vllm 0.95 of what min_p, top_k leave at temperature 0.8",
    )
    assert max(result.total_variation) < 1e-6


def test_a_hosted_service_is_neither_a_source_nor_a_target():
    for source, target in (("openai: temperature=0.7", "vllm"), ("vllm: temperature=0.7", "anthropic")):
        result = _to(source, target)
        assert result.verdict == "impossible"
        assert result.reasons[0].endswith("does not document what it samples from")


def test_the_same_engine_at_another_version_is_a_target():
    result = _to("transformers@5.22: do_sample=true repetition_penalty=1.2", "transformers@5.24")
    assert result.verdict == "exact"
    assert result.edges == (
        "in a row with left padding: transformers@5.22 counts the padding as seen, transformers@5.24 does not count it",
    )


def test_the_limits_of_the_text_go_along_and_what_cannot_is_said():
    result = _to('vllm: max_tokens=64 stop=["###"] seed=7', "sglang")
    assert result.plan.limits.max_tokens == 64
    assert result.plan.limits.stop == ("###",)
    nano = _to('vllm: max_tokens=64 stop=["###"]', "nano_vllm")
    assert nano.plan.limits.max_tokens == 64
    assert nano.text == ("stop: ('###',) in the source, nano_vllm has ()",)


def test_wrong_arguments_are_refused_in_words():
    with pytest.raises(PlanError, match="no dialect is called 'vlm'"):
        _to("fairdraw: top_k=3", "vlm")
    with pytest.raises(ParameterError, match="plan must be a Plan"):
        fd.translate("fairdraw: top_k=3", "vllm")  # type: ignore[arg-type]


def test_each_form_can_be_pasted():
    forms = {
        "transformers: do_sample=true top_k=5": "model.generate(**inputs, do_sample=True, top_k=5)",
        "vllm: temperature=0.7": "SamplingParams(temperature=0.7)",
        "sglang: top_k=-1": "sampling_params={'top_k': -1}",
        "candle: temperature=0.7": "LogitsProcessor::from_sampling(seed, Sampling::All { temperature: 0.7 })",
        "candle: temperature=0.7 top_p=0.9":
            "LogitsProcessor::from_sampling(seed, Sampling::TopP { temperature: 0.7, p: 0.9 })",
        "candle: ArgMax": "LogitsProcessor::from_sampling(seed, Sampling::ArgMax)",
        "mlx_lm: temp=0.7 repetition_penalty=1.1":
            "sampler = make_sampler(temp=0.7)\nlogits_processors = make_logits_processors(repetition_penalty=1.1)",
        'llama_cpp: temp=0.7 samplers=["top_k", "temperature"] logit_bias={"3": 1.5} mirostat_tau=4.0':
            "--samplers 'top_k;temperature' --temp 0.7 --mirostat-ent 4.0 --logit-bias 3+1.5",
        "mistral_rs: temperature=0.7": '{"temperature": 0.7}',
    }  # fmt: skip
    assert {text: pasted(fd.Plan.parse(text)) for text in forms} == forms
