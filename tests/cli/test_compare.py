"""``fairdraw compare``: verdicts, exit codes, tables, draws."""

import json

import numpy as np
import pytest

from fairdraw.cli import compare as module

HF = "transformers: do_sample=true top_k=3 top_p=0.75"
CANDLE = "candle: TopKThenTopP k=3 p=0.75 temperature=1"
CAUSE = "candle measures p on the whole row, transformers inside the top 3."


@pytest.fixture
def golden_row(tmp_path) -> str:
    np.save(tmp_path / "row.npy", np.float32([2.0, 1.5, 1.0, 0.5, 0.0, -1.0]))
    return str(tmp_path / "row.npy")


def test_the_same_law_exits_with_0(cli, golden_row):
    ran = cli("compare", "fairdraw: top_k=3", "candle: TopK k=3 temperature=1", "--logits", golden_row)
    assert ran.code == 0
    assert "verdict          same" in ran.out
    assert "max |dp|         0\n" in ran.out


def test_different_laws_exit_with_1_and_give_the_cause(cli, golden_row):
    ran = cli("compare", HF, CANDLE, "--logits", golden_row)
    assert ran.code == 1
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["kept", "2", "3"] in lines
    assert ["ids", "only", "here", "-", "2"] in lines
    assert ["mass", "outside", "the", "other", "0.00%", "18.63%"] in lines
    assert ["total", "variation", "0.1863"] in lines
    assert CAUSE in ran.out


def test_a_failure_exits_with_2_whatever_it_is(cli, golden_row, tmp_path):
    assert cli("compare", HF, CANDLE, "--logits", str(tmp_path / "none.npy")).code == 2
    assert cli("compare", HF, "candel: ArgMax", "--logits", golden_row).code == 2
    assert cli("compare", HF, CANDLE).code == 2
    (tmp_path / "broken.npy").write_bytes(b"no array")
    assert cli("compare", HF, CANDLE, "--logits", str(tmp_path / "broken.npy")).code == 2


def test_a_fault_of_our_own_is_never_taken_for_a_verdict(cli, golden_row, monkeypatch):
    def broken(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("deep inside")

    monkeypatch.setattr(module, "compare", broken)
    ran = cli("compare", HF, CANDLE, "--logits", golden_row)
    assert ran.code == 2
    assert ran.err.endswith(
        "fairdraw: an unforeseen ZeroDivisionError: deep inside\n"
        "hint: FAIRDRAW_TRACEBACK=1 shows where; please report it\n"
    )


def test_an_interruption_exits_with_130_in_silence(cli, golden_row, monkeypatch):
    def interrupted(*args: object, **kwargs: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "compare", interrupted)
    ran = cli("compare", HF, CANDLE, "--logits", golden_row)
    assert (ran.code, ran.out) == (130, "")
    assert "Traceback" not in ran.err


def test_what_an_engine_leaves_open_exits_with_3(cli, tmp_path):
    np.save(tmp_path / "tie.npy", np.float32([2, 1, 1, 0]))
    path = str(tmp_path / "tie.npy")
    ran = cli("compare", "candle: TopK k=2 temperature=1", "fairdraw: top_k=2", "--logits", path)
    assert ran.code == 3
    assert "candle leaves open which 1 of the equal ids 1 and 2 it keeps." in ran.out


def test_many_rows_give_a_line_a_row_and_each_reason_once(cli, rows_npy):
    ran = cli("compare", HF, CANDLE, "--logits", rows_npy)
    assert ran.code == 1
    lines = [line.split() for line in ran.out.splitlines()]
    assert ["0", "differ", "2", "3", "0.1863", "0.1863", "0.00%", "18.63%"] in lines
    assert ["1", "same", "1", "1", "0", "0", "0.00%", "0.00%"] in lines
    assert "same 1, differ 1\n" in ran.out
    assert f"row 0: {CAUSE}\n" in ran.out


def test_one_row_of_many_can_be_chosen(cli, rows_npy):
    assert cli("compare", HF, CANDLE, "--logits", rows_npy, "--row", "1").code == 0
    assert cli("compare", HF, CANDLE, "--logits", rows_npy, "--row", "0").code == 1


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        (["same", "same"], 0),
        (["same", "differ", "could not tell"], 1),
        (["same", "could not tell"], 3),
    ],
)
def test_a_difference_outweighs_a_doubt_and_a_doubt_outweighs_sameness(verdicts, code):
    class Result:
        def __init__(self, verdict: str) -> None:
            self.verdict = verdict

    assert module.exit_code([Result(verdict) for verdict in verdicts]) == code


def test_draws_follow_their_own_law_and_refute_the_other(cli, golden_row):
    ran = cli("compare", HF, CANDLE, "--logits", golden_row, "--draws", "2000", "--seed", "1")
    assert ran.code == 1
    assert "2000 draws of each plan, seed 1, position 0\n" in ran.out
    table = {line[:6]: line.split() for line in ran.out.splitlines() if line[1:5] == " by "}
    assert {name: "follows" in cells for name, cells in table.items()} == {
        "a by a": True,
        "b by b": True,
        "a by b": False,
        "b by a": False,
    }
    # Outside: none but the draws of b where a has no mass; 18.63 % of them by the law.
    assert [table[name][6] for name in ("a by a", "b by b", "a by b")] == ["0"] * 3
    assert 15 < float(table["b by a"][6].removesuffix("%")) < 22


def test_the_seed_chooses_the_draws_and_nothing_else(cli, golden_row):
    def drawn(seed: str) -> dict:
        arguments = ("compare", HF, CANDLE, "--logits", golden_row, "--draws", "100", "--seed", seed, "--json")
        return json.loads(cli(*arguments).out)["rows"][0]

    assert drawn("1") == drawn("1")
    first, second = drawn("1"), drawn("2")
    assert first.pop("drawn") != second.pop("drawn")
    assert first == second


def test_json_is_one_object_without_words(cli, rows_npy):
    ran = cli("compare", HF, CANDLE, "--logits", rows_npy, "--draws", "50", "--json")
    data = json.loads(ran.out, parse_constant=pytest.fail)
    assert (ran.code, ran.err) == (1, "")
    assert data["verdict"] == "differ"
    assert [row["verdict"] for row in data["rows"]] == ["differ", "same"]
    assert data["rows"][0]["reason"] == CAUSE
    assert data["rows"][0]["drawn"]["b_by_a"]["outside"] > 0


def test_the_plans_are_named_on_stderr_in_full(cli, golden_row):
    err = cli("compare", HF, CANDLE, "--logits", golden_row).err
    assert "a: transformers@5.24: do_sample=true top_k=3 top_p=0.75\n" in err
    assert "b: candle@0.11: TopKThenTopP k=3 p=0.75 temperature=1.0\n" in err


def test_long_draws_without_a_terminal_say_once_how_long_they_take(monkeypatch, capsys):
    clock = iter([0.0, 0.5, 2.0, 4.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    seen: list[int] = []
    told = module._told(seen.append, 100)
    for done in (1, 4, 8):
        told(done)
    assert seen == [1, 4, 8]
    # 4 of 100 in 2 s: 48 s are left.
    assert capsys.readouterr().err.startswith("drawing takes about 48 s more")


def test_short_draws_say_nothing(monkeypatch, capsys):
    clock = iter([0.0, 2.0])
    monkeypatch.setattr(module.time, "monotonic", lambda: next(clock))
    module._told(lambda done: None, 100)(50)
    assert capsys.readouterr().err == ""


def test_all_compares_every_engine_and_writes_a_page(cli, golden_row, tmp_path):
    html = tmp_path / "page.html"
    ran = cli("compare", "--all", "top_k=3 top_p=0.75", "--logits", golden_row, "--html", str(html))
    assert ran.code == 1
    lines = [line.split() for line in ran.out.splitlines()]
    assert any(line[1:2] == ["candle"] and any(cell.startswith(".19") for cell in line) for line in lines)
    assert "nano_vllm: no law for this request: top_k must be unset for nano_vllm" in ran.out
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    data = json.loads(cli("compare", "--all", "top_k=3 top_p=0.75", "--logits", golden_row, "--json").out)
    assert {"mlx_lm@0.32", "candle@0.11", "sglang@0.5.23"} in [set(group) for group in data["groups"]]
    assert len(data["mean_total_variation"]) == len(data["engines"])


def test_all_exits_with_0_where_every_engine_has_one_law(cli, tmp_path):
    np.save(tmp_path / "sure.npy", np.float32([90.0, 0.0, 0.0]))
    ran = cli("compare", "--all", "temperature=0.5", "--logits", str(tmp_path / "sure.npy"))
    assert ran.code == 0


def test_mistakes_with_all_are_sentences(cli, golden_row):
    for arguments, words in (
        (("--all", "topk=3"), "--all has no parameter 'topk'\nhint: did you mean 'top_k'?"),
        (("--all", "vllm: top_k=3"), "--all must be parameters without an engine"),
        ((HF, "--all", "top_k=3"), "--all cannot be combined with a plan"),
        ((HF,), "compare needs two plans"),
        ((HF, CANDLE, "--html", "x.html"), "--html needs --all"),
    ):
        ran = cli("compare", *arguments, "--logits", golden_row)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"fairdraw: {words}")
