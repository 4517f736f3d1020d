import numpy as np
import pytest

from fairdraw.stages import Checkpoint, MinP, Temperature, TopK, TopP
from stages.one_stage import SIX, kept, law, law_of

HALVES = [0.5, 0.25, 0.125, 0.125]


@pytest.mark.parametrize(
    ("ties", "ids"), [("lowest", [0, 1]), ("highest", [0, 2]), ("all", [0, 1, 2]), ("any", [0, 1])]
)
def test_d03_a_tie_at_the_edge_is_settled_as_the_switch_says(ties, ids):
    assert kept([3, 2, 2, 1.0], TopP(p=0.6, ties=ties)) == ids


def test_d04_on_a_uniform_row_the_count_is_certain_and_the_members_are_not():
    (tie,) = law([0.0] * 5, TopP(p=0.5, ties="any")).open_ties
    assert (tie.certain.tolist(), tie.group.tolist(), tie.count) == ([], [0, 1, 2, 3, 4], 3)
    assert kept([0.0] * 5, TopP(p=0.5)) == [0, 1, 2]
    assert kept([0.0] * 5, TopP(p=0.5, ties="highest")) == [2, 3, 4]
    assert kept([0.0] * 5, TopP(p=0.5, ties="all")) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("boundary", "count"), [("inclusive", 2), ("strict", 3)])
def test_d05_a_prefix_that_lands_on_p_stops_or_takes_one_more_and_is_in_doubt(boundary, count):
    """A uniform row of 8 has exact sums in both arithmetics: only the switch decides; p = 2/8."""
    weights = law([0.0] * 8, TopP(p=0.25, boundary=boundary))
    assert weights.support.tolist() == list(range(count))
    assert [other.support.size for other in weights.others] == [5 - count]
    assert weights.in_doubt.tolist() == [2]


@pytest.mark.parametrize("p", [0.7499, 0.7501])
@pytest.mark.parametrize("boundary", ["inclusive", "strict"])
def test_away_from_an_exact_hit_the_boundary_makes_no_difference(p, boundary):
    weights = law_of(HALVES, TopP(p=p, boundary=boundary, ties="all"))
    assert weights.support.size == (2 if p < 0.75 else 4)
    assert weights.others == ()


@pytest.mark.parametrize(("p", "doubt"), [(0.5 + 2.0**-21, True), (0.5 - 2.0**-21, True), (0.5 + 2.0**-19, False)])
def test_doubt_begins_2_to_the_minus_20_from_the_threshold(p, doubt):
    assert bool(law([0.0] * 8, TopP(p=p)).others) is doubt


def test_f03_the_hit_at_four_fifths_is_two_tokens_or_three_and_flagged():
    weights = law_of([0.2, 0.6, 0.1, 0.1], TopP(p=0.8))
    sets = sorted(w.support.tolist() for w in (weights, *weights.others))
    assert sets == [[0, 1], [0, 1, 2]]
    two = min((weights, *weights.others), key=lambda w: w.support.size)
    assert two.probabilities.round(6).tolist() == [0.25, 0.75, 0, 0]
    below = law_of([0.2, 0.6, 0.1, 0.1], TopP(p=0.79))
    assert (below.support.tolist(), below.others) == ([0, 1], ())


def test_d06_the_token_that_crosses_p_stays():
    weights = law_of([0.5, 0.3, 0.1, 0.07, 0.03], TopP(p=0.7))
    assert weights.probabilities.round(4).tolist() == [0.625, 0.375, 0, 0, 0]


def test_d01_mass_is_of_what_is_left_or_of_the_checkpoint():
    current = law(SIX, TopK(k=3), TopP(p=0.75))
    raw = law(SIX, Checkpoint(), TopK(k=3), TopP(p=0.75, mass="raw"))
    assert current.probabilities.round(4).tolist() == [0.6225, 0.3775, 0, 0, 0, 0]
    assert raw.probabilities.round(4).tolist() == [0.5065, 0.3072, 0.1863, 0, 0, 0]


def test_f04_top_k_three_with_four_fifths():
    row = np.log([0.40, 0.30, 0.15, 0.10, 0.05])
    current = law(row, TopK(k=3), TopP(p=0.8))
    raw = law(row, Checkpoint(), TopK(k=3), TopP(p=0.8, mass="raw"))
    assert current.probabilities.round(6).tolist() == [0.571429, 0.428571, 0, 0, 0]
    assert raw.probabilities.round(6).tolist() == [0.470588, 0.352941, 0.176471, 0, 0]


def test_d35_a_raw_share_beyond_what_top_k_left_keeps_all_of_it():
    assert kept(SIX, Checkpoint(), TopK(k=3), TopP(p=0.9, mass="raw")) == [0, 1, 2]


def test_d09_temperature_counts_where_it_stands():
    assert kept(SIX, Temperature(value=2.0), TopP(p=0.7)) == [0, 1, 2, 3]
    last = law(SIX, TopP(p=0.7), Temperature(value=2.0))
    assert last.probabilities.round(4).tolist() == [0.4192, 0.3265, 0.2543, 0, 0, 0]


def test_d11_min_p_before_or_after():
    row = [2, 1.45, 1.42, 1.4, 1.38, 0.2, 0.19, 0.18, 0.17, 0.16]
    assert kept(row, MinP(p=0.3), TopP(p=0.8)) == [0, 1, 2, 3]
    assert kept(row, TopP(p=0.8), MinP(p=0.3)) == [0, 1, 2, 3, 4]


def test_d14_p_zero_keeps_the_best_alone():
    assert kept(SIX, TopP(p=0.0)) == [0]
    assert kept([1.0, 2.0, 2.0], TopP(p=0.0)) == [1]
    assert kept(SIX, TopP(p=0.0, boundary="strict")) == [0]


def test_p_one_keeps_tokens_that_weigh_nothing():
    assert kept([0.0, -200.0, -np.inf], TopP(p=1.0)) == [0, 1]


def test_a_long_tail_is_cut_where_its_mass_says():
    """The head weighs 32768, and so do 32768 equal tokens of 1: half of them make three quarters of all."""
    row = np.zeros(32769, np.float32)
    row[7] = np.log(np.float64(32768))
    assert len(kept(row, TopP(p=0.7501))) == pytest.approx(16384 + 8, abs=3)


def test_f_t_top_p_twice_is_not_top_p_once():
    row = np.log([0.5, 0.3, 0.15, 0.05])
    assert kept(row, TopP(p=0.6)) == [0, 1]
    assert law(row, TopP(p=0.6)).probabilities.round(3).tolist() == [0.625, 0.375, 0, 0]
    assert kept(row, TopP(p=0.6), TopP(p=0.6)) == [0]


def test_f07_a_tiny_p_keeps_the_best():
    assert kept(np.float16([12, 10, 8]), TopP(p=1e-4)) == [0]
