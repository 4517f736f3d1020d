"""Batches by kernels: every row as if it were alone, whatever the order, the split, the threads and the callers."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels import backends, threads
from fairdraw.packed_masks import pack
from kernels.random_pairs import random_row

pytest.importorskip("fairdraw.kernels.numba_cpu.entries")
TEXTS = (
    "fairdraw: temperature=0.7 top_p=0.9",
    "fairdraw: temperature=0",
    "candle: TopK k=5 temperature=0.8",
    "fairdraw: repetition_penalty=1.5 top_k=3 presence_penalty=0.3",
    "custom: typical(p=0.8) > inverse_cdf()",
    "fairdraw: min_p=0.1 repetition_penalty=1.2",
    "custom: mask() > top_p(p=0.8) > inverse_cdf()",
    "fairdraw:",
    "custom: clipped_gumbel()",
    "fairdraw: allowed_token_ids=[1,2,3]",
)
PLANS = [fd.Plan.parse(text) for text in TEXTS]


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "chosen", lambda: "numba")
    monkeypatch.setattr("fairdraw.kernels.many_rows.ENTRIES_A_THREAD", 1)
    backends._ASKED.clear()


def work(count: int, seed: int = 0) -> dict[str, object]:
    """A batch of rows alike in width with everything of their own; masks only where a plan has the stage."""
    rng = np.random.default_rng(seed)
    plans = [PLANS[i % len(PLANS)] for i in range(count)]
    allowed = [rng.random(700) < 0.8 if plan.stages and plan.stages[0].name == "mask" else None for plan in plans]
    for mask in allowed:
        if mask is not None:
            mask[1] = True
    return {
        "plans": plans,
        "logits": (rng.standard_normal((count, 700)) * 2).astype(np.float32),
        "seeds": [int(n) for n in rng.integers(0, 2**63, count)],
        "positions": rng.integers(0, 2**32, count),
        "sample_indices": rng.integers(0, 5, count),
        "histories": [fd.History(prompt=rng.integers(0, 700, 9).tolist()) if i % 3 else None for i in range(count)],
        "masks": [pack(mask) if mask is not None and i % 2 else mask for i, mask in enumerate(allowed)],
    }


def part(whole: dict[str, object], rows: list[int]) -> dict[str, object]:
    return {name: [values[i] for i in rows] for name, values in whole.items()}  # type: ignore[index]


def tokens(batch: dict[str, object], **more: object) -> list[int]:
    return fd.sample_batch(**batch, **more).tokens.tolist()  # type: ignore[arg-type]


def test_every_row_is_drawn_as_if_alone_with_its_logprob_bit_for_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = work(60)
    batch = fd.sample_batch(**whole, report="support")  # type: ignore[arg-type]
    monkeypatch.setattr(backends, "chosen", lambda: "numpy")
    for i in range(60):
        names = {"plans": "plan", "seeds": "seed", "positions": "position", "sample_indices": "sample_index"}
        names |= {"histories": "history", "masks": "mask", "logits": "logits"}
        alone = fd.sample(**{names[name]: values[i] for name, values in whole.items()})  # type: ignore[index]
        assert batch.tokens[i] == alone.token, TEXTS[i % len(TEXTS)]
        assert batch.logprobs[i] == alone.logprob, TEXTS[i % len(TEXTS)]
        assert batch.supports[i].ids.tolist() == alone.support.tolist()
        assert batch.log_kept_masses[i] == alone.log_kept_mass


def test_every_order_and_split_gives_the_same_tokens() -> None:
    whole, rng = work(24), np.random.default_rng(1)
    expected = tokens(whole)
    for turn in range(6):
        order = rng.permutation(24).tolist()
        assert tokens(part(whole, order), threads=1 + turn % 3) == [expected[i] for i in order]
        cut = int(rng.integers(0, 25))
        assert tokens(part(whole, list(range(cut)))) + tokens(part(whole, list(range(cut, 24)))) == expected


@pytest.mark.parametrize("count", [1, 2, 4])
def test_any_number_of_threads_gives_the_same_tokens(count: int) -> None:
    whole = work(80, seed=2)
    assert tokens(whole, threads=count) == tokens(whole, threads=1)


def test_eight_callers_at_once_get_the_same_tokens() -> None:
    batches = [work(40, seed=seed) for seed in range(8)]
    expected = [tokens(batch, threads=1) for batch in batches]
    with ThreadPoolExecutor(8) as callers:
        for _ in range(3):
            assert list(callers.map(lambda batch: tokens(batch, threads=3), batches)) == expected


def test_one_plan_and_shared_numbers_are_those_of_each_row_alone() -> None:
    rows = (np.random.default_rng(3).standard_normal((20, 3000)) * 3).astype(np.float16)
    plan = fd.Plan.parse("fairdraw: temperature=0.9 top_p=0.95")
    batch = fd.sample_batch(plan, rows, seeds=2**64 - 1, positions=range(20), threads=2)
    assert batch.tokens.tolist() == [
        fd.sample(plan, row, seed=2**64 - 1, position=i).token for i, row in enumerate(rows)
    ]


def test_a_row_broadcast_over_a_batch_is_not_copied_and_draws_as_each() -> None:
    row = np.random.default_rng(3).standard_normal(2000).astype(np.float32)
    plan = fd.Plan.parse("fairdraw: temperature=0.9")
    batch = fd.sample_batch(plan, np.broadcast_to(row, (50, 2000)), seeds=4, positions=range(50))
    assert batch.tokens.tolist() == fd.sample_many(plan, row, seed=4, positions=range(50)).tolist()
    assert batch.logprobs[7] == fd.sample(plan, row, seed=4, position=7).logprob


@pytest.mark.parametrize("masks", ["bool", "words", "list"])
def test_masks_of_a_whole_batch_are_read_in_each_form(masks: str) -> None:
    rng = np.random.default_rng(6)
    rows, allowed = rng.standard_normal((12, 650)).astype(np.float32), rng.random((12, 650)) < 0.1
    allowed[:, 3] = True
    given = {"bool": allowed, "words": np.stack([pack(mask) for mask in allowed]), "list": [None, *allowed[1:]]}[masks]
    plan = PLANS[7]
    drawn = fd.sample_batch(plan, rows, seeds=1, positions=range(12), masks=given, report="logprobs")
    for i in range(12):
        alone = fd.sample(plan, rows[i], seed=1, position=i, mask=None if masks == "list" and i == 0 else allowed[i])
        assert (drawn.tokens[i], drawn.logprobs[i]) == (alone.token, alone.logprob)


def test_bad_rows_among_good_ones_have_their_own_status() -> None:
    rng = np.random.default_rng(8)
    rows = [random_row(rng, widest=900) for _ in range(30)]
    plan = fd.Plan.parse("fairdraw: top_p=0.9")
    good = fd.sample_batch(plan, rows, seeds=1, positions=range(30)).tokens
    for i, bad in ((3, np.nan), (17, np.inf)):
        rows[i] = rows[i].copy()
        rows[i][-1] = bad
    rows[20] = np.full(50, -np.inf, np.float32)
    batch = fd.sample_batch(plan, rows, seeds=1, positions=range(30), on_error="return", threads=2)
    bad = [3, 17, 20]
    assert np.flatnonzero(~batch.ok).tolist() == bad
    assert [batch.status[i].split(" must")[0] for i in bad] == [f"logits row {i}" for i in bad]
    rest = [i for i in range(30) if i not in bad]
    assert batch.tokens[rest].tolist() == good[rest].tolist()
    assert np.isnan(batch.logprobs[bad]).all()


def test_logprobs_that_come_too_late_are_an_error_and_early_ones_stay() -> None:
    rows = np.random.default_rng(3).standard_normal((4, 500)).astype(np.float32)
    plan = fd.Plan.parse("fairdraw: temperature=0.9")
    late = fd.sample_batch(plan, rows, seeds=4, positions=0)
    early = fd.sample_batch(plan, rows, seeds=4, positions=0, report="logprobs")
    expected = [fd.sample(plan, row, seed=4, position=0).logprob for row in rows]
    rows[2, 499] += 1
    for _ in range(2):  # asked again, it has not forgotten
        with pytest.raises(fd.LogitsError, match="logits row 2 must be as they were"):
            late.logprobs  # noqa: B018
    assert early.logprobs.tolist() == expected


@pytest.mark.parametrize(("value", "words"), [("0", "FAIRDRAW_THREADS must be"), ("many", "FAIRDRAW_THREADS must be")])
def test_a_wrong_number_of_threads_is_refused(value: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(threads.VARIABLE, value)
    with pytest.raises(fd.ParameterError, match=words):
        fd.sample_batch(PLANS[7], np.zeros((2, 3), np.float32), seeds=1, positions=0)
    with pytest.raises(fd.ParameterError, match="threads must be"):
        fd.sample_batch(PLANS[7], np.zeros((2, 3), np.float32), seeds=1, positions=0, threads=0)


def test_a_report_is_one_of_three_words() -> None:
    with pytest.raises(fd.ParameterError, match="report must be"):
        fd.sample_batch(PLANS[7], np.zeros((2, 3), np.float32), seeds=1, positions=0, report="all")  # type: ignore[arg-type]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_draws_the_same_batch_with_threads_of_its_own() -> None:
    code = """
import os, sys, warnings, numpy as np, fairdraw as fd
from fairdraw.kernels import many_rows, threads
many_rows.ENTRIES_A_THREAD = 1
rows = np.random.default_rng(1).standard_normal((40, 300)).astype(np.float32)
draw = lambda: fd.sample_batch(fd.Plan.of(), rows, seeds=1, positions=range(40), threads=3).tokens.tolist()
before = draw()
warnings.simplefilter("ignore")
child = os.fork()
if child == 0:
    os._exit(0 if not threads._POOL.idle and draw() == before and threads._POOL.idle else 1)
assert os.waitpid(child, 0)[1] == 0
assert draw() == before
"""
    environment = os.environ | {backends.VARIABLE: "numba"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("penalty", ["frequency_penalty=0.7", "repetition_penalty=1.3", "presence_penalty=0.4"])
def test_logprobs_are_those_of_the_draw_when_histories_have_changed_since(penalty: str) -> None:
    rows = np.random.default_rng(5).standard_normal((3, 300)).astype(np.float32)
    rows[:, [4, 9]] = 6  # nobody's logprob is what it was once these weigh less
    plan = fd.Plan.parse(f"fairdraw: temperature=0.8 top_k=50 {penalty}")
    histories = [fd.History(prompt=[7], output=[4, 9][: 1 + number]) for number in range(3)]
    expected = [
        fd.sample(plan, row, seed=1, position=0, history=history) for row, history in zip(rows, histories, strict=True)
    ]
    logprobs, ranks = [drawn.logprob for drawn in expected], [drawn.rank for drawn in expected]
    batch = fd.sample_batch(plan, rows, seeds=1, positions=0, histories=histories)
    for history in histories:
        history.rollback(history.output_length)
        for token in (250, 11, 250):  # they take the places that 4 and 9 had in memory
            history.append(token)
    assert batch.logprobs.tolist() == logprobs
    assert [batch.find_drawn(number).rank for number in range(3)] == ranks
