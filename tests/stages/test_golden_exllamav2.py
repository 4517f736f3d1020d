"""The stages against exllamav2's compiled steps, which gave tests/golden/exllamav2_steps.json."""

import json
from pathlib import Path

import numpy as np
import pytest

import fairdraw as fd

CASES = json.loads((Path(__file__).parent.parent / "golden" / "exllamav2_steps.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_law_is_the_engine_s(case):
    """float32 steps one after another: the engine's own rounding is within 2e-6."""
    weights = fd.law(fd.Plan.parse(f"custom: {case['plan']}"), np.float32(case["logits"]))
    expected = np.zeros(len(case["logits"]))
    expected[case["kept"]] = case["probabilities"]
    assert weights.trace[-1].row.kept.tolist() == case["kept"]
    assert np.abs(weights.probabilities - expected).sum() / 2 < 2e-6
