from __future__ import annotations

import math

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.logprobs import logprobs

ROW = [4.0, 3.0, 2.0, 1.0]
PLAIN = fd.Plan.parse("fairdraw:")


def entries(token: int, top: int) -> list[tuple[int, int, float]]:
    report = logprobs(PLAIN, ROW, token, meaning="raw", top=top)
    return [(entry.token, entry.rank, round(entry.logprob, 6)) for entry in report.top]


def test_the_chosen_token_is_not_listed_twice():
    assert entries(0, 2) == [(0, 1, -0.44019), (1, 2, -1.44019)]


def test_the_chosen_token_is_added_with_its_own_rank():
    assert entries(3, 2) == [(0, 1, -0.44019), (1, 2, -1.44019), (3, 4, -3.44019)]


def test_top_0_reports_the_chosen_token_alone():
    assert entries(2, 0) == [(2, 3, -2.44019)]


def test_more_than_there_are_gives_all_of_them():
    assert [token for token, _, _ in entries(1, 99)] == [0, 1, 2, 3]


def test_a_token_that_a_cut_removed_has_minus_infinity_when_processed():
    plan = fd.Plan.parse("fairdraw: temperature=0.5 top_p=0.9")
    row = [2.0, 1.0, 0.0, -1.0]
    values = [logprobs(plan, row, token, meaning="processed").chosen.logprob for token in range(4)]
    assert values[:2] == pytest.approx([-0.126928, -2.126928], abs=1e-6)
    assert values[2:] == [-math.inf, -math.inf]


def test_equal_tokens_rank_by_id():
    report = logprobs(PLAIN, [1.0, 2.0, 2.0], 2, meaning="raw", top=3)
    assert [(entry.token, entry.rank) for entry in report.top] == [(1, 1), (2, 2), (0, 3)]


@pytest.mark.parametrize("bad", [{"token": 4}, {"token": -1}, {"meaning": "other"}, {"top": -1}])
def test_a_question_that_makes_no_sense_is_refused(bad):
    question = {"token": 0, "meaning": "raw", "top": 0, **bad}
    with pytest.raises(fd.ParameterError):
        logprobs(PLAIN, ROW, question.pop("token"), **question)


def test_a_result_is_never_worked_out_from_what_became_of_the_row_afterwards():
    row = np.array([2.0, 1.0, 0.0, -1.0], np.float32)
    early, late = (fd.sample(PLAIN, row, seed=1, position=0) for _ in range(2))
    weights = fd.law(PLAIN, row)
    expected = early.logprob
    row[:] = 0
    assert early.logprob == expected
    with pytest.raises(fd.LogitsError, match="logits must be as they were when the token was drawn"):
        late.logprob  # noqa: B018
    assert weights.trace[0].entropy == pytest.approx(weights.entropy)
