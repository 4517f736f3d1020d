"""The stages against transformers' own processors, which gave tests/golden/processors.json."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd

CASES = json.loads((Path(__file__).parent.parent / "golden" / "processors.json").read_text())["cases"]


def row_of(case: dict) -> np.ndarray:
    if case["logits"] != "tail":
        return np.array(case["logits"], np.float32)
    ranks = np.arange(32_768) * 40_503 % 32_768
    return (512.0 / (ranks + 64)).astype(np.float32)


def weights_of(case: dict) -> fd.Weights:
    tokens = case.get("tokens", [])
    prompt = case.get("prompt", len(tokens))
    return fd.law(
        fd.Plan.parse(f"custom: {case['plan']}"),
        row_of(case),
        history=fd.History(prompt=tokens[:prompt], output=tokens[prompt:]),
        **({"second": case["second"]} if "second" in case else {}),
    )


@pytest.mark.parametrize("case", [c for c in CASES if "kept" in c], ids=lambda case: case["id"])
def test_the_law_of_a_small_row_is_the_processors(case):
    weights = weights_of(case)
    assert weights.trace[-1].row.kept.tolist() == case["kept"]
    assert np.abs(weights.probabilities - case["probabilities"]).sum() / 2 < 1e-6


@pytest.mark.parametrize("case", [c for c in CASES if "kept_count" in c], ids=lambda case: case["id"])
def test_the_law_of_a_long_tail_is_the_processors(case):
    weights = weights_of(case)
    kept = weights.trace[-1].row.kept
    assert kept.size == case["kept_count"]
    assert hashlib.sha256(kept.astype("<i8").tobytes()).hexdigest() == case["kept_sha256"]
    assert np.abs(weights.probabilities[case["best"]] - case["probabilities"]).max() < 1e-6
