"""How tables, bars and numbers are printed."""

import pytest

from fairdraw.cli import output


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, "0.00%"), (1.0, "100.00%"), (0.12345, "12.35%"), (1e-4, "0.01%"), (9e-5, "9.0e-05")]
)
def test_a_share_keeps_digits_that_can_be_read(share, text):
    assert output.percent(share) == text


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (0.5, "0.5000"), (1e-3, "0.0010"), (1.5e-7, "1.50e-07")])
def test_a_small_quantity_keeps_digits_that_can_be_read(value, text):
    assert output.number(value) == text


@pytest.mark.parametrize(
    ("share", "text"), [(0.0, ""), (1.0, "████"), (0.5, "██"), (0.53, "██▏"), (1e-12, "▏"), (2.0, "████")]
)
def test_a_bar_shows_its_share_to_an_eighth_and_something_for_anything(share, text):
    assert output.bar(share, 4).plain == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "unset"), (True, "true"), (0.7, "0.7"), ("x", "x"), ((1, 2), "[1, 2]"), ((), "[]")]
)
def test_a_value_is_shown_as_a_plan_writes_it(value, text):
    assert output.shown(value) == text


def test_json_refuses_what_is_no_number(capsys):
    with pytest.raises(ValueError, match="JSON"):
        output.print_json({"x": float("nan")})
    assert capsys.readouterr().out == ""


def test_short_cells_are_never_cut_and_headings_wrap_first(capsys, monkeypatch):
    monkeypatch.setattr(output, "PIPED_WIDTH", 40)
    cells = ["abcdefgh", "12345678", "x " * 20]
    output.print_table("title", [("a long heading", "left"), ("another one", "right"), ("rest", "wrap")], [cells])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "title"
    assert max(map(len, lines)) <= 40
    assert any(line.startswith("abcdefgh  12345678  x x") for line in lines)
    assert sum(line.split().count("x") for line in lines) == 20


def test_a_table_that_fits_has_headings_of_one_line(capsys):
    output.print_table("", [("a long heading", "left"), ("n", "right")], [["x", 1], ["y", 22]])
    assert capsys.readouterr().out == (
        "a long heading   n\n"
        "──────────────────\n"
        "x                1\n"
        "y               22\n"
        "\n"
    )  # fmt: skip
