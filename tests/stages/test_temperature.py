import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import Temperature, TopK
from stages.one_stage import SIX, kept, law, scores


@pytest.mark.parametrize("operation", ["exact", "divide", "multiply"])
@pytest.mark.parametrize(("value", "first"), [(0.5, 0.6354), (1.0, 0.4197), (2.0, 0.29)])
def test_every_operation_divides_by_the_temperature(operation, value, first):
    expected = np.exp(np.array(SIX) / value) / np.exp(np.array(SIX) / value).sum()
    weights = law(SIX, Temperature(value=value, operation=operation))
    assert np.abs(weights.probabilities - expected).max() < 1e-6
    assert weights.probabilities[0] == pytest.approx(first, abs=2e-4)


def test_divide_and_multiply_are_one_float32_operation_of_the_engine():
    x, t = np.linspace(0.1, 10, 100, dtype=np.float32), 0.7
    assert scores(x, Temperature(value=t, operation="divide")) == (x / np.float32(t)).tolist()
    assert scores(x, Temperature(value=t, operation="multiply")) == (x * np.float32(1 / t)).tolist()
    assert (x / np.float32(t) != x * np.float32(1 / t)).any()
    assert scores(x, Temperature(value=t)) == x.tolist()


def test_only_the_exact_operation_keeps_neighbouring_floats_apart():
    row = np.float32([1.75, 1.7500001])
    assert row[0] < row[1]
    assert kept(row, Temperature(value=1.7), TopK(k=1, ties="all")) == [1]
    assert kept(row, Temperature(value=1.7, operation="divide"), TopK(k=1, ties="all")) == [0, 1]


def test_f07_a_tiny_temperature_does_not_overflow_half_precision():
    weights = law(np.float16([12, 10, 8]), Temperature(value=1e-4))
    assert weights.probabilities.tolist() == [1, 0, 0]
    assert law(np.float32([12, 10, 8]), Temperature(value=1e-38)).probabilities.tolist() == [1, 0, 0]


@pytest.mark.parametrize("operation", ["divide", "multiply"])
def test_f07_an_engines_float32_overflow_is_an_error_that_names_the_stage(operation):
    with pytest.raises(
        fd.LogitsError, match=r"logits after temperature.* got inf\nhint: temperature overflows float32"
    ):
        law([12.0, 10.0, 8.0], Temperature(value=1e-38, operation=operation))


def test_d19_a_small_temperature_is_not_clamped():
    assert law([1, 0.99, 0.9], Temperature(value=1e-3)).probabilities.round(4).tolist() == [1, 0, 0]
    second = law([1, 0.99, 0.9], Temperature(value=1e-3)).probabilities[1]
    assert second == pytest.approx(np.exp(-10), rel=1e-4)


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 1e-39, 1e39, True])
def test_f08_what_is_no_temperature_is_refused(value):
    with pytest.raises(fd.ParameterError, match=r"temperature.value must be a number in \[1e-38, 1e\+38\]"):
        Temperature(value=value)


def test_f08_temperature_zero_is_greedy_and_takes_the_lower_id():
    plan = fd.Plan.parse("fairdraw: temperature=0")
    assert fd.law(plan, [1.0, 3.0, 2.0]).probabilities.tolist() == [0, 1, 0]
    assert fd.law(plan, [1.0, 3.0, 3.0]).probabilities.tolist() == [0, 1, 0]


def test_two_temperatures_multiply():
    twice = law(SIX, Temperature(value=2.0), Temperature(value=0.7))
    assert twice.total_variation(law(SIX, Temperature(value=1.4))) < 1e-15


def test_forbidden_tokens_stay_forbidden():
    for operation in ("exact", "divide", "multiply"):
        assert kept([1.0, -np.inf], Temperature(value=1e30, operation=operation)) == [0]


@pytest.mark.parametrize("value", [1e-38, 1e38])
def test_temperatures_that_together_leave_the_range_are_refused(value):
    plan = fd.Plan.of(Temperature(value=value), Temperature(value=value))
    with pytest.raises(fd.ParameterError, match="when all temperatures of a plan are multiplied"):
        fd.sample(plan, [1.0, 0.0], seed=1, position=0)


@pytest.mark.parametrize("value", [1e-38, 1e38])
def test_the_ends_of_the_range_are_allowed(value):
    plan = fd.Plan.of(Temperature(value=value))
    probabilities = fd.law(plan, [1.0, 0.0]).probabilities
    assert probabilities.tolist() == ([1.0, 0.0] if value < 1 else [0.5, 0.5])
    assert fd.sample(plan, [1.0, 0.0], seed=1, position=0).token in (0, 1)
