"""Arrivals of one race are samples without replacement, in order, with their logprobs."""

import itertools
import math

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.verify.statistics import g_test

PLAN = fd.Plan.parse("fairdraw: temperature=0.7 top_k=4")
ROW = [1.0, 0.2, 2.0, 0.5, -1.0, 0.1]


def test_the_first_arrival_is_the_drawn_token_and_more_change_nothing():
    for position in range(50):
        arrived = fd.arrivals(PLAN, ROW, n=4, seed=3, position=position)
        assert arrived.tokens[0] == fd.sample(PLAN, ROW, seed=3, position=position).token
        assert fd.arrivals(PLAN, ROW, n=2, seed=3, position=position).tokens.tolist() == arrived.tokens[:2].tolist()
        assert sorted(arrived.tokens) == [0, 1, 2, 3]
        assert (np.diff(arrived.scores) <= 0).all()


def test_a_token_that_is_forbidden_leaves_the_order_of_the_others():
    plan = fd.Plan.parse("fairdraw: temperature=0.7")
    arrived = fd.arrivals(plan, ROW, n=6, seed=3, position=1).tokens.tolist()
    mask = [i != arrived[0] for i in range(6)]
    assert fd.sample(plan, ROW, seed=3, position=1, mask=mask).token == arrived[1]


def test_the_conditional_logprobs_are_those_of_drawing_without_replacement():
    law = fd.law(PLAN, ROW).probabilities
    arrived = fd.arrivals(PLAN, ROW, n=4, seed=3, position=7)
    left = 1.0
    for token, logprob, conditional in zip(arrived.tokens, arrived.logprobs, arrived.conditional_logprobs, strict=True):
        assert logprob == pytest.approx(math.log(law[token]), abs=1e-6)
        assert conditional == pytest.approx(math.log(law[token] / left), abs=1e-5)
        left -= law[token]


def test_a_rest_too_small_for_integers_still_has_its_logprobs():
    plan = fd.Plan.parse("fairdraw: temperature=1.0")
    arrived = fd.arrivals(plan, [0.0, -50.0, -51.0, -60.0], n=4, seed=1, position=0)
    expected = dict(zip(arrived.tokens.tolist(), arrived.conditional_logprobs, strict=True))
    assert expected[0] == pytest.approx(0.0, abs=1e-9)
    assert expected[1] == pytest.approx(math.log(1 / (1 + math.exp(-1) + math.exp(-10))), abs=1e-9)
    assert expected[3] == pytest.approx(0.0, abs=1e-9)


def test_ordered_pairs_have_the_law_of_draws_without_replacement():
    # One G-test of 12 pairs at a false-alarm level of 1e-8.
    law = fd.law(PLAN, ROW).probabilities
    pairs = list(itertools.permutations(range(4), 2))
    counts = dict.fromkeys(pairs, 0)
    for position in range(3_000):
        counts[tuple(fd.arrivals(PLAN, ROW, n=2, seed=11, position=position).tokens.tolist())] += 1
    expected = np.array([law[a] * law[b] / (1 - law[a]) for a, b in pairs])
    result = g_test(np.array([counts[pair] for pair in pairs]), expected)
    assert result.p_value > 1e-8


@pytest.mark.parametrize("text", ["fairdraw: temperature=0", "custom: inverse_cdf()"])
def test_only_a_race_has_arrivals(text):
    with pytest.raises(fd.PlanError, match="race"):
        fd.arrivals(fd.Plan.parse(text), ROW, n=2, seed=0, position=0)


def test_at_least_one_is_asked_for():
    with pytest.raises(fd.ParameterError, match="n"):
        fd.arrivals(PLAN, ROW, n=0, seed=0, position=0)
