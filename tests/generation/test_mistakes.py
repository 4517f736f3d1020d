"""A caller's mistake is said in one sentence that helps, before anything is drawn."""

from __future__ import annotations

import re

import pytest

import fairdraw as fd
from fairdraw.constraints.all_of import AllOf
from fairdraw.constraints.choice import Choice
from fairdraw.generation.batch import Request, RequestBatch, generate_many
from fairdraw.generation.loop import generate, start
from fairdraw.generation.scoring import score
from fairdraw.generation.speculation.tree import Candidate, Tree
from generation.speculation.toys import PrefixModel
from generation.toy import saying

PLAN = fd.Plan.parse("fairdraw: max_tokens=3")
MODEL = saying([1], ["x", "a"])
YES = saying([1], ["<end>", "ye", "s", "no"], ends=(0,))
# Of the choice's tokens the plan allows none.
NOTHING = fd.Plan.parse("fairdraw: allowed_token_ids=[3]")


@pytest.mark.parametrize("given", ["lookup", fd.PromptLookup(), fd.Speculation, 4])
def test_what_is_no_speculation_is_refused_with_an_example(given):
    with pytest.raises(fd.ParameterError, match=r"speculation must be a Speculation.*\n.*Speculation\(draft=Prompt"):
        generate(MODEL, [0], PLAN, speculation=given)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("abc", "constraints must be a sequence of at least one constraint, got 'abc'"),
        (3, "constraints must be a sequence"),
        ([], "constraints must be a sequence"),
        ([Choice], "constraints[0] must be a Constraint"),
        ((Choice(("a",)), "b"), "constraints[1] must be a Constraint, got 'b'"),
    ],
)
def test_what_are_no_constraints_cannot_be_meant_at_once(given, said):
    with pytest.raises(fd.ParameterError, match=re.escape(said)):
        AllOf(given)


@pytest.mark.parametrize("stream", ["fairdraw", "candle"])
@pytest.mark.parametrize("given", [Choice, "yes", 3])
def test_a_class_or_a_text_is_no_constraint(given, stream):
    with pytest.raises(fd.ParameterError, match=r"constraint must be a Constraint.*\nhint: for instance .*Choice"):
        start(MODEL, [0], PLAN, constraint=given, stream=stream)


@pytest.mark.parametrize("model", ["smollm2", None, PrefixModel, 5])
def test_what_is_no_model_is_refused_everywhere(model):
    asked = Request(prompt=[0], plan=PLAN)
    beams = fd.Beams(width=2)
    for attempt in (
        lambda: generate(model, [0], PLAN),
        lambda: generate_many(model, [asked]),
        lambda: RequestBatch(model),
        lambda: score(model, [0, 1]),
        lambda: fd.beam_search(model, [0], PLAN, beams),
        lambda: fd.stochastic_beams(model, [0], PLAN, count=2),
    ):
        with pytest.raises(fd.ParameterError, match=r"model must be a loaded model.*\nhint: .*load_model\(.smollm2"):
            attempt()


@pytest.mark.parametrize("requests", [Request(prompt=[0], plan=PLAN), 3])
def test_one_request_stands_in_a_list(requests):
    with pytest.raises(fd.ParameterError, match=r"requests must be a sequence of Request"):
        generate_many(MODEL, requests)


def test_one_named_id_counts_as_a_sequence_of_one():
    assert list(score(MODEL, [0, 1], named=1).named) == [1]


@pytest.mark.parametrize("way", ["match", "accept", "block"])
def test_the_constraint_is_named_where_guesses_stand(way):
    model = PrefixModel(seed=3, vocab=4, ends=(0,))
    # After b the constraint asks for c, which the plan forbids there.
    plan = fd.Plan.parse("fairdraw: bad_words_ids=[[1,2]]")
    asked = fd.Speculation(draft=fd.PromptLookup(), way=way, bound="measured")
    with pytest.raises(fd.LogitsError, match=r"logits after .*, under the constraint choice, must .* got none"):
        generate(model, [1, 1, 1], plan, seed=1, constraint=Choice(("bc",)), speculation=asked)


class Stubborn:
    """A draft that knows no stage and no constraint: always the same token."""

    name = "stubborn"

    def start(self, target):
        return self

    def propose(self, request):
        return Tree(candidates=(Candidate(token=2),), parents=(-1,))


@pytest.mark.parametrize("way", ["match", "accept", "block", "inexact_typical"])
def test_the_constraint_is_named_where_a_guess_is_weighed(way):
    model = PrefixModel(seed=3, vocab=4, ends=(0,))
    plan = fd.Plan.parse("fairdraw: bad_words_ids=[[1,2]]")
    asked = fd.Speculation(draft=Stubborn(), way=way, tokens=1, bound="measured")
    with pytest.raises(fd.LogitsError, match=r"under the constraint choice, must .* got none"):
        generate(model, [1, 1, 1], plan, seed=1, constraint=Choice(("bc",)), speculation=asked, max_tokens=3)


def test_the_constraint_is_named_where_a_draft_meets_the_error():
    model, other = PrefixModel(seed=3, vocab=4, ends=(0,)), PrefixModel(seed=9, vocab=4, ends=(0,))
    plan = fd.Plan.parse("fairdraw: bad_words_ids=[[1,2]]")
    asked = fd.Speculation(draft=fd.ModelDraft(model=other))
    with pytest.raises(fd.LogitsError, match=r"under the constraint choice, must"):
        generate(model, [1, 1, 1], plan, seed=1, constraint=Choice(("bc",)), speculation=asked)


@pytest.mark.parametrize("meaning", ["processed", "raw", "stages_on_logprobs"])
def test_the_constraint_is_named_where_beams_have_no_way_on(meaning):
    with pytest.raises(fd.LogitsError, match=r"logits after .*, under the constraint choice, must .* got none"):
        fd.beam_search(YES, [3], NOTHING, fd.Beams(width=2, scores=meaning), constraint=Choice(("yes",)), max_tokens=3)
    with pytest.raises(fd.LogitsError, match="under the constraint choice"):
        fd.stochastic_beams(YES, [3], NOTHING, count=2, constraint=Choice(("yes",)), max_tokens=3)


def test_a_block_refuses_a_plan_that_remembers_before_the_prompt_is_read():
    plan = fd.Plan.parse("custom: mirostat_2(tau=2.0, eta=0.3) > race()")
    with pytest.raises(fd.ParameterError, match="mirostat_2 remembers each token"):
        start(MODEL, [0], plan, speculation=fd.Speculation(draft=fd.PromptLookup(), way="block"))


@pytest.mark.parametrize("given", [fd.SamplingParams(temperature=0.5), {"temperature": 0.5}])
def test_parameters_are_no_stages_and_the_hint_says_who_reads_them(given):
    with pytest.raises(fd.PlanError, match=r"Plan.of takes stages.*\nhint: Plan.resolve"):
        fd.Plan.of(given)
    with pytest.raises(fd.PlanError, match=r"hint: for instance TopK\(k=40\)"):
        fd.Plan.of("top_k")


def test_a_draft_of_no_layers_is_refused_before_a_model_is_asked():
    with pytest.raises(fd.ParameterError, match="layers must be a whole number >= 1, got 0"):
        fd.FirstLayers(layers=0)
