"""Plans: reading, printing, JSON, origins, effects, and what counts as the same plan."""

import json
import pickle
from dataclasses import fields

import hypothesis.strategies as st
import pytest
from hypothesis import given, reject

import fairdraw as fd
from core.domain_values import filled, values
from fairdraw.dialects import DIALECTS
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Variant
from fairdraw.dialects.reading import ENGINE_DEFAULT, read
from fairdraw.domains import Whole
from fairdraw.draws import DRAWS, Greedy, Race
from fairdraw.errors import FairdrawError, LogitsError, ParameterError, PlanError, UnavailableError
from fairdraw.params import DOMAINS
from fairdraw.stages import STAGES, Checkpoint, MinP, RepetitionPenalty, Temperature, TopK, TopP
from fairdraw.stages.base import StatefulStage


def encode(text: str) -> list[int]:
    return [ord(letter) % 64 for letter in text]


FACTS = fd.ModelFacts(vocab_size=64, end_token_ids=(2, 3), encode=encode)
WAYS = [(dialect, variant) for dialect in DIALECTS.values() for variant in dialect.variants]


@st.composite
def requests(draw, parameters):
    """Any allowed request in an engine's own names."""
    return {p.name: draw(values(p.domain)) for p in parameters if p.required or not draw(st.integers(0, 3))}


@st.composite
def resolved(draw):
    dialect, variant = draw(st.sampled_from(WAYS))
    request = draw(requests(dialect.variants[variant].parameters))
    try:
        return fd.Plan.resolve(request, dialect=dialect.name, variant=variant, facts=FACTS)
    except (ParameterError, PlanError):  # values that do not go together; the dialects' own tests hold which
        reject()


@st.composite
def composed(draw):
    stages = draw(st.lists(st.one_of([filled(kind) for kind in STAGES.values()]), max_size=5))
    # Two stateful stages of one name would share one memory: such a plan is refused.
    stages = list({s.name if isinstance(s, StatefulStage) else i: s for i, s in enumerate(stages)}.values())
    if any(getattr(stage, "mass", "") == "raw" for stage in stages):
        stages = [Checkpoint(), *stages]
    kind = draw(st.sampled_from(list(DRAWS.values())))
    return fd.Plan.of(*stages, draw=kind())


@given(resolved())
def test_a_resolved_plan_reads_back_from_its_text(plan):
    again = fd.Plan.parse(str(plan), facts=FACTS)
    assert again == plan
    assert str(again) == str(plan)
    assert hash(again) == hash(plan)


@given(resolved())
def test_a_resolved_plan_reads_back_from_json_with_origins_and_effects(plan):
    again = fd.Plan.from_json(json.loads(json.dumps(plan.to_json())))
    assert again == plan
    assert [(s.origin, s.effect) for s in again.settings] == [(s.origin, s.effect) for s in plan.settings]


@given(composed())
def test_a_composed_plan_reads_back_from_its_text_and_from_json(plan):
    assert fd.Plan.parse(str(plan)) == plan
    assert fd.Plan.from_json(json.loads(json.dumps(plan.to_json()))) == plan


@given(st.one_of(resolved(), composed()))
def test_a_plan_survives_pickling(plan):
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan
    assert hash(again) == hash(plan)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("fairdraw:", "fairdraw:"),
        ("fairdraw: top_k=40 temperature=1", "fairdraw: temperature=1.0 top_k=40"),
        ('fairdraw: stop=["a b", "c"]', 'fairdraw: stop=["a b", "c"]'),
        ("fairdraw: stop=END", 'fairdraw: stop=["END"]'),
        ('fairdraw: logit_bias={"3": -1, "2": 0.5}', 'fairdraw: logit_bias={"2": 0.5, "3": -1.0}'),
        ("transformers: temperature=0.7 do_sample=true", "transformers@5.24: do_sample=true temperature=0.7"),
        ("transformers@5.22.0: top_k=3", "transformers@5.22: top_k=3"),
        ("candle: TopK temperature=1 k=3", "candle@0.11: TopK k=3 temperature=1.0"),
        ("candle@0.11.0: temperature=0.5", "candle@0.11: temperature=0.5"),
        ("nano_vllm:temperature=0.6", "nano_vllm: temperature=0.6"),
        ("custom: top_k(k=3) >  greedy()", "custom: top_k(k=3) > greedy()"),
        ("custom: top_p( p = 0.5 )", "custom: top_p(p=0.5) > race()"),
        ("custom: race()", "custom: race()"),
    ],
)
def test_the_printed_form_is_canonical(text, canonical):
    assert str(fd.Plan.parse(text)) == canonical


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("top_k=3", "a plan must begin with 'engine:'"),
        ("", "a plan must begin with 'engine:'"),
        ("fairdrow: top_k=3", "did you mean 'fairdraw'"),
        ("transformers@4.0: top_k=3", "known: transformers@5.22, transformers@5.24"),
        ("fairdraw: topk=3", "did you mean 'top_k'"),
        ("fairdraw: temp=3", "here it is temperature"),
        ("fairdraw: top_k=3 top_k=4", "top_k is given twice"),
        ("fairdraw: TopK k=3", "has no variants, got 'TopK'"),
        ("fairdraw: top_k 3", "must go on with name=value, got '3'"),
        ("fairdraw: top_k=3 ,", "must go on with name=value"),
        ("candle: topk k=3", "did you mean 'TopK'"),
        ("candle: top_k k=3", "did you mean 'TopK'"),
        ("candle: TopK temperature=1", "candle@0.11 TopK needs k"),
        ("candle: GumbelSoftmax", "candle@0.11 GumbelSoftmax needs temperature"),
        ("candle: TopP temperature=1.0 p=0.5 k=3", "in the variants TopK and TopKThenTopP"),
        ("candle: top_k=3", "here it is k, in the variants TopK and TopKThenTopP"),
        ("transformers: max_tokens=3", "here it is max_new_tokens"),
        ("transformers: num_beams=3", "num_beams is a parameter of the engine that fairdraw does not model yet"),
        ("transformers: tpo_h=0.3", "did you mean"),
        ("reference: do_sample=true", "here it is always sampling"),
        ("custom: top_q(p=1)", "did you mean 'top_p'"),
        ("custom: top_p()", "top_p needs p"),
        ("custom: top_p(q=0.5)", "top_p has no field 'q'"),
        ("custom: top_p(p=0.5", "must close with ')'"),
        ("custom: top_p(p=0.5) top_k(k=1)", "must go on with '>'"),
        ("custom: race() > top_k(k=1)", "must have one draw, at its end"),
        ("custom: greedy() > race()", "must have one draw, at its end"),
        ('custom: top_p(p=0.5, mass="raw")', "measures mass on 'raw', which no stage before it sets"),
    ],
)
def test_a_text_that_is_no_plan_is_refused_with_a_hint(text, words):
    with pytest.raises(PlanError) as caught:
        fd.Plan.parse(text)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({}, "must have fairdraw_plan = 1"),
        ({"fairdraw_plan": 2}, "must have fairdraw_plan = 1"),
        ({"fairdraw_plan": 1, "stream_version": 99}, "must be of stream version 1, got 99"),
        ({"fairdraw_plan": 1, "stream_version": 1}, "not complete"),
        ([], "must have fairdraw_plan = 1"),
    ],
)
def test_json_that_is_no_plan_is_refused(data, words):
    with pytest.raises(PlanError, match=words):
        fd.Plan.from_json(data)


def test_a_stage_in_json_is_checked_like_any_other():
    data = fd.Plan.parse("fairdraw: top_p=0.5").to_json()
    data["stages"][1]["p"] = 1.5
    with pytest.raises(ParameterError, match=r"top_p.p must be a number in \[0, 1\], got 1.5"):
        fd.Plan.from_json(data)


def origins(plan: fd.Plan) -> dict:
    return {s.name: (s.value, s.origin) for s in plan.settings}


def test_every_value_says_whether_the_request_the_model_or_the_engine_set_it():
    facts = fd.ModelFacts(vocab_size=64, defaults={"temperature": 0.6, "top_p": 0.95, "architecture": "ignored"})
    plan = fd.Plan.resolve({"do_sample": True, "top_p": 0.9}, dialect="transformers", facts=facts)
    assert origins(plan)["do_sample"] == (True, "request")
    assert origins(plan)["top_p"] == (0.9, "request")
    assert origins(plan)["temperature"] == (0.6, "model file")
    assert origins(plan)["top_k"] == (50, "engine default")
    assert origins(plan)["min_p"] == (None, "engine default")


def test_unset_off_and_a_value_are_three_different_things():
    """F21: top_k unset is 50 in transformers, 0 is off, 40 is 40."""
    unset, off, forty = (
        fd.Plan.resolve({"do_sample": True} | more, dialect="transformers")
        for more in ({"top_k": None}, {"top_k": 0}, {"top_k": 40})
    )
    assert [origins(p)["top_k"] for p in (unset, off, forty)] == [
        (50, "engine default"),
        (0, "request"),
        (40, "request"),
    ]
    assert [[s.k for s in p.stages if isinstance(s, TopK)] for p in (unset, off, forty)] == [[50], [], [40]]
    row = [-0.01 * i for i in range(60)]
    first, second = fd.law(unset, row), fd.law(off, row)
    assert first.support.size == 50
    assert first.probabilities[0] == pytest.approx(0.025288, abs=1e-6)
    assert second.probabilities[0] == pytest.approx(0.022053, abs=1e-6)
    assert first.total_variation(second) == pytest.approx(0.127927, abs=1e-6)


def test_the_effect_of_a_setting_is_its_stage_off_the_mode_or_why_it_has_none():
    plan = fd.Plan.parse("transformers@5.24: do_sample=true temperature=0.5 max_new_tokens=4")
    effects = {s.name: s.effect for s in plan.settings}
    assert effects["do_sample"] == "chooses the mode"
    assert effects["temperature"] == "temperature"
    assert effects["top_k"] == "top_k"
    assert effects["top_p"] == "off"
    assert effects["max_new_tokens"] == "text"
    greedy = fd.Plan.parse("transformers@5.24: temperature=0.5 top_p=0.9")
    effects = {s.name: s.effect for s in greedy.settings}
    assert effects["temperature"].startswith("ignored: do_sample is false")
    assert effects["top_p"].startswith("ignored: do_sample is false")
    assert effects["min_p"] == "not used"
    assert greedy.mode == "greedy"
    assert greedy.draw == Greedy()


def test_fairdraws_temperature_zero_is_greedy_and_says_so_of_the_cuts():
    plan = fd.Plan.parse("fairdraw: temperature=0 top_k=40")
    assert {s.name: s.effect for s in plan.settings}["top_k"] == "ignored: temperature 0 is greedy"
    assert {s.name: s.effect for s in plan.settings}["temperature"] == "chooses the mode"
    assert plan.draw == Greedy()
    assert [stage.name for stage in plan.stages] == ["mask"]


def test_the_engine_does_not_look_at_temperature_when_it_does_not_sample():
    plan = fd.Plan.parse("transformers@5.24: do_sample=false temperature=0.0 top_k=-1 top_p=-2")
    assert {s.name: s.value for s in plan.settings}["temperature"] == 0.0
    assert fd.law(plan, [1.0, 3.0, 2.0]).support.tolist() == [1]
    with pytest.raises(ParameterError, match="top_k must be a whole number >= 0, got '5'"):
        fd.Plan.resolve({"top_k": "5"}, dialect="transformers")


def test_plans_are_equal_when_they_mean_the_same_whoever_asked():
    asked = fd.Plan.parse("transformers: do_sample=true top_k=50")
    unasked = fd.Plan.parse("transformers: do_sample=true")
    assert asked == unasked
    assert hash(asked) == hash(unasked)
    assert str(asked) != str(unasked)
    assert asked != fd.Plan.parse("transformers@5.22: do_sample=true top_k=50")
    assert asked != fd.Plan.parse("transformers: do_sample=true top_k=49")
    assert len({asked, unasked}) == 1


def test_a_version_may_be_left_out_and_patches_do_not_count():
    assert fd.Plan.parse("transformers:").dialect == "transformers@5.24"
    assert fd.Plan.parse("transformers@5.22.1:").dialect == "transformers@5.22"
    with pytest.raises(PlanError, match=r"not known at version '5\.2'"):
        fd.Plan.parse("transformers@5.2:")


def test_plan_of_takes_stages_and_nothing_else():
    plan = fd.Plan.of(TopP(p=0.9), Temperature(value=2.0))
    assert plan.dialect == "custom"
    assert plan.draw == Race()
    with pytest.raises(PlanError, match="takes stages, got 'top_p'"):
        fd.Plan.of("top_p")
    with pytest.raises(PlanError, match="put Checkpoint"):
        fd.Plan.of(TopP(p=0.9, mass="raw"), Checkpoint())


def of(dialect: str, **params: object) -> fd.Plan:
    return fd.Plan.resolve(fd.SamplingParams(**params), dialect=dialect)


def test_sampling_params_mean_the_same_in_every_dialect():
    assert of("fairdraw", temperature=0.7, top_k=3) == fd.Plan.parse("fairdraw: temperature=0.7 top_k=3")
    assert of("transformers", temperature=0.7, top_k=3) == fd.Plan.parse(
        "transformers: do_sample=true temperature=0.7 top_k=3"
    )
    assert of("transformers", temperature=0) == fd.Plan.parse("transformers: do_sample=false")
    assert of("transformers", min_tokens=0, max_tokens=9).limits.max_tokens == 9
    assert of("reference", top_p=0.9) == fd.Plan.parse("reference: top_p=0.9")
    assert of("nano_vllm", temperature=0.6, max_tokens=5) == fd.Plan.parse("nano_vllm: temperature=0.6 max_tokens=5")
    assert of("candle") == fd.Plan.parse("candle: All temperature=1.0")
    assert of("candle", temperature=0) == fd.Plan.parse("candle: ArgMax")
    assert of("candle", top_k=3) == fd.Plan.parse("candle: TopK k=3 temperature=1.0")
    assert of("candle", top_p=0.5, top_k=0) == fd.Plan.parse("candle: TopP p=0.5 temperature=1.0")
    assert of("candle", top_p=0.5, top_k=3, temperature=2.0) == fd.Plan.parse(
        "candle: TopKThenTopP k=3 p=0.5 temperature=2"
    )
    assert of("candle", repetition_penalty=1.1, penalty_last_n=32) == fd.Plan.parse(
        "candle: All temperature=1 repeat_penalty=1.1 repeat_last_n=32"
    )


FIELDS = {"presence_penalty": 0.5, "smoothing_factor": 0.5, "min_tokens": 3}


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "fairdraw"])
def test_a_field_that_the_engine_has_no_parameter_for_is_refused(dialect):
    known = {p.canonical for variant in DIALECTS[dialect].variants.values() for p in variant.parameters}
    name = next(name for name in FIELDS if name not in known)
    with pytest.raises(ParameterError, match=f"{name} must be unset for .*, which has no such parameter"):
        of(dialect, **{name: FIELDS[name]})


@pytest.mark.parametrize("dialect", ["nano_vllm", "reference"])
def test_an_engine_without_greedy_refuses_temperature_zero_in_its_words(dialect):
    with pytest.raises(ParameterError, match="itself says: AssertionError"):
        of(dialect, temperature=0)


@pytest.mark.parametrize("name", list(DOMAINS))
def test_every_sampling_parameter_is_read_by_the_fairdraw_dialect(name):
    assert {f.name for f in fields(fd.SamplingParams)} == set(DOMAINS)
    assert name in {p.canonical for p in DIALECTS["fairdraw"].variants[""].parameters}


def test_sampling_params_keep_unset_apart_from_off():
    assert dict(fd.SamplingParams(top_k=0).given()) == {"top_k": 0}
    assert dict(fd.SamplingParams().given()) == {}
    assert fd.SamplingParams(top_k=0) != fd.SamplingParams()
    assert repr(fd.SamplingParams(top_p=0.9, stop="x")) == "SamplingParams(top_p=0.9, stop=('x',))"


def test_the_fairdraw_dialect_has_no_hidden_default():
    plan = fd.Plan.parse("fairdraw:")
    assert all(s.origin == ENGINE_DEFAULT for s in plan.settings)
    assert [stage.name for stage in plan.stages] == ["mask"]
    assert plan == fd.Plan.resolve(fd.SamplingParams()) == fd.Plan.resolve({}) == fd.Plan.resolve()


def test_the_fairdraw_order_is_mask_edits_penalties_temperature_cuts():
    text = (
        "fairdraw: typical_p=0.9 min_p=0.1 top_p=0.9 top_k=3 temperature=0.7 presence_penalty=1 repetition_penalty=2 "
        'bad_words_ids=[[1]] logit_bias={"2":1} min_tokens=1 allowed_token_ids=[1,2]'
    )
    plan = fd.Plan.parse(text, facts=FACTS)
    assert [stage.name for stage in plan.stages] == [
        *("mask", "allowed_ids", "min_tokens", "logit_bias", "bad_words", "repetition_penalty"),
        *("presence_frequency_penalty", "temperature", "top_k", "top_p", "min_p", "typical"),
    ]


def test_what_depends_on_the_model_asks_for_its_facts():
    with pytest.raises(ParameterError, match=r"min_tokens must be 0 where no end id is known, got 3\nhint: pass facts"):
        fd.Plan.parse("fairdraw: min_tokens=3")
    with pytest.raises(ParameterError, match="bad_words must be empty where no tokenizer is known"):
        fd.Plan.parse("fairdraw: bad_words=plain")


ERRORS = [
    ParameterError("top_p", 1.5, "in [0, 1]", "1.0 keeps every token"),
    ParameterError("top_p", 1.5, "in [0, 1]"),
    LogitsError("logits row 3", "have a finite maximum", "-inf", "a mask"),
    PlanError("no dialect is called 'x'", "known: fairdraw"),
    UnavailableError("no weights", "run fairdraw pull"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_survives_pickling_with_its_parts_and_words(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert again.__dict__ == error.__dict__
    assert isinstance(again, FairdrawError)


def test_errors_are_value_errors_or_runtime_errors():
    assert all(isinstance(error, ValueError) for error in ERRORS[:4])
    assert isinstance(ERRORS[4], RuntimeError)


def test_stages_are_checked_when_they_are_made():
    with pytest.raises(ParameterError, match=r"top_k.k must be a whole number >= 1, got 0"):
        TopK(k=0)
    with pytest.raises(ParameterError, match=r"min_p.boundary must be one of 'inclusive', 'strict', got 'loose'"):
        MinP(p=0.5, boundary="loose")
    with pytest.raises(ParameterError, match=r"repetition_penalty.window must be a whole number >= 1, got 0"):
        RepetitionPenalty(penalty=2.0, window=0)


TOY = Dialect(
    engine="toy",
    version="1",
    summary="one parameter that has another name",
    source="made up",
    variants={
        "": Variant(
            parameters=(Parameter(name="top_k", domain=Whole(1), aliases=("k",), meaning="keep the k best"),),
            modes=(Mode(name="sample", steps=(Step(stage=TopK, fields={"k": "top_k"}),)),),
        )
    },
    from_params=lambda params: ("", {}),
)


def test_an_alias_is_the_same_parameter_and_not_a_second_one():
    reading = read(TOY, "", {"k": 3}, None)
    assert reading.stages == (TopK(k=3),)
    assert [(s.name, s.value, s.origin) for s in reading.settings] == [("top_k", 3, "request")]
    assert read(TOY, "", {}, fd.ModelFacts(vocab_size=9, defaults={"k": 4})).stages == (TopK(k=4),)
    with pytest.raises(PlanError, match="toy@1: top_k is given twice\nhint: an alias counts as the same name"):
        read(TOY, "", {"k": 3, "top_k": 3}, None)
