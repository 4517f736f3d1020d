"""The loop over models: match is the text alone, bit for bit; the other ways have its law, summed over every run."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.generation.loop import generate, start
from fairdraw.generation.speculation import starting
from fairdraw.generation.speculation.chance import KeyedChance
from fairdraw.generation.speculation.drafts import FirstLayers, PromptLookup
from fairdraw.generation.speculation.drafts.models import ModelDraft
from fairdraw.generation.speculation.settings import Speculation
from fairdraw.streams.noise import Purpose
from generation.speculation.scripted import every_run
from generation.speculation.toys import PrefixModel
from generation.toy import saying

PLANS = {
    "plain": "fairdraw: temperature=1.0",
    "every stage": "fairdraw: temperature=0.9 top_k=9 top_p=0.95 min_p=0.02 repetition_penalty=1.3 "
    'presence_penalty=0.4 frequency_penalty=0.2 logit_bias={"3":1.5,"4":-2.0} bad_words_ids=[[5,6],[7]]',
    "greedy": "fairdraw: temperature=0",
    "stateful": "custom: mirostat_2(tau=2.0, eta=0.3) > race()",
}
DRAFTS = {
    "lookup": PromptLookup(),
    "another": ModelDraft(model=PrefixModel(seed=9)),
    "itself": ModelDraft(model=PrefixModel(seed=0)),
}


def text(plan, speculation=None, **more):
    more = {"seed": 5, "max_tokens": 60, **more}
    return generate(PrefixModel(ends=(0,)), [1, 2, 3, 1, 2], plan, speculation=speculation, **more)


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("draft", DRAFTS)
@pytest.mark.parametrize("widths", [(), (2, 2), (3,)])
def test_in_the_way_match_a_text_is_the_one_without_speculation(plan, draft, widths):
    chosen = fd.Plan.parse(PLANS[plan])
    for seed in range(4):
        alone = text(chosen, seed=seed)
        ahead = text(chosen, Speculation(draft=DRAFTS[draft], widths=widths), seed=seed)
        assert ahead.tokens == alone.tokens
        assert (ahead.text, ahead.finish_reason, ahead.text_offsets) == (
            alone.text,
            alone.finish_reason,
            alone.text_offsets,
        )
        assert ahead.stream == "fairdraw"


def test_a_draft_that_is_the_target_is_always_right_in_the_way_match():
    done = text(fd.Plan.parse(PLANS["every stage"]), Speculation(draft=DRAFTS["itself"], bound="measured"))
    counts = done.speculated
    assert counts.accepted == counts.reached
    assert counts.acceptance == 1.0
    assert counts.bound == pytest.approx(1.0, abs=1e-12)
    assert counts.target_steps == 1 + math.ceil((counts.tokens - 1) / 5)
    assert counts.steps_saved == counts.tokens - counts.target_steps


def test_match_draws_an_engines_own_tokens_too():
    plan = fd.Plan.parse("transformers: do_sample=true temperature=0.8 top_k=0")
    alone = text(plan, stream="transformers")
    ahead = text(plan, Speculation(draft=DRAFTS["itself"]), stream="transformers")
    assert ahead.tokens == alone.tokens
    with pytest.raises(fd.ParameterError, match="must be match for transformers's own tokens"):
        text(plan, Speculation(draft=DRAFTS["itself"], way="accept"), stream="transformers")


@pytest.mark.parametrize("way", ["accept", "block"])
def test_a_draft_that_is_the_target_is_always_accepted(way):
    done = text(fd.Plan.parse(PLANS["every stage"]), Speculation(draft=DRAFTS["itself"], way=way))
    assert done.speculated.acceptance == 1.0
    assert done.stream == f"fairdraw {way}"


def joint_of_the_loop(plan, speculation, monkeypatch, length=3, **model):
    """The law of the whole text over every run of the loop."""
    law = Counter()
    begin = starting.begin
    for tokens, probability in every_run(
        lambda chance: run(plan, speculation, chance, monkeypatch, begin, length, model)
    ):
        law[tokens] += probability
    return law


def run(plan, speculation, chance, monkeypatch, begin, length, model):
    monkeypatch.setattr("fairdraw.generation.loop.begin", lambda *a, **k: begin(*a, **k, chance=chance))
    made = PrefixModel(vocab=3, **model)
    return generate(made, [0, 1], plan, seed=0, max_tokens=length, speculation=speculation).tokens


def joint_alone(plan, length=3, ends=()):
    model, law = PrefixModel(vocab=3, ends=ends), Counter()

    def go_on(tokens, probability):
        if len(tokens) == length or (tokens and tokens[-1] in ends):
            law[tokens] += probability
            return
        history = fd.History(prompt=[0, 1], output=tokens)
        row = fd.law(plan, model.row([0, 1, *tokens]), history=history).probabilities
        for token in np.flatnonzero(row):
            go_on((*tokens, int(token)), probability * row[token])

    go_on((), 1.0)
    return law


ANOTHER = ModelDraft(model=PrefixModel(seed=9, vocab=3, sharpness=2.0))
SETTINGS = {
    "accept": Speculation(draft=ANOTHER, way="accept", tokens=2),
    "block": Speculation(draft=ANOTHER, way="block", tokens=2),
    "distinct siblings": Speculation(draft=ANOTHER, way="accept", tokens=1, widths=(2,)),
    "independent siblings": Speculation(draft=ANOTHER, way="accept", tokens=1, widths=(2,), siblings="independent"),
    "lookup": Speculation(draft=PromptLookup(), way="accept", tokens=2),
    "lookup in a block": Speculation(draft=PromptLookup(), way="block", tokens=2),
}


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(("plan", "ends"), [("temperature=1", ()), ("repetition_penalty=1.5 top_p=0.9", (2,))])
def test_the_text_of_the_loop_has_the_targets_law(setting, plan, ends, monkeypatch):
    chosen = fd.Plan.parse(f"fairdraw: {plan}")
    law = joint_of_the_loop(chosen, SETTINGS[setting], monkeypatch, ends=ends)
    exact = joint_alone(chosen, ends=ends)
    assert sum(abs(law[key] - exact[key]) for key in law | exact) / 2 <= 1e-12


def test_typical_acceptance_has_another_law_and_says_so(monkeypatch):
    plan = fd.Plan.parse("fairdraw: temperature=1")
    law = joint_of_the_loop(plan, Speculation(draft=ANOTHER, way="inexact_typical", tokens=2), monkeypatch)
    exact = joint_alone(plan)
    assert sum(abs(law[key] - exact[key]) for key in law | exact) / 2 > 0.05


@pytest.mark.parametrize("way", ["accept", "block"])
def test_drafts_that_ignore_the_penalties_still_give_the_targets_law_and_forgetting_the_history_does_not(
    way, monkeypatch
):
    plan = fd.Plan.parse("fairdraw: repetition_penalty=3.0")
    setting = Speculation(draft=PromptLookup(shortest=1), way=way, tokens=2)
    exact = joint_alone(plan)
    monkeypatch.setattr(
        "fairdraw.generation.speculation.verifying.law_at",
        lambda plan, logits, text: fd.law(plan, logits, history=fd.History(prompt=[0, 1])).probabilities,
    )
    law = joint_of_the_loop(plan, setting, monkeypatch)
    assert sum(abs(law[key] - exact[key]) for key in law | exact) / 2 > 0.01


def test_the_target_is_asked_for_guesses_and_forgets_the_wrong_ones():
    model = PrefixModel(ends=(0,))
    plan = fd.Plan.parse("fairdraw: temperature=1.0 max_tokens=20")
    done = generate(model, [1, 2, 3, 1, 2], plan, seed=5, speculation=Speculation(draft=PromptLookup()))
    assert model.fed[0] == (1, 2, 3, 1, 2)
    assert len(model.fed) == done.speculated.target_steps
    assert sum(len(fed) for fed in model.fed[1:]) == done.speculated.proposed + len(model.fed) - 1


def test_nothing_is_guessed_beyond_the_last_token_an_end_or_the_context():
    model = PrefixModel(context_length=9)
    plan = fd.Plan.parse("fairdraw: temperature=1.0")
    itself = Speculation(draft=ModelDraft(model=PrefixModel()), tokens=8)
    done = generate(model, [1, 2, 3], plan, seed=5, speculation=itself)
    assert len(done.tokens) == 6
    assert sum(map(len, model.fed)) <= 9
    capped = PrefixModel()
    generate(capped, [1, 2, 3], plan, seed=5, max_tokens=4, speculation=itself)
    assert [len(fed) for fed in capped.fed] == [3, 3]


def test_a_tree_that_does_not_fit_the_context_is_not_looked_at():
    plan = fd.Plan.parse("fairdraw: temperature=1.0")
    for context in range(5, 22):
        texts = [
            generate(PrefixModel(context_length=context), [1, 2, 3], plan, seed=5, speculation=speculation).tokens
            for speculation in (None, Speculation(draft=DRAFTS["itself"], tokens=3, widths=(2, 2, 2)))
        ]
        assert len(texts[0]) == context - 3
        assert texts[0] == texts[1]


def test_nothing_is_guessed_after_a_token_that_ends_the_text():
    ends, plan = (0, 1, 2, 3), fd.Plan.parse("fairdraw: temperature=1.0")
    guessed = []
    for seed in range(20):
        model = PrefixModel(ends=ends[:2])
        stopped = fd.Plan.resolve({"stop_token_ids": [2, 3]}) if seed % 2 else plan
        itself = Speculation(draft=ModelDraft(model=PrefixModel()), tokens=6)
        generate(model, [4, 5, 6], stopped, seed=seed, max_tokens=30, speculation=itself)
        wanted = ends if seed % 2 else ends[:2]
        guessed += [fed for fed in model.fed[1:] if set(wanted) & set(fed)]
        assert all(not set(wanted) & set(fed[:-1]) for fed in model.fed[1:])
    assert len(guessed) > 5


class Recording(KeyedChance):
    """Keyed noise that counts what it is asked for."""

    def __init__(self):
        super().__init__(seed=5)
        self.asked = Counter()

    def tokens(self, weights, count, *, purpose, position):
        self.asked[purpose] += count
        return super().tokens(weights, count, purpose=purpose, position=position)


@pytest.mark.parametrize("way", ["accept", "block"])
def test_draft_residual_and_bonus_use_noise_of_their_own(way, monkeypatch):
    begin, chance = starting.begin, Recording()
    monkeypatch.setattr("fairdraw.generation.loop.begin", lambda *a, **k: begin(*a, **k, chance=chance))
    # The last look ahead is 4 tokens before the end, so that none is cut off.
    done = text(
        fd.Plan.parse("fairdraw: ignore_eos=true"), Speculation(draft=DRAFTS["another"], way=way), max_tokens=40
    )
    counts, asked = done.speculated, chance.asked
    assert asked[Purpose.DRAFT] == counts.proposed
    assert asked[Purpose.RESIDUAL] == counts.reached - counts.accepted > 5
    assert asked[Purpose.BONUS] >= 1
    assert asked[Purpose.BONUS] + asked[Purpose.RESIDUAL] in (counts.target_steps, counts.target_steps - 1)
    assert set(asked) == {Purpose.DRAFT, Purpose.RESIDUAL, Purpose.BONUS}


def test_equal_siblings_are_drafted_from_the_same_place():
    setting = Speculation(draft=ModelDraft(model=PrefixModel(seed=9)), way="accept", widths=(4, 3), tokens=3, siblings="independent")  # fmt: skip  # noqa: E501
    done = text(fd.Plan.parse("fairdraw: temperature=0.3"), setting)
    assert done.speculated.accepted > 0


def test_a_model_that_cannot_look_ahead_is_refused_with_a_hint():
    with pytest.raises(fd.ParameterError, match="cannot look ahead"):
        generate(
            saying([1], ["x", "a"]),
            [0],
            fd.Plan.parse("fairdraw:"),
            seed=1,
            speculation=Speculation(draft=PromptLookup()),
        )


def test_a_draft_with_other_tokens_is_refused():
    draft = ModelDraft(model=PrefixModel(vocab=5))
    with pytest.raises(fd.ParameterError, match=r"draft\.vocab_size must be 12, the target's, got 5"):
        text(fd.Plan.parse("fairdraw:"), Speculation(draft=draft))
    with pytest.raises(fd.ParameterError, match="draft must be one that prefix has"):
        text(fd.Plan.parse("fairdraw:"), Speculation(draft=FirstLayers(layers=2)))


def test_a_block_refuses_a_plan_that_remembers():
    with pytest.raises(fd.ParameterError, match="must be match or accept for this plan"):
        text(fd.Plan.parse(PLANS["stateful"]), Speculation(draft=PromptLookup(), way="block"))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"tokens": 0}, "speculation.tokens must be"),
        ({"way": "guess"}, "speculation.way must be"),
        ({"widths": (0,)}, "speculation.widths must be"),
        ({"widths": (1,) * 9}, "speculation.widths must be"),
        ({"widths": (2,), "way": "block"}, "a block is a chain"),
        ({"draft": "lookup"}, "speculation.draft must be a draft"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting, message):
    with pytest.raises(fd.ParameterError, match=message):
        Speculation(**{"draft": PromptLookup(), **setting})


def test_streamed_text_is_never_taken_back_and_the_record_is_plain_json():
    plan = fd.Plan.parse("fairdraw: temperature=1.0 max_tokens=30")
    generation = start(PrefixModel(), [1, 2, 3], plan, seed=5, speculation=Speculation(draft=DRAFTS["another"]))
    pieces = [step.text for step in generation]
    done = generation.completion()
    assert "".join(pieces) == done.text
    assert json.loads(json.dumps(done.to_json()))["speculated"]["draft"] == "model:prefix"


@pytest.mark.parametrize("plan", ["every stage", "stateful"])
def test_a_record_of_the_way_match_is_drawn_again_without_speculation(plan):
    done = text(fd.Plan.parse(PLANS[plan]), Speculation(draft=DRAFTS["another"], widths=(2,)))
    redrawn = fd.redraw(json.loads(json.dumps(done.to_json())), model=PrefixModel(ends=(0,)))
    assert redrawn.differences == ()
    assert redrawn.steps == len(done.tokens)
