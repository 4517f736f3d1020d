"""``fairdraw explain``."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from .conftest import ROWS

TOP_TWO = "fairdraw: top_k=2"


def tokens(out: str) -> list[dict]:
    return json.loads(out)["tokens"]


def test_without_a_row_every_value_is_shown_with_its_origin(cli):
    ran = cli("explain", "transformers: do_sample=true temperature=0.7")
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["temperature", "0.7", "request", "temperature"] in lines
    assert ["top_k", "50", "engine", "default", "top_k"] in lines
    for name in ("top_p 1.0", "min_p unset", "typical_p 1.0", "repetition_penalty 1.0", "bad_words_ids unset"):
        assert name in ran.out
    assert "what each stage leaves" not in ran.out


def test_an_unasked_top_k_of_50_is_pointed_out(cli):
    note = "note: nobody asked for top_k=50: it is the engine's default"
    assert note in cli("explain", "transformers: do_sample=true").out
    assert note not in cli("explain", "transformers: do_sample=true top_k=50").out
    data = json.loads(cli("explain", "transformers: do_sample=true", "--json").out)
    assert data["notes"] == ["nobody asked for top_k=50: it is the engine's default"]


def test_a_value_asked_for_in_vain_is_pointed_out(cli):
    out = cli("explain", "transformers: temperature=0.7").out
    assert "note: temperature=0.7 has no effect: ignored" in out
    assert "settings, mode greedy" in out


def test_the_trace_and_the_tokens_are_those_of_the_law(cli, rows_npy):
    out = cli("explain", TOP_TWO, "--logits", rows_npy).out
    p = np.exp([2.0, 1.5]) / np.exp([2.0, 1.5]).sum()
    lines = [line.split() for line in out.splitlines()]
    assert any(line[:3] == ["logits", "6", "100.00%"] for line in lines)
    kept = np.exp([2.0, 1.5]).sum() / np.exp(ROWS[0].astype(float)).sum()
    assert any(line[:3] == ["top_k(k=2)", "2", f"{kept:.2%}"] for line in lines)
    assert any(line[:3] == ["id", "0", f"{p[0]:.2%}"] for line in lines)
    assert any(line[:3] == ["id", "1", f"{p[1]:.2%}"] for line in lines)
    assert "id 2 " not in out


def test_a_bar_is_as_long_as_its_share(cli, rows_npy):
    bars = [line.count("█") for line in cli("explain", TOP_TWO, "--logits", rows_npy).out.splitlines() if "id " in line]
    assert bars == [int(0.6224593 * 30), int(0.3775407 * 30)]


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".safetensors"])
def test_every_kind_of_file_gives_the_same_row(cli, tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    if suffix == ".npy":
        np.save(path, ROWS)
    elif suffix == ".npz":
        np.savez(path, logits=ROWS)
    else:
        save_file({"logits": ROWS}, path)
    second = tokens(cli("explain", TOP_TWO, "--logits", str(path), "--row", "1", "--json").out)
    assert [t["token"] for t in second] == [0, 1]
    assert second[0]["probability"] == pytest.approx(np.exp(9) / (np.exp(9) + 1))


def test_the_first_row_is_shown_if_none_is_named_and_the_last_is_minus_one(cli, rows_npy):
    first = cli("explain", TOP_TWO, "--logits", rows_npy, "--json").out
    assert first == cli("explain", TOP_TWO, "--logits", rows_npy, "--row", "0", "--json").out
    last = cli("explain", TOP_TWO, "--logits", rows_npy, "--row", "-1", "--json").out
    assert json.loads(last)["row"]["number"] == 1


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_a_file_of_several_arrays_needs_the_name_of_one(cli, tmp_path, suffix):
    path = str(tmp_path / f"two{suffix}")
    arrays = {"first": ROWS[0], "second": ROWS[1]}
    np.savez(path, **arrays) if suffix == ".npz" else save_file(arrays, path)
    out = cli("explain", TOP_TWO, "--logits", path, "--tensor", "second", "--json").out
    assert tokens(out)[0]["probability"] == pytest.approx(np.exp(9) / (np.exp(9) + 1))
    ran = cli("explain", TOP_TWO, "--logits", path)
    assert ran.code == 2
    assert "first, second" in ran.err
    assert "did you mean 'second'?" in cli("explain", TOP_TWO, "--logits", path, "--tensor", "secnd").err


def test_top_says_how_many_tokens_are_listed(cli, rows_npy):
    for top, count in (("0", 0), ("3", 3), ("100", 6)):
        out = cli("explain", "fairdraw: temperature=1", "--logits", rows_npy, "--top", top, "--json").out
        assert len(tokens(out)) == count
    assert "best tokens (3 more can be drawn)" in cli(
        "explain", "fairdraw: temperature=1", "--logits", rows_npy, "--top", "3"
    ).out  # fmt: skip


def test_penalties_read_the_ids_that_were_given(cli, rows_npy):
    plan = ("explain", "fairdraw: presence_penalty=1", "--logits", rows_npy, "--top", "1", "--json")
    assert tokens(cli(*plan).out)[0]["token"] == 0
    assert tokens(cli(*plan, "--output-ids", "0", "0").out)[0]["token"] == 1
    assert tokens(cli(*plan, "--output-ids", "0,1").out)[0]["token"] in (0, 2)
    assert tokens(cli(*plan, "--prompt-ids", "0").out)[0]["token"] == 0


def test_what_the_engine_leaves_open_is_said(cli, rows_npy):
    out = cli("explain", "candle: TopK k=2 temperature=1", "--logits", rows_npy, "--row", "1").out
    assert "open tie: the engine keeps 1 of the equal tokens 1, 2, 3, 4, 5" in out


def test_a_composed_plan_has_stages_and_no_settings(cli, rows_npy):
    out = cli("explain", "custom: top_k(k=2) > greedy()", "--logits", rows_npy).out
    assert "runs: top_k(k=2) > greedy()" in out
    assert "settings" not in out


def test_words_in_brackets_are_text_and_not_markup(cli):
    ran = cli("explain", 'transformers: do_sample=true stop_strings=["[/b]", ":smile:"]')
    assert ran.code == 0
    assert 'stop_strings=["[/b]", ":smile:"]' in ran.out


def test_json_is_one_object_and_stderr_is_silent(cli, rows_npy):
    ran = cli("explain", TOP_TWO, "--logits", rows_npy, "--json")
    data = json.loads(ran.out)
    assert ran.err == ""
    assert data["kept"] == 2
    assert [step["stage"] for step in data["trace"]] == ["logits", "mask", "top_k"]
    assert data["plan"]["text"] == TOP_TWO


@pytest.mark.model
def test_a_prompt_gives_the_models_row_and_the_tokens_their_text(cli):
    ran = cli("explain", "fairdraw: top_k=3", "--prompt", "Say hello in Chinese.")
    assert ran.code == 0
    assert "row 0 of smollm2 after the prompt, vocabulary 49152" in ran.err
    data = json.loads(cli("explain", "fairdraw: top_k=3", "--prompt", "Say hello in Chinese.", "--json").out)
    assert len(data["tokens"]) == 3
    assert all(token["text"] in ran.out for token in data["tokens"])


@pytest.mark.model
def test_what_needs_a_model_says_which_flag_gives_one(cli):
    plan = 'fairdraw: bad_words=["a"]'
    assert "hint: --model smollm2" in cli("explain", plan).err
    assert cli("explain", plan, "--model", "smollm2").code == 0


def test_request_server_model_file_and_engine_stand_apart(cli, tmp_path):
    config = tmp_path / "generation_config.json"
    config.write_text('{"top_k": 20, "top_p": 0.95, "do_sample": true}', encoding="utf-8")
    body = '{"temperature": 0.001, "messages": [], "max_tokens": 5, "mirostat": 2}'
    arguments = ("--request", body, "--form", "vllm", "--generation-config", str(config), "--server", '{"top_p": 0.9}')
    ran = cli("explain", *arguments)
    assert ran.code == 0
    lines = [line.split() for line in ran.out.splitlines()]
    rows = [line for line in lines if line[:1] and line[0] in ("temperature", "top_p", "top_k")]
    assert rows == [
        ["temperature", "0.001", "request", "temperature"],
        ["top_p", "0.9", "server", "top_p"],
        ["top_k", "20", "model", "file", "top_k"],
    ]
    assert "note: temperature=0.001 is taken as 0.01\n" in ran.out
    assert "note: the request did not ask for top_k=20: the model file did\n" in ran.out
    assert "left out: mirostat=2: vllm does not know it and passes over it\n" in ran.out
    assert "left out: do_sample=true: vllm does not take it from this file\n" in ran.out
    data = json.loads(cli("explain", *arguments, "--json").out)
    assert {left["name"] for left in data["left_out"]} == {"messages", "mirostat", "do_sample"}


def test_a_plan_takes_a_models_file_too(cli, tmp_path):
    config = tmp_path / "generation_config.json"
    config.write_text('{"top_k": 20, "do_sample": true}', encoding="utf-8")
    ran = cli("explain", "transformers: top_k=3", "--generation-config", str(config))
    assert ran.out.startswith("transformers@5.24: do_sample=true top_k=3\n")


def test_mistakes_in_asking_are_sentences(cli, tmp_path):
    for arguments, words in (
        ((), "explain needs a plan, or --request with --form"),
        (("--request", "{}"), "--request needs --form"),
        (("--request", "{}", "--form", "vlm"), "no form is 'vlm'\nhint: did you mean 'vllm'?"),
        (("fairdraw: top_k=3", "--form", "vllm"), "--form needs --request"),
        (("fairdraw: top_k=3", "--server", "[]"), "--server must be a JSON object, got list"),
        (("fairdraw: top_k=3", "--gguf", "x"), "--gguf is for llama_cpp"),
        (("vllm: top_k=3", "--generation-config", str(tmp_path / "no.json")), f"{tmp_path / 'no.json'} is no file"),
        (("custom: top_k(k=3)", "--server", "{}"), "a composed plan has no defaults"),
    ):
        ran = cli("explain", *arguments)
        assert ran.code in (1, 2)
        assert ran.err.startswith(f"fairdraw: {words}"), ran.err


def test_a_plan_without_a_kernel_is_told(cli):
    told = "drawn by NumPy, the same token more slowly: typical has no kernel here"
    assert told in cli("explain", "fairdraw: typical_p=0.9").out
    assert "drawn by NumPy" not in cli("explain", "fairdraw: top_p=0.9").out


def test_what_a_service_does_with_a_value_is_not_called_nothing(cli):
    for plan in ("openai: temperature=0.5", "anthropic: temperature=0.5"):
        out = cli("explain", plan).out
        assert f"note: what {plan.partition(':')[0]} does with temperature=0.5 is not documented\n" in out
        assert "no effect" not in out
        assert ["temperature", "0.5", "request", "undocumented"] in [line.split() for line in out.splitlines()]


def test_a_limit_that_a_silent_stage_reads_is_no_less_a_limit(cli):
    lines = [line.split() for line in cli("explain", "vllm: max_tokens=50 stop_token_ids=[7]").out.splitlines()]
    assert ["max_tokens", "50", "request", "text"] in lines
    assert ["stop_token_ids", "[7]", "request", "text"] in lines
    assert "min_tokens 0" in cli("explain", "vllm:").out


def test_every_unasked_cut_and_penalty_is_pointed_out(cli):
    found = [line for line in cli("explain", "exllamav2:").out.splitlines() if line.startswith("note: nobody")]
    names = [line.removeprefix("note: nobody asked for ").partition("=")[0] for line in found]
    assert names == ["top_k", "top_p", "token_repetition_penalty"]
    assert "asked for repeat_last_n" not in cli("explain", "llama_cpp: repeat_penalty=1.1").out


def test_a_request_that_looks_like_a_flag_is_told_how_to_be_given(cli):
    ran = cli("explain", "--form", "llama_cli", "--request", "--temp 0.7")
    assert ran.code == 2
    assert ran.err.endswith("hint: a value that begins with a dash stands after '=': --request='--temp 0.7'\n")
    assert cli("explain", "--form", "llama_cli", "--request=--temp 0.7").code == 0


def test_slips_in_a_plans_beginning_say_what_was_meant(cli):
    for plan, hint in (
        ("vllm triton: top_k=2", "a variant stands after the colon: vllm: triton top_k=2"),
        ("vllm@0.33 triton:", "a variant stands after the colon: vllm@0.33: triton"),
        ("hf: top_k=2", "did you mean 'transformers'?"),
        ("HuggingFace: top_k=2", "did you mean 'transformers'?"),
        ("ollama: mirostat=2", "not there any more"),
    ):
        ran = cli("explain", plan)
        assert ran.code == 2
        assert ran.err.endswith(f"hint: {hint}\n"), ran.err


def test_a_name_with_spaces_around_its_equals_sign_is_no_variant(cli):
    assert cli("explain", "vllm: temperature = 0.7").out == cli("explain", "vllm: temperature=0.7").out


def test_a_missing_file_is_a_mistake_of_the_caller(cli, tmp_path):
    path = str(tmp_path / "no")
    for flag, plan in (("--generation-config", "vllm:"), ("--gguf", "llama_cpp:")):
        ran = cli("explain", plan, flag, path)
        assert (ran.code, ran.err) == (2, f"fairdraw: {path} is no file\n")
