"""History: counts after any sequence of appends, rollbacks and forks are those of a recount."""

from collections import Counter

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule

import fairdraw as fd

SCOPES = ("all", "output", "padded")
WINDOWS = (None, 1, 2, 3, 5, 20)
IDS = st.integers(0, 3)


class Model:
    """The same thing as lists."""

    def __init__(self, prompt: list, output: list, padding: int) -> None:
        self.prompt, self.output, self.padding = list(prompt), list(output), padding

    def seen(self, scope: str) -> list:
        every = self.prompt + self.output
        return {"all": every[self.padding :], "output": self.output, "padded": every}[scope]

    def counts(self, scope: str, window: int | None) -> list:
        seen = self.seen(scope)
        return sorted(Counter(seen[len(seen) - min(window, len(seen)) :] if window else seen).items())


class Histories(RuleBasedStateMachine):
    """Several histories, forked from one another, each beside its model."""

    alive = Bundle("alive")

    def __init__(self) -> None:
        super().__init__()
        self.pairs: list = []

    @initialize(target=alive, prompt=st.lists(IDS, max_size=6), output=st.lists(IDS, max_size=4), data=st.data())
    def begin(self, prompt, output, data):
        padding = data.draw(st.integers(0, len(prompt)))
        history = fd.History(prompt=prompt, output=output, left_padding=padding)
        self.pairs.append((history, Model(prompt, output, padding)))
        return self.pairs[-1]

    @rule(pair=alive, token=IDS)
    def append(self, pair, token):
        history, model = pair
        history.append(token)
        model.output.append(token)

    @rule(pair=alive, count=st.integers(0, 4))
    def rollback(self, pair, count):
        history, model = pair
        count = min(count, len(model.output))
        history.rollback(count)
        model.output = model.output[: len(model.output) - count]

    @rule(target=alive, pair=alive)
    def fork(self, pair):
        history, model = pair
        self.pairs.append((history.fork(), Model(model.prompt, model.output, model.padding)))
        return self.pairs[-1]

    @rule(pair=alive, scope=st.sampled_from(SCOPES), window=st.sampled_from(WINDOWS))
    def ask(self, pair, scope, window):
        """From here on this pair's counts are kept up to date."""
        history, model = pair
        ids, counts = history.counts(scope, window)
        assert list(zip(ids.tolist(), counts.tolist(), strict=True)) == model.counts(scope, window)

    @rule(pair=alive, tokens=st.lists(IDS, max_size=3))
    def ends_with(self, pair, tokens):
        history, model = pair
        seen = model.seen("all")
        assert history.ends_with(tokens) == (tokens == seen[len(seen) - len(tokens) :] and len(tokens) <= len(seen))

    @invariant()
    def lengths_and_contents_agree(self):
        for history, model in self.pairs:
            assert history.prompt == tuple(model.prompt)
            assert history.output == tuple(model.output)
            assert len(history) == len(model.prompt) + len(model.output)
            assert history.output_length == len(model.output)
            assert all(history.length(scope) == len(model.seen(scope)) for scope in SCOPES)

    def teardown(self):
        for history, model in self.pairs:
            for scope in SCOPES:
                for window in WINDOWS:
                    ids, counts = history.counts(scope, window)
                    assert list(zip(ids.tolist(), counts.tolist(), strict=True)) == model.counts(scope, window)


TestHistories = Histories.TestCase
TestHistories.settings = settings(max_examples=150, stateful_step_count=30, deadline=None, derandomize=True)


def test_counts_come_with_ascending_ids_as_int64():
    ids, counts = fd.History(prompt=[9, 1, 9], output=[4]).counts("all", None)
    assert (ids.tolist(), counts.tolist()) == ([1, 4, 9], [1, 1, 2])
    assert ids.dtype == counts.dtype == np.int64


@pytest.mark.parametrize(("window", "seen"), [(1, [7]), (2, [6, 7]), (3, [5, 6, 7]), (4, [5, 6, 7]), (None, [5, 6, 7])])
def test_a_window_looks_at_that_many_of_the_last_ids_of_its_scope(window, seen):
    history = fd.History(prompt=[0, 0, 5], output=[6, 7], left_padding=2)
    assert history.counts("all", window)[0].tolist() == seen
    assert history.counts("output", window)[0].tolist() == [i for i in seen if i != 5]


def test_only_the_scope_padded_sees_the_left_padding():
    history = fd.History(prompt=[0, 0, 5], left_padding=2)
    assert [history.counts(scope, None)[0].tolist() for scope in SCOPES] == [[5], [], [0, 5]]
    assert [history.length(scope) for scope in SCOPES] == [1, 0, 3]
    assert not history.ends_with([0, 5])


def test_a_fork_and_its_origin_go_separate_ways():
    origin = fd.History(prompt=[1], output=[2])
    origin.counts("all", 2)
    copy = origin.fork()
    copy.append(3)
    origin.append(1)
    assert (origin.output, copy.output) == ((2, 1), (2, 3))
    assert (origin.counts("all", 2)[0].tolist(), copy.counts("all", 2)[0].tolist()) == ([1, 2], [2, 3])


def test_it_prints_as_it_is_made():
    assert repr(fd.History(prompt=[1, 2], output=[3], left_padding=1)) == (
        "History(prompt=[1, 2], output=[3], left_padding=1)"
    )
    assert repr(fd.History()) == "History(prompt=[], output=[])"


def test_the_callers_list_is_copied():
    prompt = [1, 2]
    history = fd.History(prompt=prompt)
    prompt.append(3)
    assert history.prompt == (1, 2)


def test_counts_of_many_distinct_ids_survive_growth_and_removal():
    history = fd.History(output=[*range(100), 7, 7])
    ids, often = history.counts("output", window=50)
    assert ids.tolist() == [7, *range(52, 100)]
    assert often.tolist() == [2, *[1] * 48]
    history.rollback(90)
    assert history.counts("output", window=50)[0].tolist() == list(range(12))
