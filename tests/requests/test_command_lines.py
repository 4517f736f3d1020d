"""Command lines of llama.cpp, word by word."""

import pytest

from fairdraw.errors import ParameterError, PlanError
from fairdraw.requests import FORMATS
from fairdraw.requests.base import Asked


def _read(text: str) -> Asked:
    return FORMATS["llama_cli"].read(text)


def _why(asked: Asked) -> dict[str, str]:
    return {left.name: left.why for left in asked.left_out}


def test_underscores_of_a_long_flag_are_dashes():
    asked = _read("llama-cli --temp 0.7 --top_k 5 --repeat_last_n 3")
    assert dict(asked.request) == {"temperature": 0.7, "top_k": 5, "repeat_last_n": 3}
    assert asked.left_out == ()


def test_a_slip_in_a_flag_is_refused_with_the_flag_that_was_meant():
    for slip, meant in (("--top-q", "--top-p"), ("--temperatur", "--temperature"), ("--logit-bais", "--logit-bias")):
        with pytest.raises(PlanError, match=f"does not know the flag {slip}(.|\n)*did you mean '{meant}'"):
            _read(f"llama-cli {slip} 20")


def test_a_value_after_an_equals_sign_is_refused():
    with pytest.raises(PlanError, match=r"no flag --top-k=5\nhint: the value is the next word: --top-k 5"):
        _read("llama-cli --top-k=5")


def test_flags_of_the_run_are_no_slips_and_unknown_ones_are_told():
    why = _why(_read("llama-server -m a.gguf --parallel 4 -np 2 --host 0.0.0.0 -ngl 99 --jinja --new-thing 3 -x"))
    aside = {"-m", "--parallel", "-np", "--host", "-ngl", "--jinja"}
    assert {name for name in why if why[name].startswith("not about sampling")} == aside
    assert {why[name] for name in ("--new-thing", "-x")} == {"fairdraw does not know this flag"}


def test_a_value_is_the_next_word_whatever_it_begins_with():
    for flag in ("-p", "-m", "-f", "-sys", "--prompt", "-r"):
        asked = _read(f"llama-cli {flag} '--temp' --top-k 4")
        assert dict(asked.request) == {"top_k": 4}
        assert [(left.name, left.value) for left in asked.left_out] == [(flag, "--temp")]
    with pytest.raises(ParameterError, match=r"--temp must be a finite number, got '--top-k'"):
        _read("llama-cli --temp --top-k 5")


def test_a_switch_takes_no_value():
    asked = _read("llama-cli --ignore-eos --no-mmap --temp 0.5")
    assert dict(asked.request) == {"ignore_eos": True, "temperature": 0.5}


def test_a_word_without_a_flag_is_refused():
    with pytest.raises(PlanError, match=r"no word without a flag, got .world."):
        _read("llama-cli -p hello world --temp 1")


def test_a_line_goes_on_after_a_backslash():
    assert dict(_read("llama-cli --temp 0.5 \\\n  --top-k 4").request) == {"temperature": 0.5, "top_k": 4}


def test_what_is_no_finite_number_is_refused():
    for text in ("--temp nan", "--temp inf", "--temp -inf", "--temp 1_0", "--top-k 1_0", "--top-k 5.5"):
        with pytest.raises(ParameterError, match=r"must be a (finite|whole) number"):
            _read(f"llama-cli {text}")


def test_a_bias_is_a_token_a_sign_and_a_finite_number():
    assert dict(_read("llama-cli -l 5+1. -l 6-.5 -l 7+2e1 -l 08-3").request) == {
        "logit_bias": {"5": 1.0, "6": -0.5, "7": 20.0, "8": -3.0}
    }
    for text in ("5+1.2.3", "5+", "5", "5+.", "5-inf", "5+1e999", "\u00b2+1"):
        with pytest.raises(ParameterError, match=r"--logit-bias must be a token id, a sign and a finite number"):
            _read(f"llama-cli --logit-bias {text}")
    with pytest.raises(ParameterError, match="given once"):
        _read("llama-cli -l 5+1 -l 05+2")
