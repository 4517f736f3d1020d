"""Every golden case: what the engines themselves answered, with engine, version and source in each file."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.dialects import DIALECTS
from fairdraw.dialects.finding import find_dialect
from fairdraw.errors import FairdrawError

GOLDEN = Path(__file__).parents[1] / "golden"
ENGINES = (
    "transformers",
    "candle",
    "reference",
    "nano_vllm",
    "vllm",
    "sglang",
    "flashinfer",
    "mlx_lm",
    "mistral_rs",
    "tensorrt_llm",
    "llama_cpp",
    "ollama",
    "exllamav2",
    "exllamav3",
)
CASES = [case for engine in ENGINES for case in json.loads((GOLDEN / f"{engine}.json").read_text())["cases"]]
WITHIN = 1e-6

# The engine answers, and fairdraw refuses: token 0 of an empty row (F16), a reversed law, a minimum without effect.
REFUSED = {
    "greedy-on-an-empty-row-takes-token-0": "must have a finite entry, got nothing but -inf",
    "bad-words-empty-the-row-greedy": "logits after bad_words, 0 tokens into the output, must leave a token",
    "all-masked-argmax-takes-token-0": "must have a finite entry, got nothing but -inf",
    "negative-temperature-reverses": "candle@0.11 itself says: nothing; it would multiply by 1 / T",
    "remove-invalid-values": "must have no value above float32's range, got inf",
    "min-new-tokens-without-an-end": "must be 0 where no end id is known",
}
# The engine fails when it reaches the row, in its sampler's words; ours name the stage or the row.
ROW_ERRORS = {
    "f07-temperature-overflows": "logits after temperature, 0 tokens into the output, must give scores inside float32",
    "temperature-overflows": "logits after temperature, 0 tokens into the output, must give scores inside float32",
    "bad-word-outside-the-vocabulary": "bad_words must be a token id in 0..5, got 6",
    "bad-words-empty-the-row": "logits after bad_words, 0 tokens into the output, must leave a token",
    "all-masked": "logits must have a finite entry, got nothing but -inf",
    "d16-top-k-above-the-vocabulary": "must be at most 6 on a row of 6 in this plan, got 7",
    "top-k-above-the-vocabulary-then-top-p-zero": "must be at most 5 on a row of 6 in this plan, got 9",
    "top-k-equal-to-the-vocabulary-then-negative-top-p": "must be at most 5 on a row of 6 in this plan, got 6",
}


def identity(case: dict) -> str:
    return case["id"] if case["id"].startswith(case["dialect"]) else f"{case['dialect']}/{case['id'].split('/')[0]}"


def short(case: dict) -> str:
    return case["id"].split("/")[0]


def resolve(case: dict) -> fd.Plan:
    facts = fd.ModelFacts(vocab_size=len(case["logits"]), end_token_ids=tuple(case.get("end_token_ids", ())))
    return fd.Plan.parse(case["plan"], facts=facts)


def row_of(case: dict) -> np.ndarray:
    return np.array([float(value) for value in case["logits"]], np.float32)


def history_of(case: dict) -> fd.History:
    """An attention mask skips the zeros that it begins with, and nothing at all if it has nothing else."""
    mask = case.get("attention_mask", [1])
    return fd.History(prompt=case["prompt"], output=case["output"], left_padding=mask.index(1) if 1 in mask else 0)


def unmodelled(case: dict) -> list[str]:
    return [name for name in find_dialect(case["dialect"]).unmodelled if f" {name}=" in case["plan"]]


def kept(plan: fd.Plan, law: fd.Weights) -> set[int]:
    return set((law.support if plan.draw.name == "greedy" else law.trace[-1].row.kept).tolist())


def fits(law: fd.Weights, plan: fd.Plan, case: dict) -> bool:
    """Whether the engine's set and probabilities are this reading, up to the choice inside an open tie."""
    engine, ours = np.array(case["probabilities"]), law.probabilities
    light = set(np.flatnonzero((engine == 0) & (ours == 0)).tolist())
    if not law.open_ties:
        return kept(plan, law) - light == set(case["kept"]) - light and np.abs(ours - engine).max() <= WITHIN
    (tie,) = law.open_ties
    certain, group = set(tie.certain.tolist()), set(tie.group.tolist())
    chosen = set(case["kept"]) & group
    swapped = ours.copy()
    swapped[list(group)] = 0
    swapped[list(chosen)] = ours[list(group)].max()
    return (
        set(case["kept"]) - chosen == certain
        and len(chosen) == tie.count
        and bool(np.abs(swapped - engine).max() <= WITHIN)
    )


ANSWERED = [c for c in CASES if "kept" in c and short(c) not in REFUSED and not unmodelled(c)]
FAILED = [c for c in CASES if "error" in c and not unmodelled(c)]
REFUSING = [c for c in CASES if short(c) in REFUSED]
NOT_MODELLED = [(dialect.name, name) for dialect in DIALECTS.values() for name in dialect.unmodelled]


@pytest.mark.parametrize("case", ANSWERED, ids=identity)
def test_the_law_is_the_engines(case):
    plan = resolve(case)
    law = fd.law(plan, row_of(case), history=history_of(case))
    readings = [law, *law.others]
    assert any(fits(reading, plan, case) for reading in readings)
    if not law.others:
        assert fits(law, plan, case)


@pytest.mark.parametrize("case", [c for c in ANSWERED if c["open"]], ids=identity)
def test_an_open_tie_is_reported_with_the_engines_group_and_count(case):
    law = fd.law(resolve(case), row_of(case), history=history_of(case))
    ties = [(t.certain.tolist(), t.group.tolist(), t.count) for w in (law, *law.others) for t in w.open_ties]
    assert (case["open"]["certain"], case["open"]["tie_group"], case["open"]["count"]) in ties


@pytest.mark.parametrize("case", [c for c in ANSWERED if not c["open"]], ids=identity)
def test_a_choice_that_the_engine_makes_is_not_called_open(case):
    law = fd.law(resolve(case), row_of(case), history=history_of(case))
    fitting = [reading for reading in (law, *law.others) if fits(reading, resolve(case), case)]
    assert any(not reading.open_ties for reading in fitting)


@pytest.mark.parametrize("case", [c for c in ANSWERED if "rounding" in c], ids=identity)
def test_a_threshold_hit_exactly_is_flagged(case):
    law = fd.law(resolve(case), row_of(case), history=history_of(case))
    assert law.others
    assert set(law.in_doubt.tolist()) & set(case["rounding"])


@pytest.mark.parametrize("case", ANSWERED, ids=identity)
def test_a_token_drawn_is_one_that_the_law_allows(case):
    plan, row, history = resolve(case), row_of(case), history_of(case)
    support = fd.law(plan, row, history=history).support
    drawn = fd.sample_many(plan, row, seed=1, positions=range(50), history=history)
    assert np.isin(drawn, support).all()


@pytest.mark.parametrize("case", FAILED, ids=identity)
def test_what_the_engine_refuses_is_refused_and_the_engines_words_are_passed_on(case):
    if short(case) in ROW_ERRORS:
        plan = resolve(case)
        with pytest.raises(FairdrawError) as caught:
            fd.law(plan, row_of(case), history=history_of(case))
        assert ROW_ERRORS[short(case)] in str(caught.value)
        return
    if short(case) == "unknown-name":
        with pytest.raises(fd.PlanError, match="has no parameter 'presence_penalty'"):
            resolve(case)
        return
    with pytest.raises(fd.ParameterError) as caught:
        resolve(case)
    assert f" {caught.value.parameter}=" in case["plan"]
    assert " itself says: " in caught.value.hint
    assert (case["error"] or case["error_type"]) in caught.value.hint


@pytest.mark.parametrize("case", REFUSING, ids=identity)
def test_what_no_engine_should_answer_is_refused_with_its_reason(case):
    assert "error" not in case
    with pytest.raises(FairdrawError) as caught:
        fd.law(resolve(case), row_of(case), history=history_of(case))
    assert REFUSED[short(case)] in str(caught.value)


@pytest.mark.parametrize(("dialect", "name"), NOT_MODELLED)
def test_a_parameter_without_a_stage_is_refused_never_ignored(dialect, name):
    with pytest.raises(fd.PlanError, match=f"{name} is a parameter .* does not model yet"):
        fd.Plan.resolve({name: 1}, dialect=dialect)


def test_every_dialect_that_copies_an_engine_has_golden_cases():
    assert {case["dialect"] for case in CASES} == set(DIALECTS) - {"fairdraw", "openai", "anthropic"}


def test_the_engines_differ_where_they_should():
    """One request, D01: p measured on what top-k left, or on the whole row."""
    row = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
    texts = ("transformers: do_sample=true top_k=3 top_p=0.75", "candle: TopKThenTopP k=3 p=0.75 temperature=1.0")
    laws = [fd.law(fd.Plan.parse(text), row) for text in texts]
    assert [law.support.tolist() for law in laws] == [[0, 1], [0, 1, 2]]
    assert laws[0].total_variation(laws[1]) == pytest.approx(0.186324, abs=1e-6)
    assert all(a.name != b.name for a, b in combinations((find_dialect(t.split(":")[0]) for t in texts), 2))
