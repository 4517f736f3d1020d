import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import LogitBias
from stages.one_stage import kept, law, scores

FIVE = [0.0, 1.0, 2.0, 3.0, 4.0]


def test_f14_keys_may_be_strings_and_any_size_of_bias_is_allowed():
    assert scores(FIVE, LogitBias(bias={"4": -100})) == [0, 1, 2, 3, -96]
    assert scores(FIVE, LogitBias(bias={4: 101})) == [0, 1, 2, 3, 105]
    assert LogitBias(bias={"4": -100}) == LogitBias(bias={4: -100.0}) == LogitBias(bias=[(4, -100)])


def test_f14_an_empty_map_changes_nothing():
    assert scores(FIVE, LogitBias(bias={})) == FIVE
    assert [stage.name for stage in fd.Plan.parse("fairdraw: logit_bias={}").stages] == ["mask"]


@pytest.mark.parametrize("token", [5, 6, 2**31 - 1])
def test_f14_an_id_beyond_the_row_is_refused_and_the_valid_range_is_named(token):
    with pytest.raises(fd.ParameterError, match=rf"logit_bias must be a token id in 0..4, got {token}"):
        law(FIVE, LogitBias(bias={token: -100}))


@pytest.mark.parametrize("bias", [{-1: 5}, {"-1": 5}])
def test_f14_a_negative_id_never_wraps_to_the_last_token(bias):
    with pytest.raises(fd.ParameterError, match="token id"):
        fd.SamplingParams(logit_bias=bias)


def test_a_bias_does_not_revive_a_forbidden_token():
    assert kept([0.0, -np.inf], LogitBias(bias={1: 100})) == [0]


def test_a_bias_is_one_float32_addition():
    assert scores([0.1, 1.0], LogitBias(bias={0: 0.2}))[0] == float(np.float32(0.1) + np.float32(0.2))


@pytest.mark.parametrize("bias", [3e38, 1e39])
def test_an_overflow_is_an_error_that_names_the_stage(bias):
    with pytest.raises(fd.FairdrawError, match="logit_bias"):
        law([3e38, 0.0], LogitBias(bias={0: bias}))


def test_a_hundred_makes_a_token_certain_and_minus_a_hundred_leaves_e_to_the_minus_100():
    assert law(FIVE, LogitBias(bias={0: 100})).probabilities[0] == 1.0
    last = law(FIVE, LogitBias(bias={4: -100})).probabilities[4]
    assert 0 < last < 1e-41
