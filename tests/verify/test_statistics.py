import json
import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fairdraw.errors import ParameterError, UnavailableError
from fairdraw.verify.statistics import g_test, smallest_detectable, zero_count_level

LONG_TAIL = 1.0 / (np.arange(32768) + 10.0) ** 1.1
LONG_TAIL /= LONG_TAIL.sum()


def test_the_statistic_of_sixty_and_forty_is_the_one_computed_by_hand() -> None:
    test = g_test([60, 40], [0.5, 0.5])
    g = 2 * (60 * math.log(60 / 50) + 40 * math.log(40 / 50))
    assert test.statistic == pytest.approx(g / (1 + 3 / 600), rel=1e-12)
    assert (test.degrees_of_freedom, test.cells, test.draws, test.out_of_support) == (1, 2, 100, 0)


def test_without_rare_tokens_the_statistic_is_scipys_with_williams_correction() -> None:
    law, counts = np.array([0.4, 0.3, 0.2, 0.1]), np.array([30, 45, 15, 10])
    expected = stats.power_divergence(counts, 100 * law, lambda_="log-likelihood").statistic
    assert g_test(counts, law).statistic == pytest.approx(expected / (1 + ((1 / law).sum() - 1) / (6 * 100 * 3)))


def test_one_draw_outside_of_the_support_refutes_the_law_at_once() -> None:
    test = g_test([600_000, 399_999, 1], [0.6, 0.4, 0.0])
    assert (test.p_value, test.statistic, test.out_of_support) == (0.0, math.inf, 1)
    assert json.loads(json.dumps(test.to_json(), allow_nan=False))["statistic"] is None


def test_rare_tokens_share_one_cell_which_takes_in_others_until_it_expects_five() -> None:
    # 100 draws expect 50, 40, 6, 3 and 1: 3 + 1 are too few, so that 6 joins them.
    counts, law = np.array([48, 41, 7, 4, 0]), [0.5, 0.4, 0.06, 0.03, 0.01]
    test = g_test(counts, law)
    assert test.cells == 3
    assert test.statistic == g_test([48, 41, 11], [0.5, 0.4, 0.1]).statistic


def test_a_tail_that_expects_five_takes_in_nothing() -> None:
    assert g_test([48, 41, 11], [0.5, 0.45, 0.05]).cells == 3


def test_a_law_of_one_token_leaves_nothing_to_test() -> None:
    test = g_test([100, 0], [1.0, 0.0])
    assert (test.p_value, test.degrees_of_freedom, test.cells) == (1.0, 0, 1)


@given(st.permutations(range(4)))
def test_the_counts_decide_nothing_about_the_cells(order: list[int]) -> None:
    tail = np.array([5, 0, 2, 1])[order]
    law = np.array([0.5, 0.42, 0.02, 0.02, 0.02, 0.02])
    assert g_test([50, 42, *tail], law).statistic == g_test([50, 42, 5, 0, 2, 1], law).statistic


def test_on_a_long_tail_true_laws_are_refuted_as_often_as_the_level_says() -> None:
    # False alarm 1e-7 for each bound.  The test may err by half the level either way, since chi-square is a limit.
    generator, runs = np.random.default_rng(20), 1000
    p_values = np.array([g_test(generator.multinomial(5000, LONG_TAIL), LONG_TAIL).p_value for _ in range(runs)])
    assert (p_values < 0.01).sum() <= stats.binom.isf(1e-7, runs, 0.015)
    assert stats.binom.ppf(1e-7, runs, 0.025) <= (p_values < 0.05).sum() <= stats.binom.isf(1e-7, runs, 0.075)


def test_a_difference_of_the_smallest_detectable_size_is_seen_and_half_of_it_is_not() -> None:
    # The hardest direction: half of the cells' mass loses, the other half gains in proportion.  False alarm 1e-7 each.
    generator, draws, runs = np.random.default_rng(21), 20_000, 200
    size = smallest_detectable(draws, LONG_TAIL, level=1e-3, power=0.99)
    half = np.cumsum(LONG_TAIL) < 0.5

    def refuted(total_variation: float) -> int:
        mass = LONG_TAIL[half].sum()
        factor = np.where(half, 1 + total_variation / mass, 1 - total_variation / (1 - mass))
        counts = (generator.multinomial(draws, LONG_TAIL * factor) for _ in range(runs))
        return sum(g_test(count, LONG_TAIL).p_value < 1e-3 for count in counts)

    assert refuted(size) >= stats.binom.ppf(1e-7, runs, 0.97)
    assert refuted(0.5 * size) <= stats.binom.isf(1e-7, runs, 0.5)


def test_one_cell_can_only_show_mass_outside_of_the_support() -> None:
    assert smallest_detectable(1000, [1.0, 0.0], 1e-6) == pytest.approx(1 - 0.01 ** (1 / 1000))


@pytest.mark.parametrize("draws", [100, 10_000, 1_000_000])
def test_the_smallest_detectable_difference_has_the_power_asked_for(draws: int) -> None:
    law = [0.5, 0.3, 0.2]
    size = smallest_detectable(draws, law, level=1e-6, power=0.9)
    power = stats.ncx2.sf(stats.chi2.isf(1e-6, 2), 2, 4 * draws * size**2)
    assert power == pytest.approx(0.9, abs=1e-6)


def test_more_draws_see_smaller_differences() -> None:
    sizes = [smallest_detectable(draws, LONG_TAIL, 1e-6) for draws in (1000, 10_000, 100_000)]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize(("draws", "mass", "level"), [(0, 0.5, 1.0), (3, 0.5, 0.125), (3, 1.0, 0.0), (5, 0.0, 1.0)])
def test_never_seeing_a_set_has_the_level_of_all_draws_missing_it(draws: int, mass: float, level: float) -> None:
    assert zero_count_level(draws, mass) == pytest.approx(level)


@pytest.mark.parametrize(
    ("counts", "law", "words"),
    [
        ([1, 2], [0.5, 0.4], "must be numbers >= 0 on one axis that sum to 1"),
        ([1, 2], [1.5, -0.5], "must be numbers >= 0"),
        ([1, 2], [np.nan, 1.0], "must be numbers >= 0"),
        ([1, 2, 3], [0.5, 0.5], "counts must be of the law's shape"),
        ([1.0, 2.0], [0.5, 0.5], "counts must be whole numbers"),
        ([-1, 2], [0.5, 0.5], "counts must be whole numbers"),
        ([0, 0], [0.5, 0.5], "counts of at least one draw"),
    ],
)
def test_what_is_no_law_or_no_counts_is_refused(counts: list[float], law: list[float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        g_test(counts, law)


def test_without_scipy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(UnavailableError, match=r'pip install "fairdraw\[stats\]"'):
        g_test([60, 40], [0.5, 0.5])
