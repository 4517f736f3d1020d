"""``fairdraw translate``: verdicts, what to paste, exit codes."""

import json

import numpy as np
import pytest


@pytest.fixture
def row(tmp_path) -> str:
    np.save(tmp_path / "row.npy", np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0]))
    return str(tmp_path / "row.npy")


def test_an_exact_translation_says_what_to_paste_where_the_two_may_differ_and_what_nobody_asked_for(cli):
    ran = cli("translate", "transformers: do_sample=true temperature=0.7", "--to", "candle")
    assert ran.code == 0
    assert "to       candle@0.11: TopK k=50 temperature=0.7\n" in ran.out
    assert "verdict  exact: the same stages with the same numbers\n" in ran.out
    assert "LogitsProcessor::from_sampling(seed, Sampling::TopK { k: 50, temperature: 0.7 })\n" in ran.out
    assert "- where several tokens equal the k-th best: transformers keeps all of them, candle" in ran.out
    assert "note: nobody asked for top_k=50: it is the engine's default\n" in ran.out
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["top_k", "top_k=50,", "engine", "default", "k=50,", "request"] in lines


def test_an_identity_is_printed_with_its_numbers(cli):
    ran = cli("translate", "mlx_lm: temp=0.5 min_p=0.25", "--to", "vllm")
    assert ran.code == 0
    assert "verdict  exact by an identity\n" in ran.out
    assert "min_p 0.25 before temperature 0.5 is min_p 0.0625 after it: 0.25^(1/0.5) = 0.0625\n" in ran.out


def test_a_row_dependent_one_asks_for_rows_and_measures_on_them(cli, row):
    without = cli("translate", "mlx_lm: temp=0.5 top_p=0.9", "--to", "vllm")
    assert without.code == 1
    assert "--logits FILE (or --prompt TEXT) measures it on rows" in without.err
    ran = cli("translate", "mlx_lm: temp=0.5 top_p=0.9", "--to", "vllm", "--logits", row)
    assert ran.code == 1
    assert "top_p was searched for these rows; with its number unchanged the mean is 0.0" in ran.out


def test_an_impossible_one_names_the_stage_and_exits_with_3(cli):
    ran = cli("translate", "fairdraw: mirostat=2", "--to", "vllm")
    assert ran.code == 3
    assert "vllm has no mirostat_2 like that of fairdraw" in ran.out
    assert "without it: vllm@0.33: temperature=1.0" in ran.out


def test_json_has_the_verdict_the_plan_and_what_to_paste(cli, row):
    ran = cli("translate", "fairdraw: top_k=2", "--to", "transformers", "--logits", row, "--json")
    data = json.loads(ran.out)
    assert data["verdict"] == "exact"
    assert data["plan"]["text"].startswith("transformers@5.24: do_sample=true temperature=1.0 top_k=2")
    assert data["paste"].startswith("model.generate(**inputs, do_sample=True, ")
    assert data["total_variation"] == [0.0]


def test_a_mistake_is_one_sentence_and_exits_with_2(cli, row):
    ran = cli("translate", "fairdraw: top_k=2", "--to", "vlm")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("fairdraw: no dialect is called 'vlm'")
    assert cli("translate", "fairdraw: top_k=2").code == 2
    assert cli("translate", "fairdraw: top_k=0.5", "--to", "vllm").code == 2


def test_a_service_without_a_law_is_no_source_and_loses_no_value(cli):
    for target in ("openai", "anthropic", "vllm"):
        ran = cli("translate", "openai: temperature=0.5", "--to", target)
        assert ran.code == 3
        assert "openai does not document what it samples from" in ran.out
        assert "paste" not in ran.out
        assert "without it" not in ran.out
        assert "note: what openai does with temperature=0.5 is not documented" in ran.out
