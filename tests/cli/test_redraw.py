"""``fairdraw generate --replay`` and ``fairdraw redraw``."""

import json

import pytest

PLANS = {
    "candle": "candle: TopK k=40 temperature=0.8",
    "transformers": "transformers: do_sample=true temperature=0.7",
    "nano_vllm": "nano_vllm: temperature=0.7",
}


@pytest.fixture
def record(cli, tmp_path):
    def write(*flags: str, seed: int | None = None):
        ran = cli("generate", "Say hello.", "--max-tokens", "8", "--seed", "42", "--json", *flags)
        assert ran.code == 0
        data = json.loads(ran.out)
        if seed is not None:
            data["completions"][0]["seed"] = seed
        path = tmp_path / "trace.json"
        path.write_text(json.dumps(data), encoding="utf-8")
        return str(path)

    return write


@pytest.mark.model
@pytest.mark.parametrize("engine", PLANS)
def test_an_engines_tokens_are_drawn_again(cli, record, engine):
    ran = cli("redraw", record("--plan", PLANS[engine], "--replay", engine))
    assert (ran.code, ran.out) == (0, "[0] same tokens: 8 of 8 drawn again\n")


@pytest.mark.model
def test_an_engines_own_tokens_are_others_than_fairdraws(cli):
    flags = ("generate", "Say hello.", "--max-tokens", "8", "--seed", "42", "--plan", PLANS["candle"])
    assert cli(*flags).out != cli(*flags, "--replay", "candle").out


@pytest.mark.model
def test_a_record_with_another_seed_is_refuted_and_the_step_is_named(cli, record):
    ran = cli("redraw", record("--temperature", "1.2", seed=43), "--json")
    assert ran.code == 1
    (only,) = json.loads(ran.out)["completions"]
    assert only["drawn_again"] < only["steps"] == 8
    assert "the seed is another one" in only["differences"][0]["reason"]


@pytest.mark.model
def test_all_texts_of_a_record_are_drawn_again(cli, record):
    ran = cli("redraw", record("--temperature", "0.9", "--n", "2"))
    assert (ran.code, ran.out.count("same tokens: 8 of 8")) == (0, 2)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("generate", "x", "--temperature", "1", "--replay", "vllm"), "'vllm' cannot be replayed"),
        (("generate", "x", "--temperature", "1", "--replay", "candle"), "needs a plan of its dialect"),
        (("generate", "x", "--plan", "candle: GumbelSoftmax temperature=1", "--replay", "candle"), "can seed"),
        (("redraw", "no-such-file.json"), "a file that exists"),
    ],
)
def test_a_mistake_is_said_in_one_sentence(cli, flags, words):
    ran = cli(*flags)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert "hint:" in ran.err


@pytest.mark.parametrize("content", ["no json", "[]", "{}", '{"completions": []}', '{"completions": [3]}'])
def test_a_file_that_is_no_record_is_refused(cli, tmp_path, content):
    path = tmp_path / "trace.json"
    path.write_text(content, encoding="utf-8")
    ran = cli("redraw", str(path))
    assert (ran.code, ran.out) == (2, "")
    assert "fairdraw" in ran.err
