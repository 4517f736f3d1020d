"""``fairdraw generate`` with the real model."""

import json

import pytest

from fairdraw.generation.batch import Request

pytestmark = pytest.mark.model
SEA = "Write about the sea in two sentences."
GREEDY = "The sea is a vast and mysterious realm, teeming with life and full of wonders."


def completion(ran) -> dict:
    assert ran.code == 0
    assert ran.err == ""
    (only,) = json.loads(ran.out, parse_constant=pytest.fail)["completions"]
    return only


def test_greedy_writes_what_the_readme_says(cli):
    ran = cli("generate", SEA, "--temperature", "0")
    assert (ran.code, ran.out) == (0, f"{GREEDY}\n")
    assert ran.err.startswith("fairdraw: temperature=0.0 | greedy | ")
    assert " tokens, stop | " in ran.err


def test_a_seed_writes_the_same_twice_and_another_seed_another_text(cli):
    def text(seed: str) -> str:
        return cli("generate", SEA, "--temperature", "0.8", "--top-p", "0.9", "--max-tokens", "24", "--seed", seed).out

    assert text("42") == text("42")
    assert text("42") != text("43")


def test_without_a_seed_the_printed_one_draws_the_text_again(cli):
    first = cli("generate", SEA, "--max-tokens", "12")
    seed = first.err.split("| seed ")[1].split()[0]
    assert cli("generate", SEA, "--max-tokens", "12", "--seed", seed).out == first.out


def test_a_plan_in_an_engines_own_names_is_what_runs(cli):
    arguments = ("--seed", "42", "--max-tokens", "8", "--json")
    done = completion(cli("generate", SEA, "--plan", "candle: TopK k=1 temperature=0.8", *arguments))
    assert done["plan"]["text"] == "candle@0.11: TopK k=1 temperature=0.8"
    assert GREEDY.startswith(done["text"])
    assert done["finish_reason"] == "length"


def test_flags_can_be_read_by_another_engine(cli):
    done = completion(cli("generate", SEA, "--dialect", "nano_vllm", "--temperature", "1", "--seed", "1", "--max-tokens", "3", "--json"))  # fmt: skip  # noqa: E501
    assert done["plan"]["dialect"] == "nano_vllm"


def test_json_is_one_object_with_all_that_is_needed_to_draw_again(cli):
    done = completion(cli("generate", SEA, "--temperature", "0", "--json", "--seed", "5"))
    assert (done["text"], done["seed"], done["model"], done["finish_reason"]) == (GREEDY, 5, "smollm2", "stop")
    assert done["stream_version"] == 1
    assert len(done["text_offsets"]) == len(done["tokens"])


def test_n_texts_are_sample_indices_of_one_seed(cli):
    arguments = ("generate", SEA, "--seed", "1", "--max-tokens", "6")
    both = json.loads(cli(*arguments, "--n", "2", "--json").out)["completions"]
    assert [(done["sample_index"], done["seed"]) for done in both] == [(0, 1), (1, 1)]
    assert both[0]["text"] == completion(cli(*arguments, "--json"))["text"]
    assert both[0]["tokens"] != both[1]["tokens"]
    text = cli(*arguments, "--n", "2")
    assert text.out == "".join(done["text"] + "\n" for done in both)
    assert [line for line in text.err.splitlines() if line.startswith("[")] == ["[0]", "[1]"]


def test_n_texts_without_a_seed_share_a_fresh_one(cli):
    out = cli("generate", SEA, "--n", "3", "--max-tokens", "1", "--json").out
    seeds = {done["seed"] for done in json.loads(out)["completions"]}
    assert len(seeds) == 1
    assert seeds.isdisjoint({0, None})


def test_a_stop_string_ends_the_text_and_does_not_show(cli):
    done = completion(cli("generate", SEA, "--temperature", "0", "--stop", "realm", "--stop", "vast", "--json"))
    assert (done["text"], done["finish_reason"], done["stop_reason"]) == ("The sea is a ", "stop", "vast")
    ran = cli("generate", SEA, "--temperature", "0", "--stop", "vast")
    assert ran.out == "The sea is a \n"
    assert "stop: 'vast'" in ran.err


def test_logprobs_are_a_table_with_a_stated_meaning(cli):
    arguments = ("generate", SEA, "--temperature", "0", "--max-tokens", "2", "--logprobs", "2")
    ran = cli(*arguments)
    lines = ran.out.splitlines()
    assert lines[:2] == ["The sea", "logprobs, raw"]
    assert lines[2].split() == ["token", "logprob", "rank", "best"]
    assert lines[4].split()[0] == "The"
    assert lines[5].split()[0] == "␣sea"
    assert [line.split()[2] for line in lines[4:6]] == ["1", "1"]
    greedy = cli(*arguments, "--logprobs-mean", "processed").out.splitlines()
    assert greedy[1] == "logprobs, processed"
    assert greedy[4].split()[1] == "0.0000"


def test_plain_text_goes_on_where_a_chat_answers(cli):
    arguments = ("generate", "Once upon a time", "--temperature", "0", "--max-tokens", "4", "--json")
    chat, text = completion(cli(*arguments)), completion(cli(*arguments, "--format", "text"))
    assert len(chat["prompt_tokens"]) > len(text["prompt_tokens"]) == 4
    assert chat["text"] != text["text"]


def test_the_flags_that_take_ids_and_maps_reach_the_plan(cli):
    base = ("generate", SEA, "--seed", "1", "--max-tokens", "2", "--json")
    dotted = completion(cli(*base, "--logit-bias.504", "-100"))
    assert dotted["plan"]["text"] == 'fairdraw: logit_bias={"504": -100.0} max_tokens=2 seed=1'
    assert completion(cli(*base, "--logit-bias", '{"504": -100}')) == dotted
    allowed = completion(cli(*base, "--allowed-token-ids", "504", "505", "506"))
    assert set(allowed["tokens"]) <= {504, 505, 506}
    assert completion(cli(*base, "--allowed-token-ids", "504,505,506")) == allowed
    words = completion(cli(*base, "--bad-words", "The", "--bad-words-ids", "1,2", "--bad-words-ids", "3"))
    assert 'bad_words=["The"] bad_words_ids=[[1, 2], [3]]' in words["plan"]["text"]
    assert "presence_penalty=-1.0" in completion(cli(*base, "--presence-penalty", "-1"))["plan"]["text"]


def test_256_tokens_are_the_most_unless_the_request_says_otherwise(cli, monkeypatch):
    asked = []

    def write_in_turn(model: object, request: Request, stream: object) -> object:
        asked.append(request.max_tokens)
        raise KeyboardInterrupt

    monkeypatch.setattr("fairdraw.cli.generate.write_in_turn", write_in_turn)
    for more in ([], ["--max-tokens", "7"], ["--plan", "nano_vllm: temperature=1"], ["--plan", "candle: ArgMax"]):
        assert cli("generate", SEA, *more).code == 130
    assert asked == [256, 7, 64, 256]


def test_a_surrogate_in_the_prompt_is_a_mistake_and_not_a_crash(cli):
    ran = cli("generate", "\udcff", "--max-tokens", "1")
    assert ran.code == 2
    assert "whole Unicode characters" in ran.err


def test_an_engine_without_limits_takes_them_as_flags(cli):
    ran = cli("generate", "Say hello.", "--dialect", "candle", "--temperature", "0.5", "--max-tokens", "3", "--json")
    assert len(completion(ran)["tokens"]) == 3


def test_a_plan_may_come_as_a_file_of_json(cli, tmp_path):
    explained = cli("explain", "candle: TopK k=4 temperature=0.7", "--json")
    path = tmp_path / "plan.json"
    path.write_text(explained.out, encoding="utf-8")
    text = cli("generate", "Say hello.", "--plan", str(path), "--max-tokens", "4", "--seed", "3").out
    plain = cli(
        "generate", "Say hello.", "--plan", "candle: TopK k=4 temperature=0.7", "--max-tokens", "4", "--seed", "3"
    )
    assert text == plain.out
