"""What a drawn token says of itself, against hand-checked numbers and against the law."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.drawn import CompactSupport

F19 = "fairdraw: temperature=0.5 top_p=0.9"
PLANS = (
    "fairdraw: temperature=0.7",
    "fairdraw: temperature=0.7 top_k=40",
    "fairdraw: temperature=1.3 top_p=0.8 min_p=0.01",
    "transformers: do_sample=true temperature=0.7 top_k=7 top_p=0.9",
    "custom: top_k(k=20) > temperature(value=0.6) > race()",
)


def test_the_three_meanings_are_told_apart():
    drawn = fd.sample(fd.Plan.parse(F19), [2.0, 1.0, 0.0, -1.0], seed=1, position=5)
    assert drawn.token == 0
    assert drawn.raw_logprob == pytest.approx(-0.440190, abs=1e-6)
    assert drawn.full_logprob == pytest.approx(-0.145078, abs=1e-6)
    assert drawn.logprob == pytest.approx(-0.126928, abs=1e-6)


@pytest.mark.parametrize("text", PLANS)
def test_the_logprob_of_the_kept_set_is_the_full_one_less_the_kept_mass(text):
    rng = np.random.default_rng(3)
    logits = (3 * rng.standard_normal(32768)).astype(np.float32)
    plan = fd.Plan.parse(text)
    drawn = fd.sample(plan, logits, seed=5, position=9)
    assert drawn.logprob == pytest.approx(drawn.full_logprob - drawn.log_kept_mass, abs=1e-9)
    assert drawn.logprob == pytest.approx(math.log(fd.law(plan, logits).probabilities[drawn.token]), abs=1e-6)
    meant = fd.logprobs(plan, logits, drawn.token, meaning="temperature").chosen
    assert (drawn.rank, drawn.full_logprob) == (meant.rank, pytest.approx(meant.logprob, abs=1e-6))
    raw = fd.logprobs(plan, logits, drawn.token, meaning="raw").chosen.logprob
    assert drawn.raw_logprob == pytest.approx(raw, abs=1e-6)


def test_a_mask_is_no_cut():
    plan = fd.Plan.parse("fairdraw: temperature=1.0 top_k=2")
    drawn = fd.sample(plan, [9.0, 1.0, 1.0, 0.0], seed=0, position=0, mask=[False, True, True, True])
    assert drawn.log_kept_mass == pytest.approx(math.log(2 * math.e / (2 * math.e + 1)), abs=1e-7)
    assert drawn.rank == (1 if drawn.token == 1 else 2)


def test_nothing_cut_keeps_all_the_mass():
    assert fd.sample(fd.Plan.parse("fairdraw: temperature=1.0"), [1.0, 0.0], seed=0, position=0).log_kept_mass == 0.0


def test_the_best_are_those_of_the_kept_set():
    drawn = fd.sample(fd.Plan.parse(F19), [2.0, 1.0, 0.0, -1.0], seed=1, position=5)
    (first, second) = drawn.top(10)
    assert (first[0], second[0]) == (0, 1)
    assert first[1] == pytest.approx(-0.126928, abs=1e-6)
    assert drawn.top(0) == ()


@given(st.sets(st.integers(0, 499), min_size=1), st.integers(500, 600))
def test_a_compact_support_says_the_same_ids(ids, vocab):
    kept = np.array(sorted(ids))
    compact = CompactSupport.of(kept, vocab)
    assert compact.ids.tolist() == kept.tolist()
    assert compact.values.size <= min(kept.size, -(-vocab // 32))
