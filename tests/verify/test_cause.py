"""The sentences, on rows small enough to check by hand; rows and laws are those of the engines' golden cases."""

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.verify.cause import Question, smallest_cause
from fairdraw.verify.comparison import compare
from fairdraw.verify.differences import Difference, differences, take_over
from fairdraw.verify.sides import Side

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
SIXTY = [5 - 0.05 * i for i in range(60)]
PENALISED = [1.0, 0.8, 0.6, 0.4]

CASES = {
    "whose mass": (
        "transformers: do_sample=true top_k=3 top_p=0.75",
        "candle: TopKThenTopP k=3 p=0.75 temperature=1",
        SIX,
        "candle measures p on the whole row, transformers inside the top 3.",
    ),
    "ties of top-k": (
        "transformers: do_sample=true top_k=2",
        "candle: TopK k=2 temperature=1",
        [3.0, 2.0, 2.0, 1.0],
        "transformers keeps every token equal to the 2nd (3 in all), candle exactly 2.",
    ),
    "a default nobody asked for": (
        "transformers: do_sample=true temperature=0.8",
        "candle: All temperature=0.8",
        SIXTY,
        "transformers cuts to its default top_k=50, which nobody asked for.",
    ),
    "a cut somebody asked for": (
        "transformers: do_sample=true temperature=0.8 top_k=40",
        "candle: All temperature=0.8",
        SIXTY,
        "only transformers has top_k=40.",
    ),
    "a cut under another name": (
        "transformers: do_sample=true top_k=0",
        "candle: TopK k=2 temperature=1",
        SIX,
        "only candle has k=2 (top_k).",
    ),
    "greedy by default": (
        "transformers:",
        "nano_vllm:",
        SIX,
        "transformers is greedy because do_sample is false by default, nano_vllm draws.",
    ),
    "greedy without a temperature": (
        "candle:",
        "fairdraw: temperature=0.7",
        SIX,
        "candle is greedy because temperature is unset, fairdraw draws.",
    ),
    "greedy on request": (
        "candle: ArgMax",
        "fairdraw:",
        SIX,
        "candle is greedy because ArgMax was asked for, fairdraw draws.",
    ),
    "temperature before or after a cut": (
        "custom: temperature(value=2) > top_p(p=0.7)",
        "custom: top_p(p=0.7) > temperature(value=2)",
        SIX,
        "the first plan applies temperature before top_p, the second plan after it.",
    ),
    "temperature before or after two cuts": (
        "fairdraw: temperature=2 top_p=0.99 min_p=0.3",
        "custom: top_p(p=0.99) > min_p(p=0.3) > temperature(value=2)",
        SIX,
        "fairdraw applies temperature before top_p and min_p, the composed plan after them.",
    ),
    "temperature behind two cuts or before them": (
        "custom: top_p(p=0.99) > min_p(p=0.3) > temperature(value=2)",
        "fairdraw: temperature=2 top_p=0.99 min_p=0.3",
        SIX,
        "fairdraw applies temperature before top_p and min_p, the composed plan after them.",
    ),
    "one of two cuts of a kind": (
        "candle: TopK k=2 closure_top_k=4 temperature=1",
        "transformers: do_sample=true top_k=4",
        SIX,
        "only candle has k=2 (top_k).",
    ),
    "another number": (
        "fairdraw: temperature=0.7",
        "nano_vllm: temperature=0.72",
        SIX,
        "fairdraw divides by a temperature of 0.7, nano_vllm 0.72.",
    ),
    "a clipped Gumbel": (
        "candle: GumbelSoftmax temperature=1",
        "candle: All temperature=1",
        [6.0, 0.0],
        "the first plan draws its Gumbel noise from uniforms in [1e-7, 0.999), so it thins out rare tokens "
        "and never draws one more than 9.69 T below the best.",
    ),
    "a clipped Gumbel's empty tail": (
        "transformers: do_sample=true",
        "candle: GumbelSoftmax temperature=1",
        [10.0, 0.0],
        "candle draws its Gumbel noise from uniforms in [1e-7, 0.999), so it thins out rare tokens "
        "and never draws one more than 9.69 T below the best.",
    ),
}


@pytest.mark.parametrize(("a", "b", "row", "words"), CASES.values(), ids=CASES.keys())
def test_the_reason_names_the_cause(a: str, b: str, row: list[float], words: str) -> None:
    result = compare(fd.Plan.parse(a), fd.Plan.parse(b), row)
    assert (result.verdict, result.reason) == ("differ", words)


SEEN = {
    "window": (
        "transformers: do_sample=true top_k=0 repetition_penalty=1.5",
        "candle: All temperature=1 repeat_penalty=1.5",
        fd.History(prompt=[0] + [1] * 70),
        "transformers penalises the whole history, candle the last 64 ids.",
    ),
    "scope": (
        "custom: repetition_penalty(penalty=1.5)",
        "custom: repetition_penalty(penalty=1.5, scope=output)",
        fd.History(prompt=[0], output=[1]),
        "the first plan penalises prompt and output, the second plan the output alone.",
    ),
    "padding": (
        "transformers@5.22: repetition_penalty=3.0 do_sample=true",
        "transformers@5.24: repetition_penalty=3.0 do_sample=true",
        fd.History(prompt=[0, 1], left_padding=1),
        "transformers@5.22 penalises prompt and output with the left padding, transformers@5.24 prompt and output.",
    ),
    "order of penalties": (
        "custom: repetition_penalty(penalty=1.5) > presence_frequency_penalty(frequency=0.8)",
        "custom: presence_frequency_penalty(frequency=0.8) > repetition_penalty(penalty=1.5)",
        fd.History(output=[0, 0]),
        "the first plan applies repetition_penalty before presence_frequency_penalty, the second plan after it.",
    ),
}


@pytest.mark.parametrize(("a", "b", "history", "words"), SEEN.values(), ids=SEEN.keys())
def test_the_reason_names_what_a_penalty_sees(a: str, b: str, history: fd.History, words: str) -> None:
    result = compare(fd.Plan.parse(a), fd.Plan.parse(b), PENALISED, history=history)
    assert (result.verdict, result.reason) == ("differ", words)


def test_a_window_that_reaches_the_whole_history_is_no_cause() -> None:
    a = fd.Plan.parse("transformers: do_sample=true top_k=0 repetition_penalty=1.5")
    b = fd.Plan.parse("candle: All temperature=1 repeat_penalty=1.5")
    result = compare(a, b, PENALISED, history=fd.History(prompt=[0] + [1] * 63))
    assert result.verdict == "same"
    assert "repetition_penalty.window" in result.note


def test_causes_that_act_together_are_all_named_and_others_are_not() -> None:
    a = fd.Plan.parse("transformers: do_sample=true temperature=0.7 repetition_penalty=1.3 top_k=0")
    b = fd.Plan.parse("candle: TopP p=0.5 temperature=0.8")
    result = compare(a, b, SIX, history=fd.History(prompt=[0]))
    assert result.reason == (
        "only transformers has repetition_penalty=1.3; only candle has p=0.5 (top_p); "
        "transformers divides by a temperature of 0.7, candle 0.8."
    )
    unseen = compare(a, b, SIX)
    assert unseen.reason == "only candle has p=0.5 (top_p); transformers divides by a temperature of 0.7, candle 0.8."


def test_a_default_of_the_model_is_named_as_such() -> None:
    facts = fd.ModelFacts(vocab_size=6, defaults={"top_k": 2})
    a = fd.Plan.parse("transformers: do_sample=true", facts=facts)
    result = compare(a, fd.Plan.parse("fairdraw:"), SIX)
    assert result.reason == "only transformers has top_k=2, from the model file."


def test_numbers_that_look_alike_are_written_out() -> None:
    a, b = (fd.Plan.parse(f"custom: top_p(p={p})") for p in ("0.8000001", "0.8000004"))
    # The mass before id 2 lies between the two, and within 2^-20 of both.
    result = compare(a, b, np.log([0.5, 0.30000025, 0.19999975]))
    words = "the first plan keeps a prefix of mass 0.8000001, the second plan 0.8000004."
    assert result.note == f"In exact arithmetic, with the lower ids first, {words}"


@pytest.mark.parametrize("case", [*CASES.values()])
def test_a_cause_when_settled_gives_the_other_law(case: tuple[str, str, list[float], str]) -> None:
    plans, row = [fd.Plan.parse(text) for text in case[:2]], case[2]
    laws = [fd.law(plan, row) for plan in plans]
    a, b = (Side(name="", plan=plan, weights=weights) for plan, weights in zip(plans, laws, strict=True))
    question = Question(a=a, b=b, law=lambda plan: fd.law(plan, row), tolerance=1e-6)
    (cause,) = smallest_cause(question, question.differences)
    settled = [take_over(plans[0], plans[1], [cause]), take_over(plans[1], plans[0], [cause])]
    distances = (fd.law(settled[0], row).total_variation(laws[1]), fd.law(settled[1], row).total_variation(laws[0]))
    assert min(distances) <= 1e-6


def test_a_plan_that_takes_over_everything_has_the_other_plans_stages() -> None:
    a = fd.Plan.parse("fairdraw: temperature=2 top_p=0.9 min_p=0.3 repetition_penalty=1.2")
    b = fd.Plan.parse("custom: top_k(k=3) > top_p(p=0.5) > checkpoint() > temperature(value=3)")
    mixed = take_over(a, b, differences(a, b, masked=True))
    assert mixed.stages == b.stages


def test_differences_that_only_round_come_last() -> None:
    a = fd.Plan.parse("transformers: do_sample=true temperature=0.7 top_k=40 top_p=0.9")
    b = fd.Plan.parse("candle: TopKThenTopP k=40 p=0.9 temperature=0.7")
    assert [(difference.name, difference.quiet) for difference in differences(a, b)] == [
        ("top_k.ties", False),
        ("top_p.mass", False),
        ("top_p.ties", False),
        ("temperature.operation", True),
        ("top_p.p", True),
    ]


def test_what_a_plan_takes_over_alone_finds_its_place_by_the_table_of_stages() -> None:
    a, b = fd.Plan.parse("fairdraw: temperature=2 top_k=3"), fd.Plan.parse("fairdraw: temperature=2 top_p=0.9")
    mixed = take_over(a, b, [Difference(kind="presence", key=("top_p", 0))])
    assert [stage.name for stage in mixed.stages] == ["mask", "temperature", "top_k", "top_p"]
