"""Texts are written side by side and shown one after the other."""

from __future__ import annotations

import io

import pytest

import fairdraw as fd
from fairdraw.cli.writing import write_in_turn
from fairdraw.generation.batch import Request, generate_many
from generation.speculation.toys import PrefixModel
from generation.toy import saying

PLAN = fd.Plan.parse("fairdraw: temperature=1 stop=abc")


class Watched(io.StringIO):
    """Remembers what was shown at each moment."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def write(self, text: str) -> int:
        if text:
            self.seen.append(text)
        return super().write(text)


def test_each_text_is_whole_and_in_its_place(capsys):
    request = Request(prompt=[1, 2], plan=PLAN, seed=3, n=4, sample_index=2, max_tokens=9)
    stream = io.StringIO()
    shown = list(write_in_turn(PrefixModel(ends=(0,)), request, stream))
    (texts,) = generate_many(PrefixModel(ends=(0,)), [request])
    assert [timed.completion for timed in shown] == list(texts)
    assert stream.getvalue() == "".join(text.text + "\n" for text in texts)
    assert capsys.readouterr().err.split() == ["[2]", "[3]", "[4]", "[5]"]
    assert all(timed.seconds > 0 for timed in shown)


def test_the_first_text_is_shown_token_by_token_and_what_was_held_comes_with_its_end(capsys):
    model = saying([1, 2, 3], ["x", "ab", "ab", "c"])
    stream = Watched()
    plan = fd.Plan.parse("fairdraw: temperature=0 stop=abd")
    (timed,) = write_in_turn(model, Request(prompt=[0], plan=plan, max_tokens=2), stream)
    assert stream.seen == ["ab", "ab", "\n"]
    assert timed.completion.text == "abab"
    assert capsys.readouterr().err == ""


def test_a_text_that_fails_is_an_error_after_those_before_it_were_shown():
    model = PrefixModel()
    # Token 2 ends a text, and after token 3 nothing is left.
    parameters = {"allowed_token_ids": [2, 3], "bad_words_ids": [[3, 2], [3, 3]], "stop_token_ids": [2]}
    request = Request(prompt=[1], plan=fd.Plan.resolve(parameters, facts=model.facts), seed=0, n=8)
    (texts,) = generate_many(model, [request])
    good = [isinstance(text, fd.Completion) for text in texts]
    assert True in good
    assert False in good
    stream = io.StringIO()
    with pytest.raises(fd.LogitsError):
        list(write_in_turn(model, request, stream))
    assert stream.getvalue().count("\n") == good.index(False) + 1


def test_a_text_that_fails_before_its_first_token_writes_nothing():
    plan = fd.Plan.resolve({"allowed_token_ids": [1], "bad_words_ids": [[1]]})
    stream = io.StringIO()
    with pytest.raises(fd.LogitsError):
        list(write_in_turn(PrefixModel(), Request(prompt=[1], plan=plan, seed=0), stream))
    assert stream.getvalue() == ""
