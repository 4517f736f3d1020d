"""``fairdraw generate`` under constraints: mistakes without a model, texts with it."""

import json

import pytest

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "people": {"type": "integer", "minimum": 0}},
    "required": ["city", "people"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--regex", "[0-9"], ["regex must be a regular expression", "unclosed character class"]),
        (["--regex", r"\bfoo"], ["regex must be a regular expression", r"hint: word boundaries such as \b"]),
        (["--regex", "a^b"], ["regex must be a regular expression", "hint: ^ and $ inside a pattern"]),
        (["--grammar", r"start: /a\b/"], ["grammar must be a Lark grammar", r"hint: word boundaries such as \b"]),
        (["--grammar", "empty.lark"], ["grammar must be a Lark grammar with a rule named start, got ''"]),
        (["--regex", ""], ["regex must be a regular expression that is not empty"]),
        (["--choice", ""], ["choice must be a sequence of texts, none of them empty"]),
        (["--json-schema", "missing.json"], ["--json-schema must be a file that exists"]),
        (["--json-schema", '{"not": {}}'], ["got 'not'", "it stands at #"]),
        (["--json-schema", '{"type": '], ["json_schema must be JSON"]),
        (["--grammar", "missing.lark"], ["--grammar must be a file that exists"]),
        (["--grammar", "start: other"], ["grammar must be a Lark grammar", "other"]),
        (["--regex", "a", "--plan", "candle: All temperature=1.0", "--replay", "candle"], ["--replay and a regex"]),
    ],
)
def test_a_wrong_constraint_is_said_before_a_model_is_loaded(cli, monkeypatch, tmp_path, arguments, parts):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.lark").touch()
    monkeypatch.setattr("fairdraw.cli.generate.load", lambda name: pytest.fail("a model was loaded"))
    ran = cli("generate", "x", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert len(ran.err.splitlines()) <= 2
    for part in parts:
        assert part in ran.err


@pytest.mark.model
def test_a_choice_is_one_of_the_texts(cli):
    ran = cli("generate", "Is the sea blue?", "--choice", "yes", "--choice", "no", "--seed", "1")
    assert ran.code == 0
    assert ran.out in ("yes\n", "no\n")


@pytest.mark.model
def test_a_schema_in_a_file_gives_json_that_can_be_drawn_again(cli, tmp_path):
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA), encoding="utf-8")
    ran = cli("generate", "A city as JSON.", "--json-schema", str(tmp_path / "schema.json"), "--seed", "3", "--json")
    (done,) = json.loads(ran.out)["completions"]
    assert (done["fulfilled"], done["finish_reason"]) == (True, "stop")
    assert set(json.loads(done["text"])) == {"city", "people"}
    (tmp_path / "trace.json").write_text(ran.out, encoding="utf-8")
    again = cli("redraw", str(tmp_path / "trace.json"))
    assert (again.code, again.out.startswith("[0] same tokens")) == (0, True)


@pytest.mark.model
def test_a_text_that_max_tokens_cut_is_said_to_be_cut(cli):
    ran = cli("generate", "A number.", "--regex", "[0-9]{30}", "--max-tokens", "3", "--seed", "1")
    assert ran.code == 0
    assert "cut before it was what the constraint asks for" in ran.err


@pytest.mark.model
def test_several_constraints_are_all_meant(cli):
    flags = ["--choice", "yes", "--choice", "no", "--regex", "n.*"]
    assert cli("generate", "Is the sea blue?", *flags, "--seed", "1").out == "no\n"
    ran = cli("generate", "Is the sea blue?", "--choice", "yes", "--regex", "n.*", "--seed", "1")
    assert ran.code == 2
    assert "choice and regex at step 0 must allow some token, got none" in ran.err
