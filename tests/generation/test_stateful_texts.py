"""A text written with a stateful stage carries its memory from token to token, and can be drawn again."""

import json

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.generation.loop import generate
from fairdraw.stages import AdaptiveP, Mask, Mirostat2
from fairdraw.verify.redrawing import redraw
from generation.toy import ToyModel

TEXTS = tuple(f"{number} ".encode() for number in range(30))


def model() -> ToyModel:
    return ToyModel(rows=np.random.default_rng(0).normal(size=(40, 30)) * 2, texts=TEXTS)


@pytest.mark.parametrize("stage", [Mirostat2(tau=1.5, eta=0.5), AdaptiveP(target=0.2)], ids=lambda stage: stage.name)
def test_each_token_is_drawn_with_what_the_stage_remembers_of_those_before(stage):
    plan, history, memory = fd.Plan.of(Mask(), stage), fd.History(prompt=[1]), None
    done = generate(model(), [1], plan, seed=3, max_tokens=20)
    for row, token in zip(model().rows, done.tokens, strict=False):
        drawn = fd.sample(plan, row, seed=3, position=len(history), history=history, memory=memory)
        assert drawn.token == token
        history.append(token)
        memory = drawn.memory


def test_a_record_is_drawn_again_with_its_memory():
    plan = fd.Plan.of(Mask(), Mirostat2(tau=1.5, eta=0.5))
    record = json.loads(json.dumps(generate(model(), [1], plan, seed=3, max_tokens=20).to_json()))
    assert redraw(record, model()).same
    changed = record | {"tokens": [record["tokens"][0], (record["tokens"][1] + 1) % 30, *record["tokens"][2:]]}
    assert redraw(changed, model()).differences[0].step == 1


def test_processed_logprobs_are_those_of_the_step():
    limits = fd.Plan.parse("fairdraw: max_tokens=8 logprobs=1").limits
    plan = fd.Plan.of(Mask(), Mirostat2(tau=1.0, eta=0.5), limits=limits)
    done = generate(model(), [1], plan, seed=3, logprobs_mean="processed")
    history, memory = fd.History(prompt=[1]), None
    for row, report in zip(model().rows, done.logprobs, strict=False):
        drawn = fd.sample(plan, row, seed=3, position=len(history), history=history, memory=memory)
        assert report.chosen.logprob == pytest.approx(drawn.logprob, abs=1e-6)
        history.append(drawn.token)
        memory = drawn.memory
