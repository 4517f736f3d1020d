"""What people hand over on their first day."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fairdraw as fd
from generation.toy import saying

ROW = [2.0, 1.0, 0.0]
PLAN = fd.Plan.parse("fairdraw: repetition_penalty=1.3")
MODEL = saying([1, 0], ["<end>", "a"], ends=(0,))


@pytest.mark.parametrize(
    ("attempt", "words"),
    [
        (lambda: fd.law("fairdraw: temperature=1", ROW), "plan must be a Plan"),
        (lambda: fd.sample(fd.SamplingParams(), ROW, seed=1, position=0), "plan must be a Plan"),
        (lambda: fd.compare("candle: ArgMax", PLAN, ROW), "plan must be a Plan"),
        (lambda: fd.generate(MODEL, [1], "fairdraw: top_k=1", seed=1), "plan must be a Plan"),
        (lambda: fd.generate("smollm2", [1], PLAN, seed=1), "load_model('smollm2')"),
        (lambda: fd.law(PLAN, ROW, history=[1, 2]), "history must be a History"),
        (lambda: fd.law(fd.Plan.parse("fairdraw:"), ROW, history=[1, 2]), "history must be a History"),
        (lambda: fd.Plan.parse(None), "text must be a plan as text"),
        (lambda: fd.Plan.resolve("fairdraw: temperature=1"), "Plan.parse reads a plan from text"),
        (lambda: fd.Plan.from_json(json.dumps(PLAN.to_json())), "json.loads(text) first"),
        (lambda: fd.Plan.parse("CANDLE: ArgMax"), "did you mean 'candle'?"),
        (lambda: fd.Plan.parse("fairdraw: stop='ab'"), "texts stand in double quotes"),
        (lambda: fd.Plan.parse("transformers: do_sample=True"), "write true"),
        (lambda: fd.Plan.parse("fairdraw: top_p=.9"), "0.9, not .9"),
        (lambda: fd.Plan.parse("fairdraw: top_p=0,9"), "a space must stand between parameters"),
        (lambda: fd.Plan.parse("fairdraw: temperature=0.7, top_k=4"), "a space must stand between parameters"),
    ],
)
def test_a_first_mistake_is_answered_in_our_words(attempt, words):
    with pytest.raises(fd.FairdrawError) as caught:
        attempt()
    assert words in str(caught.value)


def test_ids_may_come_as_an_array():
    assert fd.generate(MODEL, np.array([1, 1]), fd.Plan.parse("fairdraw: temperature=0"), seed=1).prompt_tokens == (
        1,
        1,
    )
    assert fd.History(prompt=np.array([3, 4])).prompt == (3, 4)


def test_what_a_request_in_our_names_implies_is_not_called_a_request():
    params = fd.SamplingParams(top_k=5)
    settings = {
        engine: {s.name: (s.value, s.origin) for s in fd.Plan.resolve(params, dialect=engine).settings}
        for engine in ("transformers", "candle")
    }
    assert settings["transformers"]["do_sample"] == (True, "implied")
    assert settings["transformers"]["top_k"] == (5, "request")
    assert settings["candle"]["temperature"] == (1.0, "implied")
    assert settings["candle"]["k"] == (5, "request")


def test_an_implied_value_is_printed_so_that_the_text_means_the_same_plan():
    plan = fd.Plan.resolve(fd.SamplingParams(temperature=0.7), dialect="transformers")
    assert str(plan) == "transformers@5.24: do_sample=true temperature=0.7"
    assert fd.Plan.parse(str(plan)) == plan
