from __future__ import annotations

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.generation.loop import generate
from fairdraw.generation.speculation.chance import KeyedChance
from fairdraw.generation.speculation.drafts import PromptLookup
from fairdraw.generation.speculation.drafts.base import DraftRequest
from fairdraw.generation.speculation.drafts.heads import HeadsDraft
from fairdraw.generation.speculation.drafts.lookup import continuations
from fairdraw.generation.speculation.drafts.models import ModelDraft
from fairdraw.generation.speculation.picking import CommonNoise, OwnNoise
from fairdraw.generation.speculation.settings import Speculation, read_draft
from fairdraw.generation.speculation.siblings import without
from fairdraw.generation.speculation.tentative import Tentative
from fairdraw.generation.speculation.tree import ROOT
from generation.speculation.toys import PrefixModel

PLAN = fd.Plan.parse("fairdraw: temperature=0.8")
NO_HIDDEN = np.zeros((0, 1), np.float32)


def request(tokens, widths, picker=None):
    text = Tentative(fd.History(prompt=tokens))
    return DraftRequest(text=text, widths=widths, picker=picker, hidden=NO_HIDDEN)


def common(**more):
    return CommonNoise(**{"plan": PLAN, "seed": 3, "sample_index": 0, "laws": False, **more})


def test_lookup_proposes_what_followed_the_longest_and_then_the_latest_match():
    text = [7, 1, 2, 3, 9, 2, 3, 8, 5, 1, 2, 3]
    assert list(continuations(text, longest=3, shortest=1, count=2)) == [[9, 2], [8, 5]]
    tree = PromptLookup().propose(request(text, (1, 1)))
    assert (tree.tokens, tree.parents) == ((9, 2), (ROOT, 0))


def test_lookup_merges_what_followed_into_one_tree():
    text = [1, 2, 5, 1, 2, 6, 1, 2, 5, 7, 1, 2]
    tree = PromptLookup(longest=2).propose(request(text, (2, 2)))
    assert (tree.tokens, tree.parents) == ((5, 7, 6, 1, 1), (ROOT, 0, ROOT, 2, 0))
    narrow = PromptLookup(longest=2).propose(request(text, (2, 1)))
    assert (narrow.tokens, narrow.parents) == ((5, 7, 6, 1), (ROOT, 0, ROOT, 2))


@pytest.mark.parametrize("tokens", [[1], [1, 2, 3], []])
def test_lookup_proposes_nothing_where_nothing_repeats(tokens):
    assert PromptLookup().propose(request(tokens, (1, 1))).tokens == ()


def test_a_model_drafts_what_the_target_would_draw_from_the_drafts_logits():
    model = PrefixModel(seed=4)
    tree = ModelDraft(model=model).start(model).propose(request([1, 2], (1, 1, 1), common()))
    text = [1, 2]
    for token in tree.tokens:
        assert token == fd.sample(PLAN, model.row(text), seed=3, position=len(text)).token
        text.append(token)


def test_siblings_of_a_match_are_the_first_arrivals_of_one_race():
    model = PrefixModel(seed=4)
    tree = ModelDraft(model=model).start(model).propose(request([1, 2], (3, 1), common()))
    first = [tree.candidates[index].token for index in tree.children(ROOT)]
    assert len(set(first)) == 3
    assert first[0] == fd.sample(PLAN, model.row([1, 2]), seed=3, position=2).token
    assert tree.parents == (ROOT, 0, ROOT, 2, ROOT, 4)
    for root in tree.children(ROOT):
        (child,) = tree.children(root)
        expected = fd.sample(PLAN, model.row([1, 2, tree.tokens[root]]), seed=3, position=3).token
        assert tree.tokens[child] == expected


def test_a_candidate_carries_the_law_that_it_was_drawn_from():
    model = PrefixModel(seed=4)
    text = Tentative(fd.History(prompt=[1, 2]))
    law = fd.law(PLAN, model.row([1, 2])).probabilities
    distinct = OwnNoise(plan=PLAN, chance=KeyedChance(seed=1), siblings="distinct").pick(model.row([1, 2]), text, 3)
    tokens = [candidate.token for candidate in distinct]
    for index, candidate in enumerate(distinct):
        expected = without(law, np.array(tokens[:index])) if index else law
        np.testing.assert_array_equal(candidate.law, expected)
    independent = OwnNoise(plan=PLAN, chance=KeyedChance(seed=1), siblings="independent")
    for candidate in independent.pick(model.row([1, 2]), text, 3):
        np.testing.assert_array_equal(candidate.law, law)


def test_no_more_distinct_siblings_are_drawn_than_there_are_tokens():
    plan = fd.Plan.parse("fairdraw: top_k=2")
    text = Tentative(fd.History(prompt=[1]))
    row = [3.0, 2.0, 1.0, 0.0]
    own = OwnNoise(plan=plan, chance=KeyedChance(seed=1), siblings="distinct").pick(row, text, 4)
    assert sorted(candidate.token for candidate in own) == [0, 1]
    assert sorted(candidate.token for candidate in common(plan=plan).pick(row, text, 4)) == [0, 1]


def test_a_drafting_session_goes_back_to_what_the_text_has():
    model = PrefixModel(seed=4)
    drafter = ModelDraft(model=model).start(model)
    drafter.propose(request([1, 2, 3], (2, 2), common()))
    expected = ModelDraft(model=model).start(model).propose(request([1, 2, 9, 9], (2, 2), common()))
    again = drafter.propose(request([1, 2, 9, 9], (2, 2), common()))
    assert again == expected


def test_a_draft_model_proposes_nothing_where_its_context_is_full():
    small = PrefixModel(seed=4, context_length=4)
    tree = ModelDraft(model=small).start(small).propose(request([1, 2, 3], (1, 1, 1), common()))
    assert tree.tokens == ()
    assert len(ModelDraft(model=small).start(small).propose(request([1, 2, 3], (1, 1), common())).tokens) == 2


def test_what_is_tried_leaves_history_and_constraint_as_they_were():
    history = fd.History(prompt=[1], output=[2])
    text = Tentative(history)

    def fail():
        with text.after(3), text.after(4):
            assert text.tokens == (1, 2, 3, 4)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert (text.tokens, len(history)) == ((1, 2), 2)


class ToyHeads:
    """Heads that read the model itself, and record what they were told; like EAGLE they use the tokens ahead."""

    name, reach = "toy", 2

    def __init__(self):
        self.told = []

    def start(self):
        self.told.clear()
        return self

    def read(self, tokens, hidden):
        self.told.append((tuple(tokens), hidden[:, 0].astype(int).tolist()))

    def row(self, ahead):
        return PrefixModel().row([*self.told[-1][0], *ahead])


@pytest.mark.parametrize("way", ["match", "accept"])
def test_heads_hear_every_token_that_the_target_kept_once_and_propose_as_far_as_they_see(way):
    heads = ToyHeads()
    setting = Speculation(draft=HeadsDraft(heads=heads), tokens=4, widths=(2,), way=way)
    plan = fd.Plan.parse("fairdraw: temperature=0.8 max_tokens=20")
    done = generate(PrefixModel(), [1, 2, 3], plan, seed=5, speculation=setting)
    assert done.speculated.acceptance == 1.0
    kept = [token for _, hidden in heads.told for token in hidden]
    text = [*done.prompt_tokens, *done.tokens]
    assert kept == text[: len(kept)]
    assert all(tokens == tuple(text[: len(tokens)]) for tokens, _ in heads.told)
    # The bound is not known where two drawn candidates stand.
    assert done.speculated.bound is None
    if way == "match":
        assert done.tokens == generate(PrefixModel(), [1, 2, 3], plan, seed=5).tokens


@pytest.mark.parametrize("text", ["lookups", "lookup:x", "layers", "layers:", "", "lookup:0"])
def test_a_draft_that_is_none_is_refused(text):
    with pytest.raises(fd.ParameterError):
        read_draft(text)
