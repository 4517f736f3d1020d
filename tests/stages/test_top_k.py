import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import LogitBias, TopK
from stages.one_stage import SIX, kept, law, law_of


@pytest.mark.parametrize(
    ("ties", "ids", "probabilities"),
    [
        ("lowest", [0, 1], [0.7311, 0.2689, 0, 0]),
        ("highest", [0, 2], [0.7311, 0, 0.2689, 0]),
        ("all", [0, 1, 2], [0.5761, 0.2119, 0.2119, 0]),
        ("any", [0, 1], [0.7311, 0.2689, 0, 0]),
    ],
)
def test_d02_a_tie_at_the_cut_is_settled_as_the_switch_says(ties, ids, probabilities):
    weights = law([3, 2, 2, 1.0], TopK(k=2, ties=ties))
    assert weights.support.tolist() == ids
    assert weights.probabilities.round(4).tolist() == probabilities


def test_f06_a_tie_of_probabilities_at_the_cut():
    exact, every = (law_of([0.5, 0.25, 0.25], TopK(k=2, ties=ties)) for ties in ("lowest", "all"))
    assert exact.probabilities.round(6).tolist() == [0.666667, 0.333333, 0]
    assert every.probabilities.round(6).tolist() == [0.5, 0.25, 0.25]
    assert exact.total_variation(every) == pytest.approx(0.25)


def test_only_the_switch_any_reports_an_open_tie():
    (tie,) = law([3, 2, 2, 2, 1.0], TopK(k=3, ties="any")).open_ties
    assert (tie.certain.tolist(), tie.group.tolist(), tie.count) == ([0], [1, 2, 3], 2)
    for ties in ("lowest", "highest", "all"):
        assert law([3, 2, 2, 2, 1.0], TopK(k=3, ties=ties)).open_ties == ()
    assert law([3, 2, 2, 2, 1.0], TopK(k=4, ties="any")).open_ties == ()
    assert law([3, 2, 2, 2, 1.0], TopK(k=1, ties="any")).open_ties == ()


@pytest.mark.parametrize("k", [0, -1, 3, 7])
def test_f05_no_k_turns_sampling_into_greedy(k):
    """0 is off, the whole row and more keep all, and -1 is refused: never [1, 0, 0]."""
    if k < 0:
        with pytest.raises(fd.ParameterError, match="top_k must be a whole number >= 0, got -1"):
            fd.Plan.parse(f"fairdraw: top_k={k}")
        return
    weights = fd.law(fd.Plan.parse(f"fairdraw: top_k={k}"), [2, 1, 0.0])
    assert weights.probabilities.round(6).tolist() == [0.665241, 0.244728, 0.090031]


@pytest.mark.parametrize(("k", "count"), [(1, 1), (2, 2), (5, 5), (6, 6), (7, 6), (99, 6)])
def test_d15_d16_k_tokens_stay_or_the_whole_row(k, count):
    assert kept(SIX, TopK(k=k)) == list(range(count))


def test_a_k_beyond_the_row_is_refused_where_the_engine_fails_on_it():
    assert kept(SIX, TopK(k=5, beyond="refuse_whole")) == [0, 1, 2, 3, 4]
    assert kept(SIX, TopK(k=6, beyond="refuse_more")) == [0, 1, 2, 3, 4, 5]
    with pytest.raises(fd.ParameterError, match=r"top_k\.k must be at most 5 on a row of 6 in this plan, got 6"):
        law(SIX, TopK(k=6, beyond="refuse_whole"))
    with pytest.raises(fd.ParameterError, match=r"top_k\.k must be at most 6 on a row of 6 in this plan, got 7"):
        law(SIX, TopK(k=7, beyond="refuse_more"))


def test_d34_forbidden_tokens_stay_forbidden_when_k_reaches_them():
    weights = law([3, -np.inf, 2, -np.inf, -np.inf], TopK(k=3))
    assert weights.support.tolist() == [0, 2]
    assert weights.probabilities.round(4).tolist() == [0.7311, 0, 0.2689, 0, 0]


def test_the_two_zeros_are_a_tie():
    assert kept(np.float32([-0.0, 0.0, -1]), TopK(k=1)) == [0]
    assert kept(np.float32([-0.0, 0.0, -1]), TopK(k=1, ties="all")) == [0, 1]


def test_neighbouring_floats_are_no_tie():
    just_below = np.nextafter(np.float32(2), np.float32(0))
    assert kept(np.float32([just_below, 2]), TopK(k=1, ties="all")) == [1]


def test_ties_that_an_edit_makes_count():
    assert kept([1.0, 3.0, 0.0], LogitBias(bias={0: 2.0}), TopK(k=1)) == [0]
    assert kept([1.0, 3.0, 0.0], LogitBias(bias={0: 2.0}), TopK(k=1, ties="all")) == [0, 1]
