from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fairdraw as fd
from constraints.toys import toy
from fairdraw.constraints.allowed_ids import AllowedIds
from fairdraw.constraints.choice import Choice
from fairdraw.constraints.lazy import draw_lazily
from fairdraw.constraints.regex import Regex
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.draws import InverseCdf
from fairdraw.stages import Mask, Temperature

PLAN = fd.Plan.parse("fairdraw: temperature=0.8")
LONG = 32768 + 77
PENALISED = fd.Plan.resolve(
    {"temperature": 1.3, "repetition_penalty": 1.2, "frequency_penalty": 0.3, "logit_bias": {"3": 2.0}}
)


def same(track: Track, plan: fd.Plan, logits: np.ndarray, seed: int, position: int, **more: object) -> int:
    """How many arrivals were asked for, when the token is the masked row's."""
    history = fd.History(prompt=[1, 1, 2], output=[3])
    drawn = draw_lazily(track, plan, logits, seed=seed, position=position, history=history, **more)
    masked = fd.sample(plan, logits, seed=seed, position=position, history=history, mask=track.mask())
    assert drawn.token == masked.token
    assert track.state.allows(drawn.token)
    return drawn.asked


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-20, 20, width=32), min_size=8, max_size=60),
    st.sets(st.integers(0, 7), min_size=1),
    st.integers(0, 2**64 - 1),
    st.sampled_from([PLAN, PENALISED]),
    st.integers(1, 50),
)
def test_the_lazy_token_is_the_masked_one(logits, ids, seed, plan, most):
    vocabulary = Vocabulary(token_bytes=(b"",) + (b"x",) * 7, width=len(logits), end_ids=(0,))
    same(Track(AllowedIds(tuple(ids)), vocabulary), plan, np.float32(logits), seed, 4, most=most)


def test_the_lazy_token_is_the_masked_one_in_long_tails():
    generator = np.random.default_rng(5)
    vocabulary = Vocabulary(token_bytes=(b"",) + (b"x",) * (LONG - 1), width=LONG, end_ids=(0,))
    asked = []
    for position in range(30):
        # From half of all ids down to three of them, on flat and on steep rows.
        count = max(3, LONG >> (1 + position % 15))
        ids = generator.choice(np.arange(1, LONG), count, replace=False)
        logits = np.float32(generator.normal(size=LONG) * (1 + position % 4))
        asked.append(same(Track(AllowedIds(ids.tolist()), vocabulary), PLAN, logits, 9, position))
    assert (min(asked), max(asked)) == (1, 40)


def test_an_allowed_first_arrival_needs_one_question_and_no_mask(monkeypatch):
    track = Track(Choice(("yes", "no")), toy("yes", "no"))
    monkeypatch.setattr(Track, "mask", lambda self: pytest.fail("a mask was worked out"))
    drawn = draw_lazily(track, PLAN, [0.0, 50.0, 0.0], seed=1, position=0)
    assert (drawn.token, drawn.asked, drawn.masked) == (1, 1, False)


def test_after_many_arrivals_the_mask_is_worked_out_after_all():
    vocabulary = toy(*["x"] * 100, "yes")
    logits = np.full(102, 30.0, np.float32)
    logits[101] = 0
    drawn = draw_lazily(Track(Choice(("yes",)), vocabulary), PLAN, logits, seed=1, position=0, most=20)
    assert (drawn.token, drawn.asked, drawn.masked) == (101, 20, True)


def test_where_nothing_is_allowed_the_error_names_the_constraint():
    with pytest.raises(fd.LogitsError, match="regex at step 0 must allow some token"):
        draw_lazily(Track(Regex("z"), toy("a", "b")), PLAN, [0.0, 1.0, 2.0], seed=1, position=0)


@pytest.mark.parametrize(
    ("plan", "why"),
    [
        (fd.Plan.parse("fairdraw: top_p=0.9"), "cannot stand before top_p"),
        (fd.Plan.parse("fairdraw: top_k=5"), "cannot stand before top_k"),
        (fd.Plan.parse("fairdraw: min_p=0.1"), "cannot stand before min_p"),
        (fd.Plan.parse("fairdraw: temperature=0"), "draws by race, got greedy"),
        (fd.Plan.of(Mask(), draw=InverseCdf()), "draws by race, got inverse_cdf"),
        (fd.Plan.of(Temperature(value=2.0)), "with a mask stage"),
    ],
)
def test_a_plan_whose_token_a_mask_could_change_otherwise_is_refused(plan, why):
    with pytest.raises(fd.PlanError, match=why):
        draw_lazily(Track(Choice(("yes",)), toy("yes")), plan, [0.0, 1.0], seed=1, position=0)
