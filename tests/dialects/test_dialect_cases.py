"""Forty rows on which engines differ under one name: every engine's answer, six digits of it.

Entries of engines without a dialect wait; they are listed by name and leave the list as dialects come.
"""

import json
from collections import Counter
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
WITHIN = 1e-6
ENTRIES = [(case, entry) for case in CASES for entry in case["engines"]]


def engine_of(entry: dict) -> str:
    return entry["dialect"].partition("@")[0]


def identity(pair: tuple[dict, dict]) -> str:
    case, entry = pair
    return f"{case['id']} {entry['dialect']} {entry['variant']}".strip()


def awaiting(entry: dict) -> str:
    """Why an entry cannot be checked yet; "" when it can."""
    if engine_of(entry) not in KNOWN:
        return engine_of(entry)
    unmodelled = set(entry["parameters"]) & set(find_dialect(entry["dialect"]).unmodelled)
    return f"{engine_of(entry)}: {', '.join(sorted(unmodelled))}" if unmodelled else ""


CHECKED = [pair for pair in ENTRIES if not awaiting(pair[1])]
ANSWERED = [pair for pair in CHECKED if "kept" in pair[1]]
REFUSED = [pair for pair in CHECKED if "error" in pair[1]]


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
    laws = [law_of(case, entry) for entry in case["engines"] if not awaiting(entry)]
    assert laws
    flagged = [law for law in laws if law.others]
    assert len(flagged) == len(laws)
    sets = {tuple(reading.support.tolist()) for law in flagged for reading in (law, *law.others)}
    assert {tuple(entry["kept"]) for entry in case["engines"] if not awaiting(entry)} <= sets


@pytest.mark.parametrize("pair", REFUSED, ids=identity)
def test_what_the_engine_refuses_is_refused(pair):
    case, entry = pair
    with pytest.raises(FairdrawError) as caught:
        law_of(case, entry)
    said = entry["error"].partition(": ")[2]
    if said and " itself says: " in getattr(caught.value, "hint", ""):
        assert said[:20] in caught.value.hint or said.startswith("WeightedIndex")


def test_there_are_forty_cases_and_every_entry_is_checked_or_waits_for_a_named_engine():
    assert [case["id"] for case in CASES] == [f"D{number:02}" for number in range(1, 41)]
    waiting = Counter(awaiting(entry).partition(":")[0] for _, entry in ENTRIES if awaiting(entry))
    assert len(CHECKED) + waiting.total() == len(ENTRIES)
    # When one of these gets a dialect, its entries run by themselves, and its name goes from here.
    assert set(waiting) <= {"llama_cpp", "exllamav2", "exllamav3", "ollama"}
    assert not set(waiting) & KNOWN


def test_engines_differ_in_more_than_half_of_the_cases_that_have_two():
    """The cases are there because the engines differ: their laws here do too."""
    differing = 0
    pairs = [[e for e in case["engines"] if not awaiting(e) and "kept" in e] for case in CASES]
    for case, entries in zip(CASES, pairs, strict=True):
        laws = [law_of(case, entry) for entry in entries]
        differing += any(a.total_variation(b) > 1e-3 for a in laws for b in laws)
    assert differing > sum(len(entries) > 1 for entries in pairs) / 2
