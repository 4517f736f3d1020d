import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels.shapes import recognise
from fairdraw.stages import Dry, TopK
from stages.one_stage import kept, law, scores

ROW = [0.0] * 12


def penalties(tokens, **fields) -> dict[int, float]:
    """Id to what is subtracted from it."""
    row = scores(ROW, Dry(**{"multiplier": 1.0, "base": 2.0} | fields), history=fd.History(prompt=tokens))
    return {token: -score for token, score in enumerate(row) if score}


def test_d38_a_repetition_73_tokens_back_counts_if_the_window_reaches_it():
    """The text begins with 1 2 3 and ends with 1 2: the shortest repetition that counts, so 3 pays 0.8."""
    history = fd.History(prompt=[1, 2, 3, *[6 + i % 4 for i in range(70)], 1, 2])
    logits = [0.0, 0.0, 0.0, 2.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0]
    near, far = (law(logits, Dry(multiplier=0.8, window=n), history=history).probabilities for n in (64, 100))
    assert near.round(4).tolist() == [0.0503, 0.0503, 0.0503, 0.3719, 0.0503, 0.2255, *[0.0503] * 4]
    assert far.round(4).tolist() == [0.0633, 0.0633, 0.0633, 0.2101, 0.0633, 0.2836, *[0.0633] * 4]
    whole = law(logits, Dry(multiplier=0.8), history=history).probabilities
    assert whole.tolist() == far.tolist()


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ([], {}),
        ([1, 2, 3], {}),
        ([1, 2, 3, 1], {}),
        ([1, 2, 3, 1, 2], {3: 1.0}),
        ([9, 1, 2, 3, 9, 1, 2], {3: 2.0}),
        ([1, 2, 3, 1, 2, 4, 1, 2], {3: 1.0, 4: 1.0}),
        ([7, 1, 2, 3, 1, 2, 3, 7, 1, 2], {3: 2.0}),
        ([5, 5, 5, 5], {5: 2.0}),
    ],
)
def test_an_id_that_would_lengthen_a_repetition_pays_for_the_longest(tokens, expected):
    assert penalties(tokens) == expected


@pytest.mark.parametrize(("allowed", "expected"), [(1, {3: 4.0}), (2, {3: 2.0}), (3, {3: 1.0}), (4, {})])
def test_the_allowed_length_is_the_first_that_pays(allowed, expected):
    assert penalties([9, 1, 2, 3, 9, 1, 2], allowed_length=allowed) == expected


def test_a_window_cuts_the_earlier_copy_short():
    tokens = [9, 1, 2, 3, 9, 1, 2]
    assert penalties(tokens, window=7) == {3: 2.0}
    assert penalties(tokens, window=6) == {3: 1.0}
    assert penalties(tokens, window=5) == {}


@pytest.mark.parametrize(
    ("breakers", "expected"),
    [
        ([[1]], {}),  # one token since: too few
        ([[9]], {3: 1.0}),  # 1 2 since
        ([[8]], {3: 4.0}),  # not there
        ([[3]], {}),  # the id itself is a breaker
        ([[3, 8]], {3: 4.0}),  # a longer one does not shield it
        ([[6, 9]], {3: 1.0}),  # a sequence ends where its last id is
        ([[6, 8]], {3: 4.0}),
        ([[9, 1]], {}),
        ([[6], [6, 9]], {3: 1.0}),  # the longest that begins there
    ],
)
def test_no_repetition_reaches_across_a_breaker(breakers, expected):
    assert penalties([6, 9, 1, 2, 3, 6, 9, 1, 2], breakers=breakers) == expected


def test_mistral_rs_follows_a_repetition_over_50_tokens_at_most():
    tokens = [*range(10)] * 12
    assert penalties(tokens, longest=5)[0] == 8.0
    assert penalties(tokens, longest=50)[0] == 2.0**48


def test_the_power_never_leaves_float32():
    """ln of the largest float32 is 88.72, and 88.72 / ln 3 is 80.8."""
    row = scores(ROW, Dry(multiplier=1e-30, base=3.0), history=fd.History(prompt=[1] * 200))
    assert row[1] == -float(np.float32(float(np.float32(1e-30)) * 3.0**80))
    assert penalties([1] * 200, base=1.0) == {1: 1.0}


def test_the_subtraction_is_one_in_float32():
    history = fd.History(prompt=[1, 2, 3, 1, 2])
    row = scores([0.1] * 5, Dry(multiplier=0.7, base=1.1), history=history)
    assert row[3] == float(np.float32(0.1) - np.float32(0.7))


def test_padding_is_not_looked_at_and_the_scope_can_be_the_output():
    padded = fd.History(prompt=[1, 2, 3, 1], output=[2], left_padding=2)
    assert scores(ROW, Dry(multiplier=1.0), history=padded) == ROW
    assert scores(ROW, Dry(multiplier=1.0, scope="padded"), history=padded)[3] == -1.0
    assert scores(ROW, Dry(multiplier=1.0, scope="output"), history=fd.History(prompt=[1, 2, 3, 1], output=[2])) == ROW


def test_an_id_beyond_the_row_is_refused_or_passed_over():
    history = fd.History(prompt=[1, 2, 50, 1, 2])
    with pytest.raises(fd.ParameterError, match=r"history must be a token id in 0..11, got 50"):
        kept(ROW, Dry(multiplier=1.0), history=history)
    assert scores(ROW, Dry(multiplier=1.0, unknown_ids="ignore"), history=history) == ROW


def naive(tokens, allowed):
    """Every earlier place, compared token by token."""
    longest = {}
    for place in range(1, len(tokens)):
        length = 0
        while length < place and tokens[place - 1 - length] == tokens[-1 - length]:
            length += 1
        if length >= allowed:
            longest[tokens[place]] = max(longest.get(tokens[place], 0), length)
    return longest


@pytest.mark.parametrize("letters", [2, 3, 5])
def test_it_finds_what_a_comparison_of_every_place_finds(letters):
    random = np.random.default_rng(letters)
    for _ in range(60):
        tokens = random.integers(0, letters, random.integers(1, 40)).tolist()
        expected = {token: 2.0 ** (length - 2) for token, length in naive(tokens, 2).items()}
        assert penalties(tokens) == expected


def test_a_plan_with_it_draws_the_same_tokens_with_and_without_a_kernel(monkeypatch):
    plan, history = fd.Plan.of(Dry(multiplier=2.0), TopK(k=5)), fd.History(prompt=[1, 2, 3, 1, 2])
    logits = np.random.default_rng(2).normal(size=40_000).astype(np.float32)
    logits[3] = logits.max() + 1
    assert recognise(plan).mode == "top_k"
    drawn = [fd.sample(plan, logits, seed=1, position=p, history=history).token for p in range(30)]
    monkeypatch.setattr("fairdraw.kernels.backends.chosen", lambda: "numpy")
    assert [fd.sample(plan, logits, seed=1, position=p, history=history).token for p in range(30)] == drawn
