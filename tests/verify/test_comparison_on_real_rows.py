"""Ten rows of SmolLM2-135M-Instruct after prompts in several languages."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from safetensors.numpy import load_file

import fairdraw as fd
from fairdraw.verify.comparison import compare

GOLDEN = Path(__file__).parents[1] / "golden"
DESCRIPTION = json.loads((GOLDEN / "smollm2_rows.json").read_text())
TOP_40_AND_P = "transformers: do_sample=true temperature=0.7 top_k=40 top_p=0.9"

Rows = dict[int, NDArray[np.float32]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    logits = load_file(GOLDEN / DESCRIPTION["file"])[DESCRIPTION["tensor"]]
    return dict(zip(DESCRIPTION["rows"], logits, strict=True))


def test_with_top_k_candle_and_transformers_differ_where_they_keep_other_sets_and_the_mass_is_why(rows: Rows) -> None:
    a, b = fd.Plan.parse(TOP_40_AND_P), fd.Plan.parse("candle: TopKThenTopP k=40 p=0.9 temperature=0.7")
    results = {number: compare(a, b, row) for number, row in rows.items()}
    assert {number for number, result in results.items() if result.verdict == "same"} == {0, 4}
    kept = {n: (result.kept_a, result.kept_b) for n, result in results.items() if result.verdict == "differ"}
    assert kept == {
        10: (5, 6), 16: (21, 28), 17: (23, 40), 18: (5, 8), 20: (25, 40), 24: (20, 40), 26: (13, 40), 29: (13, 18),
    }  # fmt: skip
    reasons = {result.reason for result in results.values() if result.verdict == "differ"}
    assert reasons == {"candle measures p on the whole row, transformers inside the top 40."}
    assert results[17].mass_b_outside_a == pytest.approx(0.0991, abs=1e-4)


@pytest.mark.parametrize(
    ("transformers", "candle"),
    [
        (
            "transformers: do_sample=true temperature=0.7 top_k=0 top_p=0.9",
            "candle: TopP p=0.9 temperature=0.7",
        ),
        ("transformers: do_sample=true temperature=0.7 top_k=0", "candle: All temperature=0.7"),
        (TOP_40_AND_P, "candle: TopP p=0.9 temperature=0.7 closure_top_k=40"),
    ],
)
def test_without_top_k_and_with_the_closure_they_agree_on_every_row(rows: Rows, transformers: str, candle: str) -> None:
    a, b = fd.Plan.parse(transformers), fd.Plan.parse(candle)
    for row in rows.values():
        result = compare(a, b, row)
        assert (result.verdict, result.reason) == ("same", "")
        assert result.total_variation <= 1e-6


def test_the_default_top_k_is_why_a_bare_temperature_differs(rows: Rows) -> None:
    a = fd.Plan.parse("transformers: do_sample=true temperature=0.7")
    result = compare(a, fd.Plan.parse("candle: All temperature=0.7"), rows[24])
    assert result.reason == "transformers cuts to its default top_k=50, which nobody asked for."
    assert (result.kept_a, result.kept_b, len(result.only_b)) == (50, 49152, 49102)


def test_the_clipped_gumbel_thins_out_a_long_tail(rows: Rows) -> None:
    a, b = (fd.Plan.parse(f"candle: {variant} temperature=1") for variant in ("GumbelSoftmax", "All"))
    result = compare(a, b, rows[24])
    assert result.total_variation > 0.2
    assert "uniforms in [1e-7, 0.999)" in result.reason
