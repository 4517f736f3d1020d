"""Statistical tests at level 1e-8 each, with fixed seeds."""

import json
import sys

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.verify.drawing import DrawnComparison, compare_draws
from fairdraw.verify.statistics import g_test, smallest_detectable

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
LEVEL = 1e-8
TRANSFORMERS = "transformers: do_sample=true top_k=3 top_p=0.75"
CANDLE = "candle: TopKThenTopP k=3 p=0.75 temperature=1"


def drawn(a: str, b: str, row: object, draws: int, seed: int = 5) -> DrawnComparison:
    return compare_draws(fd.Plan.parse(a), fd.Plan.parse(b), row, draws=draws, seed=seed, level=LEVEL)


def test_each_plan_follows_its_own_law_and_not_the_others() -> None:
    result = drawn(TRANSFORMERS, CANDLE, SIX, 4000)
    assert result.a_by_a.follows
    assert result.b_by_b.follows
    assert not result.a_by_b.follows
    assert not result.b_by_a.follows


def test_draws_outside_of_the_others_support_are_counted() -> None:
    result = drawn(TRANSFORMERS, CANDLE, SIX, 4000)
    # candle gives id 2, which transformers drops, with probability 0.1863: 745 times, by 24.6.
    assert abs(result.b_by_a.outside - 745) < 6 * 24.6
    assert result.b_by_a.test.p_value == 0.0
    assert (result.a_by_a.outside, result.b_by_b.outside, result.a_by_b.outside) == (0, 0, 0)


def test_the_tokens_are_those_of_sample_at_the_sample_indices_from_0() -> None:
    plan = fd.Plan.parse(CANDLE)
    tokens = [fd.sample(plan, SIX, seed=5, position=9, sample_index=i).token for i in range(200)]
    counts = np.bincount(tokens, minlength=6)
    result = compare_draws(plan, plan, SIX, draws=200, seed=5, position=9)
    law = fd.law(plan, SIX).probabilities
    assert result.a_by_a.test == g_test(counts, law)
    apart = np.abs(counts / 200 - law)
    assert (result.a_by_a.largest_deviation, result.a_by_a.largest_deviation_id) == (apart.max(), apart.argmax())
    assert result.a_by_a.smallest_detectable == smallest_detectable(200, law, 1e-6)


def test_greedy_plans_work_and_leave_one_cell() -> None:
    result = drawn("transformers:", "fairdraw:", SIX, 300)
    assert (result.a_by_a.test.p_value, result.a_by_a.test.degrees_of_freedom) == (1.0, 0)
    assert result.a_by_a.largest_deviation == 0.0
    assert result.b_by_a.outside == pytest.approx(300 * 0.5803, abs=6 * 8.6)


def test_a_long_tail_follows_its_law_and_not_that_of_the_clipped_gumbel() -> None:
    row = -1.1 * np.log(np.arange(32768) + 10.0)
    clipped = "candle: GumbelSoftmax temperature=1"
    result = drawn("candle: All temperature=1", clipped, row, 700)
    assert result.a_by_a.follows
    assert result.b_by_b.follows
    assert result.a_by_b.outside > 0
    assert not result.b_by_a.follows


def test_progress_counts_up_to_the_draws_of_both_plans() -> None:
    seen: list[int] = []
    plan = fd.Plan.parse("fairdraw:")
    compare_draws(plan, plan, np.zeros(32768, np.float32), draws=200, seed=1, on_progress=seen.append)
    assert seen == [128, 200, 328, 400]


def test_json_has_every_number_and_none_that_json_lacks() -> None:
    data = json.loads(json.dumps(drawn(TRANSFORMERS, CANDLE, SIX, 1000).to_json(), allow_nan=False))
    assert (data["draws"], data["seed"], data["position"], data["level"], data["power"]) == (1000, 5, 0, LEVEL, 0.99)
    assert data["b_by_a"]["g_test"]["statistic"] is None
    assert data["b_by_a"]["frequency_outside"] == data["b_by_a"]["outside"] / 1000
    assert data["a_by_a"]["smallest_detectable"] < 1


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"draws": 0}, "draws must be"), ({"level": 0.0}, "level must be"), ({"seed": -1}, "seed must be")],
)
def test_what_lies_outside_its_domain_is_refused(changed: dict[str, float], words: str) -> None:
    plan = fd.Plan.parse("fairdraw:")
    given = {"draws": 10, "seed": 1, **changed}
    with pytest.raises(fd.ParameterError, match=words):
        compare_draws(plan, plan, SIX, **given)  # type: ignore[arg-type]


def test_without_scipy_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    plan, seen = fd.Plan.parse("fairdraw:"), list[int]()
    with pytest.raises(fd.UnavailableError, match="fairdraw\\[stats\\]"):
        compare_draws(plan, plan, SIX, draws=10, seed=1, on_progress=seen.append)
    assert seen == []
