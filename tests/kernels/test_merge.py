"""Answers merge in any order and along any tree, and a shard without ids changes nothing."""

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairdraw.errors import LogitsError, ParameterError
from fairdraw.kernels.codes import NO_CUT, Cut, decode, encode
from fairdraw.kernels.merge import (
    Arrivals,
    Buckets,
    Found,
    Listed,
    Refusal,
    Shares,
    Summary,
    first_arrivals,
    merge,
    merge_all,
    size_in_bytes,
)

MOST = 3
SCORES = st.sampled_from([-np.inf, -3e38, -1.0, -1e-40, -0.0, 0.0, 1e-40, 0.5, 2.0, 3e38])
NUMBERS = st.integers(0, 2**50)
IDS = st.lists(st.integers(0, 40), unique=True, max_size=6)
REFUSALS = (
    Refusal(place=(0, 1, 3), error=LogitsError("logits", "have no NaN", "NaN at id 3")),
    Refusal(place=(0, 1, 7), error=LogitsError("logits", "have no NaN", "NaN at id 7")),
    Refusal(place=(0, 2, 1), error=LogitsError("logits", "have no value above float32's range", "inf at id 1")),
    Refusal(place=(2, 0, 0), error=ParameterError("logit_bias", 9, "a token id in 0..8")),
    None,
)


def codes_of(ids: list[int]) -> np.ndarray:
    """Many equal scores: the code then orders by id."""
    return np.sort(encode(np.array([i % 3 for i in ids], np.float32), np.array(ids, np.int64)))


@st.composite
def three(draw, kind: str):
    """What three shards with different ids answer to one question."""
    ids = draw(st.permutations(range(18)))
    parts = [sorted(ids[i : i + draw(st.integers(0, 6))]) for i in (0, 6, 12)]
    return [draw(ANSWERS[kind](part)) for part in parts]


def listed(part):
    return st.just(Listed(codes=codes_of(part)[:MOST], most=MOST))


def shares(part):
    first = np.array(part[:1], np.uint32)
    return NUMBERS.map(lambda mass: Shares(first=first, masses=np.full(first.size, mass)))


def arrivals(part):
    times = st.lists(st.sampled_from([-1.5, -0.0, 0.0, 2.25]), min_size=len(part), max_size=len(part))
    return times.map(lambda t: first_arrivals(np.array(t, float), codes_of(part), sum(part), MOST))


def buckets(part):
    counts = st.lists(st.integers(0, 2**20), min_size=4, max_size=4)
    masses = st.lists(NUMBERS, min_size=4, max_size=4)
    return st.builds(lambda c, m: Buckets(counts=np.array(c, np.uint32), masses=np.array(m)), counts, masses)


def summary(part):
    counts, best = st.lists(NUMBERS, min_size=3, max_size=3), codes_of(part)[:1]
    made = st.builds(lambda c, r: (np.array(c), r), counts, st.sampled_from(REFUSALS))
    return made.map(lambda pair: Summary(counts=pair[0], best=best, refusal=pair[1]))


ANSWERS = {"listed": listed, "shares": shares, "arrivals": arrivals, "buckets": buckets, "summary": summary}


def plain(answer) -> list:
    """All numbers of an answer, bit by bit."""
    values = (getattr(answer, item.name) for item in fields(answer))
    return [(v.dtype.str, v.tobytes()) if isinstance(v, np.ndarray) else repr(v) for v in values]


@pytest.mark.parametrize("kind", ANSWERS)
@given(st.data())
@settings(max_examples=60, deadline=None)
def test_merging_does_not_depend_on_order_or_grouping(kind, data):
    one, two, three_ = data.draw(three(kind))
    expected = plain(merge(merge(one, two), three_))
    assert plain(merge(one, merge(two, three_))) == expected
    assert plain(merge(merge(three_, one), two)) == expected
    assert plain(merge(two, one)) == plain(merge(one, two))


def test_a_found_id_is_that_of_the_one_shard_that_has_one():
    nothing, one = Found(codes=codes_of([])), Found(codes=codes_of([5]))
    for answers in ([nothing, one, nothing], [one, nothing, nothing], [nothing, nothing, one]):
        assert merge_all(answers).codes.tolist() == one.codes.tolist()


def test_equal_arrivals_are_merged_with_the_lower_id_first_whatever_their_scores():
    left = first_arrivals(np.array([1.0]), encode(np.float32([0.5]), np.array([9])), 4, 2)
    right = first_arrivals(np.array([1.0, 0.5]), encode(np.float32([-7, 8]), np.array([3, 4])), 5, 2)
    both = merge(left, right)
    assert (decode(both.codes)[1].tolist(), both.times.tolist(), both.mass) == ([3, 9], [1.0, 1.0], 9)


@given(st.lists(st.sampled_from([-2.0, 0.5, 0.5, 3.0]), max_size=30), st.integers(1, 8))
def test_the_first_arrivals_are_those_of_a_full_sort(times, most):
    ids = np.arange(len(times))
    best = first_arrivals(np.array(times, float), encode(np.zeros(len(times), np.float32), ids), 0, most)
    assert decode(best.codes)[1].tolist() == sorted(ids.tolist(), key=lambda i: (-times[i], i))[:most]


def test_an_unusable_row_is_told_by_its_first_stage_then_nan_before_infinity_then_the_lowest_id():
    def refused(*chosen: int) -> Refusal | None:
        empty = np.zeros(0, np.uint64)
        return merge_all(Summary(counts=np.zeros(1, int), best=empty, refusal=REFUSALS[i]) for i in chosen).refusal

    assert refused(4, 4) is None
    assert refused(3, 2, 1, 0, 4) is REFUSALS[0]
    assert refused(2, 1) is REFUSALS[1]
    assert refused(4, 3, 2) is REFUSALS[2]


def test_answers_to_different_questions_are_not_merged():
    with pytest.raises(AssertionError, match="different questions"):
        merge(Found(codes=codes_of([1])), Listed(codes=codes_of([1]), most=1))
    with pytest.raises(AssertionError):
        merge(Listed(codes=codes_of([1]), most=2), Listed(codes=codes_of([1]), most=1))


def test_a_size_counts_every_number_once():
    assert size_in_bytes(Found(codes=codes_of([1, 2]))) == 16
    assert size_in_bytes(Listed(codes=codes_of([1, 2]), most=9)) == 16 + 8
    assert size_in_bytes(Arrivals(times=np.zeros(2), codes=codes_of([1, 2]), mass=1, most=2)) == 48
    assert size_in_bytes(Summary(counts=np.zeros(3, int), best=codes_of([1]))) == 32
    assert size_in_bytes(Summary(counts=np.zeros(1, int), best=codes_of([]), refusal=REFUSALS[0])) > 8 + 24 + 20


@given(st.lists(SCORES, min_size=2, max_size=12))
def test_codes_ascend_in_the_total_order_and_give_score_and_id_back(scores):
    row, ids = np.array(scores, np.float32), np.arange(len(scores))
    codes = encode(row, ids)
    assert np.argsort(codes).tolist() == np.argsort(-row, kind="stable").tolist()
    back, back_ids = decode(codes)
    assert back_ids.tolist() == ids.tolist()
    assert back.tobytes() == (row + np.float32(0)).tobytes()


def test_the_lesser_of_two_cuts_keeps_less():
    cut = Cut.at(2.0, 5)
    assert min(NO_CUT, cut, Cut.at(1.0, 0), cut.with_ties(), Cut.at(2.0, 6)) == cut
    assert (cut.score, cut.id, cut.with_ties().score) == (2.0, 5, 2.0)
    assert Cut.at(-0.0, 3) == Cut.at(0.0, 3)
