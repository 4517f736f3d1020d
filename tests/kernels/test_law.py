"""Kernels draw from the law: the pooled G-test of every shape of plan they know, the support, and light tails.

The shapes stand in ``benches/law.py``, which runs them with a million draws each (docs/law_figures.md); here they get
10^5, by the kernel of the shape's own mode.  Each of fewer than 50 tests refutes a right kernel with probability
1e-8, all together with less than 1e-6; seeds are fixed.  What a shape's test would see in 99 of 100 runs, whatever its
direction, is a total variation of 0.017 (32 kept tokens) to 0.034 (1479), on the long rows 0.05; a test that fails
says its own figure.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.draws import Draw, InverseCdf, Race
from fairdraw.kernels import backends
from fairdraw.verify.statistics import zero_count_level

pytest.importorskip("fairdraw.kernels.numba_cpu.entries")
_SPEC = importlib.util.spec_from_file_location("benches_law", Path(__file__).parents[2] / "benches" / "law.py")
assert _SPEC
assert _SPEC.loader
law = sys.modules["benches_law"] = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(law)

LEVEL, DRAWS, LONG_DRAWS, TAIL_DRAWS, SINGLE_DRAWS = law.LEVEL, 100_000, 30_000, 100_000, 10_000


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "chosen", lambda: "numba")
    backends._ASKED.clear()


def test_every_mode_that_draws_by_chance_has_a_shape() -> None:
    assert {shape.mode for shape in law.SHAPES} == {"temperature", "min_p", "top_k", "top_p", "inverse_cdf"}


@pytest.mark.parametrize("shape", law.SHAPES, ids=lambda shape: shape.name)
def test_a_hundred_thousand_draws_of_a_shape_follow_the_law(shape: object) -> None:
    finding = law.examine(shape, DRAWS)
    assert finding.test.out_of_support == 0, str(finding)
    assert finding.test.p_value > LEVEL, f"{finding} at level {LEVEL}, smallest difference seen {finding.smallest:.4f}"


@pytest.mark.parametrize("shape", law.LONG, ids=lambda shape: shape.name)
def test_thirty_thousand_draws_from_a_long_row_follow_the_law(shape: object) -> None:
    finding = law.examine(shape, LONG_DRAWS)
    assert finding.vocab >= 32_768
    assert finding.test.p_value > LEVEL, f"{finding} at level {LEVEL}, smallest difference seen {finding.smallest:.4f}"


# Tails.


@pytest.mark.parametrize("draw", [Race(), InverseCdf()], ids=lambda draw: draw.name)
@pytest.mark.parametrize("tail", ["flat", "light"])
def test_tokens_of_2_to_the_minus_24_to_32_come_as_often_as_they_should(tail: str, draw: Draw) -> None:
    bands = law.bands_of(tail, law.draw_tail(tail, TAIL_DRAWS, draw), TAIL_DRAWS)
    assert all(band.p_value > LEVEL for band in bands), [str(band) for band in bands]


@pytest.mark.parametrize("draw", [Race(), InverseCdf()], ids=lambda draw: draw.name)
def test_kernels_of_single_rows_reach_a_flat_tail_too(draw: Draw) -> None:
    (band,) = law.bands_of("flat", law.draw_tail("flat", SINGLE_DRAWS, draw, threads=1), SINGLE_DRAWS)
    assert band.p_value > LEVEL, str(band)


def test_a_tail_that_never_came_would_be_seen() -> None:
    for tail, power in (("flat", 0), ("light", 0), ("light", 1)):
        row, powers = law.tail_row(tail)
        mass = fd.law(fd.Plan.of(), row).probabilities[powers == list(law.TAILS[tail])[power]].sum()
        assert zero_count_level(TAIL_DRAWS, float(mass)) < 1e-10


EVENTS = {
    1729: 15207, 373316: 214979, 3086764: 48174, 3379101: 227861, 3697420: 216737, 3813353: 247789, 4139990: 203156,
    5157491: 198211, 5394635: 231808, 5527326: 75240, 5995888: 231943, 6161474: 92977, 6257452: 180430,
    6644505: 17436, 6892467: 165509, 7183288: 108134, 7186180: 101101, 7315368: 33817, 7880521: 197982,
    7987466: 209645, 8609942: 155851, 8610369: 127164,
}  # fmt: skip
"""All positions below 10^7 at which a token of 2^-36 or 2^-40 is drawn, and the token (benches/law.py finds them)."""


def test_of_ten_million_draws_tokens_of_2_to_the_minus_36_and_40_get_their_share() -> None:
    bands = law.bands_of("lightest", np.array(list(EVENTS.values())), 10_000_000)
    assert [band.count for band in bands] == [21, 1]
    assert [round(band.expected, 2) for band in bands] == [19.07, 1.19]
    assert all(band.p_value > LEVEL for band in bands)


def test_kernels_draw_these_tail_events_in_both_ways() -> None:
    row, positions, tokens = law.tail_row("lightest")[0], np.array(list(EVENTS)), list(EVENTS.values())
    assert fd.sample_many(fd.Plan.of(), row, seed=law.SEED, positions=positions).tolist() == tokens
    rows = np.broadcast_to(row, (positions.size, row.size))
    assert fd.sample_batch(fd.Plan.of(), rows, seeds=law.SEED, positions=positions, threads=1).tokens.tolist() == tokens


def test_noise_of_24_bits_would_lose_half_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    row = law.tail_row("lightest")[0]

    def hits() -> int:
        drawn = (fd.sample(fd.Plan.of(), row, seed=law.SEED, position=position).token for position in EVENTS)
        return sum(token == right for token, right in zip(drawn, EVENTS.values(), strict=True))

    monkeypatch.setattr(backends, "chosen", lambda: "numpy")
    assert hits() == len(EVENTS)
    monkeypatch.setattr("fairdraw.streams.noise._uniform", lambda bits: ((bits >> np.uint64(28)) + 0.5) * 2.0**-24)
    assert hits() <= len(EVENTS) // 2
