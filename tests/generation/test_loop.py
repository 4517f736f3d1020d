from __future__ import annotations

import json

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.generation.loop import generate, start
from generation.toy import ToyModel, saying

GREEDY = fd.Plan.parse("fairdraw: temperature=0")


def greedy(**limits: object) -> fd.Plan:
    return fd.Plan.resolve({"temperature": 0.0, **limits}, facts=fd.ModelFacts(vocab_size=8, end_token_ids=(0,)))


def test_the_text_is_the_bytes_of_the_tokens_and_the_end_token_is_not_shown():
    model = saying([1, 2, 0], ["<end>", "a", "b"], ends=(0,))
    done = generate(model, [1], GREEDY, seed=1)
    assert (done.text, done.tokens, done.finish_reason, done.stop_reason) == ("ab", (1, 2, 0), "stop", None)
    assert model.fed == [(1,), (1,), (2,)]


def test_max_tokens_ends_with_length():
    done = generate(saying([1], ["x", "a"]), [0], greedy(max_tokens=3), seed=1)
    assert (done.text, done.finish_reason) == ("aaa", "length")


def test_an_end_token_on_the_last_allowed_token_reports_stop():
    done = generate(saying([1, 0], ["x", "a"], ends=(0,)), [0], greedy(max_tokens=2), seed=1)
    assert (done.tokens, done.finish_reason) == ((1, 0), "stop")


def test_max_tokens_0_draws_nothing():
    model = saying([1], ["x", "a"])
    done = generate(model, [0], GREEDY, seed=1, max_tokens=0)
    assert (done.text, done.tokens, done.finish_reason, model.fed) == ("", (), "length", [])


def test_the_context_of_the_model_ends_the_text():
    done = generate(saying([1], ["x", "a"], context_length=5), [0, 0], GREEDY, seed=1)
    assert (len(done.tokens), done.finish_reason) == (3, "length")


def test_a_prompt_longer_than_the_context_is_refused():
    with pytest.raises(fd.ParameterError, match="at most 2 tokens"):
        generate(saying([1], ["x", "a"], context_length=2), [0, 0, 0], GREEDY, seed=1)


def test_ignore_eos_goes_on_but_a_stop_id_still_stops():
    model = saying([0, 1, 2], ["<end>", "a", "b"], ends=(0,))
    done = generate(model, [1], greedy(ignore_eos=True, stop_token_ids=[2]), seed=1)
    assert (done.tokens, done.stop_reason, done.text) == ((0, 1, 2), 2, "<end>a")


def test_min_tokens_forbids_the_end_until_enough_were_drawn():
    model = ToyModel(rows=[[5.0, 1.0]], texts=(b"<end>", b"a"), ends=(0,))
    done = generate(model, [1], greedy(min_tokens=2), seed=1)
    assert done.tokens == (1, 1, 0)


def test_min_tokens_holds_back_stop_strings_too():
    done = generate(saying([1], ["x", "a"], ends=(0,)), [0], greedy(min_tokens=2, stop=["a"], max_tokens=9), seed=1)
    assert (done.tokens, done.stop_reason, done.text) == ((1, 1, 1), "a", "aa")


@pytest.mark.parametrize(("last", "text", "reason"), [("Zq", "ab", "stop"), ("Q", "abWXYQ", "length")])
def test_a_stop_string_over_several_tokens_is_never_shown_in_part(last, text, reason):
    model = saying([0, 1, 2, 3], ["ab", "WX", "Y", last])
    generation = start(model, [0], greedy(stop=["WXYZ"], max_tokens=4), seed=1)
    pieces = [step.text for step in generation]
    done = generation.completion()
    assert (done.text, done.finish_reason) == (text, reason)
    assert pieces[:3] == ["ab", "", ""]
    assert "".join(pieces) == text


def test_a_stop_string_may_stay_in_the_text():
    model = saying([0, 1, 2, 3], ["ab", "WX", "Y", "Zq"])
    done = generate(model, [0], greedy(stop=["WXYZ"], include_stop_str_in_output=True), seed=1)
    assert (done.text, done.stop_reason) == ("abWXYZ", "WXYZ")


def test_characters_split_over_tokens_come_whole():
    model = saying([1, 2, 3, 4, 0], [b"", b" \xf0\x9f", b"\x98", b"\x80", b"\xc3("], ends=(0,))
    generation = start(model, [0], GREEDY, seed=1)
    assert [step.text for step in generation] == [" ", "", "😀", "\ufffd(", ""]
    assert generation.completion().text_offsets == (0, 1, 1, 2, 4)


def test_the_same_seed_gives_the_same_text_and_another_seed_another():
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((40, 30)).tolist()
    texts = tuple(chr(65 + i).encode() for i in range(30))
    plan = fd.Plan.parse("fairdraw: max_tokens=40")
    texts_of = [generate(ToyModel(rows=rows, texts=texts), [0], plan, seed=seed).text for seed in (7, 7, 8)]
    assert texts_of[0] == texts_of[1] != texts_of[2]


def test_a_resumed_text_draws_what_it_would_have_drawn_in_one_go():
    rng = np.random.default_rng(6)
    rows = rng.standard_normal((20, 30)).tolist()
    texts = tuple(chr(65 + i).encode() for i in range(30))
    plan = fd.Plan.parse("fairdraw: temperature=1")
    whole = generate(ToyModel(rows=rows, texts=texts), [0], plan, seed=3, max_tokens=20).tokens
    resumed = ToyModel(rows=rows[12:], texts=texts)
    rest = generate(resumed, [0, *whole[:12]], plan, seed=3, max_tokens=8).tokens
    assert whole[12:] == rest


def test_each_token_is_the_one_that_sample_draws_at_its_position():
    rows = np.random.default_rng(9).standard_normal((12, 30))
    texts = tuple(chr(65 + i).encode() for i in range(30))
    plan = fd.Plan.parse("fairdraw: max_tokens=12")
    done = generate(ToyModel(rows=rows.tolist(), texts=texts), [0, 1, 2], plan, seed=5, sample_index=4)
    alone = [fd.sample(plan, row, seed=5, position=3 + i, sample_index=4).token for i, row in enumerate(rows)]
    assert list(done.tokens) == alone


def test_max_tokens_beyond_the_context_ends_at_the_context():
    done = generate(saying([1], ["x", "a"], context_length=5), [0, 0], GREEDY, seed=1, max_tokens=99)
    assert (len(done.tokens), done.finish_reason) == (3, "length")


def test_sample_indices_give_different_texts():
    rows = [[0.0] * 30]
    texts = tuple(chr(65 + i).encode() for i in range(30))
    plan = fd.Plan.parse("fairdraw: max_tokens=20")
    drawn = {generate(ToyModel(rows=rows, texts=texts), [0], plan, seed=3, sample_index=i).text for i in range(4)}
    assert len(drawn) == 4


def test_a_fresh_seed_is_recorded_and_draws_the_text_again():
    rows = [[0.0] * 30]
    texts = tuple(chr(65 + i).encode() for i in range(30))
    plan = fd.Plan.parse("fairdraw: max_tokens=20")
    first = generate(ToyModel(rows=rows, texts=texts), [0], plan)
    again = generate(ToyModel(rows=rows, texts=texts), [0], plan, seed=first.seed)
    assert first.tokens == again.tokens
    assert generate(ToyModel(rows=rows, texts=texts), [0], plan).seed != first.seed


def test_an_empty_support_names_the_stages_and_the_step():
    plan = greedy(allowed_token_ids=[2, 3], bad_words_ids=[[2], [3]])
    model = saying([0], ["a", "b", "c", "d"])
    with pytest.raises(fd.LogitsError) as caught:
        generate(model, [0], plan, seed=1, max_tokens=5)
    message = str(caught.value)
    assert "bad_words" in message
    assert "allowed_ids left 2 of 4" in message
    assert "0 tokens into the output" in message


def test_logprobs_are_reported_in_the_meaning_asked_for():
    model = ToyModel(rows=[[2.0, 1.0, 0.0, -1.0]], texts=(b"a", b"b", b"c", b"d"))
    plan = fd.Plan.parse("fairdraw: temperature=0.5 top_p=0.9 logprobs=1")
    expected = {"raw": -0.440190, "temperature": -0.145078, "processed": -0.126928}
    for meaning, value in expected.items():
        done = generate(model, [0], plan, seed=1, max_tokens=1, logprobs_mean=meaning)
        assert done.tokens == (0,)
        assert done.logprobs[0].meaning == meaning
        assert done.logprobs[0].chosen.logprob == pytest.approx(value, abs=1e-6)


def test_a_completion_is_plain_json():
    model = saying([1, 0], ["x", "a"], ends=(0,))
    done = generate(model, [0], greedy(logprobs=5), seed=2**64 - 1)
    data = json.loads(json.dumps(done.to_json(), allow_nan=False))
    assert data["seed"] == 2**64 - 1
    assert data["tokens"] == [1, 0]
    assert fd.Plan.from_json(data["plan"]) == done.plan


@pytest.mark.parametrize("prompt", [[], [8], [-1], "text"])
def test_a_prompt_that_is_no_prompt_is_refused(prompt):
    with pytest.raises(fd.FairdrawError):
        generate(saying([1], ["x", "a"]), prompt, GREEDY, seed=1)


def test_n_is_refused_where_one_text_is_asked_for():
    with pytest.raises(fd.ParameterError, match="n must be 1"):
        generate(saying([1], ["x", "a"]), [0], greedy(n=2), seed=1)


def test_a_text_that_is_cancelled_draws_nothing_more():
    model = saying([1, 2, 3], ["x", "a", "b", "c"])
    generation = start(model, [0], greedy(max_tokens=3), seed=1)
    steps = iter(generation)
    assert next(steps).text == "a"
    generation.cancel()
    assert list(steps) == []
    assert model.fed == [(0,)]
    assert (generation.text, generation.completion().finish_reason) == ("a", "cancelled")


def test_a_text_that_is_cancelled_at_its_last_token_is_not_ended_a_second_time():
    generation = start(saying([1], ["x", "a"]), [0], greedy(max_tokens=1), seed=1)
    steps = iter(generation)
    next(steps)
    generation.cancel()
    assert list(steps) == []
    assert generation.completion().finish_reason == "cancelled"


def test_a_text_that_has_ended_cannot_be_cancelled():
    generation = start(saying([1], ["x", "a"]), [0], greedy(stop=["a"]), seed=1)
    for _ in generation:
        pass
    generation.cancel()
    done = generation.completion()
    assert (done.finish_reason, done.stop_reason) == ("stop", "a")
