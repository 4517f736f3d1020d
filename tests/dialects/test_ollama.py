"""Ollama: one set of options, two runners; tests/golden/ollama.json has the answers."""

import numpy as np
import pytest

import fairdraw as fd

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]


def names(text: str) -> list[str]:
    return [stage.name for stage in fd.Plan.parse(f"ollama: {text}").stages]


def test_the_same_options_are_two_laws():
    text = "temperature=2.0 top_k=0 top_p=0.7"
    assert names(text) == ["mask", "top_p", "temperature"]
    assert names(f"mlx {text}") == ["mask", "temperature", "top_p"]
    laws = [fd.law(fd.Plan.parse(f"ollama: {runner} {text}"), SIX) for runner in ("", "mlx")]
    assert [law.support.size for law in laws] == [3, 4]


def test_its_defaults_are_not_those_of_llama_cpp():
    assert names("") == ["mask", "top_k", "top_p", "temperature"]
    ours, theirs = (fd.law(fd.Plan.parse(text), np.linspace(5, 0, 60)) for text in ("ollama:", "llama_cpp:"))
    assert ours.support.size < theirs.support.size


def test_typical_of_nothing_is_not_sent():
    assert "candidate_typical" not in names("typical_p=0.0")
    assert "candidate_typical" in names("typical_p=0.5")
    with pytest.raises(fd.PlanError, match="has no parameter 'typical_p'"):
        names("mlx typical_p=0.5")


def test_a_window_of_minus_one_is_the_context_in_one_runner_and_refused_by_the_other():
    history = fd.History(prompt=[0], output=[1] * 100)
    plan = fd.Plan.parse("ollama: mlx repeat_penalty=2.0 repeat_last_n=-1 temperature=1.0 top_p=1.0")
    assert fd.law(plan, SIX, history=history).trace[-1].row.scores[:2].tolist() == [1.0, 0.75]
    with pytest.raises(fd.ParameterError) as caught:
        fd.Plan.resolve({"repeat_last_n": -1}, dialect="ollama")
    assert "but got -1" in caught.value.hint
