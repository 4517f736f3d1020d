"""One request in every engine: the matrix, its page, and the table of switches."""

import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, fields

import numpy as np
import pytest

from fairdraw.dialects import DIALECTS
from fairdraw.errors import LogitsError, PlanError
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan
from fairdraw.sampling import law
from fairdraw.verify.matrix import compare_all
from fairdraw.verify.page import page, unasked
from fairdraw.verify.switches import GROUPS, Switches, all_switches

ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0])
REQUEST = SamplingParams(top_k=3, top_p=0.75)
ENGINES = ("transformers", "vllm", "candle", "sglang", "mlx_lm", "nano_vllm", "openai")


def test_whose_mass_p_measures_splits_the_engines_as_the_sources_say():
    # D01: [0.6225, 0.3775] where p measures what k left, [0.5065, 0.3072, 0.1863] where it measures the row.
    matrix = compare_all(REQUEST, ROW, engines=ENGINES)
    assert [set(group) for group in matrix.groups] == [
        {"transformers@5.24", "vllm@0.33"},
        {"candle@0.11", "sglang@0.5.23", "mlx_lm@0.32"},
    ]
    names = list(matrix.plans)
    pair = names.index("transformers@5.24"), names.index("candle@0.11")
    assert matrix.mean[pair] == pytest.approx(0.1863, abs=1e-4)
    assert matrix.kept[pair[0]].tolist() == [2]
    assert matrix.kept[pair[1]].tolist() == [3]


def test_each_entry_is_the_mean_and_the_largest_of_the_rows():
    rows = np.stack([ROW, np.float32([9, 0, 0, 0, 0, 0])])
    matrix = compare_all(REQUEST, rows, engines=("vllm", "candle"))
    apart = [law(matrix.plans["vllm@0.33"], row).total_variation(law(matrix.plans["candle@0.11"], row)) for row in rows]
    assert matrix.mean[0, 1] == matrix.mean[1, 0] == pytest.approx(np.mean(apart))
    assert matrix.largest[0, 1] == pytest.approx(max(apart))
    assert np.diag(matrix.mean).tolist() == [0, 0]


def test_an_engine_that_cannot_take_the_request_is_named_with_its_reason():
    refused = compare_all(REQUEST, ROW, engines=ENGINES).refused
    assert set(refused) == {"nano_vllm", "openai"}
    assert "top_k must be unset for nano_vllm" in refused["nano_vllm"]
    alone = compare_all(SamplingParams(temperature=0.7), ROW, engines=ENGINES).refused
    assert alone == {"openai": "what it samples from is not documented"}


def test_a_k_of_the_whole_row_is_refused_by_the_row_and_by_no_one_else():
    refused = compare_all(SamplingParams(top_k=6), ROW, engines=("vllm", "mlx_lm")).refused
    assert list(refused) == ["mlx_lm@0.32"]


def test_no_engine_at_all_and_a_bad_row_are_errors():
    with pytest.raises(PlanError, match="no engine takes this request"):
        compare_all(SamplingParams(typical_p=0.5), ROW, engines=("nano_vllm", "candle"))
    with pytest.raises(LogitsError, match="logits row 0"):
        compare_all(REQUEST, np.float32([0, np.nan]), engines=("vllm",))


def test_the_page_is_well_formed_loads_nothing_and_has_every_number():
    matrix = compare_all(REQUEST, ROW, engines=ENGINES)
    text = page(matrix, "a <file> & more")
    root = ElementTree.fromstring(text.split("\n", 1)[1].replace("<meta charset='utf-8'>", "").replace(
        "<meta name='viewport' content='width=device-width, initial-scale=1'>", ""))  # fmt: skip
    assert not any(word in text for word in ("<script", "http", "url(", "@import", "<link", "<img"))
    assert "a &lt;file&gt; &amp; more" in text
    count = len(matrix.plans)
    assert len(root.findall(".//svg/g/rect")) == count * (count - 1) // 2
    rows = [{cell.text for cell in row} for row in root.findall(".//table/tbody/tr")]
    assert {"transformers@5.24", "candle@0.11", "0.1863"} in rows
    assert "prefers-color-scheme: dark" in text


def test_the_switches_say_what_the_sources_say():
    rows = {row.engine: row for row in all_switches()}
    assert (rows["transformers@5.24"].top_k_ties, rows["transformers@5.24"].temperature_0) == ("all", "refused")
    assert rows["vllm@0.33"].temperature_0_001 == "0.01"
    assert rows["sglang@0.5.23 pytorch"].top_p_boundary == "strict"
    assert rows["candle@0.11 TopKThenTopP"].top_p_mass == "raw"
    assert (rows["mistral_rs@0.9"].min_p_boundary, rows["mistral_rs@0.9"].min_p_1) == ("strict", "off")
    assert rows["sglang@0.5.23"].repetition_sees == "output"
    assert rows["mlx_lm@0.32"].repetition_sees == "prompt and output, last 20"
    assert rows["mlx_lm@0.32"].order.endswith("top_k > temperature")
    assert rows["flashinfer@0.7"].temperature_0 == "all tokens alike"
    assert rows["mlx_lm@0.32"].nothing_asked == "greedy"


def test_every_documented_dialect_has_a_row_and_every_switch_a_column():
    engines = {row.engine.partition(" ")[0] for row in all_switches()}
    assert engines == {name for name in DIALECTS if name not in ("openai", "anthropic")}
    shown = [name for names in GROUPS.values() for name in names]
    assert sorted(shown) == sorted(field.name for field in fields(Switches) if field.name != "engine")
    assert all(value for row in all_switches() for value in asdict(row).values())


def test_what_acts_unasked_is_named_also_where_it_acts_in_two_stages():
    assert "top_k=50, top_p=0.8, token_repetition_penalty=1.025" in unasked(Plan.parse("exllamav2:"))
    assert unasked(Plan.parse("vllm: top_k=3")) == "-"
