"""What holds for every stage with a memory, and who carries it."""

import json

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels.shapes import recognise
from fairdraw.one_token import remember
from fairdraw.stages import STAGES, AdaptiveP, Mirostat2, StatefulStage, TopK, TopPDecay, Xtc
from stages.one_stage import SIX

STATEFUL = [
    AdaptiveP(target=0.3),
    Mirostat2(tau=1.0, eta=2.0),
    STAGES["mirostat_1"](tau=1.0, eta=2.0),
    TopPDecay(p=0.9, decay=0.8, lowest=0.2, reset_id=1),
]
of_all = pytest.mark.parametrize("stage", STATEFUL, ids=lambda stage: stage.name)


def test_every_stateful_stage_is_tested_here():
    assert {stage.name for stage in STATEFUL} == {n for n, s in STAGES.items() if issubclass(s, StatefulStage)}


def chain(plan, length: int, **given):
    """Tokens and memories of a text on one row."""
    history, memory, tokens, memories = fd.History(prompt=[3]), None, [], []
    for _ in range(length):
        drawn = fd.sample(plan, SIX, seed=9, position=len(history), history=history, memory=memory, **given)
        history.append(drawn.token)
        memory = drawn.memory
        tokens.append(drawn.token)
        memories.append(memory)
    return tokens, memories


@of_all
def test_the_memory_is_plain_data_and_changes_what_is_drawn_from(stage):
    plan = fd.Plan.of(stage)
    _, memories = chain(plan, 12)
    assert json.loads(json.dumps(memories[-1]))
    assert fd.law(plan, SIX, memory={}).total_variation(fd.law(plan, SIX, memory=memories[-1])) > 0


@of_all
def test_the_first_token_starts_without_a_memory_and_later_ones_must_have_theirs(stage):
    plan, begun = fd.Plan.of(stage), fd.History(prompt=[1], output=[2])
    assert fd.law(plan, SIX).probabilities.tolist() == fd.law(plan, SIX, memory={}).probabilities.tolist()
    for call in (
        lambda: fd.law(plan, SIX, history=begun),
        lambda: fd.sample(plan, SIX, seed=1, position=2, history=begun),
    ):
        with pytest.raises(fd.ParameterError, match=f"memory must be what {stage.name} remembers"):
            call()
    assert fd.law(plan, SIX, history=begun, memory={}).support.size


@of_all
def test_no_kernel_reads_it(stage):
    assert recognise(fd.Plan.of(stage)) is None
    assert recognise(fd.Plan.of(TopK(k=3), stage)) is None


@of_all
def test_a_memory_after_a_token_that_another_chose_is_what_the_draw_would_have_made(stage):
    plan = fd.Plan.of(stage)
    for position in range(5):
        drawn = fd.sample(plan, SIX, seed=2, position=position)
        assert remember(plan, SIX, drawn.token, seed=2, position=position) == drawn.memory


def test_a_memory_of_another_stage_or_for_a_plan_without_one_is_refused():
    with pytest.raises(fd.ParameterError, match="memory must be a mapping with the names mirostat_2"):
        fd.law(fd.Plan.of(Mirostat2()), SIX, memory={"adaptive_p": (0.0, 0.0)})
    with pytest.raises(fd.ParameterError, match="memory must be None for a plan without stateful stages"):
        fd.sample(fd.Plan.of(TopK(k=2)), SIX, seed=1, position=0, memory={"mirostat_2": 2.0})
    assert fd.sample(fd.Plan.of(TopK(k=2)), SIX, seed=1, position=0, memory={}).memory == {}


def test_two_of_one_name_would_share_a_memory_and_are_refused():
    with pytest.raises(fd.PlanError, match="one mirostat_2 at most"):
        fd.Plan.of(Mirostat2(tau=1.0), Mirostat2(tau=2.0))
    two = fd.Plan.of(Mirostat2(tau=1.0)).to_json()
    with pytest.raises(fd.PlanError, match="one mirostat_2 at most"):
        fd.Plan.from_json(two | {"stages": two["stages"] * 2})


def test_a_coin_before_it_is_the_one_of_the_draw():
    """XTC takes the best token away half of the time; the surprise is that among what was left."""
    plan = fd.Plan.of(Xtc(probability=0.5, threshold=0.2), Mirostat2(tau=2.0))
    seen = set()
    for position in range(30):
        drawn = fd.sample(plan, SIX, seed=4, position=position)
        kept = drawn.support.tolist()
        seen.add(0 in kept)
        expected = 4.0 - 0.1 * (-drawn.logprob / np.log(2) - 2.0)
        assert drawn.memory["mirostat_2"] == pytest.approx(expected, abs=1e-6)
    assert seen == {True, False}


def test_a_batch_carries_a_memory_a_row():
    plan = fd.Plan.of(Mirostat2(tau=1.0))
    first = fd.sample_batch(plan, [SIX, SIX], seeds=[1, 2], positions=0)
    histories = [fd.History(prompt=[], output=[int(token)]) for token in first.tokens]
    second = fd.sample_batch(plan, [SIX, SIX], seeds=[1, 2], positions=1, histories=histories, memories=first.memories)
    for row in range(2):
        alone = fd.sample(plan, SIX, seed=row + 1, position=1, history=histories[row], memory=first.memories[row])
        assert (second.tokens[row], second.memories[row]) == (alone.token, alone.memory)
    late = fd.sample_batch(plan, [SIX], seeds=1, positions=1, histories=histories[:1], on_error="return")
    assert "memory" in late.status[0]


def test_top_p_decay_falls_to_its_floor_and_starts_again_after_the_reset_id():
    stage = STATEFUL[-1]
    context_free = [remember(fd.Plan.of(stage), SIX, token, seed=1, position=0)["top_p_decay"] for token in (0, 1)]
    assert context_free == pytest.approx([0.72, 0.9])
    low = remember(fd.Plan.of(stage), SIX, 0, seed=1, position=0, memory={"top_p_decay": 0.21})
    assert low == {"top_p_decay": 0.2}


def test_adaptive_p_asks_for_less_after_likely_tokens():
    """Target 0.3 after an average of 0.5 is 0.1; d = |p - 0.1| / 0.3."""
    plan = fd.Plan.of(AdaptiveP(target=0.3))
    weights = fd.law(plan, np.log([0.7, 0.2, 0.1]), memory={"adaptive_p": (1.0, 2.0)})
    d = np.abs(np.array([0.7, 0.2, 0.1]) - 0.1) / 0.3
    expected = np.exp(5 - 10 * d**2 / (1 + d))
    assert np.allclose(weights.probabilities, expected / expected.sum(), atol=1e-6)
