"""The comparison of the two engines on the 30 contexts, with rows that the model makes."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import fairdraw as fd

pytestmark = pytest.mark.model

GOLDEN = Path(__file__).parent.parent / "golden"
TRANSFORMERS = fd.Plan.parse("transformers: do_sample=true temperature=0.7 top_k=40 top_p=0.9")
CANDLE = fd.Plan.parse("candle: TopKThenTopP k=40 p=0.9 temperature=0.7")
CLOSURE = fd.Plan.parse("candle: TopP p=0.9 temperature=0.7 closure_top_k=40")
TRANSFORMERS_WITHOUT_K = fd.Plan.parse("transformers: do_sample=true temperature=0.7 top_k=0 top_p=0.9")
CANDLE_WITHOUT_K = fd.Plan.parse("candle: TopP p=0.9 temperature=0.7")


@pytest.fixture(scope="module")
def rows():
    model = fd.load_model("smollm2")
    contexts = json.loads((GOLDEN / "smollm2_token_ids.json").read_text(encoding="utf-8"))["contexts"]
    return [model.start().feed(context["token_ids"]) for context in contexts]


def test_the_engines_agree_on_22_of_30_rows_and_the_reason_is_named_on_the_others(rows):
    results = [fd.compare(TRANSFORMERS, CANDLE, row) for row in rows]
    assert Counter(result.verdict for result in results) == {"same": 22, "differ": 8}
    reasons = {result.reason for result in results if result.verdict == "differ"}
    assert reasons == {"candle measures p on the whole row, transformers inside the top 40."}
    same_set = [not result.only_a and not result.only_b for result in results]
    assert same_set == [result.verdict == "same" for result in results]


def test_without_top_k_the_engines_agree_everywhere(rows):
    results = [fd.compare(TRANSFORMERS_WITHOUT_K, CANDLE_WITHOUT_K, row) for row in rows]
    assert max(result.total_variation for result in results) <= 1e-6
    assert {result.verdict for result in results} == {"same"}


def test_the_closure_agrees_with_transformers_everywhere(rows):
    results = [fd.compare(TRANSFORMERS, CLOSURE, row) for row in rows]
    assert max(result.total_variation for result in results) <= 1e-6
    assert {result.verdict for result in results} == {"same"}
