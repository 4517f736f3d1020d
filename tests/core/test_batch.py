from __future__ import annotations

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.batch import sample_batch

RNG = np.random.default_rng(12)
ROWS = (RNG.standard_normal((9, 60)) * 2).astype(np.float32)
PLANS = [
    fd.Plan.parse(text)
    for text in (
        "fairdraw: temperature=0.7 top_p=0.9",
        "fairdraw: temperature=0",
        "candle: TopK k=5 temperature=0.8",
        "fairdraw: repetition_penalty=1.5 top_k=3",
        "custom: typical(p=0.8) > inverse_cdf()",
        "fairdraw: min_p=0.1",
        "transformers: do_sample=true top_p=0.8",
        "fairdraw:",
        "candle: GumbelSoftmax temperature=1",
    )
]
SEEDS = [0, 1, 2**64 - 1, 42, 42, 7, 8, 9, 2**40]
POSITIONS = list(range(100, 109))
INDICES = [0, 0, 1, 2, 0, 0, 5, 0, 3]
HISTORIES = [None, None, None, fd.History(prompt=[1, 2], output=[3]), None, None, None, None, None]
ARGUMENTS = {"seeds": SEEDS, "positions": POSITIONS, "sample_indices": INDICES, "histories": HISTORIES}


def alone(index: int) -> fd.Drawn:
    return fd.sample(
        PLANS[index],
        ROWS[index],
        seed=SEEDS[index],
        position=POSITIONS[index],
        sample_index=INDICES[index],
        history=HISTORIES[index],
    )


def test_each_row_gets_the_token_and_logprob_that_it_gets_alone():
    batch = sample_batch(PLANS, ROWS, **ARGUMENTS)
    assert batch.tokens.tolist() == [alone(i).token for i in range(9)]
    assert batch.logprobs.tolist() == [alone(i).logprob for i in range(9)]
    assert batch.status == ("",) * 9
    assert batch.ok.all()


def test_order_and_neighbours_change_nothing():
    whole = sample_batch(PLANS, ROWS, **ARGUMENTS).tokens
    for order in (list(range(9))[::-1], [3, 1, 4], [8], [5, 5, 0]):
        part = sample_batch(
            [PLANS[i] for i in order],
            [ROWS[i] for i in order],
            **{name: [values[i] for i in order] for name, values in ARGUMENTS.items()},
        )
        assert part.tokens.tolist() == whole[order].tolist()


def test_seeds_are_a_rows_own():
    # Four rows alike: one seed each, then one for all (flashinfer honoured the first alone).
    plan, rows = PLANS[7], np.zeros((4, 8), np.float32)
    draws = lambda seeds: np.stack(  # noqa: E731
        [sample_batch(plan, rows, seeds=seeds, positions=position).tokens for position in range(32)]
    )
    different, same = draws([11, 22, 33, 44]), draws(11)
    for row, seed in enumerate([11, 22, 33, 44]):
        assert different[:, row].tolist() == fd.sample_many(plan, rows[0], seed=seed, positions=range(32)).tolist()
    assert (same == same[:, :1]).all()
    assert len({tuple(column) for column in different.T}) == 4


def test_one_request_has_different_answers_by_sample_index():
    drawn = [
        sample_batch(PLANS[7], np.zeros((4, 8)), seeds=11, positions=p, sample_indices=range(4)).tokens
        for p in range(32)
    ]
    assert len({tuple(column) for column in np.stack(drawn).T}) == 4


def test_a_bad_row_gets_a_status_and_leaves_its_neighbours_alone():
    rows = ROWS.copy()
    rows[2, 7], rows[5] = np.nan, -np.inf
    good = sample_batch(PLANS, ROWS, **ARGUMENTS)
    batch = sample_batch(PLANS, rows, **ARGUMENTS, on_error="return")
    bad = [2, 5]
    assert batch.ok.tolist() == [i not in bad for i in range(9)]
    assert batch.tokens[bad].tolist() == [-1, -1]
    assert np.isnan(batch.logprobs[bad]).all()
    assert batch.status[2].startswith("logits row 2 must have no NaN")
    assert batch.status[5].startswith("logits row 5 must have a finite entry")
    rest = [i for i in range(9) if i not in bad]
    assert batch.tokens[rest].tolist() == good.tokens[rest].tolist()


def test_a_bad_row_raises_with_its_number_if_nobody_chose_otherwise():
    rows = ROWS.copy()
    rows[4, 0] = np.inf
    with pytest.raises(fd.LogitsError, match="logits row 4 must have no value above float32's range"):
        sample_batch(PLANS, rows, **ARGUMENTS)


def test_a_stage_that_leaves_nothing_names_row_and_stage():
    plan = fd.Plan.parse("fairdraw: allowed_token_ids=[2] bad_words_ids=[[2]]")
    batch = sample_batch([PLANS[7], plan], ROWS[:2], seeds=1, positions=0, on_error="return")
    assert batch.status[0] == ""
    assert batch.status[1].startswith("logits row 1 after bad_words")


def test_rows_of_a_sequence_may_differ_in_width_and_have_masks_of_their_own():
    rows, masks = [[1.0, 2.0], [3.0, 2.0, 1.0]], [None, [False, True, False]]
    batch = sample_batch(PLANS[1], rows, seeds=0, positions=0, masks=masks)
    assert batch.tokens.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seeds": [1, 2]}, "seeds must be one for each of the 9 rows"),
        ({"positions": range(8)}, "positions must be one for each of the 9 rows"),
        ({"plans": PLANS[:3]}, "plans must be one for each of the 9 rows"),
        ({"histories": fd.History()}, "histories must be one for each of the 9 rows"),
        ({"seeds": -1}, "row 0: seed must be"),
        ({"positions": [*range(8), 2**32]}, "row 8: position must be"),
        ({"logits": ROWS[0]}, "have two axes"),
        ({"on_error": "ignore"}, "on_error must be"),
        ({"plans": "fairdraw:"}, "plans must be one for each"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(change, words):
    arguments = {"plans": PLANS, "logits": ROWS, **ARGUMENTS, **change}
    with pytest.raises(fd.FairdrawError) as caught:
        sample_batch(arguments.pop("plans"), arguments.pop("logits"), **arguments)
    assert words in str(caught.value)


def test_the_callers_rows_are_never_written():
    rows = ROWS.copy()
    rows.setflags(write=False)
    sample_batch(PLANS, rows, **ARGUMENTS)
    assert (rows == ROWS).all()


def test_an_empty_batch_has_no_tokens():
    assert sample_batch(PLANS[0], np.zeros((0, 5)), seeds=1, positions=0).tokens.tolist() == []
