"""Faults seen in the field, in the draw itself: what comes out here (translations have their own file)."""

import math

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.draws import ExponentialRace, InverseCdf, Race
from fairdraw.streams.noise import Noise

SEEDS = [11, 22, 33, 44]
FLAT = np.zeros(8, np.float32)


@pytest.mark.parametrize("draw", [Race(), ExponentialRace(), InverseCdf()])
def test_f01_a_forbidden_token_is_never_drawn_though_its_weight_is_zero(draw):
    # pytorch/pytorch 48841: 0 / 0 wins an argmax.
    plan = fd.Plan.of(draw=draw)
    tokens = fd.sample_many(plan, [-math.inf, 0.0], seed=1, positions=np.arange(200_000))
    assert (tokens == 1).all()


def test_f02_no_noise_makes_a_token_unbeatable():
    # sgl-project/sglang 25106: a hash of all ones gave u = 1 and an infinite score.  Here u lies inside (0, 1).
    plan = fd.Plan.of()
    tokens = fd.sample_many(plan, [-40.0, 0.0, -math.inf], seed=2, positions=np.arange(200_000))
    assert (tokens == 1).all()
    bits = 2.0**52 - 1
    assert 0 < -math.log((bits + 0.5) * 2.0**-52) < math.inf
    noise = Noise(seed=5, position=np.arange(50_000, dtype=np.uint64)).exponentials(np.arange(4))
    assert (noise > 0).all()
    assert np.isfinite(noise).all()


def drawn(seeds, sample_indices, step):
    rows = np.tile(FLAT, (len(seeds), 1))
    return fd.sample_batch(
        fd.Plan.of(), rows, seeds=seeds, positions=step, sample_indices=sample_indices
    ).tokens.tolist()


def test_f10_every_row_of_a_batch_has_its_own_seed():
    # flashinfer-ai/flashinfer 4861: only the first seed of a batch counted.
    own = [[fd.sample(fd.Plan.of(), FLAT, seed=seed, position=step).token for seed in SEEDS] for step in range(32)]
    assert [drawn(SEEDS, 0, step) for step in range(32)] == own
    same = [drawn([11] * 4, 0, step) for step in range(32)]
    assert all(len(set(row)) == 1 for row in same)
    assert all([row[i] for row in same] != [row[i] for row in own] for i in (1, 2, 3))


def test_f10_samples_of_one_request_differ_and_can_be_drawn_again():
    answers = [drawn([11] * 4, range(4), step) for step in range(32)]
    assert len({tuple(row[i] for row in answers) for i in range(4)}) == 4
    assert answers == [drawn([11] * 4, range(4), step) for step in range(32)]
