from __future__ import annotations

import math

import numpy as np
import pytest

from fairdraw.generation.speculation.tally import Tally
from fairdraw.generation.speculation.tree import Candidate

P, Q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.2])


def test_the_bound_of_certain_guesses_is_what_the_target_gives_them():
    tally = Tally(reached=2)
    tally.measure(P, [Candidate(token=0), Candidate(token=2), Candidate(token=2)])
    tally.measure(P, [Candidate(token=1)])
    assert tally.report("d", "match").bound == pytest.approx((0.7 + 0.3) / 2)


def test_the_bound_of_a_drawn_guess_is_the_overlap_of_the_laws():
    tally = Tally(reached=1)
    tally.measure(P, [])
    tally.measure(P, [Candidate(token=1, law=Q)])
    assert tally.report("d", "accept").bound == pytest.approx(0.7)


def test_a_bound_that_is_not_known_everywhere_is_not_told():
    tally = Tally(reached=2)
    tally.measure(P, [Candidate(token=1, law=Q)])
    assert tally.report("d", "match").bound is None
    tally.measure(P, [Candidate(token=1, law=Q), Candidate(token=0, law=Q)])
    assert tally.report("d", "accept").bound is None


def test_without_a_guess_there_is_no_rate_and_no_bound():
    report = Tally(tokens=3, target_steps=3).report("d", "match")
    assert (report.bound, report.steps_saved) == (None, 0)
    assert math.isnan(report.acceptance)
