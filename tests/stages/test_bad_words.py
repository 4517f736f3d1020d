import numpy as np
import pytest

import fairdraw as fd
from fairdraw.stages import BadWords
from stages.one_stage import kept

VOCAB = 12
ROW = np.zeros(VOCAB, np.float32)
EVERY = list(range(VOCAB))
WORDS = {"plain": [3, 10, 6], " plain": [7], "x": [5], " x": [5]}
FACTS = fd.ModelFacts(vocab_size=VOCAB, encode=WORDS.__getitem__)


@pytest.mark.parametrize(
    ("history", "forbidden"), [([], {7}), ([3], {7}), ([3, 10], {6, 7}), ([9, 3, 10], {6, 7}), ([3, 10, 9], {7})]
)
def test_f15_every_spelling_of_a_text_is_forbidden_where_it_would_be_completed(history, forbidden):
    plan = fd.Plan.resolve(fd.SamplingParams(bad_words=["plain"]), facts=FACTS)
    for made in (fd.History(prompt=history), fd.History(output=history), fd.History(prompt=[1], output=history)):
        assert set(EVERY) - set(fd.law(plan, ROW, history=made).support.tolist()) == forbidden


def test_f15_the_spellings_covered_can_be_read_in_the_plan():
    (stage,) = [s for s in fd.Plan.resolve({"bad_words": "plain"}, facts=FACTS).stages if isinstance(s, BadWords)]
    assert stage.sequences == ((3, 10, 6), (7,))
    spaced = fd.Plan.resolve({"bad_words": [" plain"]}, facts=FACTS)
    assert spaced.stages == fd.Plan.resolve({"bad_words": ["plain"]}, facts=FACTS).stages


def test_f15_a_spelling_that_is_the_same_ids_counts_once_and_ids_come_first():
    plan = fd.Plan.resolve({"bad_words": ["x"], "bad_words_ids": [[5], [1, 2]]}, facts=FACTS)
    assert [s.sequences for s in plan.stages if isinstance(s, BadWords)] == [((5,), (1, 2))]


def test_the_scope_output_does_not_look_into_the_prompt():
    words = {"sequences": [[1, 2, 3]]}
    split = fd.History(prompt=[1], output=[2])
    inside = fd.History(prompt=[9], output=[1, 2])
    assert [kept(ROW, BadWords(**words, scope="all"), history=h) != EVERY for h in (split, inside)] == [True, True]
    assert [kept(ROW, BadWords(**words, scope="output"), history=h) != EVERY for h in (split, inside)] == [False, True]


def test_a_sequence_longer_than_the_history_forbids_nothing():
    assert kept(ROW, BadWords(sequences=[[1, 1, 1]]), history=fd.History(prompt=[1])) == EVERY
    assert kept(ROW, BadWords(sequences=[[1, 1, 1]]), history=fd.History(prompt=[1, 1])) == [0, *range(2, VOCAB)]


def test_padding_is_no_part_of_a_word():
    padded = fd.History(prompt=[1, 1], left_padding=1)
    assert kept(ROW, BadWords(sequences=[[1, 1, 1]]), history=padded) == EVERY


def test_no_sequences_forbid_nothing():
    assert kept(ROW, BadWords(sequences=[])) == EVERY


def test_transformers_drops_an_end_id_alone_from_the_list():
    facts = fd.ModelFacts(vocab_size=VOCAB, end_token_ids=(2,))
    plan = fd.Plan.resolve({"bad_words_ids": [[2], [3], [4, 2]]}, dialect="transformers", facts=facts)
    assert [s.sequences for s in plan.stages if isinstance(s, BadWords)] == [((3,), (4, 2))]
