"""``fairdraw generate --speculate`` with the real model, and its mistakes without."""

import json

import pytest

SAY = ("generate", "Repeat: red, green, blue, red, green", "--seed", "3", "--temperature", "0.7", "--max-tokens", "16")

MIROSTAT = "custom: mirostat_2(tau=2.0, eta=0.3) > race()"


@pytest.mark.model
def test_the_text_is_the_same_and_the_guesses_are_counted(cli):
    alone, ahead = cli(*SAY), cli(*SAY, "--speculate", "lookup")
    assert (ahead.code, ahead.out) == (0, alone.out)
    counts, last = ahead.err.splitlines()
    assert counts.startswith("lookup:3, match: ")
    assert " steps of the model for 16 tokens, " in counts
    assert " positions, expected at best 0." in counts
    assert last.startswith("fairdraw: temperature=0.7 ")


@pytest.mark.model
def test_json_carries_the_counts(cli):
    ran = cli(*SAY, "--speculate", "layers:28", "--speculate-tokens", "2", "--speculate-way", "block", "--json")
    (done,) = json.loads(ran.out)["completions"]
    assert (done["stream"], ran.err) == ("fairdraw block", "")
    counts = done["speculated"]
    assert counts["tokens"] == len(done["tokens"])
    assert 0 < counts["accepted"] <= counts["reached"] <= counts["proposed"]
    assert counts["target_steps"] < counts["tokens"] <= counts["accepted"] + counts["target_steps"]
    assert 0 < counts["bound"] < 1


@pytest.mark.model
def test_a_text_that_was_accepted_and_rejected_is_not_drawn_again_by_itself(cli, tmp_path):
    ran = cli(*SAY, "--speculate", "lookup", "--speculate-way", "accept", "--json")
    record = tmp_path / "record.json"
    record.write_text(ran.out)
    again = cli("redraw", str(record))
    assert again.code == 2
    assert "fairdraw accept" in again.err
    assert "Traceback" not in again.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--speculate-way", "match"), "--speculate-way needs --speculate"),
        (("--speculate", "foo"), "--speculate must be lookup:NUMBER or layers:NUMBER, got 'foo'"),
        (("--speculate", "lookup:0"), "--speculate must be lookup:NUMBER with a whole number >= 1, got 'lookup:0'"),
        (("--speculate", "layers:0"), "--speculate must be layers:NUMBER with a whole number >= 1, got 'layers:0'"),
        (("--speculate", "layers"), "hint: how many of the model's first layers: layers:28"),
        (
            ("--speculate", "lookup", "--speculate-way", "block", "--plan", MIROSTAT),
            "mirostat_2 remembers each token, and a block is decided before",
        ),
        (("--speculate", "lookup", "--speculate-tokens", "0"), "speculation.tokens must be a whole number in 1..255"),
        (("--speculate", "lookup", "--speculate-widths", "2", "--speculate-way", "block"), "a block is a chain"),
        (("--speculate", "lookup", "--speculate-way", "guess"), 'Invalid value "guess" for --speculate-way'),
    ],
)
def test_a_mistake_is_said_before_a_model_is_loaded(cli, flags, message, monkeypatch):
    monkeypatch.setattr("fairdraw.cli.generate.load", lambda model: pytest.fail("loaded"))
    ran = cli("generate", "x", *flags)
    assert ran.code == 2
    assert message in ran.err
