"""``fairdraw score`` with a model of five tokens, and with the real one."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.text.tokenizer import Tokenizer

ROW = np.log(np.float32([1 / 16, 1 / 16, 1 / 8, 1 / 4, 1 / 2]))
"""Of <|end|>, h, i, space, hi: 4, 4, 3, 2 and 1 bits."""


class Toy:
    name = "toy"
    tokenizer = Tokenizer(tokens=["<|end|>", "h", "i", "Ġ", "hi"], merges=["h i"], special_ids=[0])
    facts = fd.ModelFacts(vocab_size=5, end_token_ids=(0,), context_length=8)

    def start(self):
        return self

    def feed(self, tokens):
        return ROW.copy()


@pytest.fixture
def score(cli, monkeypatch):
    def load(name: str) -> Toy:
        assert name == "smollm2"
        return Toy()

    monkeypatch.setattr("fairdraw.cli.score.load", load)
    return lambda *arguments: cli("score", *arguments)


def test_a_table_of_tokens_and_what_they_add_up_to(score):
    ran = score("hi h i")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0] == "each token, raw"
    assert lines[1].split() == ["place", "token", "logprob", "rank", "bits", "surprise"]
    assert [line.split()[:5] for line in lines[3:7]] == [
        ["1", "␣", "-1.3863", "2", "2.00"],
        ["2", "h", "-2.7726", "5", "4.00"],
        ["3", "␣", "-1.3863", "2", "2.00"],
        ["4", "i", "-2.0794", "3", "3.00"],
    ]
    # 4 of the 20 bits that fill 16 characters.
    assert lines[4].split()[5] == "███▎"
    # 11 bits over 4 tokens of one byte each.
    assert lines[-1] == "log-likelihood -7.6246 nats, 4 tokens, perplexity 6.7272, 2.7500 bits per byte"
    assert ran.err == "raw: the model's own row | toy | 1 token before the first scored one\n"
    assert "\x1b" not in ran.out


def test_under_a_plan_the_places_it_could_not_have_written_are_named(score):
    ran = score("hi h", "--plan", "fairdraw: top_k=2")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "each token, processed"
    assert "the plan could not have drawn h at place 2: logprob -inf\n" in ran.out
    assert ran.out.splitlines()[-1] == "log-likelihood -inf nats, 2 tokens, perplexity inf, inf bits per byte"
    assert ran.err.startswith("processed: fairdraw: top_k=2 | toy")


def test_the_best_tokens_and_named_ones_stand_beside_each(score):
    lines = score("hi h", "--top", "1", "--named", "4,0").out.splitlines()
    assert lines[1].split() == ["place", "token", "logprob", "rank", "bits", "surprise", "hi", "<|end|>", "best"]
    assert lines[4].split()[-6:] == ["-0.6931", "-2.7726", "hi", "-0.69", "h", "-2.77"]


def test_of_a_file_the_most_surprising_tokens_are_listed_and_all_are_counted(score, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("hi h" + " hi" * 30, encoding="utf-8")
    ran = score("--file", str(path), "--window", "4", "--stride", "2", "--show", "1")
    lines = ran.out.splitlines()
    assert lines[0] == "the 1 most surprising of 62 tokens, raw"
    assert lines[3].split()[:2] == ["2", "h"]
    assert "62 tokens, perplexity" in lines[-1]
    assert len(score("--file", str(path)).out.splitlines()) == 3 + 20 + 2
    assert len(score("--file", str(path), "--show", "0").out.splitlines()) == 1


def standard_input(whole: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(whole), encoding="utf-8")


def test_a_dash_reads_standard_input(score, monkeypatch):
    monkeypatch.setattr(sys, "stdin", standard_input(b"hi h"))
    assert "2 tokens, perplexity" in score("--file", "-").out


@pytest.mark.parametrize("whole", [b"h\r\nh", b"h\rh", b"\r\nh\n"])
def test_a_file_and_standard_input_are_scored_as_they_are(score, tmp_path, monkeypatch, whole):
    asked = []
    monkeypatch.setattr(Tokenizer, "encode", lambda self, text: asked.append(text) or [1, 1])
    path = tmp_path / "text.txt"
    path.write_bytes(whole)
    monkeypatch.setattr(sys, "stdin", standard_input(whole))
    assert score("--file", str(path)).out == score("--file", "-").out
    assert asked == [whole.decode(), whole.decode()]


def test_json_is_one_object_with_the_same_numbers(score):
    ran = score("hi h", "--plan", "fairdraw: top_k=2", "--named", "4", "--json")
    assert (ran.code, ran.err) == (0, "")
    data = json.loads(ran.out, parse_constant=pytest.fail)
    assert (data["tokens"], data["first"], data["outside"], data["total"]) == ([4, 3, 1], 1, [2], None)
    assert [entry["logprob"] for entry in data["logprobs"]] == [pytest.approx(-1.0986, abs=1e-4), -9999.0]
    assert list(data["named"]) == ["4"]


def test_a_prompt_of_plain_text_is_followed_and_not_scored(score):
    ran = score("h", "--prompt", "hi ", "--format", "text")
    assert [line.split()[:2] for line in ran.out.splitlines()[3:4]] == [["2", "h"]]
    assert "2 tokens before the first scored one" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "one of TEXT and --file must be given"),
        (("hi", "--file", "x"), "TEXT and --file cannot be combined\nhint: either TEXT or --file, not both"),
        (("--file", "nowhere.txt"), "--file must be a file that exists, got 'nowhere.txt'"),
        (("hi h", "--format", "text"), "--format needs --prompt"),
        (("hi h", "--show", "-1"), "--show must be at least 0"),
        (("hi h", "--plan", "fairdraw: top_q=1"), "top_q"),
        (("hi h", "--meaning", "processed"), "meaning must be raw without a plan"),
        (("hi h", "--window", "9"), "window must be"),
        (("hi h", "--window", "2", "--stride", "3"), "stride must be"),
        (("hi h", "--named", "5"), "named must be token ids in 0..4, got 5"),
        (("h",), "text must be at least 2 tokens, got '1 token'"),
        (("",), "text must be at least 2 tokens, got '0 tokens'"),
    ],
)
def test_a_mistake_is_one_sentence_and_exit_code_2(score, arguments, words):
    ran = score(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "Traceback" not in ran.err


def test_limits_of_a_plan_that_end_nothing_here_are_said_to_be_unused(score):
    ran = score("hi h", "--plan", "fairdraw: n=3 stop=a max_tokens=2 logprobs=4 seed=5 min_tokens=1")
    assert ran.code == 0
    assert ran.err.splitlines()[0] == "not used for a score: max_tokens, stop, n, seed, logprobs of the plan"
    for used in ("fairdraw: top_k=3 min_tokens=1 stop_token_ids=[2]", "nano_vllm: temperature=1"):
        assert "not used" not in score("hi h", "--plan", used).err
    assert "not used for a score: stop_token_ids of" in score("hi h", "--plan", "fairdraw: stop_token_ids=[2]").err


def test_a_mistake_in_a_plan_is_said_before_a_model_is_loaded(cli, monkeypatch):
    monkeypatch.setattr("fairdraw.cli.score.load", lambda name: pytest.fail("loaded"))
    assert cli("score", "hi h", "--plan", "fairdraw: top_q=1").code == 2


def test_a_file_or_a_standard_input_that_is_no_text_is_a_failure(score, tmp_path, monkeypatch):
    path = tmp_path / "bytes"
    path.write_bytes("café".encode("latin-1"))
    monkeypatch.setattr(sys, "stdin", standard_input(path.read_bytes()))
    for file, name in ((str(path), str(path)), ("-", "standard input")):
        ran = score("--file", file)
        assert (ran.code, ran.out, ran.err) == (1, "", f"fairdraw: {name} is no UTF-8 text\n")


@pytest.mark.model
def test_a_text_that_the_model_wrote_is_more_probable_than_one_with_a_slip(cli):
    def total(text: str) -> float:
        return json.loads(cli("score", text, "--prompt", "Write about the sea in two sentences.", "--json").out)[
            "total"
        ]

    assert total("The sea is a vast and mysterious realm") > -8 > -25 > total("The sea is a vast and mysteriuos realm")


@pytest.mark.model
def test_greedy_text_is_certain_under_its_own_plan(cli):
    plan = ("--plan", "fairdraw: temperature=0")
    ran = cli("score", "The sea is a vast", "--prompt", "Write about the sea in two sentences.", *plan)
    assert ran.out.splitlines()[-1] == "log-likelihood 0.0000 nats, 5 tokens, perplexity 1.0000, 0.0000 bits per byte"
