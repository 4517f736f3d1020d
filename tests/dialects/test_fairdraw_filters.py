"""The fairdraw dialect's less common parameters: which stage each becomes, and where it stands."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import Dry, DynamicTemperature

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
FACTS = fd.ModelFacts(vocab_size=6, encode=lambda text: [len(text), 5])


def stages(**request) -> list[str]:
    return [stage.name for stage in fd.Plan.resolve(request, facts=FACTS).stages]


def test_everything_on_stands_in_the_order_that_the_dialect_states():
    request = {
        "guidance_scale": 2.0, "suppress_tokens": [1], "sequence_bias": {(1, 2): 1.0}, "no_repeat_ngram_size": 3,
        "dry_multiplier": 0.8, "smoothing_factor": 0.2, "temperature": 0.7, "top_n_sigma": 1.0, "top_k": 40,
        "top_p": 0.9, "min_p": 0.1, "typical_p": 0.9, "top_a": 0.1, "tfs": 0.9, "epsilon_cutoff": 0.001,
        "eta_cutoff": 0.001, "top_h": 0.5, "xtc_probability": 0.5, "mirostat": 2, "adaptive_target": 0.3,
    }  # fmt: skip
    assert stages(**request) == [
        "guidance", "mask", "suppressed_tokens", "sequence_bias", "no_repeat_ngram", "dry", "smoothing", "temperature",
        "top_n_sigma", "top_k", "top_p", "min_p", "typical", "top_a", "tail_free", "epsilon", "eta", "top_h", "xtc",
        "mirostat_2", "adaptive_p",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "off",
    [
        {"top_n_sigma": 0.0}, {"top_a": 0.0}, {"tfs": 1.0}, {"epsilon_cutoff": 0.0}, {"eta_cutoff": 0.0},
        {"xtc_probability": 0.0}, {"mirostat": 0}, {"dynatemp_range": 0.0}, {"smoothing_factor": 0.0},
        {"dry_multiplier": 0.0}, {"no_repeat_ngram_size": 0}, {"guidance_scale": 1.0}, {"sequence_bias": {}},
        {"suppress_tokens": []},
    ],
    ids=lambda off: next(iter(off)),
)  # fmt: skip
def test_an_off_value_leaves_the_stage_out(off):
    assert stages(**off) == ["mask"]


def test_dynatemp_replaces_the_temperature_and_reaches_from_it_to_both_sides_but_not_below_0():
    plan = fd.Plan.resolve({"temperature": 0.5, "dynatemp_range": 0.75, "dynatemp_exponent": 2.0})
    assert plan.stages[1:] == (DynamicTemperature(low=0.0, high=1.25, exponent=2.0),)
    d39 = fd.law(fd.Plan.parse("fairdraw: dynatemp_range=0.5"), SIX).probabilities
    assert d39.round(4).tolist() == [0.3577, 0.2448, 0.1676, 0.1147, 0.0785, 0.0368]


def test_the_version_of_mirostat_chooses_the_stage():
    assert [stages(mirostat=version)[1:] for version in (0, 1, 2)] == [[], ["mirostat_1"], ["mirostat_2"]]


def test_breakers_are_texts_at_the_start_of_a_line_and_after_a_space():
    (dry,) = [s for s in fd.Plan.resolve(
        {"dry_multiplier": 1.0, "dry_sequence_breakers": [":"], "dry_penalty_last_n": 64}, facts=FACTS
    ).stages if isinstance(s, Dry)]  # fmt: skip
    assert (dry.breakers, dry.window) == (((1, 5), (2, 5)), 64)
    with pytest.raises(fd.ParameterError, match="dry_sequence_breakers must be empty where no tokenizer is known"):
        fd.Plan.resolve({"dry_multiplier": 1.0, "dry_sequence_breakers": [":"]})


def test_sampling_params_and_text_say_the_same():
    params = fd.SamplingParams(xtc_probability=0.5, xtc_threshold=0.2, sequence_bias={(1, 2): 0.5})
    text = 'fairdraw: xtc_probability=0.5 xtc_threshold=0.2 sequence_bias={"[1, 2]": 0.5}'
    assert fd.Plan.resolve(params) == fd.Plan.parse(text)
    assert fd.Plan.parse(str(fd.Plan.resolve(params))) == fd.Plan.resolve(params)


def test_temperature_0_with_guidance_takes_the_best_token_of_the_mixture():
    plan = fd.Plan.parse("fairdraw: temperature=0 guidance_scale=3")
    assert fd.sample(plan, SIX, seed=1, position=0, second=np.float32(SIX) * 2).token == 5
