from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import fairdraw as fd
from fairdraw.verify.admissible import Admissible

VOCAB = 6


@st.composite
def admitted(draw: st.DrawFn) -> Admissible:
    """Some certain ids, some tied ones, and how many of them are kept: all kept ids weigh the same."""
    kinds = draw(st.lists(st.sampled_from(["out", "certain", "tied"]), min_size=VOCAB, max_size=VOCAB))
    certain, tied = (np.array([i for i, k in enumerate(kinds) if k == kind], np.int64) for kind in ("certain", "tied"))
    count = draw(st.integers(1, tied.size - 1)) if tied.size > 1 else 0
    tied = tied if count else tied[:0]
    return Admissible(value=np.isin(np.arange(VOCAB), [*certain, *tied]) * 0.1, certain=certain, tied=tied, count=count)


def choices(side: Admissible) -> set[frozenset[int]]:
    certain = side.certain.tolist()
    return {frozenset([*certain, *some]) for some in combinations(side.tied.tolist(), side.count)}


@given(admitted(), admitted())
def test_two_sides_meet_exactly_when_they_have_a_choice_in_common(a: Admissible, b: Admissible) -> None:
    assert a.meets(b, 1e-6) == bool(choices(a) & choices(b))


@given(admitted(), admitted())
def test_meeting_is_mutual(a: Admissible, b: Admissible) -> None:
    assert a.meets(b, 1e-6) == b.meets(a, 1e-6)


def test_equal_sets_with_other_weights_do_not_meet() -> None:
    laws = [fd.law(fd.Plan.parse(f"fairdraw: temperature={t}"), [1.0, 0.0]) for t in (1, 2)]
    assert not Admissible.of(laws[0]).meets(Admissible.of(laws[1]), 1e-6)


def test_a_tie_that_a_later_cut_settled_is_not_open() -> None:
    plan = fd.Plan.parse("custom: top_k(k=2, ties=any) > top_k(k=1)")
    weights = fd.law(plan, [3.0, 2.0, 2.0, 1.0])
    assert weights.open_ties
    assert Admissible.of(weights).tied.size == 0
