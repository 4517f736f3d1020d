"""The law of the transformers dialect against the real library, on random configurations and rows."""

from collections import Counter
from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import fairdraw as fd
from engines.harness import engine_dialect, engine_law

pytestmark = pytest.mark.engines

CASES = 500
WITHIN = 1e-6
SIZES = (6, 50, 1000, 32768, 49152)
SHARES = (0.3, 0.24, 0.24, 0.16, 0.06)
CHOICES = {
    "temperature": (1e-3, 0.05, 0.3, 0.7, 1.0, 1.3, 2.0),
    "top_k": (0, 0, 0, 0, 0, 1, 2, 3, 5, 40, 100),
    "top_p": (0.05, 0.5, 0.75, 0.8, 0.9, 0.95, 0.999, 1.0),
    "min_p": (0.0, 0.01, 0.05, 0.1, 0.5, 1.0),
    "typical_p": (0.1, 0.2, 0.5, 0.9, 0.95),
    "repetition_penalty": (0.8, 1.0, 1.1, 1.3, 2.0),
}
OFTEN = {"typical_p": 0.25, "top_k": 0.8}


@dataclass(frozen=True)
class Case:
    config: dict
    row: np.ndarray
    prompt: list
    output: list
    attention: list
    has_ties: bool
    """Whether two tokens of the row have the same finite logit."""

    @property
    def history(self) -> fd.History:
        padding = self.attention.index(1) if 1 in self.attention else 0
        return fd.History(prompt=self.prompt, output=self.output, left_padding=padding)


def random_row(random: np.random.Generator, vocab: int) -> np.ndarray:
    row = (random.normal(size=vocab) * random.choice([0.3, 1.0, 2.0, 4.0])).astype(np.float32)
    match random.integers(5):
        case 0:
            row = row.astype(ml_dtypes.bfloat16).astype(np.float32)
        case 1 if vocab <= 1000:
            row = np.round(row * 2) / 2
        case 2:
            row[random.random(vocab) < 0.3] = -np.inf
            row[random.integers(vocab)] = 1.0
    return row + np.float32(0)


def random_case(random: np.random.Generator) -> Case:
    vocab = int(random.choice(SIZES, p=SHARES))
    row = random_row(random, vocab)
    config: dict = {"do_sample": bool(random.random() > 0.06)}
    for name, choices in CHOICES.items():
        if random.random() < OFTEN.get(name, 0.5):
            config[name] = random.choice(choices).item()
            if name != "top_k" and name != "repetition_penalty" and config[name] < 1 and random.random() < 0.5:
                config[name] = float(random.uniform(0.02, 0.98))
    near = min(vocab, 40)
    prompt = random.integers(near, size=random.integers(1, 12)).tolist()
    output = random.integers(near, size=random.integers(0, 8)).tolist()
    padding = int(random.integers(len(prompt))) if random.random() < 0.3 else 0
    if random.random() < 0.25:
        ids = [*prompt, *output]
        config["bad_words_ids"] = [[int(random.integers(near))], [ids[-1], int(random.integers(near))], [1, 2, 3]]
    if random.random() < 0.2:
        config |= {"eos_token_id": [int(random.integers(near))], "min_new_tokens": int(random.integers(1, 10))}
        if "bad_words_ids" in config:
            config["bad_words_ids"].append(config["eos_token_id"])  # which the engine drops
    finite = row[row > -np.inf]
    return Case(
        config=config,
        row=row,
        prompt=prompt,
        output=output,
        attention=[0] * padding + [1] * (len(prompt) - padding),
        has_ties=np.unique(finite).size < finite.size,
    )


def difference(reading: fd.Weights, engine: np.ndarray) -> float:
    """Largest difference, once the engine's choice inside an open tie is taken over; infinity if it does not fit."""
    ours = reading.probabilities.copy()
    for tie in reading.open_ties:
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
    """equal, in doubt, open, or both refused; "wrong" is what must not be."""
    case: Case
    difference: float = 0.0


def compare(case: Case) -> Outcome:
    try:
        engine = engine_law(case.config, case.row, case.prompt, case.output, case.attention)
    except (ValueError, RuntimeError, TypeError):
        engine = None
    try:
        law = fd.law(fd.Plan.resolve(case.config, dialect=engine_dialect()), case.row, history=case.history)
    except ValueError:
        return Outcome("both refused" if engine is None else "wrong", case)
    if engine is None:
        return Outcome("wrong", case)
    least = min(difference(reading, engine) for reading in (law, *law.others))
    if least > WITHIN:
        return Outcome("wrong", case, least)
    return Outcome("in doubt" if law.others else "open" if law.open_ties else "equal", case, least)


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
    assert max(outcome.difference for outcome in outcomes()) <= WITHIN


def test_the_float32_edits_are_the_engines_to_the_last_bit():
    """One last digit of a scaled logit would show as 1e-8."""
    assert max(outcome.difference for outcome in outcomes()) < 1e-12


def test_the_random_configurations_reach_every_stage_and_every_kind_of_answer():
    kinds = Counter(outcome.kind for outcome in outcomes())
    assert kinds["equal"] > 400
    assert kinds["open"] >= 5
    assert kinds["in doubt"] >= 2
    used = Counter(name for outcome in outcomes() for name in outcome.case.config)
    assert {name for name, count in used.items() if count >= 80} >= {*CHOICES, "bad_words_ids", "min_new_tokens"}
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


def test_typical_on_a_large_vocabulary_differs_by_less_than_a_thousandth_from_the_engines_rounding():
    """Its float32 entropy errs by up to 5e-5 nats there, so tokens at the cut change places."""
    random = np.random.default_rng(10)
    for width in (0.05, 0.3, 1.0, 3.0):
        for share in (0.2, 0.5, 0.9, 0.99):
            row = (random.normal(size=131072) * width).astype(np.float32)
            config = {"do_sample": True, "top_k": 0, "typical_p": share}
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


@pytest.mark.parametrize("name", ["temperature", "top_k", "top_p", "min_p", "typical_p", "repetition_penalty"])
def test_the_defaults_are_the_engines(name):
    from transformers import GenerationConfig

    engine = GenerationConfig._get_default_generation_params()
    parameters = fd.dialects.finding.find_dialect(engine_dialect()).variants[""].parameters
    assert {p.name: p.default for p in parameters}[name] == engine.get(name)
