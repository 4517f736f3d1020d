"""Forty rows on which engines differ under one name: every engine's answer, six digits of it."""

import json
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.dialects import DIALECTS
from fairdraw.dialects.finding import find_dialect
from fairdraw.errors import FairdrawError

FILE = json.loads((Path(__file__).parents[1] / "golden" / "dialect_cases.json").read_text())
CASES = FILE["cases"]
KNOWN = {dialect.engine for dialect in DIALECTS.values()}
FAULTS_REFUSED = {("D27", "exllamav2"): "0 where nothing sorts"}
"""What an engine answers by a fault that no stage has: the request is refused, and says why."""
WITHIN = 1e-6
ENTRIES = [(case, entry) for case in CASES for entry in case["engines"]]


def engine_of(entry: dict) -> str:
    return entry["dialect"].partition("@")[0]


def identity(pair: tuple[dict, dict]) -> str:
    case, entry = pair
    return f"{case['id']} {entry['dialect']} {entry['variant']}".strip()


def is_faulty(pair: tuple[dict, dict]) -> bool:
    case, entry = pair
    return (case["id"], engine_of(entry)) in FAULTS_REFUSED


ANSWERED = [pair for pair in ENTRIES if "kept" in pair[1] and not is_faulty(pair)]
REFUSED = [pair for pair in ENTRIES if "error" in pair[1]]


def resolve(entry: dict) -> fd.Plan:
    return fd.Plan.resolve(entry["parameters"], dialect=entry["dialect"], variant=entry["variant"])


def row_of(case: dict) -> np.ndarray:
    return np.array([float(value) for value in case["logits"]], np.float32)


def law_of(case: dict, entry: dict) -> fd.Weights:
    return fd.law(resolve(entry), row_of(case), history=fd.History(prompt=case["prompt"], output=case["output"]))


def contains(reading: fd.Weights, entry: dict) -> bool:
    """Whether a reading is the engine's answer, up to what it says the engine leaves open."""
    engine, ours = np.array(entry["probabilities"]), reading.probabilities.copy()
    for tie in reading.open_ties:
        chosen = np.intersect1d(entry["kept"], tie.group)
        if chosen.size != tie.count or not np.isin(tie.certain, entry["kept"]).all():
            return False
        share = ours[tie.group].max()
        ours[tie.group] = 0
        ours[chosen] = share
    return bool(np.abs(ours - engine).max() <= WITHIN)


@pytest.mark.parametrize("pair", ANSWERED, ids=identity)
def test_the_law_is_the_engines_answer(pair):
    case, entry = pair
    law = law_of(case, entry)
    if case.get("boundary") and law.others:
        assert any(contains(reading, entry) for reading in (law, *law.others))
    else:
        assert contains(law, entry)


@pytest.mark.parametrize("pair", ANSWERED, ids=identity)
def test_the_kept_ids_are_the_engines_where_it_leaves_no_choice(pair):
    case, entry = pair
    law = law_of(case, entry)
    if law.open_ties:
        assert any(set(tie.certain.tolist()) <= set(entry["kept"]) for tie in law.open_ties)
    else:
        readings = (law, *law.others) if case.get("boundary") else (law,)
        assert entry["kept"] in [reading.support.tolist() for reading in readings]


@pytest.mark.parametrize("case", [c for c in CASES if c.get("boundary")], ids=lambda case: case["id"])
def test_a_threshold_hit_exactly_is_flagged_for_every_engine_that_cuts_there(case):
    laws = [law_of(case, entry) for entry in case["engines"]]
    assert laws
    flagged = [law for law in laws if law.others]
    assert len(flagged) == len(laws)
    sets = {tuple(reading.support.tolist()) for law in flagged for reading in (law, *law.others)}
    assert {tuple(entry["kept"]) for entry in case["engines"]} <= sets


@pytest.mark.parametrize("pair", REFUSED, ids=identity)
def test_what_the_engine_refuses_is_refused(pair):
    case, entry = pair
    with pytest.raises(FairdrawError) as caught:
        law_of(case, entry)
    said = entry["error"].partition(": ")[2]
    if said and " itself says: " in getattr(caught.value, "hint", ""):
        assert said[:20] in caught.value.hint or said.startswith("WeightedIndex")


@pytest.mark.parametrize("pair", [pair for pair in ENTRIES if is_faulty(pair)], ids=identity)
def test_an_answer_by_a_fault_that_no_stage_has_is_refused_with_its_reason(pair):
    case, entry = pair
    with pytest.raises(fd.ParameterError, match=FAULTS_REFUSED[case["id"], engine_of(entry)]):
        law_of(case, entry)


def test_there_are_forty_cases_and_every_entry_is_of_a_known_engine():
    assert [case["id"] for case in CASES] == [f"D{number:02}" for number in range(1, 41)]
    assert {engine_of(entry) for _, entry in ENTRIES} <= KNOWN
    assert not any(set(e["parameters"]) & set(find_dialect(e["dialect"]).unmodelled) for _, e in ENTRIES)


def test_engines_differ_in_more_than_half_of_the_cases_that_have_two():
    """The cases are there because the engines differ: their laws here do too."""
    differing = 0
    pairs = [[e for e in case["engines"] if "kept" in e and not is_faulty((case, e))] for case in CASES]
    for case, entries in zip(CASES, pairs, strict=True):
        laws = [law_of(case, entry) for entry in entries]
        differing += any(a.total_variation(b) > 1e-3 for a in laws for b in laws)
    assert differing > sum(len(entries) > 1 for entries in pairs) / 2
