"""``fairdraw generate --beams`` with the real model, and its mistakes without."""

import json

import pytest

from fairdraw.models.scripted import ScriptedModel

SAY = ("generate", "Name a colour.", "--max-tokens", "6")


@pytest.mark.model
def test_the_texts_are_printed_with_their_scores_and_the_best_comes_first(cli):
    ran = cli(*SAY, "--beams", "2")
    heading, _, *rows = ran.out.splitlines()
    assert heading.split() == ["score", "logprob", "tokens", "end", "text"]
    scores = [float(row.split()[0]) for row in rows if row]
    assert len(scores) == 2
    assert scores == sorted(scores, reverse=True)
    assert "fairdraw beams of width 2 | " in ran.err


@pytest.mark.model
def test_n_says_how_many_come_back_and_the_engine_of_the_plan_whose_rules(cli):
    ran = cli(*SAY, "--beams", "3", "--n", "1", "--dialect", "transformers", "--temperature", "0", "--json")
    found = json.loads(ran.out)
    assert (len(found["texts"]), found["beams"]["scores"], found["beams"]["early_stopping"]) == (
        1,
        "stages_on_logprobs",
        "heuristic",
    )
    assert ran.err == ""


@pytest.mark.model
def test_the_first_stochastic_text_is_the_one_without_beams(cli):
    draw = (*SAY, "--temperature", "0.8", "--seed", "4", "--json")
    alone = json.loads(cli(*draw).out)["completions"][0]
    found = json.loads(cli(*draw, "--beams", "2", "--beams-rules", "stochastic").out)
    assert (found["texts"][0]["tokens"], found["texts"][0]["text"]) == (alone["tokens"], alone["text"])
    assert (found["seed"], found["beams"]) == (4, None)


@pytest.mark.parametrize("rules", ["fairdraw", "stochastic"])
@pytest.mark.parametrize(("texts", "noted"), [((b"", b"x", b"x"), True), ((b"", b"x", b"y"), False)])
def test_texts_that_are_equal_though_their_tokens_differ_are_noted(cli, monkeypatch, rules, texts, noted):
    model = ScriptedModel(law=lambda tokens: [-9.0, 1.0, 0.0], texts=texts)
    monkeypatch.setattr("fairdraw.cli.generate.load", lambda name: model)
    monkeypatch.setattr("fairdraw.cli.generate._asked", lambda *asked: [0])
    ran = cli(*SAY[:2], "--max-tokens", "1", "--beams", "2", "--beams-rules", rules)
    assert ran.code == 0
    assert ran.err.startswith("some texts are equal: their tokens differ") == noted


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--beams", "0"), "beams must be a whole number in 1..65536"),
        (("--beams-rules", "vllm"), "--beams-rules needs --beams"),
        (("--beams-length-penalty", "0"), "--beams-length-penalty needs --beams"),
        (("--beams", "2", "--seed", "3"), "hint: --beams-rules stochastic draws"),
        (
            ("--beams", "2", "--n", "3", "--dialect", "transformers", "--temperature", "0"),
            "--n must be at most --beams, 2, got 3",
        ),
        (("--beams", "2", "--plan", "fairdraw: n=3"), "--n must be at most --beams, 2, got 3"),
        (("--beams", "2", "--logprobs", "2"), "logprobs must be None with beams"),
        (("--beams", "2", "--stop", "x"), "stop must be empty with beams"),
        (("--beams", "3", "--n", "4"), "--n must be at most --beams, 3, got 4"),
        (("--beams", "3", "--beams-early-stopping", "none"), "early_stopping must be one of 'never'"),
        (
            ("--beams", "3", "--beams-rules", "vllm", "--beams-early-stopping", "never"),
            "--beams-early-stopping has no meaning with vllm beams",
        ),
        (("--beams", "3", "--beams-rules", "stochastic", "--n", "2"), "--n has no meaning with stochastic beams"),
        (("--beams", "1", "--dialect", "transformers", "--temperature", "0"), "is greedy search in transformers"),
        (("--beams", "2", "--dialect", "transformers"), "temperature=0 in our names"),
        (("--beams", "2", "--speculate", "lookup"), "--beams and --speculate cannot be combined"),
    ],
)
def test_a_mistake_is_told_before_a_model_is_loaded(cli, monkeypatch, flags, message):
    monkeypatch.setattr("fairdraw.cli.generate.load", lambda name: pytest.fail("loaded"))
    ran = cli(*SAY, *flags)
    assert ran.code != 0
    assert message in ran.err
    assert "Traceback" not in ran.err
