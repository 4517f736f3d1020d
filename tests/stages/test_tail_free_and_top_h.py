import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import TailFree, TopH
from stages import long_tail
from stages.one_stage import kept, law, law_of

FOUR = np.log([0.5, 0.25, 0.2, 0.05])
"""Second differences 0.2 and 0.1."""


@pytest.mark.parametrize(("z", "ids"), [(0.0, [0]), (0.6, [0]), (0.7, [0, 1]), (0.99, [0, 1]), (1.0, [0, 1, 2, 3])])
def test_tail_free_keeps_ranks_until_the_curvature_is_spent(z, ids):
    assert kept(FOUR, TailFree(z=z)) == ids


def test_tail_free_leaves_two_tokens_alone():
    assert kept([1.0, 0.0], TailFree(z=0.0)) == [0, 1]
    assert kept([1.0, 0.0, -1.0], TailFree(z=0.0)) == [0]


def test_tail_free_on_a_flat_row_is_in_doubt_from_one_token_to_all_but_one():
    weights = law([1.0] * 5, TailFree(z=0.5))
    assert {reading.support.size for reading in (weights, *weights.others)} >= {1, 4}


@pytest.mark.parametrize("z", [0.3, 0.9, 0.97])
def test_tail_free_cuts_a_long_tail_where_float64_cuts_it(z):
    scores = long_tail.row()
    p = np.sort(long_tail.probabilities(scores))[::-1]
    curvature = np.cumsum(np.abs(p[:-2] - 2 * p[1:-1] + p[2:]))
    size = np.count_nonzero(curvature <= z * curvature[-1]) + 1
    weights = law(scores, TailFree(z=z))
    assert size in {reading.support.size for reading in (weights, *weights.others)}
    assert weights.support.size == pytest.approx(size, rel=0.05)
    tokens = fd.sample_many(fd.Plan.of(TailFree(z=z)), scores, seed=1, positions=range(20))
    assert np.isin(tokens, weights.support).all()


@pytest.mark.parametrize(
    ("h", "ids"), [(0.0, [0]), (0.28, [0]), (0.29, [0]), (0.58, [0, 1]), (0.79, [0, 1, 2]), (1.0, [0, 1, 2, 3])]
)
def test_top_h_keeps_ranks_within_a_share_of_the_entropy(h, ids):
    """Terms of 0.5, 0.5, 0.375, 0.375 bits: sums 0.286, 0.571, 0.786 and 1 of 1.75."""
    weights = law_of([0.5, 0.25, 0.125, 0.125], TopH(h=h))
    assert ids in [weights.support.tolist(), *(other.support.tolist() for other in weights.others)]


def test_top_h_looks_at_the_best_hundred_alone_unless_told():
    scores = long_tail.row()
    assert law(scores, TopH(h=1.0)).support.size in (99, 100)
    assert law(scores, TopH(h=1.0, most=7)).support.size in (6, 7)


@pytest.mark.parametrize("h", [0.1, 0.4, 0.8])
@pytest.mark.parametrize("most", [100, 40_000])
def test_top_h_cuts_a_long_tail_where_float64_cuts_it(h, most):
    scores = long_tail.row()
    p = np.sort(long_tail.probabilities(scores))[::-1][:most]
    p /= p.sum()
    terms = np.cumsum(-p * np.log(p))
    size = max(1, np.count_nonzero(terms <= h * terms[-1]))
    weights = law(scores, TopH(h=h, most=most))
    assert weights.support.size == size
    tokens = fd.sample_many(fd.Plan.of(TopH(h=h, most=most)), scores, seed=1, positions=range(20))
    assert np.isin(tokens, weights.support).all()


@pytest.mark.parametrize("gap", [8.0, 16.0, 20.0, 40.0])
def test_top_h_on_a_sure_row_is_not_misled_by_rounding(gap):
    for h in (0.1, 0.5, 0.95):
        weights = law([gap, 0.0, -0.5, -1.0], TopH(h=h))
        assert 0 in weights.support
