from __future__ import annotations

import pytest

import fairdraw as fd
from fairdraw.constraints.choice import Choice
from fairdraw.generation.loop import generate, start
from fairdraw.stages import TopK
from generation.toy import ToyModel, saying

GREEDY = fd.Plan.parse("fairdraw: temperature=0")
TEXTS = (b"<end>", b"ye", b"s", b"no", b"ne", b"zzz")
FACTS = fd.ModelFacts(vocab_size=6, end_token_ids=(0,))


def test_what_the_model_likes_best_is_masked_and_the_text_ends_where_it_is_complete():
    model = saying([5, 5, 5], TEXTS, ends=(0,))
    done = generate(model, [5], GREEDY, seed=1, constraint=Choice(("yes",)))
    assert (done.text, done.tokens, done.finish_reason, done.stop_reason) == ("yes", (1, 2), "stop", None)
    assert done.fulfilled is True
    assert model.fed == [(5,), (1,)]


def test_an_end_token_ends_a_text_that_could_go_on():
    done = generate(saying([3, 0], TEXTS, ends=(0,)), [5], GREEDY, seed=1, constraint=Choice(("no", "none")))
    assert (done.text, done.tokens, done.finish_reason, done.fulfilled) == ("no", (3, 0), "stop", True)


def test_a_text_cut_by_max_tokens_is_told_apart():
    model = saying([1], TEXTS, ends=(0,))
    done = generate(model, [5], GREEDY, seed=1, max_tokens=1, constraint=Choice(("yes",)))
    assert (done.text, done.finish_reason, done.fulfilled) == ("ye", "length", False)


def test_max_tokens_that_just_suffice_cut_nothing():
    model = saying([1, 2], TEXTS, ends=(0,))
    done = generate(model, [5], GREEDY, seed=1, max_tokens=2, constraint=Choice(("yes",)))
    assert (done.text, done.finish_reason, done.fulfilled) == ("yes", "stop", True)


def test_a_stop_string_that_cuts_the_text_leaves_it_unfulfilled():
    plan = fd.Plan.resolve({"temperature": 0.0, "stop": ["s"]}, facts=FACTS)
    done = generate(saying([1, 2], TEXTS, ends=(0,)), [5], plan, seed=1, constraint=Choice(("yes",)))
    assert (done.text, done.stop_reason, done.fulfilled) == ("ye", "s", False)


@pytest.mark.parametrize(
    ("limits", "text", "fulfilled"),
    [
        ({"stop": ["yes"]}, "yes", True),
        ({"stop": ["ye"]}, "ye", False),
        ({"stop_token_ids": [2]}, "yes", True),
        ({"stop_token_ids": [1]}, "ye", False),
        ({"stop": ["e"]}, "ye", False),
    ],
)
def test_a_stop_that_is_included_cuts_nothing_if_nothing_followed_it(limits, text, fulfilled):
    plan = fd.Plan.resolve({"temperature": 0.0, "include_stop_str_in_output": True, **limits}, facts=FACTS)
    done = generate(saying([1, 2], TEXTS, ends=(0,)), [5], plan, seed=1, constraint=Choice(("yes",)))
    assert (done.text, done.finish_reason, done.fulfilled) == (text, "stop", fulfilled)


@pytest.mark.parametrize(("included", "text"), [(True, "n"), (False, "")])
def test_what_came_after_an_included_stop_string_in_its_token_is_cut(included, text):
    limits = {"stop": ["n"], "include_stop_str_in_output": included}
    plan = fd.Plan.resolve({"temperature": 0.0, **limits}, facts=FACTS)
    done = generate(saying([3], TEXTS, ends=(0,)), [5], plan, seed=1, constraint=Choice(("no",)))
    assert (done.text, done.tokens, done.fulfilled) == (text, (3,), False)


def test_a_stop_id_that_is_not_shown_is_missing_unless_it_is_an_end_token():
    plan = fd.Plan.resolve({"temperature": 0.0, "stop_token_ids": [2]}, facts=FACTS)
    done = generate(saying([1, 2], TEXTS, ends=(0,)), [5], plan, seed=1, constraint=Choice(("yes",)))
    assert (done.text, done.stop_reason, done.fulfilled) == ("ye", 2, False)
    plan = fd.Plan.resolve({"temperature": 0.0, "stop_token_ids": [0], "ignore_eos": True}, facts=FACTS)
    done = generate(saying([3, 0], TEXTS, ends=(0,)), [5], plan, seed=1, constraint=Choice(("no", "none")))
    assert (done.text, done.stop_reason, done.fulfilled) == ("no", 0, True)


def test_without_a_constraint_there_is_nothing_to_fulfil():
    done = generate(saying([1, 0], TEXTS, ends=(0,)), [5], GREEDY, seed=1)
    assert (done.fulfilled, done.constraint) == (None, None)


def test_a_record_says_what_the_text_had_to_be():
    done = generate(saying([1, 2], TEXTS, ends=(0,)), [5], GREEDY, seed=1, constraint=Choice(("yes",)))
    assert done.to_json()["constraint"] == {"kind": "choice", "texts": ["yes"]}


def test_a_stage_that_forbids_all_that_is_left_is_named_with_the_constraint_and_the_step():
    plan = fd.Plan.resolve({"temperature": 0.0, "allowed_token_ids": [1, 5]}, facts=FACTS)
    generation = start(saying([1], TEXTS, ends=(0,)), [5], plan, seed=1, constraint=Choice(("yes",)))
    with pytest.raises(fd.LogitsError, match=r"allowed_ids, 1 token.* under the constraint choice,"):
        list(generation)


def test_reported_logprobs_are_those_under_the_mask():
    plan = fd.Plan.resolve({"temperature": 1.0, "logprobs": 1}, facts=FACTS)
    model = ToyModel(rows=[[0.0] * 6], texts=TEXTS, ends=(0,))
    done = generate(model, [5], plan, seed=1, constraint=Choice(("yes", "none")), logprobs_mean="processed")
    assert [round(entry.chosen.logprob, 6) for entry in done.logprobs] == [-0.693147, 0.0]


def test_a_plan_without_a_mask_stage_is_refused():
    with pytest.raises(fd.ParameterError, match="mask stage"):
        start(saying([1], TEXTS), [5], fd.Plan.of(TopK(k=2)), seed=1, constraint=Choice(("yes",)))


def test_an_engines_own_generator_draws_without_constraints():
    plan = fd.Plan.parse("candle: All temperature=1.0")
    with pytest.raises(fd.ParameterError, match="None for candle's own tokens"):
        start(saying([1], TEXTS), [5], plan, seed=1, stream="candle", constraint=Choice(("yes",)))


def test_what_is_no_constraint_is_refused_with_an_example():
    with pytest.raises(fd.ParameterError, match=r"constraint must be a Constraint, got 'yes'\nhint: .*Choice"):
        start(saying([1], TEXTS), [5], GREEDY, seed=1, constraint="yes")
