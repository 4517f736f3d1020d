"""Statistical tests: one of four at a false-alarm level of 1e-8 each, seeds 0, 1, 2, ..."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

import fairdraw as fd
from fairdraw.constraints.choice import Choice
from fairdraw.generation.loop import generate
from fairdraw.generation.stochastic_beams import Arrival, arrive, stochastic_beams
from fairdraw.models.scripted import ScriptedModel

PLAIN = fd.Plan.of()
LEVEL = 1e-8
DRAWS = 1500
LAWS = {
    (): [0.2, 0.5, 0.3],
    (1,): [0.5, 0.3, 0.2],
    (2,): [0.1, 0.1, 0.8],
    (1, 1): [0.3, 0.3, 0.4],
    (1, 2): [0.6, 0.2, 0.2],
    (2, 1): [0.4, 0.3, 0.3],
    (2, 2): [0.3, 0.5, 0.2],
}
"""Token 0 ends; at most three tokens: fifteen texts."""
SMALL = ScriptedModel(law=lambda tokens: np.log(LAWS[tokens[1:]]), texts=(b"", b"a", b"b"), ends=(0,))


def every_text() -> dict[tuple[int, ...], float]:
    texts: dict[tuple[int, ...], float] = {}
    for before, law in LAWS.items():
        chance = math.prod(LAWS[before[:i]][token] for i, token in enumerate(before))
        for token, share in enumerate(law):
            if token == 0 or len(before) == 2:
                texts[(*before, token)] = chance * share
    return texts


TEXTS = every_text()


@pytest.fixture(scope="module")
def drawn() -> list[fd.BeamTexts]:
    return [stochastic_beams(SMALL, [0], PLAIN, count=3, seed=seed, max_tokens=3) for seed in range(DRAWS)]


def fits(observed: dict, expected: dict) -> float:
    """P value of a G-test; outcomes expected fewer than six times are counted together."""
    assert set(observed) <= set(expected)
    pooled = [[0.0, 0.0]]
    for outcome, chance in expected.items():
        cell = [observed.get(outcome, 0), chance * DRAWS]
        if cell[1] >= 6:
            pooled.append(cell)
        else:
            pooled[0] = [a + b for a, b in zip(pooled[0], cell, strict=True)]
    counts, means = np.array([cell for cell in pooled if cell[1] > 0]).T
    assert counts.size > 40
    terms = counts[counts > 0] * np.log(counts[counts > 0] / means[counts > 0])
    return float(stats.chi2.sf(2 * terms.sum(), counts.size - 1))


def test_the_fifteen_texts_have_probability_one():
    assert len(TEXTS) == 15
    assert math.fsum(TEXTS.values()) == pytest.approx(1)


def test_the_first_two_are_draws_without_replacement(drawn):
    observed: dict = {}
    for one in drawn:
        pair = tuple(text.tokens for text in one.texts[:2])
        observed[pair] = observed.get(pair, 0) + 1
    expected = {(a, b): TEXTS[a] * TEXTS[b] / (1 - TEXTS[a]) for a, b in permutations(TEXTS, 2)}
    assert fits(observed, expected) > LEVEL


def test_the_third_comes_from_what_the_first_two_left(drawn):
    observed: dict = {}
    for one in drawn:
        triple = (frozenset(text.tokens for text in one.texts[:2]), one.texts[2].tokens)
        observed[triple] = observed.get(triple, 0) + 1
    expected: dict = {}
    for a, b, c in permutations(TEXTS, 3):
        chance = TEXTS[a] * TEXTS[b] / (1 - TEXTS[a]) * TEXTS[c] / (1 - TEXTS[a] - TEXTS[b])
        expected[frozenset((a, b)), c] = expected.get((frozenset((a, b)), c), 0) + chance
    assert fits(observed, expected) > LEVEL


@pytest.mark.parametrize("place", [0, 1])
def test_times_are_those_of_a_race_of_all_texts(drawn, place):
    """The first arrives at an Exp(1) time, the next so much later as the rest of the probability makes it."""
    waits = []
    for one in drawn:
        times, chances = np.exp([-text.score for text in one.texts]), [TEXTS[text.tokens] for text in one.texts]
        waits.append(times[0] if place == 0 else (times[1] - times[0]) * (1 - chances[0]))
    assert stats.kstest(waits, "expon").pvalue > LEVEL


def test_each_text_comes_with_its_own_logprob_and_the_earliest_first(drawn):
    for one in drawn[:200]:
        assert [math.exp(text.logprob) for text in one.texts] == pytest.approx([TEXTS[t.tokens] for t in one.texts])
        scores = [text.score for text in one.texts]
        assert scores == sorted(scores, reverse=True)
        assert len({text.tokens for text in one.texts}) == 3


def test_with_room_for_all_every_text_comes_once():
    found = stochastic_beams(SMALL, [0], PLAIN, count=20, seed=7, max_tokens=3)
    assert sorted(text.tokens for text in found.texts) == sorted(TEXTS)


def test_more_texts_never_change_the_earlier_ones():
    for seed in range(30):
        four, nine = (
            [(t.tokens, t.score) for t in stochastic_beams(SMALL, [0], PLAIN, count=n, seed=seed, max_tokens=3).texts]
            for n in (4, 9)
        )
        assert nine[:4] == four


def long_tailed(tokens: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(tokens).normal(size=32768).astype(np.float32) * 3


LONG = ScriptedModel(law=long_tailed, texts=(b"",) + (b"x",) * 32767, ends=(0,))


def test_the_first_text_is_the_one_that_generate_writes():
    plan = fd.Plan.parse("fairdraw: temperature=0.9 top_p=0.95 repetition_penalty=1.3")
    for model, most in ((SMALL, 3), (LONG, 6)):
        for seed in range(4):
            for index in (0, 5):
                alone = generate(model, [0], plan, seed=seed, sample_index=index, max_tokens=most)
                found = stochastic_beams(model, [0], plan, count=3, seed=seed, sample_index=index, max_tokens=most)
                assert (found.texts[0].tokens, found.texts[0].finish_reason) == (alone.tokens, alone.finish_reason)


def test_texts_of_one_token_are_arrivals():
    plan = fd.Plan.parse("fairdraw: temperature=0.9 min_p=0.001")
    for seed in range(5):
        arrived = fd.arrivals(plan, long_tailed((3, 4)), n=6, seed=seed, position=2, history=fd.History(prompt=[3, 4]))
        found = stochastic_beams(LONG, [3, 4], plan, count=6, seed=seed, max_tokens=1).texts
        assert [text.tokens for text in found] == [(token,) for token in arrived.tokens.tolist()]
        assert [text.logprob for text in found] == pytest.approx(arrived.logprobs.tolist(), abs=1e-6)
        differences = np.diff([text.score for text in found]) / math.log(2)
        assert differences == pytest.approx(np.diff(arrived.scores), abs=1e-9)


def test_a_follower_has_its_own_wait_after_the_time_of_its_beginning():
    """The beginning, 1/4 likely, arrived at 2: tau 1/2.  Waits 0.4 and 0.6: 0.2 later in its own time, 0.8 in all."""
    before = Arrival(logprob=math.log(0.25), scaled=0.5, score=-math.log(2.0))
    after = arrive(before, np.array([1, 0]), np.log([0.5, 0.5]), np.array([0.2, 0.3]))
    assert np.exp(-after.scores) == pytest.approx([2.0, 2.8])
    assert after.scaled == pytest.approx([0.25, 0.35])
    assert np.exp(after.logprobs) == pytest.approx([0.125, 0.125])


def test_a_text_whose_probability_is_no_float_still_races():
    """400 tokens, each with probability 1/8: 2^-1200."""
    model = ScriptedModel(law=lambda tokens: [0.0] * 8, texts=(b"x",) * 8)
    found = stochastic_beams(model, [0], PLAIN, count=2, seed=1, max_tokens=400).texts
    assert [text.logprob for text in found] == pytest.approx([-400 * math.log(8)] * 2)
    assert math.isfinite(found[1].score)
    assert found[0].score >= found[1].score
    (begun,) = stochastic_beams(model, [0], PLAIN, count=1, seed=1, max_tokens=1).texts
    assert found[0].score == begun.score


def test_under_a_constraint_the_texts_that_it_allows_come_once_each():
    texts = (b"<end>", b"ye", b"s", b"no", b"ne", b"zzz")
    model = ScriptedModel(law=lambda tokens: [0.0, 1.0, 0.0, 2.0, -3.0, 9.0], texts=texts, ends=(0,))
    plan, choice = fd.Plan.parse("fairdraw: temperature=1"), Choice(("yes", "none", "no"))
    for seed in range(10):
        found = stochastic_beams(model, [5], plan, count=4, seed=seed, max_tokens=4, constraint=choice)
        assert sorted(text.text for text in found.texts) == ["no", "none", "yes"]
        assert found.texts[0].text == generate(model, [5], plan, seed=seed, constraint=choice).text


def test_the_seed_is_recorded_and_draws_the_same_again():
    first = stochastic_beams(SMALL, [0], PLAIN, count=3, max_tokens=3)
    assert stochastic_beams(SMALL, [0], PLAIN, count=3, seed=first.seed, max_tokens=3) == first


def test_where_all_beginnings_are_dead_ends_the_error_says_why():
    plan = fd.Plan.resolve({"bad_words_ids": [[a, b] for a in (1, 2) for b in (0, 1, 2)], "allowed_token_ids": [1, 2]})
    with pytest.raises(fd.LogitsError, match="1 tokens into the output"):
        stochastic_beams(SMALL, [0], plan, count=3, seed=1, max_tokens=3)


def test_only_a_race_has_a_second_arrival():
    with pytest.raises(fd.PlanError, match="draws by race, got greedy"):
        stochastic_beams(SMALL, [0], fd.Plan.parse("fairdraw: temperature=0"), count=2, seed=1, max_tokens=3)


@pytest.mark.parametrize(("change", "name"), [({"count": 0}, "count"), ({"seed": -1}, "seed")])
def test_numbers_out_of_range_are_refused(change, name):
    with pytest.raises(fd.ParameterError, match=f"{name} must be"):
        stochastic_beams(SMALL, [0], PLAIN, **({"count": 2, "seed": 1, "max_tokens": 2} | change))
