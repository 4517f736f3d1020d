import numpy as np
import pytest

from fairdraw.stages import MinP, Temperature, TopK
from stages.one_stage import SIX, kept, law, law_of

TWO_TO_ONE = np.log(np.float64([2, 1, 1]))


@pytest.mark.parametrize(("boundary", "ids", "other"), [("inclusive", [0, 1, 2], [0]), ("strict", [0], [0, 1, 2])])
def test_d12_exactly_at_the_bound_the_switch_decides_and_it_is_in_doubt(boundary, ids, other):
    """exp2(-1) is exact in both arithmetics once the temperature makes one logit one bit."""
    weights = law([1.0, 0.0, 0.0], Temperature(value=1 / np.log(2)), MinP(p=0.5, boundary=boundary))
    assert weights.support.tolist() == ids
    assert [w.support.tolist() for w in weights.others] == [other]


def test_d12_equality_stays_by_default():
    assert kept(TWO_TO_ONE, MinP(p=0.499)) == [0, 1, 2]
    assert kept(TWO_TO_ONE, MinP(p=0.501)) == [0]


def test_d13_min_p_one_keeps_all_that_equal_the_best():
    assert law([1, 1, 0.0], MinP(p=1.0)).probabilities.round(4).tolist() == [0.5, 0.5, 0]
    assert kept([1, 1, 0.0], MinP(p=1.0, boundary="strict")) == [0, 1]


def test_min_p_zero_keeps_everything_however_light():
    assert kept([0.0, -300.0, -np.inf], MinP(p=0.0)) == [0, 1]


def test_d10_temperature_before_and_after():
    first = law(SIX, Temperature(value=2.0), MinP(p=0.3))
    last = law(SIX, MinP(p=0.3), Temperature(value=2.0))
    assert first.probabilities.round(4).tolist() == [0.31, 0.2414, 0.188, 0.1464, 0.1141, 0]
    assert last.probabilities.round(4).tolist() == [0.4192, 0.3265, 0.2543, 0, 0, 0]


@pytest.mark.parametrize(
    ("temperature", "first", "last"),
    [
        (2.0, [0.628532, 0.231224, 0.140244], [0.731059, 0.268941, 0]),
        (0.5, [1, 0, 0], [0.982014, 0.017986, 0]),
    ],
)
def test_f09_min_p_after_and_before_temperature(temperature, first, last):
    scale, cut = Temperature(value=temperature), MinP(p=0.1)
    assert law([3, 1, 0.0], scale, cut).probabilities.round(6).tolist() == first
    assert law([3, 1, 0.0], cut, scale).probabilities.round(6).tolist() == last


@pytest.mark.parametrize("temperature", [0.5, 0.7, 1.5, 2.0])
def test_min_p_before_t_is_min_p_to_the_power_of_one_over_t_after_it(temperature):
    for share in (0.011, 0.037, 0.12, 0.33):
        before = kept(SIX, MinP(p=share), Temperature(value=temperature))
        assert kept(SIX, Temperature(value=temperature), MinP(p=share ** (1 / temperature))) == before


def test_d07_and_f_t_what_was_cut_before_makes_no_difference():
    assert kept(SIX, TopK(k=3), MinP(p=0.05)) == [0, 1, 2]
    assert kept([2, 1, 0, -1.0], MinP(p=0.1)) == kept([2, 1, 0, -1.0], MinP(p=0.1), MinP(p=0.1)) == [0, 1, 2]
    between = (MinP(p=0.1), Temperature(value=0.5), MinP(p=0.1))
    assert kept([2, 1, 0, -1.0], *between) == [0, 1]


def test_equal_tokens_stay_or_go_together():
    weights = law_of([0.6, 0.1, 0.1, 0.1, 0.1], MinP(p=0.2))
    assert weights.support.tolist() == [0]
    assert law_of([0.6, 0.1, 0.1, 0.1, 0.1], MinP(p=0.1)).support.tolist() == [0, 1, 2, 3, 4]
