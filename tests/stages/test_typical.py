import numpy as np
import pytest

from fairdraw.stages import Temperature, TopK, Typical
from stages.one_stage import SIX, kept, law, law_of

FIVE = [0.4, 0.25, 0.15, 0.12, 0.08]
"""Entropy 1.466 nats; surprises .916 1.386 1.897 2.120 2.526: distances .550 .080 .431 .654 1.060."""


@pytest.mark.parametrize(
    ("p", "ids"), [(0.001, [1]), (0.249, [1]), (0.26, [1, 2]), (0.39, [1, 2]), (0.41, [0, 1, 2]), (0.81, [0, 1, 2, 3])]
)
def test_tokens_are_taken_from_the_entropy_outwards(p, ids):
    assert law_of(FIVE, Typical(p=p)).support.tolist() == ids


def test_d28_the_law_of_the_two_nearest():
    assert law_of(FIVE, Typical(p=0.39)).probabilities.round(4).tolist() == [0, 0.625, 0.375, 0, 0]


def test_d29_a_mass_reached_exactly_is_in_doubt():
    """Entropy 1.75 bits: token 1 (2 bits) is nearest and weighs exactly 1/4."""
    row = np.array([-1.0, -2.0, -3.0, -3.0])
    for boundary, ids, other in (("inclusive", [1], [0, 1]), ("strict", [0, 1], [1])):
        weights = law(row, Temperature(value=1 / np.log(2)), Typical(p=0.25, boundary=boundary))
        assert weights.support.tolist() == ids
        assert other in [w.support.tolist() for w in weights.others]


def test_equally_typical_tokens_stay_together_or_the_lower_ids():
    row = [1.0, 1.0, 0.0, 0.0]
    assert kept(row, Typical(p=0.3)) == [0, 1]
    assert kept(row, Typical(p=0.3, ties="lowest")) == [0]
    assert kept(row, Typical(p=0.3, ties="highest")) == [1]
    (tie,) = law(row, Typical(p=0.3, ties="any")).open_ties
    assert (tie.certain.tolist(), tie.group.tolist(), tie.count) == ([], [0, 1], 1)


def test_a_uniform_row_is_typical_as_a_whole():
    assert kept([0.0] * 4, Typical(p=0.1)) == [0, 1, 2, 3]


def test_p_one_keeps_everything():
    assert kept([0.0, -300.0, -np.inf], Typical(p=1.0)) == [0, 1]


def test_forbidden_tokens_do_not_count_towards_the_entropy():
    assert kept([*np.log(FIVE), -np.inf], Typical(p=0.39)) == [1, 2]
    assert kept([*SIX[:3], -50.0], TopK(k=3), Typical(p=0.3)) == kept(SIX[:3], Typical(p=0.3))


@pytest.mark.parametrize("count", [2, 3, 5, 12])
@pytest.mark.parametrize("temperature", [0.5, 0.7, 1.0, 2.0])
def test_two_groups_equally_far_from_the_entropy_are_readings_each_alone_and_together(count, temperature):
    """One token weighs as much as all others together: which side is nearer hangs on the last digit."""
    row = np.float32([temperature * np.log(count), *[0.0] * count])
    few = law(row, Temperature(value=temperature), Typical(p=0.4))
    sets = [w.support.tolist() for w in (few, *few.others)]
    assert sorted(sets) == [[0], list(range(count + 1)), list(range(1, count + 1))]
    both = law(row, Temperature(value=temperature), Typical(p=0.6))
    assert (both.support.size, both.others) == (count + 1, ())


def test_law_and_draw_agree_on_coarse_and_on_flat_rows():
    random = np.random.default_rng(11)
    for vocab in (40, 1000, 32768):
        for width in (0.05, 1.0, 3.0):
            row = (random.normal(size=vocab) * width).astype(np.float32)
            coarse = (row.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)
            for p in (0.2, 0.5, 0.9, 0.999):
                assert law(row, Typical(p=p)).probabilities.sum() == pytest.approx(1.0)
                assert law(coarse, Typical(p=p)).probabilities.sum() == pytest.approx(1.0)
