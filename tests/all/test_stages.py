"""One test over the tables of stages and draws: what is true of every one of them."""

import dataclasses
import json

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given, settings

import fairdraw as fd
from core.domain_values import filled
from fairdraw.context import Context
from fairdraw.draws import DRAWS, Undocumented
from fairdraw.masses import IntegerMasses, RealMasses
from fairdraw.rows import Row
from fairdraw.stages import (
    STAGES,
    Checkpoint,
    CutStage,
    EditStage,
    ForbidStage,
    MinP,
    Stage,
    StatefulStage,
    TopK,
    TopP,
    Typical,
)

VOCAB, DRAWN = 64, 12
PARTS = [*STAGES.values(), *DRAWS.values()]
CUTS = [kind for kind in STAGES.values() if issubclass(kind, CutStage)]
EDITS = [kind for kind in STAGES.values() if issubclass(kind, EditStage)]
SCORES = st.one_of(
    st.sampled_from([-np.inf, 0.0, 1.0, 1.0, 2.5]), st.floats(-30, 30, width=32), st.floats(-3, 3, width=32)
)


def row_of(scores: list, seed: int, width: float) -> list:
    """Drawn scores at random places; the rest is normal, all 0 (a width of 0), or forbidden (one of infinity)."""
    random = np.random.default_rng(seed)
    rest = random.normal(size=VOCAB - len(scores)).astype(np.float32)
    rest = np.full_like(rest, -np.inf) if width == np.inf else rest * np.float32(width)
    return random.permutation(np.concatenate([np.float32(scores), rest])).tolist()


# Scores that are 0, tied, far apart, or forbidden; one at least is finite.
LOGITS = st.builds(
    row_of,
    st.lists(SCORES, min_size=DRAWN, max_size=DRAWN).filter(lambda scores: max(scores) > -np.inf),
    st.integers(0, 2**16),
    st.sampled_from([0.0, 0.1, 2.0, 8.0, np.inf]),
)
TOKENS = st.lists(st.integers(0, VOCAB - 1), max_size=8)
HISTORIES = st.builds(lambda prompt, output: fd.History(prompt=prompt, output=output), TOKENS, TOKENS)


def of_all(kinds: list, argument: str = "kind"):
    return pytest.mark.parametrize(argument, kinds, ids=lambda kind: kind.name)


def plan_of(stage: Stage) -> fd.Plan:
    return fd.Plan.of(*((Checkpoint(),) if getattr(stage, "mass", "") == "raw" else ()), stage)


def beside(stage: Stage, logits: list) -> dict:
    """What a call passes for a stage that remembers, or that reads a second row."""
    if stage.name == "guidance":
        return {"second": np.nan_to_num(np.float32(logits)[::-1], neginf=-5.0)}
    return {"memory": {}} if isinstance(stage, StatefulStage) else {}


def law_of(stage: Stage, logits: list, history: fd.History) -> fd.Weights:
    """A list of ids may leave nothing, a number may be too extreme for float32, a k beyond the row be refused."""
    try:
        return fd.law(plan_of(stage), logits, history=history, **beside(stage, logits))
    except (fd.LogitsError, fd.ParameterError) as problem:
        words = str(problem)
    assert f"logits after {stage.name}," in words or "top_k.k must be at most" in words
    assume(False)
    raise AssertionError


@of_all(PARTS)
def test_it_is_found_in_its_table_by_its_name_and_is_frozen_data(kind):
    table = STAGES if issubclass(kind, Stage) else DRAWS
    assert table[kind.name] is kind
    assert dataclasses.is_dataclass(kind)
    assert kind.__dataclass_params__.frozen
    assert not hasattr(kind, "__dict__") or "__slots__" in vars(kind)


@of_all(PARTS)
def test_it_says_what_it_does_and_what_each_field_may_be(kind):
    first = kind.__doc__.strip().splitlines()[0]
    assert first[0].isupper()
    assert len(first) > 20
    assert set(kind.domains) == {field.name for field in dataclasses.fields(kind)}
    assert all(domain.text for domain in kind.domains.values())


@of_all(PARTS)
@given(st.data())
@settings(max_examples=25)
def test_it_reads_back_from_text_and_from_json(kind, data):
    try:
        part = data.draw(filled(kind))
    except fd.ParameterError:
        assume(False)
    plan = plan_of(part) if isinstance(part, Stage) else fd.Plan.of(draw=part)
    assert fd.Plan.parse(str(plan)) == plan
    assert fd.Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@of_all(list(STAGES.values()))
@given(data=st.data(), logits=LOGITS, history=HISTORIES)
@settings(max_examples=40)
def test_its_law_sums_to_1_and_never_leaves_an_empty_row(kind, data, logits, history):
    weights = law_of(data.draw(filled(kind)), logits, history)
    for reading in (weights, *weights.others):
        assert reading.probabilities.sum() == pytest.approx(1.0, abs=1e-12)
        assert reading.probabilities.min() >= 0.0
        assert reading.support.size >= 1
        assert not reading.probabilities[np.array(logits) == -np.inf].any()


@of_all(list(STAGES.values()))
@given(data=st.data(), logits=LOGITS, history=HISTORIES)
@settings(max_examples=25)
def test_what_is_drawn_after_it_is_in_its_law(kind, data, logits, history):
    stage = data.draw(filled(kind))
    weights = law_of(stage, logits, history)
    given_too = beside(stage, logits)
    tokens = fd.sample_many(plan_of(stage), logits, seed=3, positions=range(30), history=history, **given_too)
    # The trace is one branch's; a kept token may be too light to have a probability.
    assert np.isin(tokens, np.union1d(weights.support, weights.trace[-1].row.kept)).all()


@of_all([kind for kind in DRAWS.values() if kind is not Undocumented])
@given(logits=LOGITS, temperature=st.sampled_from([0.3, 1.0, 2.0]))
@settings(max_examples=25)
def test_a_draw_chooses_what_its_law_allows_and_its_law_sums_to_1(kind, logits, temperature):
    plan = dataclasses.replace(fd.Plan.parse(f"custom: temperature(value={temperature}) > top_k(k=9)"), draw=kind())
    weights = fd.law(plan, logits)
    assert weights.probabilities.sum() == pytest.approx(1.0, abs=1e-9)
    kept = weights.trace[-1].row.kept
    assert np.isin(weights.support, kept).all()
    assert np.isin(fd.sample_many(plan, logits, seed=4, positions=range(30)), kept).all()


@of_all(CUTS)
@given(data=st.data(), logits=LOGITS)
@settings(max_examples=40)
def test_a_cut_never_changes_the_relative_weights_of_the_survivors(kind, data, logits):
    before = fd.law(fd.Plan.of(), logits).probabilities
    for _, branch in data.draw(filled(kind)).branches():
        after = law_of(branch, logits, fd.History())
        kept = after.trace[-1].row.kept
        assume(before[kept].min() > 1e-300)
        assert np.allclose(after.probabilities[kept], before[kept] / before[kept].sum(), rtol=1e-12, atol=0)


@of_all(EDITS)
@given(data=st.data(), logits=LOGITS, history=HISTORIES)
@settings(max_examples=40)
def test_an_edit_returns_only_its_ids_and_reads_only_their_scores(kind, data, logits, history):
    stage, scores, context = data.draw(filled(kind)), np.float32(logits) + np.float32(0), Context(history=history)
    ids, values = stage.edits(scores, context)
    assert ids.dtype == np.int64
    assert values.dtype == np.float32
    assert ids.shape == values.shape
    assert np.unique(ids).size == ids.size
    blind = np.full(VOCAB, np.float32(123.0))
    blind[ids] = scores[ids]
    again_ids, again = stage.edits(blind, context)
    assert np.array_equal(again_ids, ids)
    assert np.array_equal(again, values, equal_nan=True)
    if isinstance(stage, ForbidStage):
        assert (values == -np.inf).all()
    if np.isfinite(values).any() and not np.isnan(values).any() and values.max() < np.inf:
        untouched = np.setdiff1d(np.arange(VOCAB), ids)
        row = stage.apply(Row.of(scores, RealMasses), context)
        assert np.array_equal(row.scores[untouched], scores[untouched])
        assert np.array_equal(row.scores[ids], values)


@of_all(list(STAGES.values()))
@given(data=st.data(), logits=LOGITS, history=HISTORIES)
@settings(max_examples=25)
def test_it_is_a_pure_function_of_row_and_context(kind, data, logits, history):
    stage, scores = data.draw(filled(kind)).branches()[0][1], np.float32(logits) + np.float32(0)
    law_of(stage, logits, history)
    before, length = scores.copy(), len(history)
    rows = [Row.of(scores, IntegerMasses) for _ in range(2)]
    if getattr(stage, "mass", "") == "raw":
        rows = [row.checkpoint("raw") for row in rows]
    context = Context(history=history, second=beside(stage, logits).get("second"))
    first, second = (stage.apply(row, context) for row in rows)
    assert np.array_equal(first.kept, second.kept)
    assert np.array_equal(first.scores, second.scores)
    assert np.array_equal(scores, before)
    assert len(history) == length


SWITCHES = st.sampled_from(["inclusive", "strict"]), st.sampled_from(["lowest", "highest", "all", "any"])


@given(LOGITS, st.floats(0, 1), st.floats(0, 1), *SWITCHES)
def test_top_p_keeps_more_as_p_grows(logits, p, q, boundary, ties):
    small, large = (
        set(fd.law(fd.Plan.of(TopP(p=x, boundary=boundary, ties=ties)), logits).trace[-1].row.kept.tolist())
        for x in sorted((p, q))
    )
    assert small <= large


@given(LOGITS, st.floats(0, 1), st.floats(0, 1), SWITCHES[0])
def test_min_p_keeps_less_as_p_grows(logits, p, q, boundary):
    small, large = (
        set(fd.law(fd.Plan.of(MinP(p=x, boundary=boundary)), logits).trace[-1].row.kept.tolist())
        for x in sorted((p, q))
    )
    assert large <= small


@given(LOGITS, st.floats(0, 1), st.floats(0, 1), *SWITCHES)
def test_typical_keeps_more_as_p_grows(logits, p, q, boundary, ties):
    small, large = (
        set(fd.law(fd.Plan.of(Typical(p=x, boundary=boundary, ties=ties)), logits).trace[-1].row.kept.tolist())
        for x in sorted((p, q))
    )
    assert small <= large


@given(LOGITS, st.integers(1, 70), st.integers(1, 70), SWITCHES[1])
def test_top_k_keeps_more_as_k_grows_and_exactly_k_without_ties(logits, k, j, ties):
    finite = int(np.isfinite(logits).sum())
    small, large = (
        set(fd.law(fd.Plan.of(TopK(k=x, ties=ties)), logits).trace[-1].row.kept.tolist()) for x in sorted((k, j))
    )
    assert small <= large
    assert len(small) == min(k, j, finite) or (ties == "all" and len(small) > min(k, j))
