"""Every example runs, and its numbers are the golden ones: ours where they can be reproduced, printed ones always."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES, GOLDEN = ROOT / "examples", ROOT / "tests/golden"
NUMBERS = json.loads((GOLDEN / "public_vectors.json").read_text(encoding="utf-8"))["numbers"]
NOT_REPRODUCIBLE = {number["id"] for number in json.loads((GOLDEN / "not_reproducible.json").read_text())["numbers"]}
HELPERS = {"side_by_side", "writing"}
MODEL = {"repetition_penalty", "seeds", "six_ways", "two_engines"}
ARGUMENTS = {"cost": ["5"]}
LIMIT = 60
"""An example has fewer lines than this."""

# What comes out on our row and with our file of the model, although the printed number is of another.
ALIKE = {"t07 kept", "t07_def kept", "k40 kept", "hfsem outside hf set"}
# How the names start that an example shows.
SHOWN = {
    "distribution_tables": "softmax6|mass of the first|dist ",
    "temperature_zero": "new T=|All T=|TopP T=|TopK T=|hf T=",
    "wrong_rank": "rank ",
    "cost": "ms ",
    "seeds": "text seed ",
    "six_ways": "text (?!seed)",
    "gumbel_seed": "all seed|cpu |metal gumbel",
    "metal_seed_probe": "metal (fresh|second|set_seed)",
    "repetition_penalty": "repeat penalty|penalty |rep13 (k=60|last)",
    "equal_logits": "(t07|t07_def|k40|p09|k40p09) |mass of the top|rep13 context",
    "transformers_in_a_closure": "hfsem ",
    "ties": "ties ",
    "boundary": "top-p edge",
    "two_engines": "torch seed|candle seed|49152 ",
    "reference_entropies": "entropy |prob_sum|top_._kept",
    "nano_vllm_temperature": "temperature |top . at",
}
# The first is a default and the second needs torch itself: tests/replay/test_public_numbers.py has them.
IN_NO_EXAMPLE = {"hf default top_k", "multinomial == argmax"}


def scripts(*names: str) -> list:
    return [pytest.param(name, marks=pytest.mark.model) if name in MODEL else name for name in sorted(names)]


ALL = {path.stem for path in EXAMPLES.glob("*.py")} - HELPERS


def as_text(value) -> str:
    if isinstance(value, list):
        return " ".join(as_text(part) for part in value)
    return str(value).replace("\n", "\\n")


def printed_numbers() -> dict[str, tuple[str, bool]]:
    """For each name in the examples: what is printed, and whether it can be reproduced."""
    found = {}
    for number in NUMBERS:
        parts = number["printed"] if isinstance(number["printed"], dict) else {number["id"]: number["printed"]}
        can = number["id"] not in NOT_REPRODUCIBLE
        found |= {name: (as_text(printed), can) for name, printed in parts.items() if printed is not None}
    return found


PRINTED = printed_numbers()


class Runner:
    """Runs an example once in this process and remembers what it wrote."""

    def __init__(self) -> None:
        self.outputs: dict[str, str] = {}

    def output(self, name: str, capsys) -> str:
        if name not in self.outputs:
            with pytest.MonkeyPatch.context() as patch:
                patch.syspath_prepend(EXAMPLES)
                patch.setattr(sys, "argv", [name, *ARGUMENTS.get(name, [])])
                runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
            self.outputs[name] = capsys.readouterr().out
        return self.outputs[name]


@pytest.fixture(scope="module")
def runner() -> Runner:
    return Runner()


def shown(output: str) -> dict[str, tuple[str, str, str]]:
    """Name: ours, printed, verdict."""
    blocks = re.findall(r"^(\S.*)\n    ours     (.*)\n    printed  (.*)\n    (.*)$", output, re.MULTILINE)
    return {name: (ours, printed, verdict) for name, ours, printed, verdict in blocks}


@pytest.mark.parametrize("name", scripts(*SHOWN))
def test_an_example_shows_ours_beside_the_golden_number_and_a_reason_where_it_cannot_be_ours(name, runner, capsys):
    numbers = shown(runner.output(name, capsys))
    assert set(numbers) == {label for label in PRINTED if re.match(SHOWN[name], label)}
    for label, (ours, printed, verdict) in numbers.items():
        golden, can = PRINTED[label]
        assert printed == golden
        if name == "cost":
            assert float(ours) > 0
        elif can or label in ALIKE:
            assert (ours, verdict) == (golden, "same"), label
        else:
            assert ours != golden, label
            assert re.fullmatch(r"differs: \w.{20,}", verdict), label


def test_every_printed_number_belongs_to_one_example():
    owners = {label: [name for name, start in SHOWN.items() if re.match(start, label)] for label in PRINTED}
    assert {label for label, names in owners.items() if not names} == IN_NO_EXAMPLE
    assert max(map(len, owners.values())) == 1
    ours = {"beams", "clipped_gumbel_tail", "clipped_gumbel_draws", "constraints", "scoring", "sharded", "speculation"}
    assert set(SHOWN) == ALL - ours


def test_the_clipped_tail_is_found_by_the_comparison_and_by_224_draws(runner, capsys):
    output = runner.output("clipped_gumbel_draws", capsys)
    assert "row 26: differ, total variation 0.369858\n    the first plan draws its Gumbel noise from" in output
    assert "223 draws: softmax is not refuted, p = 1.14e-06\n224 draws: softmax is refuted, p = 6.39e-07\n" in output


def test_the_table_in_the_docs_is_what_the_tail_example_prints(runner, capsys):
    page = (ROOT / "docs/what_sampling_means.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (\d+) \| `(\w+)` \| (\S+) \| (\S+) \| (\d+) \|$", page, re.MULTILINE)
    contexts = json.loads((GOLDEN / "smollm2_token_ids.json").read_text(encoding="utf-8"))["contexts"]
    assert [(int(number), tag) for number, tag, *_ in cells] == [(i, c["tag"]) for i, c in enumerate(contexts)]
    output = runner.output("clipped_gumbel_tail", capsys)
    printed = re.findall(r"^ *(\d+)  (\w+) +(0\.\d{6}) (0\.\d{6}) +(\d+)$", output, re.MULTILINE)
    assert len(printed) == 10
    assert set(printed) <= set(cells)


def test_the_bytes_in_the_docs_are_those_that_the_sharded_example_counts(runner, capsys):
    output = runner.output("sharded", capsys)
    assert output.count("\n") == 9
    assert f"```text\n{output}```" in (ROOT / "docs/shards.md").read_text(encoding="utf-8")


def test_the_table_in_the_docs_is_what_the_speculation_example_prints(runner, capsys):
    output = runner.output("speculation", capsys)
    assert output.count("total variation 0.000000") == 4
    assert f"```text\n{output}```" in (ROOT / "docs/speculation.md").read_text(encoding="utf-8")


def test_the_table_in_the_docs_is_what_the_beams_example_prints(runner, capsys):
    output = runner.output("beams", capsys)
    assert f"```text\n{output}```" in (ROOT / "docs/beams.md").read_text(encoding="utf-8")


def test_the_likelihoods_in_the_docs_are_what_the_scoring_example_prints(runner, capsys):
    output = runner.output("scoring", capsys)
    assert "by hand 0.75 * 0.90 * 0.75 = 0.506250, scored 0.506250" in output
    assert f"```text\n{output}```" in (ROOT / "docs/scoring.md").read_text(encoding="utf-8")


@pytest.mark.model
def test_a_seed_repeats_a_text_and_another_seed_gives_another(runner, capsys):
    output = runner.output("seeds", capsys)
    assert "[again with 42: the same text]" in output
    assert shown(output)["text seed 42"][0] != shown(output)["text seed 43"][0]


@pytest.mark.model
def test_the_text_of_torchs_seed_43_begins_with_the_printed_words(runner, capsys):
    """The model's file is another, yet the first ten tokens are the printed ones: a race forgives small differences."""
    block = runner.output("two_engines", capsys).partition("torch seed 43\n")[2]
    assert re.search("alike up to here: '(.*)'", block)[1] == '"In Chinese, it is said to say "'


def test_the_two_engines_rows_after_the_penalty_are_the_same_bits(runner, capsys):
    assert "after the penalty are the same bits: True" in runner.output("equal_logits", capsys)


def test_every_example_is_short_and_in_the_readme_with_its_command():
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `python examples/(\w+)\.py", readme, re.MULTILINE)
    assert sorted(listed) == sorted(ALL)
    for name in ALL | HELPERS:
        assert len((EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()) < LIMIT, name


def test_those_that_need_the_model_are_marked_and_no_other():
    """The tail example alone loads it on request."""
    for name in ALL:
        text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
        assert ("from writing import" in text) == (name in MODEL)
        assert ("load_model" in text) == (name == "clipped_gumbel_tail")
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `python examples/(\w+)\.py.*\| \*model\*", readme, re.MULTILINE)) == MODEL
