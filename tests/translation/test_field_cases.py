"""Faults that people met with parameters, defaults, order, ties and windows: each must come out right, or be named."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.dialects import DIALECTS
from fairdraw.errors import ParameterError


def _law(text: str, logits: object, **given: object) -> fd.Weights:
    return fd.law(fd.Plan.parse(text), np.float32(logits), **given)  # type: ignore[arg-type]


def _probabilities(text: str, logits: object, **given: object) -> list[float]:
    return _law(text, logits, **given).probabilities.round(6).tolist()


def test_f03_a_mass_that_hits_p_within_rounding_is_called_in_doubt_and_no_mismatch():
    # huggingface/transformers#18976: probabilities 0.2 0.6 0.1 0.1 at p = 0.8 keep two or three, by rounding alone.
    row = np.log(np.float32([0.2, 0.6, 0.1, 0.1]))
    kept = fd.Plan.parse("fairdraw: top_p=0.8")
    other = fd.Plan.parse("transformers: do_sample=true top_k=0 top_p=0.8")
    result = fd.compare(kept, other, row)
    assert result.verdict != "differ"
    assert set(result.in_doubt_a) | set(result.in_doubt_b) <= {2, 3}
    assert {2, 3} & (set(result.in_doubt_a) | set(result.in_doubt_b))
    for p in (0.79, 0.7):
        assert _law(f"fairdraw: top_p={p}", row).support.tolist() == [0, 1]
        assert _probabilities(f"reference: top_p={p}", row) == [0.25, 0.75, 0, 0]


def test_f04_p_of_what_k_left_and_p_of_the_row_are_told_apart():
    # sgl-project/sglang#36173
    row = np.log([0.40, 0.30, 0.15, 0.10, 0.05])
    inside = [0.571429, 0.428571, 0, 0, 0]
    whole = [0.470588, 0.352941, 0.176471, 0, 0]
    for text in ("vllm: top_k=3 top_p=0.8", "transformers: do_sample=true top_k=3 top_p=0.8"):
        assert _probabilities(text, row) == inside
    for text in ("sglang: top_k=3 top_p=0.8", "candle: TopKThenTopP k=3 p=0.8 temperature=1"):
        assert _probabilities(text, row) == whole
    assert _probabilities("flashinfer: top_k=3 top_p=0.8", row) == inside
    assert _probabilities("flashinfer: top_k=3 top_p=0.8 filter_apply_order=joint", row) == whole


@pytest.mark.parametrize(
    "text",
    ["vllm: top_k=0", "vllm: top_k=-1", "mlx_lm: temp=1 top_k=0", "transformers: do_sample=true top_k=0",
     "transformers: do_sample=true top_k=7", "vllm: top_k=3", "vllm: top_k=7", "mistral_rs: top_k=3"],
)  # fmt: skip
def test_f05_a_k_of_nothing_or_of_everything_never_becomes_greedy(text):
    # abetlen/llama-cpp-python#220
    assert _probabilities(text, [2, 1, 0]) == [0.665241, 0.244728, 0.090031]


def test_f05_strict_engines_refuse_such_a_k():
    for text in ("sglang: top_k=0", "transformers: do_sample=true top_k=-1", "candle: TopK k=0 temperature=1"):
        with pytest.raises(ParameterError):
            fd.Plan.parse(text)


def test_f06_a_tie_at_the_kth_is_a_tie_and_not_a_fault():
    # flashinfer-ai/flashinfer#3774
    row = np.log([0.5, 0.25, 0.25])
    assert _probabilities("fairdraw: top_k=2", row) == [0.666667, 0.333333, 0]
    assert _probabilities("flashinfer: top_k=2", row) == [0.5, 0.25, 0.25]
    result = fd.compare(fd.Plan.parse("fairdraw: top_k=2"), fd.Plan.parse("flashinfer: top_k=2"), np.float32(row))
    assert result.total_variation == pytest.approx(0.25)
    assert "equal to the 2nd" in result.reason


def test_f07_a_tiny_temperature_or_p_overflows_nothing():
    # vllm-project/vllm#1623
    row = np.float16([12, 10, 8])
    for text in ("fairdraw: temperature=1e-4", "fairdraw: temperature=1e-38", "fairdraw: top_p=1e-4"):
        assert fd.law(fd.Plan.parse(text), row).probabilities.tolist() == [1, 0, 0]


def test_f08_temperature_0_has_each_engines_own_meaning():
    # huggingface/transformers#36896
    row = [1, 3, 2]
    for text in ("transformers: do_sample=false", "candle: temperature=0", "vllm: temperature=0", "mlx_lm: temp=0"):
        assert _law(text, row).support.tolist() == [1]
    refusing = ("transformers: do_sample=true temperature=0", "candle: All temperature=0", "nano_vllm: temperature=0")
    for text in refusing:
        with pytest.raises(ParameterError):
            fd.Plan.parse(text)
    vllm = [stage.value for stage in fd.Plan.parse("vllm: temperature=1e-8").stages if stage.name == "temperature"]
    assert vllm == [0.01]
    for dialect in DIALECTS.values():
        name = next((p.name for p in dialect.variants[""].parameters if p.canonical == "temperature"), None)
        if name is not None:
            with pytest.raises(ParameterError):
                fd.Plan.resolve({name: float("nan")}, dialect=dialect.name)


def test_f09_min_p_before_and_after_temperature_and_the_same_by_its_power():
    # ggml-org/llama.cpp#4091
    row = [3, 1, 0]
    last = {2: [0.731059, 0.268941, 0], 0.5: [0.982014, 0.017986, 0]}
    first = {2: [0.628532, 0.231224, 0.140244], 0.5: [1, 0, 0]}
    for heat in (2, 0.5):
        assert _probabilities(f"mlx_lm: temp={heat} min_p=0.1", row) == last[heat]
        assert _probabilities(f"vllm: temperature={heat} min_p=0.1", row) == first[heat]
        there = fd.translate(fd.Plan.parse(f"mlx_lm: temp={heat} min_p=0.1"), "vllm")
        assert there.verdict == "exact by an identity"
        assert fd.law(there.plan, np.float32(row)).probabilities.round(6).tolist() == last[heat]


def test_f11_who_sees_the_prompt():
    # vllm-project/vllm#1577: the logits after the penalties, by the law of a row they leave alone otherwise.
    history = fd.History(prompt=[0, 2], output=[1, 1])
    penalties = "repetition_penalty=2 frequency_penalty=0.25 presence_penalty=0.5"
    expected = {
        f"vllm: {penalties}": [1, -0.5, -2, 0.5],
        "transformers: do_sample=true top_k=0 repetition_penalty=2": [1, 0.5, -2, 0.5],
    }
    for text, logits in expected.items():
        want = np.exp(logits) / np.exp(logits).sum()
        assert _probabilities(text, [2, 1, -1, 0.5], history=history) == want.round(6).tolist()


@pytest.mark.parametrize(
    ("window", "back", "penalised"),
    [(20, 10, True), (20, 20, True), (20, 21, False), (20, 45, False), (64, 45, True), (0, 45, True)],
)
def test_f12_a_window_ends_where_it_ends(window, back, penalised):
    # jundot/omlx#3011
    history = fd.History(output=[1] + [2] * (back - 1))
    row = [0.0, -2.0, 0.0]
    text = f"mlx_lm: temp=1 repetition_penalty=1.5 repetition_context_size={window}"
    want = np.exp([0.0, -3.0 if penalised else -2.0, 0.0])
    assert _probabilities(text, row, history=history)[1] == pytest.approx(want[1] / want.sum(), abs=1e-6)


def test_f13_left_padding_is_penalised_by_one_version_and_not_by_the_next():
    # huggingface/text-generation-inference#1765
    history = fd.History(prompt=[0, 0, 5], left_padding=2)
    for version, logits in (("5.24", [4, 3, 2, 1, 0, 2.5]), ("5.22", [2, 3, 2, 1, 0, 2.5])):
        want = np.exp(logits) / np.exp(logits).sum()
        text = f"transformers@{version}: do_sample=true top_k=0 repetition_penalty=2"
        assert _probabilities(text, [4, 3, 2, 1, 0, 5], history=history) == want.round(6).tolist()


def test_f21_a_default_nobody_asked_for_is_measured_and_pointed_out():
    # huggingface/transformers#38549: 50 survivors of 60, p(0) = 0.025288 where it should be 0.022053.
    row = np.float32(-0.01 * np.arange(60))
    unasked = fd.Plan.parse("transformers: do_sample=true")
    weights = fd.law(unasked, row)
    assert weights.support.size == 50
    assert weights.probabilities[0] == pytest.approx(0.025288, abs=1e-6)
    result = fd.compare(unasked, fd.Plan.parse("fairdraw:"), row)
    assert result.total_variation == pytest.approx(0.127927, abs=1e-6)
    assert "default" in result.reason
    assert str(fd.translate(unasked, "vllm").plan).startswith("vllm@0.33: temperature=1.0 top_k=50")


def test_ft_min_p_twice_is_harmless_and_top_p_twice_is_not():
    # oobabooga/textgen#4755
    once, twice = "custom: min_p(p=0.1)", "custom: min_p(p=0.1) > min_p(p=0.1)"
    assert fd.compare(fd.Plan.parse(once), fd.Plan.parse(twice), np.float32([2, 1, 0, -1])).verdict == "same"
    assert fd.translate(fd.Plan.parse(twice), "vllm").verdict == "exact by an identity"
    row = np.log(np.float32([0.5, 0.3, 0.15, 0.05]))
    assert _probabilities("custom: top_p(p=0.6)", row) == [0.625, 0.375, 0, 0]
    assert _probabilities("custom: top_p(p=0.6) > top_p(p=0.6)", row) == [1, 0, 0, 0]
    assert fd.translate(fd.Plan.parse("custom: top_p(p=0.6) > top_p(p=0.6)"), "vllm").verdict == "row-dependent"
    apart = fd.Plan.parse("custom: min_p(p=0.1) > temperature(value=2.0) > min_p(p=0.1)")
    # The second is min_p 0.01 at temperature 1: the first is the narrower one.
    assert "min_p=0.31622777" in str(fd.translate(apart, "vllm").plan)
