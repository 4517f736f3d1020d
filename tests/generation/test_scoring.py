from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.generation.batch import Request, generate_many
from fairdraw.generation.loop import generate
from fairdraw.generation.scoring import score, windows
from generation.speculation.toys import PrefixModel
from generation.toy import ToyModel

HALVES = ToyModel(rows=[np.log([0.5, 0.25, 0.125, 0.125]).tolist()], texts=(b"a", b"bb", b"\xc3", b"\xa9"))
LN2 = math.log(2)


def toy() -> ToyModel:
    """Each token has the same law: 1/2, 1/4, 1/8, 1/8."""
    return ToyModel(rows=HALVES.rows, texts=HALVES.texts)


def test_a_total_a_perplexity_and_bits_per_byte_that_can_be_checked_by_hand():
    scored = score(toy(), [3, 0, 1, 2])
    np.testing.assert_allclose(scored.logprobs, [-LN2, -2 * LN2, -3 * LN2], rtol=1e-7)
    assert scored.ranks.tolist() == [1, 2, 3]
    assert (scored.first, scored.bytes, scored.outside, scored.meaning) == (1, 4, (), "raw")
    assert scored.total == pytest.approx(-6 * LN2, rel=1e-7)
    assert scored.perplexity == pytest.approx(4, rel=1e-7)
    assert scored.bits_per_byte == pytest.approx(6 / 4, rel=1e-7)


def test_of_equal_tokens_the_lower_id_has_the_better_rank():
    assert score(toy(), [0, 3, 2]).ranks.tolist() == [4, 3]


def test_a_prompt_is_not_scored_and_gives_the_first_token_something_to_follow():
    scored = score(toy(), [1], prompt=[0, 3])
    assert (scored.tokens, scored.first, scored.bytes) == ((0, 3, 1), 2, 2)
    np.testing.assert_allclose(scored.logprobs, [-2 * LN2], rtol=1e-7)


def test_the_three_meanings_and_where_a_plan_could_not_have_drawn_a_token():
    plan = fd.Plan.parse("fairdraw: temperature=0.5 top_k=2")
    text = [0, 1, 2, 0]
    shares = {"raw": [1 / 4, 1 / 8, 1 / 2], "temperature": [4 / 22, 1 / 22, 16 / 22], "processed": [4 / 20, 0, 16 / 20]}
    for meaning, expected in shares.items():
        scored = score(toy(), text, plan, meaning=meaning)
        np.testing.assert_allclose(np.exp(scored.logprobs), expected, rtol=1e-6)
        assert scored.outside == ((2,) if meaning == "processed" else ())
    scored = score(toy(), text, plan)
    assert (scored.meaning, scored.total, scored.perplexity) == ("processed", -math.inf, math.inf)


def test_named_tokens_and_the_best_ones_are_reported_at_each_place():
    scored = score(toy(), [0, 1, 3], named=[3, 0], top=2)
    assert [[a.token for a in entry.top] for entry in scored.entries] == [[0, 1], [0, 1, 3]]
    assert scored.named.keys() == {3, 0}
    np.testing.assert_allclose(scored.named[3], [-3 * LN2] * 2, rtol=1e-7)
    np.testing.assert_allclose(scored.named[0], [-LN2] * 2, rtol=1e-7)


def test_the_stages_see_prompt_and_text_as_prompt_and_output():
    plan = fd.Plan.parse("fairdraw: presence_penalty=0.5")
    once, twice = score(toy(), [1, 1], plan, prompt=[1]).logprobs
    assert once == pytest.approx(math.log(1 / 4), rel=1e-7)
    lowered = 0.25 * math.exp(-0.5)
    assert twice == pytest.approx(math.log(lowered / (0.75 + lowered)), rel=1e-6)


def test_a_text_that_a_plan_wrote_has_the_logprobs_that_were_reported_bit_for_bit():
    model = PrefixModel(ends=(0,))
    parameters = ({"top_p": 0.8, "repetition_penalty": 1.2}, {"mirostat": 2, "mirostat_tau": 2.0}, {"temperature": 0.0})
    for given_parameters in parameters:
        plan = fd.Plan.resolve({**given_parameters, "logprobs": 3}, facts=model.facts)
        for meaning in ("raw", "temperature", "processed"):
            done = generate(model, [1, 2, 3], plan, seed=4, max_tokens=30, logprobs_mean=meaning)
            scored = score(model, done.tokens, plan, meaning=meaning, prompt=[1, 2, 3], top=3, feeding="singly")
            assert scored.entries == done.logprobs
            assert scored.outside == ()


def test_under_its_law_a_text_is_read_singly_unless_asked_otherwise():
    class Session:
        length = 0

        def __init__(self, model):
            self.model = model

        def feed(self, tokens):
            return self.model.row(tokens[-2:])

        def feed_together(self, tokens):
            self.model.used.append("together")
            return np.stack([self.model.row([token]) for token in tokens])

        def feed_all(self, tokens):
            self.model.used.append("singly")
            return np.stack([self.model.row([token]) for token in tokens])

    class Model(PrefixModel):
        def start(self):
            return Session(self)

    model, plan = Model(), fd.Plan.parse("fairdraw: top_p=0.9")
    model.used = []
    asked = ({}, {"plan": plan}, {"plan": plan, "meaning": "raw"}, {"plan": plan, "feeding": "together"})
    for more in (*asked, {"feeding": "singly"}):
        score(model, [1, 2, 3], **more)
    assert model.used == ["together", "singly", "together", "together", "singly"]


@given(count=st.integers(1, 60), first=st.integers(1, 60), window=st.integers(1, 20), stride=st.integers(1, 20))
def test_each_token_is_scored_once_with_enough_before_it_in_a_window_that_fits(count, first, window, stride):
    stride = min(stride, window)
    cuts = list(windows(count, first, window, stride))
    assert [place for cut in cuts for place in range(cut.first, cut.end)] == list(range(first, count))
    for cut in cuts:
        assert cut.end - 1 - cut.begin <= window
        for place in range(cut.first, cut.end):
            assert place - cut.begin >= min(place, window - stride + 1)


class Reader(PrefixModel):
    """The logits say how many tokens were read."""

    def row(self, tokens):
        self.most = max(getattr(self, "most", 0), len(tokens))
        return np.where(np.arange(self.vocab) == 1, np.float32(len(tokens)), np.float32(0))


def test_a_text_longer_than_the_window_is_read_in_windows_and_its_history_is_the_whole_text():
    model = Reader(vocab=4, context_length=6)
    scored = score(model, [1] * 15, window=5, stride=2)
    read = np.log(3) - np.log(np.expm1(-scored.logprobs))
    assert read.round().tolist() == [1, 2, 3, 4, 5, 4, 5, 4, 5, 4, 5, 4, 5, 5]
    assert model.most == 5
    penalised = score(model, [1, 2] + [1] * 13, fd.Plan.parse("fairdraw: frequency_penalty=2"), window=5, stride=2)
    assert penalised.logprobs[-1] == pytest.approx(5 - 12 * 2 - math.log(math.exp(5 - 24) + 2 + math.exp(-2)), abs=1e-5)


def test_without_a_window_the_models_context_is_one():
    model = Reader(vocab=4, context_length=6)
    score(model, [1] * 20)
    assert model.most == 6


def test_every_scored_token_is_told():
    told = []
    score(toy(), [0] * 4, on_progress=told.append)
    assert told == [1, 2, 3]


def test_a_text_is_encoded_as_plain_text():
    assert score(toy(), "bb", prompt=[0]).tokens == (0, 1)


def test_scores_are_plain_json_without_infinities():
    plan = fd.Plan.parse("fairdraw: top_k=2")
    data = json.loads(json.dumps(score(toy(), [0, 1, 2], plan, named=[2], top=1).to_json(), allow_nan=False))
    assert (data["outside"], data["total"], data["perplexity"], data["bits_per_byte"]) == ([2], None, None, None)
    assert (data["logprobs"][1]["logprob"], data["named"]) == (-9999.0, {"2": [-9999.0, -9999.0]})
    assert fd.Plan.from_json(data["plan"]) == plan


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"text": [1]}, "text must be at least 2 tokens, got '1 token'"),
        ({"text": [], "prompt": [1]}, "text must be at least 1 token,"),
        ({"text": [1, 4]}, r"text must be token ids in 0\.\.3, got 4"),
        ({"text": [1, 1], "named": [9]}, r"named must be token ids in 0\.\.3"),
        ({"text": [1, 1], "window": 0}, "window must be"),
        ({"text": [1, 1, 1], "window": 2, "stride": 3}, "stride must be"),
        ({"text": [1, 1], "meaning": "processed"}, "meaning must be raw without a plan"),
        ({"text": [1, 1], "meaning": "cooked", "plan": fd.Plan.parse("fairdraw:")}, "meaning must be"),
        ({"text": [1, 1], "feeding": "fast"}, "feeding must be"),
        ({"text": [1, 1], "top": -1}, "top must be"),
        ({"text": [1, 1], "plan": "fairdraw:"}, "plan must be"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, words):
    with pytest.raises(fd.ParameterError, match=words):
        score(toy(), **arguments)


def test_a_memory_that_depends_on_a_coin_is_refused_under_the_law_and_not_asked_for_raw():
    plan = fd.Plan.resolve({"xtc_probability": 0.5, "mirostat": 2})
    with pytest.raises(fd.ParameterError, match="depends on a coin"):
        score(toy(), [0, 1], plan)
    assert score(toy(), [0, 1], plan, meaning="raw").ranks.tolist() == [2]


def test_max_tokens_0_gives_the_prompts_own_logprobs_and_draws_nothing():
    plan = fd.Plan.parse("fairdraw: top_k=2")
    done = generate(toy(), [3, 0, 1], plan, seed=1, max_tokens=0, prompt_logprobs=1)
    assert (done.tokens, done.text, done.finish_reason, done.logprobs) == ((), "", "length", ())
    nothing, first, second = done.prompt_logprobs
    assert nothing is None
    assert (first.chosen.rank, second.chosen.rank, second.meaning) == (1, 2, "raw")
    assert second.chosen.logprob == pytest.approx(-2 * LN2, rel=1e-7)
    assert [alternative.token for alternative in second.top] == [0, 1]
    data = json.loads(json.dumps(done.to_json(), allow_nan=False))
    assert (data["prompt_logprobs"][0], data["prompt_logprobs"][2]["rank"]) == (None, 2)


def test_asking_for_a_prompts_logprobs_changes_no_token():
    model, plan = PrefixModel(), fd.Plan.parse("fairdraw: top_p=0.9")
    plain = generate(model, [1, 2, 3], plan, seed=1, max_tokens=9)
    asked = generate(model, [1, 2, 3], plan, seed=1, max_tokens=9, prompt_logprobs=0)
    assert (plain.tokens, plain.prompt_logprobs, len(asked.prompt_logprobs)) == (asked.tokens, (), 3)
    assert generate(model, [1], plan, seed=1, max_tokens=0, prompt_logprobs=0).prompt_logprobs == (None,)


def test_the_samples_of_a_request_score_their_prompt_once():
    model = PrefixModel()
    request = Request(prompt=[1, 2, 3], plan=fd.Plan.parse("fairdraw:"), n=3, max_tokens=0, prompt_logprobs=2)
    (texts,) = generate_many(model, [request])
    assert [text.prompt_logprobs == texts[0].prompt_logprobs for text in texts] == [True] * 3
    assert len(model.fed) == 2


@pytest.mark.parametrize("value", [-1, 1.5])
def test_a_count_of_prompt_logprobs_is_a_whole_number(value):
    with pytest.raises(fd.ParameterError, match="prompt_logprobs must be"):
        generate(toy(), [0], fd.Plan.parse("fairdraw:"), seed=1, prompt_logprobs=value)
