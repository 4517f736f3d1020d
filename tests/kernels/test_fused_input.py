"""Masks, edits, half types and odd memory inside a kernel's read: the same token and result as in NumPy."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from dataclasses import fields

import ml_dtypes
import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels import backends, promise
from fairdraw.kernels.drawing import program_of
from fairdraw.kernels.recalling import Recall
from fairdraw.packed_masks import PackedMask, pack
from fairdraw.stages import Temperature
from kernels.random_pairs import random_edits, random_form, random_history, random_mask, random_plan, random_row

pytest.importorskip("fairdraw.kernels.numba_cpu.entries")
MODES = set(promise.PROMISES) - {"many", "report"}


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "chosen", lambda: "numba")
    backends._ASKED.clear()


def both(monkeypatch: pytest.MonkeyPatch, plan: fd.Plan, row: np.ndarray, **arguments: object) -> list[object]:
    """What kernels and what NumPy say: a token and its report, or an error."""
    said: list[object] = []
    for backend in ("numba", "numpy"):
        monkeypatch.setattr(backends, "chosen", lambda backend=backend: backend)
        try:
            drawn = fd.sample(plan, row, **arguments)  # type: ignore[arg-type]
            said.append((drawn.token, drawn))
        except fd.FairdrawError as problem:
            said.append(str(problem))
    return said


def kernel_logprob(monkeypatch: pytest.MonkeyPatch, plan: fd.Plan, row: np.ndarray, **arguments: object) -> float:
    """The logprob from the masses that a kernel adds up."""
    monkeypatch.setattr(backends, "chosen", lambda: "numba")
    many = {"seeds": arguments["seed"], "positions": arguments["position"]}
    lists = {"histories": [arguments["history"]], "masks": [arguments["mask"]]}
    return fd.sample_batch(plan, [row], report="logprobs", **many, **lists).logprobs[0]  # type: ignore[arg-type]


def test_fifteen_hundred_random_calls_say_the_same_with_kernels_and_without(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, modes, fused = np.random.default_rng(20270101), Counter(), 0
    for i in range(1500):
        row = random_row(rng, widest=5000)
        base = random_plan(rng)
        stages = [*random_edits(rng, row.size), *(stage for stage in base.stages if stage.name != "mask")]
        plan = fd.Plan.of(*stages, draw=base.draw)
        program = program_of(plan)
        if program is None:
            continue
        fused += program.operations is not None
        arguments = {
            "seed": int(rng.integers(0, 2**63)),
            "position": int(rng.integers(0, 2**32)),
            "history": random_history(rng, row.size),
            "mask": random_mask(rng, row.size),
        }
        form = random_form(rng, row)
        kernel, plain = both(monkeypatch, plan, form, **arguments)
        if isinstance(plain, str) or isinstance(kernel, str):
            assert kernel == plain, (i, str(plan))
            modes["error"] += 1
            continue
        assert kernel[0] == plain[0], (i, str(plan), row.size)  # type: ignore[index]
        modes[program.mode] += 1
        one, other = kernel[1], plain[1]  # type: ignore[index]
        if (
            program.operations is not None
        ):  # the kernel drew: NumPy, which serves where it cannot, would hide its faults
            assert isinstance(one.find_row.__self__, Recall), (i, str(plan))
            assert kernel_logprob(monkeypatch, plan, form, **arguments) == other.logprob, (i, str(plan))
        if i % 10 == 0:
            assert one.support.tolist() == other.support.tolist()
            assert (one.logprob, one.raw_logprob, one.rank) == (other.logprob, other.raw_logprob, other.rank)
    assert {mode for mode, count in modes.items() if count > 20} >= MODES
    assert fused > 1000


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
def test_wide_rows_with_masks_and_penalties_give_the_same_token(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    row = (-1.4 * np.log(rng.permutation(128_256) + 2.7)).astype(kind)
    history = fd.History(prompt=np.argsort(-row.astype(np.float32))[:64].tolist(), output=[3, 3, 4])
    allowed = rng.random(row.size) < 0.9
    for text in (
        "fairdraw: temperature=0 repetition_penalty=1.2",
        "fairdraw: temperature=0.8 presence_penalty=0.5 frequency_penalty=0.1",
        "fairdraw: min_p=0.02 repetition_penalty=1.2",
        "fairdraw: top_k=50 top_p=0.9 repetition_penalty=1.2",
        "fairdraw: top_p=0.95 repetition_penalty=1.2",
        "candle: TopKThenTopP k=50 p=0.9 temperature=0.8",
    ):
        for position in range(3):
            arguments = {"seed": 5, "position": position, "history": history, "mask": pack(allowed)}
            kernel, plain = both(monkeypatch, fd.Plan.parse(text), row, **arguments)
            assert kernel[0] == plain[0], (text, position)  # type: ignore[index]


def test_a_result_has_the_same_fields_whoever_drew_it(monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.random.default_rng(8).standard_normal(300).astype(np.float32)
    one, other = (said[1] for said in both(monkeypatch, fd.Plan.parse("fairdraw: top_p=0.9"), row, seed=1, position=2))
    assert vars(one).keys() == vars(other).keys() == {item.name for item in fields(fd.Drawn)}
    assert one == other
    assert one.memory == other.memory == {}


def test_edits_of_a_call_are_not_those_of_the_call_before(monkeypatch: pytest.MonkeyPatch) -> None:
    row = np.linspace(3, 0, 40).astype(np.float32)
    histories = [fd.History(prompt=range(count)) for count in (20, 1, 0, 7, 20)]
    plans = [
        fd.Plan.parse(f"fairdraw: temperature=0 {text}") for text in ("repetition_penalty=9", "", 'logit_bias={"5":3}')
    ]
    monkeypatch.setattr(backends, "chosen", lambda: "numba")
    for history, count in zip(histories, (20, 1, 0, 7, 20), strict=True):
        tokens = [fd.sample(plan, row, seed=0, position=0, history=history).token for plan in plans]
        assert tokens == [count, 0, 5]


def test_a_temperature_that_overflows_is_refused_as_numpy_refuses_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = fd.Plan.of(Temperature(value=1e-38, operation="divide"))
    kernel, plain = both(monkeypatch, plan, np.float32([1, 2, 300]), seed=1, position=0)
    assert isinstance(kernel, str)
    assert kernel == plain


@pytest.mark.parametrize(
    ("mask", "words"),
    [
        (np.int32([1]), "mask must be 2 words for 40 ids, got 1"),
        (np.int32([1, 1, 1]), "mask must be 2 words for 40 ids, got 3"),
        (np.int32([1, 256]), "mask must be for ids in 0..39"),
        (PackedMask(words=np.int64([1, 1])), "mask must be int32 words on one axis"),
        (np.zeros(40, bool), "must leave a token"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(mask: object, words: str) -> None:
    with pytest.raises(fd.FairdrawError, match=words):
        fd.sample(fd.Plan.parse("fairdraw:"), np.zeros(40, np.float32), seed=1, position=0, mask=mask)  # type: ignore[arg-type]


def test_a_plan_without_a_mask_stage_refuses_a_mask() -> None:
    with pytest.raises(fd.ParameterError, match="None for a plan without a mask stage"):
        fd.sample(fd.Plan.of(), np.zeros(40, np.float32), seed=1, position=0, mask=np.ones(40, bool))


def test_a_seen_id_beyond_the_row_is_refused_or_ignored_as_the_plan_says(monkeypatch: pytest.MonkeyPatch) -> None:
    history = fd.History(prompt=[2, 99])
    for switch in ("error", "ignore"):
        plan = fd.Plan.parse(f"custom: repetition_penalty(penalty=2, unknown_ids={switch}) > race()")
        kernel, plain = both(monkeypatch, plan, np.float32([1, 2, 3]), seed=1, position=0, history=history)
        assert isinstance(plain, str) == (switch == "error")
        assert kernel == plain if switch == "error" else kernel[0] == plain[0]  # type: ignore[index]


@pytest.mark.parametrize("backend", ["numba", "numpy"])
@pytest.mark.parametrize("change", ["one entry", "sorted", "next logits"])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_a_result_says_that_its_row_was_changed(
    kind: type, change: str, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "chosen", lambda: backend)
    rng = np.random.default_rng(4)
    row = rng.standard_normal(3000).astype(kind)
    plan = fd.Plan.parse("fairdraw: top_p=0.9")
    asked, unasked, kept = (fd.sample(plan, source, seed=1, position=2) for source in (row, row, row.copy()))
    logprob = asked.logprob
    if change == "one entry":
        row[2999] = row[2999] + kind(1)
    elif change == "sorted":
        row.sort()
    else:
        row[:] = rng.standard_normal(3000)
    assert asked.logprob == logprob == kept.logprob
    for ask in (lambda: unasked.logprob, lambda: unasked.raw_logprob, lambda: unasked.support):
        with pytest.raises(fd.LogitsError, match="as they were when the token was drawn"):
            ask()


def test_a_mask_and_a_history_may_change_after_the_draw() -> None:
    row = np.random.default_rng(4).standard_normal(300).astype(np.float32)
    mask, history = pack(np.arange(300) % 3 > 0), fd.History(prompt=[1, 2], output=[4])
    plan = fd.Plan.parse("fairdraw: top_p=0.9 repetition_penalty=1.5")
    arguments = {"seed": 1, "position": 2}
    one, other = (fd.sample(plan, row, mask=mask, history=history, **arguments) for _ in range(2))  # type: ignore[arg-type]
    support = one.support.tolist()
    mask[:] = 0
    for token in (5, 7, 8):
        history.append(token)
    assert other.support.tolist() == support
    assert not set(support) & set(range(0, 300, 3))


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("text", ["fairdraw: top_p=0.9", "fairdraw: top_k=50 repetition_penalty=1.1"])
def test_in_steady_state_nothing_of_the_size_of_the_row_is_allocated(kind: type, text: str) -> None:
    vocab = 200_000
    row = np.random.default_rng(1).standard_normal(vocab).astype(kind)
    row.setflags(write=False)
    words, history, plan = pack(np.ones(vocab, bool)), fd.History(prompt=[5, 6, 7]), fd.Plan.parse(text)
    for position in range(3):
        fd.sample(plan, row, seed=1, position=position, history=history, mask=words)
    tracemalloc.start()
    try:
        for position in range(5):
            fd.sample(plan, row, seed=1, position=position, history=history, mask=words)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < vocab // 2  # bytes: two copies of the packed mask, and small things


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf])
def test_a_broken_entry_is_refused_in_every_type_even_under_a_mask(kind: type, bad: float) -> None:
    for place in (5, 1500):
        row = np.linspace(-2, 2, 1600).astype(kind)
        row[place] = bad
        for mask in (None, pack(np.arange(1600) != place)):
            with pytest.raises(fd.LogitsError):
                fd.sample(fd.Plan.parse("fairdraw:"), row, seed=1, position=0, mask=mask)


@pytest.mark.parametrize("kind", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("different", [70, 90, 3000])
def test_few_and_many_edited_ids_say_the_same(monkeypatch: pytest.MonkeyPatch, kind: type, different: int) -> None:
    """20 groups: up to 80 ids are entered one by one, more at once."""
    rng = np.random.default_rng(different)
    row = (rng.standard_normal(20_000) * 3).astype(kind)
    ids = rng.choice(20_000, different, replace=False)
    ids[:20] = np.argsort(-row.astype(np.float32))[:20]  # those that hold their groups' maxima
    history = fd.History(prompt=ids.tolist(), output=ids[: different // 2].tolist())
    mask = rng.random(20_000) < 0.7
    for text in ("temperature=0", "temperature=0.9", "top_k=300", "top_p=0.8", "min_p=0.1"):
        plan = fd.Plan.parse(f"fairdraw: {text} repetition_penalty=1.4 frequency_penalty=0.3")
        for position in range(4):
            kernels, numpy = both(monkeypatch, plan, row, seed=3, position=position, history=history, mask=mask)
            # Else a kernel gave up, and NumPy drew in its place.
            assert isinstance(kernels[1].find_row.__self__, Recall)
            assert kernels[0] == numpy[0]
            assert kernels[1].logprob == numpy[1].logprob
            assert kernels[1].support.tolist() == numpy[1].support.tolist()
