"""Integer masses against a float64 softmax, over every kind of row and every vocabulary that the bench has."""

import numpy as np
import pytest

from fairdraw.benchmarks.cases import VOCABULARIES
from fairdraw.benchmarks.rows import KINDS, make_rows
from fairdraw.masses import EXP2, LOG2E, IntegerMasses

MOST = 1.5e-7
TEMPERATURES = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0)


def softmax(row: np.ndarray, temperature: float) -> np.ndarray:
    weights = np.exp((row.astype(np.float64) - float(row.max())) / temperature)
    return weights / weights.sum()


def integer_law(row: np.ndarray, temperature: float) -> np.ndarray:
    values = IntegerMasses(scores=row, scale=LOG2E / temperature, peak=row.max()).values
    return values / float(values.sum())


def distance(row: np.ndarray, temperature: float) -> float:
    return float(np.abs(integer_law(row, temperature) - softmax(row, temperature)).sum() / 2)


@pytest.mark.parametrize("vocab", VOCABULARIES)
@pytest.mark.parametrize("kind", KINDS)
def test_integer_masses_of_a_bench_row_are_within_1_5e_7_of_softmax_at_any_temperature(kind: str, vocab: int) -> None:
    row = make_rows(kind, vocab, 1)[0]
    assert max(distance(row, temperature) for temperature in TEMPERATURES) <= MOST


def test_integer_masses_of_a_real_row_are_within_1_5e_7_of_softmax(real_rows: np.ndarray) -> None:
    assert max(distance(row, temperature) for row in real_rows for temperature in TEMPERATURES) <= MOST


def test_masses_of_equal_scores_are_equal_to_the_last_bit() -> None:
    assert np.unique(integer_law(make_rows("equal", 262_144, 1)[0], 0.8)).tolist() == [2.0**-18]


@pytest.mark.parametrize("power", [20.5, 24, 30, 36, 39.5, 41])
def test_a_flat_tail_of_262144_tokens_loses_at_most_a_unit_a_token(power: float) -> None:
    row = np.full(262_144, -power * np.log(2), np.float32)
    row[0] = 0.0
    assert distance(row, 1.0) <= MOST + row.size * 2.0**-40


@pytest.mark.parametrize("term", range(1, 4))
def test_a_polynomial_off_by_2_to_the_minus_12_is_beyond_the_bound(term: int, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = list(EXP2)
    wrong[term] = wrong[term] * np.float32(1 + 2.0**-12)
    monkeypatch.setattr("fairdraw.masses.EXP2", tuple(wrong))
    assert distance(make_rows("flat", 49152, 1)[0], 0.8) > MOST
