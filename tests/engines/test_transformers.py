"""The law of the transformers dialect against the real library, on random configurations and rows."""

from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import fairdraw as fd
from engines.harness import engine_dialect, engine_law
from engines.transformers_cases import Case, random_case

# A minimum beyond max_new_tokens is a case like any other.
pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore:Unfeasible length constraints")]

CASES = 500
WITHIN = 1e-6
GOING_ON = {"remove_invalid_values", "forced_bos_token_id", "forced_eos_token_id"}
"""Rules that give the engine a token even where those before have forbidden all; fairdraw refuses there."""


def within(case: Case) -> float:
    """Guidance multiplies the rounding of the engine's float32 log-softmax, a temperature below 1 once more."""
    guided = case.config.get("guidance_scale", 0.0) / case.config.get("temperature", 1.0)
    return WITHIN * max(1.0, guided / 2)


def outermost(ties: tuple) -> list:
    """A cut inside an open tie opens a part of it again."""
    return [t for i, t in enumerate(ties) if not any(np.isin(t.group, earlier.group).all() for earlier in ties[:i])]


def difference(reading: fd.Weights, engine: np.ndarray) -> float:
    """Largest difference, once the engine's choice inside an open tie is taken over; infinity if it does not fit."""
    ours = reading.probabilities.copy()
    for tie in outermost(reading.open_ties):
        chosen = tie.group[engine[tie.group] > 0]
        if chosen.size != tie.count:
            return np.inf
        weight = ours[tie.group].max()
        ours[tie.group] = 0.0
        ours[chosen] = weight
    if ((ours > 1e-30) != (engine > 1e-30)).any():
        return np.inf
    return float(np.abs(ours - engine).max())


@dataclass(frozen=True)
class Outcome:
    kind: str
    """equal, in doubt, open, emptied, or both refused; "wrong" is what must not be."""
    case: Case
    difference: float = 0.0


def compare(case: Case) -> Outcome:
    try:
        engine = engine_law(case.config, case.row, case.prompt, case.output, case.attention, case.second)
    except (ValueError, RuntimeError, TypeError):
        engine = None
    try:
        plan = fd.Plan.resolve(case.config, dialect=engine_dialect())
        law = fd.law(plan, case.row, history=case.history, second=case.second)
    except ValueError as problem:
        if engine is None:
            return Outcome("both refused", case)
        emptied = isinstance(problem, fd.LogitsError) and "must leave a token" in str(problem)
        goes_on = not case.config["do_sample"] or GOING_ON & case.config.keys()
        return Outcome("emptied" if emptied and goes_on else "wrong", case)
    if engine is None:
        return Outcome("wrong", case)
    least = min(difference(reading, engine) for reading in (law, *law.others))
    if least > within(case):
        return Outcome("wrong", case, least)
    return Outcome("in doubt" if law.others else "open" if law.open_ties else "equal", case, least)


ACTING = {
    *("guidance", "sequence_bias", "prompt_penalty", "repetition_penalty", "no_repeat_ngram", "no_prompt_ngram"),
    *("bad_words", "min_tokens", "forced_tokens", "finite_scores", "length_decay", "suppressed_tokens"),
    *("temperature", "top_h", "top_k", "top_p", "min_p", "typical", "epsilon", "eta", "watermark", "log_softmax"),
}


def acting(case: Case) -> set[str]:
    """Stages that change this row."""
    try:
        plan = fd.Plan.resolve(case.config, dialect=engine_dialect())
        trace = fd.law(plan, case.row, history=case.history, second=case.second).trace
    except ValueError:
        return set()
    return {
        after.name
        for before, after in pairwise(trace)
        if not np.array_equal(before.row.kept, after.row.kept) or (before.row.scores != after.row.scores).any()
    }


@cache
def outcomes() -> tuple[Outcome, ...]:
    random = np.random.default_rng(20260801)
    return tuple(compare(random_case(random)) for _ in range(CASES))


def sampled(config: dict, row: np.ndarray) -> Outcome:
    """One row, one prompt id, nothing masked by attention."""
    row = np.asarray(row, np.float32)
    return compare(Case({"do_sample": True, "top_k": 0} | config, row, [0], [], [1], True))


def test_on_500_random_configurations_and_rows_the_law_is_the_engines():
    wrong = [outcome for outcome in outcomes() if outcome.kind == "wrong"]
    assert not wrong, [(outcome.case.config, outcome.case.row.size, outcome.difference) for outcome in wrong[:5]]
    unguided = [outcome for outcome in outcomes() if outcome.case.second is None]
    assert max(outcome.difference for outcome in unguided) <= WITHIN


def test_the_float32_edits_are_the_engines_to_the_last_bit():
    """One last digit of a scaled logit would show as 1e-8; log-softmax alone has torch's own sum in it."""
    exact = [o for o in outcomes() if o.case.second is None and not o.case.config.get("renormalize_logits")]
    assert len(exact) > 350
    assert max(outcome.difference for outcome in exact) < 1e-12


def test_the_random_configurations_reach_every_stage_and_every_kind_of_answer():
    kinds = Counter(outcome.kind for outcome in outcomes())
    assert kinds["equal"] > 400
    assert kinds["open"] >= 5
    assert kinds["in doubt"] >= 2
    used = Counter(name for outcome in outcomes() for name in outcome.case.config)
    names = {p.name for p in fd.dialects.finding.find_dialect(engine_dialect()).variants[""].parameters}
    assert {name for name, count in used.items() if count >= 25} == names - {"stop_strings"}
    assert all(used[name] >= 80 for name in ("temperature", "top_k", "top_p", "min_p", "repetition_penalty"))
    acted = Counter(step for outcome in outcomes() for step in acting(outcome.case))
    assert {name for name, count in acted.items() if count >= 5} >= ACTING
    assert kinds["emptied"] <= 5
    assert sum(not outcome.case.config["do_sample"] for outcome in outcomes()) >= 15
    assert sum(0 in outcome.case.attention for outcome in outcomes()) >= 80
    assert sum(outcome.case.row.size >= 32768 for outcome in outcomes()) >= 80


def test_at_most_one_row_in_twenty_without_ties_is_in_doubt():
    apart = [outcome for outcome in outcomes() if not outcome.case.has_ties]
    assert len(apart) > 200
    assert sum(outcome.kind == "in doubt" for outcome in apart) <= len(apart) / 20


@pytest.mark.parametrize("name", ["top_p", "min_p", "typical_p"])
def test_where_a_threshold_is_hit_exactly_the_engines_set_is_one_of_the_readings(name):
    """Probabilities are multiples of 1/64, and the threshold is a sum or a ratio of some of them."""
    random = np.random.default_rng(7)
    kinds = Counter()
    for _ in range(60):
        parts = random.multinomial(64 - 6, [1 / 6] * 6) + 1
        best = np.sort(parts)[::-1]
        sums = np.cumsum(best if name == "top_p" else random.permutation(parts)) / 64
        share = best / best[0] if name == "min_p" else sums
        kinds[sampled({name: float(share[random.integers(1, 5)])}, np.log(parts / 64)).kind] += 1
    assert not kinds["wrong"]
    assert kinds["in doubt"] >= {"top_p": 20, "min_p": 40, "typical_p": 4}[name], kinds


@pytest.mark.parametrize("vocab", [5, 16, 40, 1000])
def test_an_open_tie_has_the_engines_members_and_count(vocab):
    random = np.random.default_rng(8)
    kinds = Counter()
    for _ in range(30):
        row = random.integers(3, size=vocab) * 0.37
        config = {"top_p": float(random.uniform(0.05, 0.98))}
        if random.random() < 0.5:
            config["temperature"] = float(random.uniform(0.5, 2))
        kinds[sampled(config, row).kind] += 1
    assert not kinds["wrong"]
    assert kinds["open"] >= 10


@pytest.mark.parametrize("name", ["top_p", "min_p"])
def test_on_flat_rows_of_a_large_vocabulary_the_law_is_the_engines(name):
    random = np.random.default_rng(9)
    for width in (0.05, 0.3, 1.0, 3.0):
        for share in (0.05, 0.5, 0.9, 0.9999):
            outcome = sampled({name: share}, random.normal(size=131072) * width)
            assert outcome.kind != "wrong", (width, share, outcome.difference)


@pytest.mark.parametrize(
    ("name", "shares"), [("typical_p", (0.2, 0.5, 0.9, 0.99)), ("eta_cutoff", (1e-5, 3e-4, 0.01, 0.2))]
)
def test_on_a_large_vocabulary_the_engines_entropy_moves_less_than_a_thousandth(name, shares):
    """Its float32 sum errs by up to 5e-5 nats there, so tokens at the cut change places."""
    random = np.random.default_rng(10)
    for width in (0.05, 0.3, 1.0, 3.0):
        for share in shares:
            row = (random.normal(size=131072) * width).astype(np.float32)
            config = {"do_sample": True, "top_k": 0, name: share}
            law = fd.law(fd.Plan.resolve(config, dialect=engine_dialect()), row)
            distance = np.abs(law.probabilities - engine_law(config, row, [0])).sum() / 2
            assert distance < 1e-3, (width, share, distance)


@pytest.mark.parametrize(
    "config",
    [
        {"temperature": 0.0},
        {"temperature": -1.0},
        {"temperature": 2},
        {"temperature": float("nan")},
        {"top_k": -1},
        {"top_k": 2.5},
        {"top_k": "5"},
        {"top_p": -0.1},
        {"min_p": 1.5},
        {"min_p": -0.1},
        {"typical_p": 0.0},
        {"repetition_penalty": 0.0},
        {"repetition_penalty": 2},
        {"top_h": 0.0},
        {"top_h": 1.5},
        {"encoder_repetition_penalty": 2},
        {"encoder_repetition_penalty": -1.0},
        {"no_repeat_ngram_size": 1.5},
        {"encoder_no_repeat_ngram_size": 1.5},
        {"sequence_bias": {}},
        {"sequence_bias": {(1,): 2}},
        {"sequence_bias": [[[1], 2]]},
        {"sequence_bias": {(-1,): 2.0}},
        {"suppress_tokens": [1, 2], "forced_bos_token_id": 2},
        {"suppress_tokens": [1, 2], "forced_eos_token_id": [1, 2], "max_new_tokens": 3},
        {"bad_words_ids": []},
        {"bad_words_ids": [0]},
        {"bad_words_ids": [[-1]]},
    ],
    ids=str,
)
def test_what_the_engine_refuses_is_refused_in_its_own_words(config):
    with pytest.raises(ValueError) as theirs:
        engine_law({"do_sample": True} | config, np.arange(6.0), [0])
    with pytest.raises(fd.ParameterError) as ours:
        fd.Plan.resolve({"do_sample": True} | config, dialect=engine_dialect())
    assert str(theirs.value) in ours.value.hint


def test_the_defaults_are_the_engines():
    from transformers import GenerationConfig

    engine = GenerationConfig._get_default_generation_params()
    parameters = fd.dialects.finding.find_dialect(engine_dialect()).variants[""].parameters
    assert {p.name: p.default for p in parameters} == {p.name: engine.get(p.name) for p in parameters}


def test_every_parameter_of_the_engine_that_builds_a_processor_is_modelled_or_left_out_with_a_reason():
    import inspect
    import re

    from transformers import GenerationMixin

    text = inspect.getsource(GenerationMixin._get_logits_processor)
    read = set(re.findall(r"generation_config\.([a-z]\w*)", text)) - {"use_cache", "do_sample", "max_length"}
    dialect = fd.dialects.finding.find_dialect(engine_dialect())
    assert len(read) > 25
    assert read <= {p.name for p in dialect.variants[""].parameters} | set(dialect.unmodelled)
