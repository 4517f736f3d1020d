"""One test over the table of dialects: what is true of every one of them."""

import json
import re

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

import fairdraw as fd
from core.domain_values import values
from fairdraw.dialects import DIALECTS
from fairdraw.dialects.finding import find_dialect
from fairdraw.dialects.reading import did_you_mean
from fairdraw.draws import Undocumented
from fairdraw.limits import Limits
from fairdraw.params import DOMAINS
from fairdraw.stages import STAGES

VOCAB = 64
FACTS = fd.ModelFacts(
    vocab_size=VOCAB, end_token_ids=(2,), encode=lambda text: [ord(letter) % VOCAB for letter in text]
)
WAYS = [(dialect, variant) for dialect in DIALECTS.values() for variant in dialect.variants]
HOSTED = [
    (dialect, variant)
    for dialect, variant in WAYS
    if any(isinstance(mode.draw, Undocumented) for mode in dialect.variants[variant].modes)
]
WITH_A_LAW = [way for way in WAYS if way not in HOSTED]
PARAMETERS = [
    pytest.param(dialect, variant, parameter, id=f"{dialect.name} {variant} {parameter.name}")
    for dialect, variant in WAYS
    for parameter in dialect.variants[variant].parameters
]
of_all_dialects = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=lambda dialect: dialect.name)
of_all_ways = pytest.mark.parametrize(
    ("dialect", "variant"), WAYS, ids=[f"{dialect.name} {variant}".strip() for dialect, variant in WAYS]
)
of_all_with_a_law = pytest.mark.parametrize(
    ("dialect", "variant"), WITH_A_LAW, ids=[f"{dialect.name} {variant}".strip() for dialect, variant in WITH_A_LAW]
)
of_all_parameters = pytest.mark.parametrize(("dialect", "variant", "parameter"), PARAMETERS)
ROW = np.random.default_rng(5).normal(size=VOCAB).astype(np.float32) * 2


def needed(dialect, variant, **more) -> dict:
    """The least request that the way can be asked with."""
    least = {"temperature": 1.0, "k": 3, "p": 0.9}
    return {p.name: least[p.name] for p in dialect.variants[variant].parameters if p.required} | more


@of_all_dialects
def test_it_says_what_it_is_and_what_was_read(dialect):
    assert find_dialect(dialect.name) is dialect
    assert len(dialect.summary) > 30
    assert dialect.source
    if dialect.engine != "fairdraw":
        assert re.search(r"\d|read|run", dialect.source), "a source names its version"
    assert "" in dialect.variants


@of_all_dialects
def test_names_that_it_does_not_have_are_explained(dialect):
    known = {p.name for v in dialect.variants.values() for p in v.parameters}
    assert not known & set(dialect.unmodelled)
    assert all(len(words) > 8 for words in dialect.unmodelled.values())
    for name in {**dialect.unmodelled, **dialect.elsewhere}:
        if name in {p.name for p in dialect.variants[""].parameters}:
            continue
        with pytest.raises(fd.PlanError) as caught:
            fd.Plan.resolve({name: 1.0}, dialect=dialect.name)
        assert caught.value.hint


@of_all_ways
def test_names_are_unique_and_aliases_too(dialect, variant):
    names = [name for p in dialect.variants[variant].parameters for name in (p.name, *p.aliases)]
    assert len(names) == len(set(names))


@of_all_parameters
def test_every_parameter_has_a_meaning_and_a_domain_that_holds_its_default(dialect, variant, parameter):
    assert len(parameter.meaning) > 10
    assert parameter.domain.text
    if parameter.default is not None:
        assert parameter.domain.holds(parameter.default)
        assert parameter.domain.clean(parameter.default) == parameter.default
        assert parameter.default_source or dialect.engine == "fairdraw"
    assert not (parameter.required and parameter.default is not None)
    assert not parameter.canonical or parameter.canonical in DOMAINS
    assert not parameter.limit or parameter.limit in Limits.domains


@of_all_parameters
def test_every_parameter_is_read_by_some_mode_or_limits_the_text(dialect, variant, parameter):
    modes = dialect.variants[variant].modes
    read = {name for mode in modes for name in (*mode.reads, *(n for step in mode.steps for n in step.parameters))}
    assert parameter.name in read or parameter.limit or (dialect, variant) in HOSTED


@of_all_ways
def test_every_name_that_a_step_or_mode_reads_is_a_parameter(dialect, variant):
    names = {p.name for p in dialect.variants[variant].parameters}
    for mode in dialect.variants[variant].modes:
        assert set(mode.reads) | set(mode.unread) <= names
        for step in mode.steps:
            assert set(step.parameters) <= names
            assert step.stage in STAGES.values()


@of_all_parameters
def test_a_value_outside_its_domain_is_refused_by_name(dialect, variant, parameter):
    with pytest.raises(fd.ParameterError) as caught:
        fd.Plan.resolve(
            needed(dialect, variant) | {parameter.name: object()}, dialect=dialect.name, variant=variant, facts=FACTS
        )
    assert caught.value.parameter == parameter.name
    assert parameter.domain.text in str(caught.value)


@of_all_with_a_law
@given(st.data())
@settings(max_examples=15)
def test_any_request_has_a_law_that_sums_to_1_and_draws_inside_it(dialect, variant, data):
    parameters = dialect.variants[variant].parameters
    asked = data.draw(st.sets(st.sampled_from([p.name for p in parameters]), max_size=8))
    request = {p.name: data.draw(values(p.domain), label=p.name) for p in parameters if p.required or p.name in asked}
    history = fd.History(prompt=[1, 2, 1], output=[3])
    try:
        plan = fd.Plan.resolve(request, dialect=dialect.name, variant=variant, facts=FACTS)
        given = {"second": ROW[::-1]} if any(stage.name == "guidance" for stage in plan.stages) else {}
        weights = fd.law(plan, ROW, history=history, **given)
    except (fd.ParameterError, fd.LogitsError):
        return
    assert weights.probabilities.sum() == pytest.approx(1.0, abs=1e-9)
    tokens = fd.sample_many(plan, ROW, seed=1, positions=range(20), history=history, **given)
    assert np.isin(tokens, weights.trace[-1].row.kept).all()


@of_all_ways
def test_every_setting_says_where_it_comes_from_and_what_came_of_it(dialect, variant):
    plan = fd.Plan.resolve(needed(dialect, variant), dialect=dialect.name, variant=variant)
    assert [s.name for s in plan.settings] == [p.name for p in dialect.variants[variant].parameters]
    assert all(s.effect for s in plan.settings)
    assert all(s.origin in ("request", "model file", "engine default") for s in plan.settings)
    assert fd.Plan.parse(str(plan)) == plan
    assert fd.Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@of_all_ways
def test_a_default_written_out_means_the_same_as_left_out(dialect, variant):
    parameters = dialect.variants[variant].parameters
    defaults = {p.name: p.default for p in parameters if p.default is not None}
    asked = fd.Plan.resolve(needed(dialect, variant) | defaults, dialect=dialect.name, variant=variant)
    unasked = fd.Plan.resolve(needed(dialect, variant), dialect=dialect.name, variant=variant)
    assert asked == unasked


@of_all_ways
def test_an_unset_value_counts_as_left_out(dialect, variant):
    nothing = {p.name: None for p in dialect.variants[variant].parameters if not p.required}
    asked = fd.Plan.resolve(needed(dialect, variant) | nothing, dialect=dialect.name, variant=variant)
    assert asked == fd.Plan.resolve(needed(dialect, variant), dialect=dialect.name, variant=variant)


@of_all_with_a_law
def test_every_way_accepts_a_mask(dialect, variant):
    plan = fd.Plan.resolve(needed(dialect, variant), dialect=dialect.name, variant=variant)
    weights = fd.law(plan, ROW, mask=np.arange(VOCAB) == 7)
    assert weights.support.tolist() == [7]


@of_all_parameters
def test_a_slip_of_the_finger_is_answered_with_the_name_meant(dialect, variant, parameter):
    names = {p.name for p in dialect.variants[variant].parameters} | set(dialect.unmodelled)
    slip = parameter.name[:-1] + parameter.name[-1] * 2
    if len(parameter.name) < 3 or slip in dialect.elsewhere:
        return
    assert did_you_mean(slip, names) == f"did you mean {parameter.name!r}?"
    with pytest.raises(fd.PlanError, match=f"did you mean '{parameter.name}'"):
        fd.Plan.resolve({slip: 1.0}, dialect=dialect.name, variant=variant)
