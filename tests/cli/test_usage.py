"""Mistakes: exit code 2, one sentence that names what came, and a hint; never a traceback."""

import random

import numpy as np
import pytest

PLAN = "fairdraw: top_k=2"


def said(ran, *parts: str) -> None:
    """Exit code 2, nothing on stdout, one sentence and at most one hint on stderr."""
    assert (ran.code, ran.out) == (2, "")
    lines = ran.err.splitlines()
    assert lines[0].startswith("fairdraw: ")
    assert len(lines) == 1 or (len(lines) == 2 and lines[1].startswith("hint: "))
    for part in parts:
        assert part in ran.err


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        ("x --tempature 1", ["--tempature", "Did you mean --temperature?", "fairdraw generate --help"]),
        ("x --temperature hot", ["--temperature", '"hot" is not a number']),
        ("x --temperature -1", ["temperature must be 0 or a number in [1e-38, 1e+38], got -1.0"]),
        ("x --temperature nan", ["got nan"]),
        ("x --temperature 1 --temperature 2", ["--temperature", "multiple times"]),
        ("x --top-p 1.5", ["top_p must be a number in [0, 1], got 1.5"]),
        ("x --top-k 2.5", ["--top-k", "'2.5' is not a whole number"]),
        ("x --top-k 2.0", ["'2.0' is not a whole number"]),
        ("x --top-k 0x10", ["'0x10' is not a whole number"]),
        ("x --seed -1", ["seed must be a whole number in 0..18446744073709551615, got -1"]),
        ("x --seed 18446744073709551616", ["got 18446744073709551616"]),
        ("x --n 0", ["n must be a whole number in 1..4294967295, got 0"]),
        ("x --allowed-token-ids 1 two", ["--allowed-token-ids", "'two' is not a token id"]),
        ("x --allowed-token-ids -1", ["'-1' is not a token id"]),
        ("x --bad-words-ids 1,x", ["'1,x' is not a token id"]),
        ("x --logit-bias 5", ["--logit-bias", "no JSON object of ids and numbers"]),
        ("x --logit-bias.five 1", ["logit_bias must be a mapping from token id", "'five'"]),
        ("x --stop ''", ["stop must be a non-empty string"]),
        ("x --format chta", ["--format", 'Did you mean "chat"?']),
        ("x --dialect transfomers", ["'transfomers'", "hint: did you mean 'transformers'?"]),
        ("x --dialect candle --min-p 0.1", ["min_p"]),
        ("x --model smolm2", ["'smolm2'", "hint: did you mean 'smollm2'?"]),
        ("x --plan 'candle: TopK kk=4'", ["'kk'", "hint: did you mean 'k'?"]),
        ("x --plan 'candle TopK'", ["a plan must begin with 'engine:'"]),
        ("x --plan 'candle: ArgMax' --top-p 0.9 --n 2", ["--plan cannot be combined with --top-p\n"]),
        ("x --plan 'candle: ArgMax' --dialect candle", ["--plan cannot be combined with --dialect"]),
        ("x --logprobs-mean raw", ["--logprobs-mean needs --logprobs"]),
        ("'' --format text", ["PROMPT must be not empty"]),
        ("two words", ["fairdraw generate does not know what to do with 'words'", "quotes"]),
        ("", ["PROMPT requires an argument"]),
    ],
)
def test_a_mistake_in_the_flags_is_said_before_a_model_is_loaded(cli, monkeypatch, arguments, parts):
    import shlex

    from fairdraw.cli import generate
    from fairdraw.models import load

    def only_refused(name: str) -> None:
        load(name) if name != "smollm2" else pytest.fail("a model was loaded")

    monkeypatch.setattr(generate, "load", only_refused)
    said(cli("generate", *shlex.split(arguments)), *parts)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["explian"], ["explian", 'Did you mean "explain"?', "fairdraw --help lists the commands"]),
        (["--nope"], ["--nope"]),
        (["explain", "fairdraw: tempertaure=1"], ["'tempertaure'", "hint: did you mean 'temperature'?"]),
        (["explain", PLAN, "--row", "0"], ["--row needs --logits"]),
        (["explain", PLAN, "--tensor", "x"], ["--tensor needs --logits"]),
        (["explain", PLAN, "--prompt", "x", "--output-ids", "1"], ["--output-ids needs --logits"]),
        (["explain", PLAN, "--top", "-1"], ["--top must be a whole number >= 0, got -1"]),
        (["compare", PLAN, PLAN], ["compare needs rows", "hint: --logits FILE"]),
        (["compare", PLAN, PLAN, "--logits", "x.npy", "--draws", "-1"], ["--draws must be a whole number", "got -1"]),
        (["compare", PLAN, PLAN, "--logits", "x.npy", "--draws", "1.5"], ["'1.5' is not a whole number"]),
        (["compare", PLAN, PLAN, "--logits", "x.npy", "--seed", "-1"], ["--seed must be a whole number", "got -1"]),
        (["compare", PLAN], ["compare needs two plans", "hint: or --all"]),
    ],
)
def test_a_mistake_in_the_arguments_is_named(cli, arguments, parts):
    said(cli(*arguments), *parts)


@pytest.mark.parametrize("command", [["explain", PLAN], ["compare", PLAN, PLAN]])
class TestFile:
    def test_that_is_not_there(self, cli, command, tmp_path):
        path = str(tmp_path / "none.npy")
        said(cli(*command, "--logits", path), "--logits must be a file that exists", path)

    def test_with_another_suffix(self, cli, command, tmp_path):
        said(cli(*command, "--logits", "rows.csv"), "a file that ends in .npy, .npz, .safetensors", "'rows.csv'")

    def test_with_fewer_rows(self, cli, command, rows_npy):
        ran = cli(*command, "--logits", rows_npy, "--row", "2")
        said(ran, "--row must be in 0..1, got 2", "has 2 rows")
        said(cli(*command, "--logits", rows_npy, "--row", "-3"), "got -3")

    def test_of_one_array_that_has_no_name(self, cli, command, rows_npy):
        said(cli(*command, "--logits", rows_npy, "--tensor", "logits"), "--tensor must be absent for .npy")

    def test_together_with_a_prompt(self, cli, command, rows_npy):
        said(cli(*command, "--logits", rows_npy, "--prompt", "x"), "--prompt and --logits cannot be combined")

    def test_with_ids_beyond_its_columns(self, cli, command, rows_npy):
        ran = cli(*command, "--logits", rows_npy, "--prompt-ids", "5", "6")
        said(ran, "--prompt-ids must be in 0..5, got 6")
        said(cli(*command, "--logits", rows_npy, "--output-ids", "6"), "--output-ids must be in 0..5, got 6")

    @pytest.mark.parametrize("array", [np.zeros((2, 2, 2)), np.zeros(()), np.zeros((0, 5)), np.zeros(0)])
    def test_of_another_shape(self, cli, command, tmp_path, array):
        np.save(tmp_path / "a.npy", array)
        said(cli(*command, "--logits", str(tmp_path / "a.npy")), "(vocab,) or (rows, vocab)", str(array.shape))

    @pytest.mark.parametrize("bad", [np.nan, np.inf])
    def test_with_a_bad_row_names_its_number(self, cli, command, tmp_path, bad):
        rows = np.zeros((3, 4), np.float32)
        rows[2, 1] = bad
        np.save(tmp_path / "a.npy", rows)
        said(cli(*command, "--logits", str(tmp_path / "a.npy"), "--row", "2"), "row 2")

    def test_of_whole_numbers(self, cli, command, tmp_path):
        np.save(tmp_path / "a.npy", np.arange(5))
        said(cli(*command, "--logits", str(tmp_path / "a.npy")), "float", "int64")

    @pytest.mark.parametrize("suffix", ["npy", "npz", "safetensors"])
    def test_that_cannot_be_read(self, cli, command, tmp_path, suffix):
        path = tmp_path / f"a.{suffix}"
        path.write_bytes(b"\x93NUMPY\x01\x00 this is no array")
        ran = cli(*command, "--logits", str(path))
        assert ran.code == (2 if command[0] == "compare" else 1)
        said_so = "cannot be read" if suffix == "safetensors" else "is no NumPy file of numbers"
        assert ran.err.splitlines()[-1].startswith(f"fairdraw: {path} {said_so}")


def test_objects_in_a_file_are_never_unpickled(cli, tmp_path):
    np.savez(tmp_path / "a.npz", logits=np.array([{"a": 1}], dtype=object))
    ran = cli("explain", PLAN, "--logits", str(tmp_path / "a.npz"))
    assert ran.code == 1
    assert "cannot be read as numbers" in ran.err


def test_help_and_version_are_data(cli):
    for arguments in ([], ["--help"], ["generate", "--help"], ["compare", "-h"]):
        ran = cli(*arguments)
        assert (ran.code, ran.err) == (0, "")
        assert ran.out.startswith("Usage: fairdraw")
    version = cli("--version").out
    assert version.startswith("fairdraw 0.1.0, stream version 1\n")
    assert "transformers@5.24" in version


def test_help_has_a_flag_and_words_for_every_sampling_parameter(cli, monkeypatch):
    from dataclasses import fields

    from fairdraw.params import SamplingParams

    monkeypatch.setenv("COLUMNS", "200")
    lines = cli("generate", "--help").out.splitlines()
    for field in fields(SamplingParams):
        flag = f"--{field.name.replace('_', '-')}"
        line = next(line for line in lines if f" {flag} " in line)
        assert len(line.strip("│ ").split("  ", 1)[1].strip()) > 10
    assert any("256 if neither" in line for line in lines)
    headings = [line.strip("╭─╮ ") for line in lines if line.startswith("╭")]
    assert headings == ["Arguments", "General", "Sampling", "Text", "Constraint", "Speculation", "Beams"]


WORDS = [
    *("generate", "explain", "compare", "dialects", "--help", "--json", "--row", "--top", "--draws", "--seed", "--n"),
    *("--logits", "--plan", "--dialect", "--tensor", "--prompt-ids", "--logit-bias", "--logit-bias.5", "--stop"),
    *("--bad-words-ids", "--allowed-token-ids", "--format", "--temperature", "--", "-", "-1", "0", "3", "1e999", "nan"),
    *("", " ", "=", "a=b", "[1,2", '{"5": 1}', "{", "\udcff", "\x00", "[/b]", "é☃", "9" * 5000, "--x=", "-h"),
    *("fairdraw: top_k=1", "candle: TopK", "candle:", "custom: ", "custom: race(", "transformers: top_k=x", "@:", ":"),
    *("fairdraw: logit_bias={", "x.npy", ".npy", "/", "rows.npz", "{rows}", "fairdraw: temperature=1e-40"),
]


def test_no_soup_of_arguments_gives_a_traceback_or_an_unforeseen_error(cli, rows_npy, monkeypatch):
    from fairdraw.cli import generate, inputs
    from fairdraw.errors import UnavailableError

    def offline(name: str) -> None:
        raise UnavailableError("no model in this test")

    monkeypatch.setattr(generate, "load", offline)
    monkeypatch.setattr(inputs, "load", offline)
    chosen = random.Random(7)
    commands = ["generate", "explain", "compare", "dialects"]
    for _ in range(400):
        soup = [chosen.choice(commands)] if chosen.random() < 0.9 else []
        soup += [chosen.choice(WORDS).replace("{rows}", rows_npy) for _ in range(chosen.randrange(7))]
        ran = cli(*soup)
        assert ran.code in (0, 1, 2, 3), soup
        assert "Traceback" not in ran.err + ran.out, soup
        assert "unforeseen" not in ran.err, (soup, ran.err)
        assert "got an unexpected" not in ran.err, soup


@pytest.mark.parametrize("asked", [("--n", "2"), ("--plan", "candle: All temperature=1.0", "--n", "2")])
def test_a_replay_of_several_texts_is_refused_before_a_model_is_loaded(cli, monkeypatch, asked):
    monkeypatch.setattr("fairdraw.cli.generate.load", lambda name: pytest.fail("loaded"))
    plan = () if "--plan" in asked else ("--dialect", "candle", "--temperature", "1")
    ran = cli("generate", "x", *asked, *plan, "--replay", "candle")
    said = "fairdraw: --n must be 1 with --replay, got 2\nhint: candle's generator knows one text for each seed\n"
    assert (ran.code, ran.out, ran.err) == (2, "", said)
