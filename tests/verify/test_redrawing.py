from __future__ import annotations

import json

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.generation.loop import generate
from fairdraw.verify.redrawing import redraw
from generation.toy import ToyModel

TEXTS = tuple(chr(65 + i).encode() for i in range(30))
ROWS = np.random.default_rng(8).standard_normal((40, 30)).tolist()
PLAN = "fairdraw: temperature=0.9 top_p=0.9 max_tokens=25 repetition_penalty=1.2"


def model(shift: float = 0.0) -> ToyModel:
    return ToyModel(rows=[[value + shift * (i % 2) for i, value in enumerate(row)] for row in ROWS], texts=TEXTS)


def record(plan: str = PLAN, **more: object) -> dict[str, object]:
    done = generate(model(), [0, 3], fd.Plan.parse(plan), seed=11, **more)
    return json.loads(json.dumps(done.to_json()))


@pytest.mark.parametrize(
    ("plan", "stream"),
    [
        (PLAN, "fairdraw"),
        ("candle: TopK k=5 temperature=0.8 repeat_penalty=1.3", "candle"),
        ("transformers: do_sample=true top_k=5 max_new_tokens=25", "transformers"),
        ("nano_vllm: temperature=0.8", "nano_vllm"),
    ],
)
def test_a_record_is_drawn_again_token_by_token(plan, stream):
    again = redraw(record(plan, stream=stream, max_tokens=25), model())
    assert again.same
    assert again.steps == 25


def test_another_seed_is_found_and_both_tokens_are_named_as_possible():
    changed = record() | {"seed": 12}
    again = redraw(changed, model())
    assert not again.same
    first = again.differences[0]
    assert first.recorded == changed["tokens"][first.step] != first.drawn
    assert "the seed is another one" in first.reason


def test_a_token_that_the_plan_cannot_draw_is_called_so():
    changed = record("fairdraw: temperature=0 max_tokens=5")
    changed["tokens"][2] = (changed["tokens"][2] + 1) % 30
    again = redraw(changed, model())
    assert [difference.step for difference in again.differences] == [2]
    assert "cannot draw the recorded token" in again.differences[0].reason


def test_one_difference_does_not_hide_what_comes_after_it():
    changed = record(PLAN + " top_k=2")
    original = list(changed["tokens"])
    changed["tokens"][3] = (original[3] + 1) % 30
    again = redraw(changed, model())
    # The penalty sees the changed token, so later rows may differ; without a penalty one step alone does.
    plain = record("fairdraw: temperature=0.9 max_tokens=25")
    plain["tokens"][3] = (plain["tokens"][3] + 1) % 30
    assert again.differences[0].step == 3
    assert [difference.step for difference in redraw(plain, model()).differences] == [3]


def test_other_logits_change_a_few_tokens_alone():
    again = redraw(record("fairdraw: temperature=0.9 max_tokens=25"), model(shift=0.01))
    assert len(again.differences) <= 2


def test_a_redrawing_is_plain_json():
    changed = record() | {"seed": 12}
    data = json.loads(json.dumps(redraw(changed, model()).to_json(), allow_nan=False))
    assert data["drawn_again"] == 25 - len(data["differences"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stream_version": 2}, "stream version"),
        ({"model": "other"}, "made with the model 'other'"),
        ({"plan": {}}, "fairdraw_plan"),
        ({"seed": -1}, "seed must be"),
        ({"tokens": [-1]}, "tokens must be"),
        ({"stream": "vllm"}, "cannot be replayed"),
    ],
)
def test_what_is_no_record_is_refused(change, words):
    with pytest.raises(fd.FairdrawError, match=words):
        redraw(record() | change, model())


def test_a_record_without_its_seed_is_refused():
    incomplete = record()
    del incomplete["seed"]
    with pytest.raises(fd.PlanError, match="a record must have seed"):
        redraw(incomplete, model())
