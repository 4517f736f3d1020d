"""A row cut into pieces gives the token of the whole row: 0 differences, whatever the plan and the borders."""

import pickle
from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.context import Context
from fairdraw.kernels.codes import NO_CUT, decode, encode
from fairdraw.kernels.merge import Shares, Summary, merge, merge_all, size_in_bytes
from fairdraw.kernels.rounds import LONGEST_LIST, converse
from fairdraw.kernels.shapes import recognise
from fairdraw.kernels.shards import BUCKETS, Measure, Race, Shard, Walk
from fairdraw.masses import LOG2E
from fairdraw.readings import drawn_row
from fairdraw.sharded import enter_piece
from fairdraw.stages import (
    AllowedIds,
    BadWords,
    LogitBias,
    Mask,
    MinTokens,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Stage,
    Temperature,
)
from fairdraw.streams.logarithms import log2
from fairdraw.streams.noise import Noise
from kernels.random_pairs import random_plan, random_row


def pieces_of(rng: np.random.Generator, row: np.ndarray, most: int = 8) -> list[np.ndarray]:
    """Two to eight uneven pieces; some may be empty."""
    borders = np.sort(rng.integers(0, row.size + 1, int(rng.integers(2, most + 1)) - 1))
    return np.split(row, borders)


def same(plan: fd.Plan, row: np.ndarray, pieces: list[np.ndarray], **request: object) -> str:
    """Compare token, logprob and errors; return what happened."""
    try:
        whole = fd.sample(plan, row, **request)  # type: ignore[arg-type]
        expected: object = (whole.token, whole.logprob)
    except fd.FairdrawError as problem:
        expected = (type(problem), str(problem))
    try:
        drawn = fd.sample_sharded(plan, pieces, **request)  # type: ignore[arg-type]
        got: object = (drawn.token, drawn.logprob)
    except fd.FairdrawError as problem:
        got = (type(problem), str(problem))
    assert got == expected, (plan, row.size, [piece.size for piece in pieces], request)
    return "token" if isinstance(expected[0], int) else "error"  # type: ignore[index]


def test_random_rows_plans_and_borders_give_the_same_token_and_logprob() -> None:
    rng, modes, happened = np.random.default_rng(1), Counter(), Counter()
    for i in range(900):
        plan, row = random_plan(rng), random_row(rng, widest=20_000 if i % 10 == 0 else 1100)
        program = recognise(plan)
        if program is None:
            continue
        request = {"seed": int(rng.integers(2**63)), "position": int(rng.integers(2**32)), "sample_index": i}
        happened[same(plan, row, pieces_of(rng, row), **request)] += 1
        modes[program.mode] += 1
    assert set(modes) == {"greedy", "temperature", "min_p", "top_k", "top_p", "inverse_cdf"}
    assert min(modes.values()) > 40
    assert happened["token"] > 850


def test_pieces_keep_the_very_set_of_the_whole_row_though_ties_and_shares_are_round() -> None:
    """Small whole scores and round shares: cuts fall on a token's end and inside ties that lie in several pieces."""
    rng, compared, inside_ties = np.random.default_rng(2), 0, 0
    for _ in range(600):
        row = rng.integers(0, 3, int(rng.integers(1, 40))).astype(np.float32)
        plan = random_plan(rng)
        program = recognise(plan)
        if program is None or program.mode == "greedy" or program.most is not None:
            continue
        cut = fd.sample_sharded(plan, pieces_of(rng, row), seed=1, position=2).cut
        assert cut is not None
        codes = encode(row, np.arange(row.size))
        kept = np.flatnonzero(codes <= np.uint64(cut.code))
        assert kept.tolist() == drawn_row(plan.stages, row, Context(), Noise(seed=1, position=2)).kept.tolist(), plan
        compared += 1
        inside_ties += kept.size < np.count_nonzero(row >= row[kept].min())
    assert compared > 400
    assert inside_ties > 50


CUTS = ("top_k(k=7)", "top_p(p=0.5)", "min_p(p=0.2)", "temperature(value=3)")


@pytest.mark.parametrize("draw", ["race()", "inverse_cdf()"])
@pytest.mark.parametrize("order", list(permutations(CUTS)), ids=lambda order: "-".join(part[:5] for part in order))
def test_every_order_of_the_cuts_keeps_the_set_of_the_whole_row(order: tuple[str, ...], draw: str) -> None:
    """-rank / 4 and -rank / 2: what one cut has left changes what the next is a share of."""
    plan = fd.Plan.parse(f"custom: {' > '.join((*order, draw))}")
    for steepness in (0.25, 0.5):
        row = (-steepness * np.random.default_rng(9).permutation(40)).astype(np.float32)
        cut = fd.sample_sharded(plan, np.split(row, [3, 20, 31]), seed=1, position=2).cut
        assert cut is not None
        kept = np.flatnonzero(encode(row, np.arange(40)) <= np.uint64(cut.code))
        assert kept.tolist() == drawn_row(plan.stages, row, Context(), Noise(seed=1, position=2)).kept.tolist()
        assert same(plan, row, np.split(row, [3, 20, 31]), seed=1, position=2) == "token"


def test_a_point_on_the_border_of_two_ids_or_two_shards_falls_in_the_later() -> None:
    row, equal = np.zeros(4, np.float32), Measure(peak=0.0, scale=1.0)
    shard = Shard.enter(row, first=6, edits=(), context=Context(), vocab=10)
    for point, token in ((0, 6), (2**40 - 1, 6), (2**40, 7), (2**41, 8)):
        found = shard.answer(Walk(measure=equal, first=6, point=point))
        assert decode(found.codes)[1].tolist() == [token]  # type: ignore[union-attr]
    points = set()
    for position in range(8):  # two shards of mass 1: the point is 0 or 1
        talk = converse(fd.Plan.parse("custom: inverse_cdf()"), vocab=10, seed=1, position=position)
        next(talk)
        talk.send(Summary(counts=np.array([2]), best=encode(row[:1], np.array([0]))))
        asked = talk.send(Shares(first=np.array([0, 5], np.uint32), masses=np.array([1, 1])))
        assert isinstance(asked, Walk)
        assert asked.point == 0
        points.add(asked.first)
    assert points == {0, 5}


EDITS: tuple[Stage, ...] = (
    Mask(),
    AllowedIds(ids=(0, 3, 5, 7, 8, 20, 21, 39)),
    LogitBias(bias={"0": 3.5, "7": -1.25, "21": 100.0, "39": -9.5}),
    BadWords(sequences=[[2, 5], [8]]),
    MinTokens(count=3, end_ids=(1, 7, 38)),
    RepetitionPenalty(penalty=1.3),
    PresenceFrequencyPenalty(presence=0.5, frequency=0.25),
    Temperature(value=0.7, operation="divide"),
    Temperature(value=1.6, operation="multiply"),
)


def test_edits_reach_the_same_ids_in_pieces_and_their_failures_are_told_alike() -> None:
    rng, happened = np.random.default_rng(3), Counter()
    for i in range(300):
        edits = [EDITS[j] for j in rng.permutation(len(EDITS))[: rng.integers(1, 6)]]
        cuts = random_plan(rng)
        if recognise(cuts) is None:
            continue
        plan = fd.Plan.of(*edits, *(stage for stage in cuts.stages if stage.name != "mask"), draw=cuts.draw)
        row = np.round(rng.standard_normal(40) * 4).astype(np.float32)
        history = fd.History(prompt=rng.integers(0, 40, 5).tolist(), output=[2] * int(rng.integers(0, 4)))
        mask = rng.random(40) < rng.choice([0.1, 0.9]) if Mask() in edits else None
        request = {"seed": i, "position": 5, "history": history, "mask": mask}
        happened[same(plan, row, pieces_of(rng, row), **request)] += 1
    assert happened["token"] > 180
    assert happened["error"] > 5


WIDE = {
    "greedy": "fairdraw: temperature=0",
    "temperature": "fairdraw: temperature=0.8",
    "min_p": "fairdraw: min_p=0.02",
    "top_k": "fairdraw: temperature=0.7 top_k=50 top_p=0.9 min_p=0.01",
    "top_p": "fairdraw: temperature=1.2 top_p=0.95",
    "inverse_cdf": "custom: checkpoint() > top_k(k=3000) > top_p(p=0.8, mass=raw) > inverse_cdf()",
}


@pytest.fixture(scope="module")
def wide() -> np.ndarray:
    """A long tail: -1.4 log(rank), shuffled, as bfloat16 rounds it."""
    ranks = np.random.default_rng(4).permutation(151_936)
    row = (-1.4 * np.log(ranks + 2.7)).astype(np.float32)
    return (row.view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


@pytest.mark.parametrize("mode", WIDE)
def test_a_wide_row_in_eight_pieces_gives_the_same_token(mode: str, wide: np.ndarray) -> None:
    plan = fd.Plan.parse(WIDE[mode])
    assert recognise(plan).mode == mode  # type: ignore[union-attr]
    pieces = np.split(wide, np.arange(1, 8) * 18_991 + 7)
    for position in (0, 2**32 - 1):
        assert same(plan, wide, pieces, seed=2**64 - 1, position=position) == "token"


@pytest.mark.parametrize("mode", WIDE)
def test_no_answer_grows_with_the_vocabulary(mode: str, wide: np.ndarray) -> None:
    plan = fd.Plan.parse(WIDE[mode])
    for row in (wide[:5000], wide, np.zeros_like(wide)):
        rounds = fd.sample_sharded(plan, np.split(row, 8), seed=1, position=2).rounds
        assert max(max(said.sizes) for said in rounds) <= BUCKETS * 12
        assert max(size_in_bytes(said.question) for said in rounds) <= 64
        assert len(rounds) <= 18


@pytest.mark.parametrize("text", [
    f"custom: top_k(k={k}{ties}) > {rest}race()"
    for k in (LONGEST_LIST, LONGEST_LIST + 1, 4000)
    for ties in ("", ", ties=all")
    for rest in ("", "top_p(p=0.6) > ", "top_p(p=0.999, ties=all) > ")
])  # fmt: skip
def test_a_k_too_large_for_a_list_is_found_by_counting(text: str) -> None:
    rng, plan = np.random.default_rng(5), fd.Plan.parse(text)
    for row in (rng.standard_normal(5000).astype(np.float32), rng.integers(0, 9, 5000).astype(np.float32)):
        for position in range(3):
            assert same(plan, row, pieces_of(rng, row), seed=1, position=position) == "token"


def test_pieces_may_be_one_or_as_many_as_ids_and_empty_or_forbidden_throughout() -> None:
    row = np.float32([-np.inf, -np.inf, 1.5, -0.0, 0.0, -np.inf, 1.5])
    for cuts in ("fairdraw: temperature=1", "fairdraw: top_k=2", "fairdraw: top_p=0.8", "custom: inverse_cdf()"):
        plan = fd.Plan.parse(cuts)
        for borders in ([], range(1, 7), [0, 2, 2, 5, 7, 7]):
            for position in range(6):
                assert same(plan, row, np.split(row, borders), seed=3, position=position) == "token"


def test_every_rank_with_its_own_copy_of_the_protocol_comes_to_the_same_token() -> None:
    """Questions and answers cross as pickled bytes, and are merged in another order on every rank."""
    rng = np.random.default_rng(6)
    for text in WIDE.values():
        plan, row = fd.Plan.parse(text), rng.standard_normal(3000).astype(np.float32)
        pieces = pieces_of(rng, row, 5)
        starts = np.cumsum([0, *(piece.size for piece in pieces)])
        shards = [enter_piece(plan, p, first=int(s), vocab=3000) for p, s in zip(pieces, starts, strict=False)]
        talks = [converse(plan, vocab=3000, seed=9, position=4) for _ in shards]
        questions, tokens = [next(talk) for talk in talks], []
        while not tokens:
            assert len({pickle.dumps(question) for question in questions}) == 1
            sent = [pickle.dumps(shard.answer(q)) for shard, q in zip(shards, questions, strict=True)]
            questions = []
            for talk in talks:
                answers = [pickle.loads(sent[i]) for i in rng.permutation(len(sent))]
                half = len(answers) // 2
                merged = merge(merge_all(answers[:half]), merge_all(answers[half:])) if half else answers[0]
                try:
                    questions.append(talk.send(merged))
                except StopIteration as end:
                    tokens.append(end.value.token)
        assert tokens == [fd.sample(plan, row, seed=9, position=4).token] * len(shards)


def test_the_n_first_arrivals_of_pieces_are_those_of_the_whole_row() -> None:
    rng = np.random.default_rng(7)
    row = np.round(rng.standard_normal(2500) * 2).astype(np.float32)
    measure = Measure(peak=float(row.max()), scale=LOG2E)
    question = Race(cut=NO_CUT, measure=measure, seed=5, position=6, sample_index=7, most=40)
    pieces, start, answers = pieces_of(rng, row), 0, []
    for piece in pieces:
        shard = Shard.enter(piece, first=start, edits=(), context=Context(), vocab=row.size)
        answers.append(shard.answer(question))
        start += piece.size
    ids = np.arange(row.size)
    noise = Noise(seed=5, position=6, sample_index=7).exponentials(ids)
    times = row.astype(np.float64) * LOG2E - log2(noise)
    scores, found = decode(merge_all(answers).codes)  # type: ignore[union-attr]
    assert found.tolist() == np.argsort(-times, kind="stable")[:40].tolist()
    assert scores.tolist() == row[found].tolist()


BAD = {
    "nan": ([0.0, 1.0, 2.0, np.nan, 4.0, np.nan], "NaN at id 3"),
    "nan before inf": ([0.0, np.inf, 2.0, np.nan, 4.0, 5.0], "NaN at id 3"),
    "inf": ([0.0, 1.0, 2.0, 3.0, np.inf, np.inf], "inf at id 4"),
    "nothing": ([-np.inf] * 6, "nothing but -inf"),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("border", range(7))
def test_a_bad_row_is_told_with_the_id_it_has_in_the_whole_row(kind: str, border: int) -> None:
    numbers, got = BAD[kind]
    row = np.float32(numbers)
    for text in ("fairdraw: top_k=2", "fairdraw: repetition_penalty=2 top_p=0.5"):
        assert same(fd.Plan.parse(text), row, np.split(row, [border]), seed=1, position=0) == "error"
        with pytest.raises(fd.LogitsError, match=got):
            fd.sample_sharded(fd.Plan.parse(text), np.split(row, [border]), seed=1, position=0)


@pytest.mark.parametrize("text", [
    'custom: logit_bias(bias={"6": 1}) > race()',
    "custom: allowed_ids(ids=[2, 6]) > race()",
    "custom: min_tokens(count=1, end_ids=[6]) > race()",
    'custom: logit_bias(bias={"1": 3e38}) > logit_bias(bias={"1": 3e38}) > logit_bias(bias={"9": 1}) > race()',
    'custom: allowed_ids(ids=[0]) > min_tokens(count=1, end_ids=[0]) > logit_bias(bias={"9": 1}) > race()',
    "custom: temperature(value=1e-38, operation=divide) > race()",
    "custom: top_k(k=6, beyond=refuse_whole) > race()",
    "custom: top_k(k=7, beyond=refuse_more) > race()",
])  # fmt: skip
def test_a_stage_that_fails_says_the_same_of_pieces(text: str) -> None:
    row = np.float32([0, 1, 2, 3, 4, 5])
    for borders in ([3], [1, 2, 6], [0, 5]):
        assert same(fd.Plan.parse(text), row, np.split(row, borders), seed=1, position=0) == "error"


@pytest.mark.parametrize(("text", "stage"), [
    ("fairdraw: typical_p=0.9", "typical"),
    ("custom: top_k(k=5) > top_k(k=3) > race()", "top_k(k=3)"),
    ("custom: top_k(k=5) > temperature(value=0.7, operation=divide) > race()", "temperature(value=0.7, operation="),
    ("custom: top_k(k=5) > clipped_gumbel()", "clipped_gumbel("),
])  # fmt: skip
def test_a_plan_that_cannot_be_split_is_refused_with_its_stage(text: str, stage: str) -> None:
    with pytest.raises(fd.PlanError) as caught:
        fd.sample_sharded(fd.Plan.parse(text), [[1.0, 2.0]], seed=1, position=0)
    assert str(caught.value).startswith(stage)
    assert "cannot be drawn from shards" in str(caught.value)


def test_what_is_no_sequence_of_pieces_is_refused() -> None:
    plan = fd.Plan.parse("fairdraw: top_k=2")
    with pytest.raises(fd.ParameterError, match="shards must be a sequence of pieces"):
        fd.sample_sharded(plan, np.zeros((2, 3), np.float32), seed=1, position=0)  # type: ignore[arg-type]
    with pytest.raises(fd.LogitsError, match=r"logits, shard 1, must have one axis, \(vocab,\), got shape \(1, 2\)"):
        fd.sample_sharded(plan, [[1.0], [[1.0, 2.0]]], seed=1, position=0)
    with pytest.raises(fd.LogitsError, match="logits must have at least one entry"):
        fd.sample_sharded(plan, [], seed=1, position=0)
    with pytest.raises(fd.LogitsError, match="shard 0, must be floating point"):
        fd.sample_sharded(plan, [np.array([1, 2])], seed=1, position=0)
    with pytest.raises(fd.ParameterError, match="mask must be as wide"):
        fd.sample_sharded(plan, [[1.0], [2.0]], seed=1, position=0, mask=[True])
    with pytest.raises(fd.ParameterError, match=r"seed must be"):
        fd.sample_sharded(plan, [[1.0], [2.0]], seed=-1, position=0)
    with pytest.raises(fd.ParameterError, match=r"first must be .* got 2"):
        enter_piece(plan, [1.0, 2.0], first=2, vocab=3)


def test_pieces_of_any_float_type_are_read_and_none_is_written() -> None:
    plan, row = fd.Plan.parse("fairdraw: top_p=0.9"), np.random.default_rng(8).standard_normal(300).astype(np.float16)
    pieces = [row[:100], row[100:101].astype(np.float64), row[101:].astype(np.float32)]
    before = [piece.tobytes() for piece in pieces]
    for piece in pieces:
        piece.flags.writeable = False
    for position in range(20):
        token = fd.sample_sharded(plan, pieces, seed=1, position=position).token
        assert token == fd.sample(plan, row, seed=1, position=position).token
    assert [piece.tobytes() for piece in pieces] == before
