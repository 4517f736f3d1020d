"""exllamav2: what is its own, by hand; tests/golden/exllamav2.json has the engine's answers."""

import numpy as np
import pytest

import fairdraw as fd

FIVE = np.log(np.float32([0.5, 0.3, 0.1, 0.07, 0.03]))
OFF = "temperature=1.0 token_repetition_penalty=1.0 top_k=0 top_p=0.0"


def names(text: str) -> list[str]:
    return [stage.name for stage in fd.Plan.parse(f"exllamav2: {text}").stages]


def test_its_defaults_cut_and_punish():
    assert names("") == ["mask", "repetition_penalty", "temperature", "top_k", "knapsack_top_p"]
    assert names(OFF) == ["mask"]


def test_a_cold_temperature_is_one_token_unless_it_comes_last():
    assert names("temperature=0.009") == ["mask", "repetition_penalty", "top_k", "knapsack_top_p"]
    assert fd.law(fd.Plan.parse("exllamav2: temperature=0.0"), FIVE).support.tolist() == [0]
    assert names(f"{OFF} temperature_last=true".replace("temperature=1.0", "temperature=0.005")) == [
        "mask",
        "temperature",
    ]


def test_min_temp_and_max_temp_take_the_place_of_a_last_temperature_alone():
    hot = OFF.replace("temperature=1.0", "temperature=2.0")
    assert names(f"{hot} max_temp=1.5") == ["mask", "temperature", "dynamic_temperature"]
    assert names(f"{hot} max_temp=1.5 temperature_last=true") == ["mask", "dynamic_temperature"]


def test_min_p_remembers_the_row_before_the_last_cut():
    assert names("min_p=0.1 token_repetition_penalty=1.0")[1:] == [
        "temperature", "checkpoint", "top_k", "checkpoint", "knapsack_top_p", "spare_min_p",
    ]  # fmt: skip


def test_xtc_on_unsorted_candidates_is_refused_and_says_why():
    with pytest.raises(fd.ParameterError, match="0 where nothing sorts") as caught:
        names(f"{OFF} xtc_probability=0.5")
    assert "off by one" in caught.value.hint
    wide = fd.ModelFacts(vocab_size=5)
    with pytest.raises(fd.ParameterError, match="0 where nothing sorts"):
        fd.Plan.parse(f"exllamav2: {OFF} xtc_probability=0.5".replace("top_k=0", "top_k=5"), facts=wide)
    assert "xtc_average" in names(f"{OFF} xtc_probability=0.5".replace("top_k=0", "top_k=4"))


def test_the_short_draw_loses_the_end_of_the_mass():
    """u * 0.9998 never reaches the last 0.0002: of 0.03 that token has 0.0298, over 0.9998."""
    text = "exllamav2: short_draw temperature=1.0 token_repetition_penalty=1.0 top_k=5 top_p=0.0"
    law = fd.law(fd.Plan.parse(text), FIVE)
    assert law.probabilities[4] == pytest.approx(0.0298 / 0.9998, abs=1e-7)
    assert law.probabilities[0] == pytest.approx(0.5 / 0.9998, abs=1e-7)


def test_what_it_calls_typical_is_refused_never_ignored():
    with pytest.raises(fd.PlanError, match="typical is a parameter of the engine that fairdraw does not model"):
        names("typical=0.5")
