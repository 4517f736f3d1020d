"""exllamav3: what is its own, by hand; tests/golden/exllamav3.json has the engine's answers."""

import numpy as np
import pytest

import fairdraw as fd

TIE = np.float32([3, 2, 2, 1])


def names(text: str) -> list[str]:
    return [stage.name for stage in fd.Plan.parse(f"exllamav3: {text}").stages]


def test_the_one_kernel_keeps_all_equals_of_the_kth_and_the_steps_exactly_k():
    assert fd.law(fd.Plan.parse("exllamav3: top_k=2"), TIE).support.tolist() == [0, 1, 2]
    assert fd.law(fd.Plan.parse("exllamav3: step_by_step top_k=2"), TIE).open_ties[0].count == 1


def test_a_range_of_n_sees_one_token_less():
    history = fd.History(prompt=[0], output=[1, 2])
    row = np.ones(4, np.float32)
    scores = [
        fd.law(fd.Plan.parse(f"exllamav3: pres_p=0.5 rep_sustain_range={n}"), row, history=history).trace[-1].row.scores
        for n in (1, 2, 3)
    ]
    assert [s.tolist() for s in scores] == [[1, 1, 1, 1], [1, 1, 0.5, 1], [1, 0.5, 0.5, 1]]


def test_the_temperature_may_come_last():
    assert names("temperature=2.0 min_p=0.1 top_k=5 top_p=0.9") == ["mask", "temperature", "min_p", "top_k", "top_p"]
    assert names("temperature=2.0 top_p=0.9 temp_last=true") == ["mask", "top_p", "temperature"]


def test_steps_run_in_the_order_listed_and_argmax_is_the_last():
    assert names('CustomSampler steps=["top_p", "temperature"] top_p=0.5 temperature=2.0') == [
        "mask", "top_p", "temperature",
    ]  # fmt: skip
    assert fd.Plan.parse('exllamav3: CustomSampler steps=["xtc", "argmax"]').mode == "argmax"
    for steps in ('["argmax", "top_k"]', "typical"):
        with pytest.raises(fd.ParameterError, match="steps must be a list of argmax"):
            names(f"CustomSampler steps={steps}")


def test_dry_needs_its_breakers_named():
    with pytest.raises(fd.ParameterError, match="a list of ids beside dry_multiplier"):
        names("dry_multiplier=0.8")
    assert names("dry_multiplier=0.8 dry_sequence_breakers=[7]") == ["mask", "dry"]


def test_adaptive_p_is_on_below_a_target_of_one():
    assert names("adaptive_target=0.5")[-1] == "adaptive_p"
    assert names("adaptive_target=1.0") == ["mask"]
