"""Requests as engines get them: what a plan takes, what it does not and why."""

import json

import numpy as np
import pytest

from fairdraw.errors import LogitsError, ParameterError, PlanError, UnavailableError
from fairdraw.plan import Plan
from fairdraw.requests import FORMATS
from fairdraw.requests.base import Asked, is_off, plan_of_request
from fairdraw.requests.generation_config import TAKEN, end_ids, read_generation_config
from fairdraw.requests.gguf import KEYS, PREFIX, read_gguf_sampling, sampling_metadata
from fairdraw.sampling import law
from fairdraw.translation.translating import translate


def _read(form: str, text: object) -> Asked:
    return FORMATS[form].read(text if isinstance(text, str) else json.dumps(text))


def _why(asked: Asked) -> dict[str, str]:
    return {left.name: left.why for left in asked.left_out}


def test_every_name_of_a_vllm_body_is_taken_or_named():
    body = {
        "model": "m", "messages": [{"role": "user", "content": "hi"}], "temperature": 0.6, "top_p": None,
        "extra_body": {"top_k": 20, "use_beam_search": False}, "logprobs": True, "top_logprobs": 3, "seed": -1,
        "max_completion_tokens": 9,
    }  # fmt: skip
    asked = _read("vllm", body)
    assert dict(asked.request) == {"temperature": 0.6, "top_k": 20, "logprobs": 3, "max_tokens": 9}
    assert _why(asked) == {
        "model": "not about sampling: which model answers",
        "messages": "not about sampling: the prompt",
        "extra_body": "taken as the Python client sends it, unwrapped; in a raw body no server reads it",
        "use_beam_search": "changes nothing: beam search, no sampling",
        "seed": "means: not set",
    }
    assert set(body) - {"top_p", "extra_body", "top_logprobs"} <= (
        set(_why(asked)) | set(asked.request) | {"max_completion_tokens"}
    )


def test_a_chat_without_a_length_is_not_told_that_it_stops_after_16():
    assert "max_tokens" in _why(_read("vllm", {"messages": []}))
    assert "max_tokens" not in _why(_read("vllm", {"prompt": "a"}))


def test_what_changes_the_law_and_is_not_modelled_is_refused_by_name():
    with pytest.raises(PlanError, match="response_format="):
        _read("vllm", {"response_format": {"type": "json_object"}})
    with pytest.raises(PlanError, match="openai has no parameter 'top_k'"):
        _read("openai", {"top_k": 4})


def test_what_is_no_json_object_is_refused_in_words():
    for text in ("{", "[1]", "3"):
        with pytest.raises(PlanError, match="must be"):
            _read("vllm", text)


def test_layers_override_each_other_and_each_value_has_its_own():
    asked = Asked(
        dialect="vllm",
        request={"top_k": 5},
        server={"top_k": 6, "top_p": 0.9},
        model_file={"top_k": 7, "top_p": 0.8, "temperature": 0.7},
    )
    plan = plan_of_request(asked)
    found = {s.name: (s.value, s.origin) for s in plan.settings}
    assert found["top_k"] == (5, "request")
    assert found["top_p"] == (0.9, "server")
    assert found["temperature"] == (0.7, "model file")
    assert found["min_p"] == (0.0, "engine default")
    assert plan == Plan.parse("vllm: top_k=5 top_p=0.9 temperature=0.7")


def test_an_alias_in_one_layer_overrides_the_name_in_another():
    plan = plan_of_request(Asked(dialect="mlx_lm", request={"temperature": 0.5}, model_file={"temp": 0.9}))
    assert [(s.value, s.origin) for s in plan.settings if s.name == "temp"] == [(0.5, "request")]


CONFIG = json.dumps(
    {"do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95, "eos_token_id": [2, 7], "num_beams": 1}
)


def test_each_engine_takes_its_own_part_of_a_generation_config():
    assert read_generation_config(CONFIG, "transformers")[0] == {
        "do_sample": True, "temperature": 0.6, "top_k": 20, "top_p": 0.95,
    }  # fmt: skip
    for engine in TAKEN:
        kept, left = read_generation_config(CONFIG, engine)
        assert kept == {"temperature": 0.6, "top_k": 20, "top_p": 0.95}
        assert {"do_sample", "num_beams"} <= {one.name for one in left}
    assert read_generation_config(CONFIG, "mlx_lm")[0] == {}
    assert end_ids(CONFIG) == (2, 7)
    assert end_ids('{"eos_token_id": 3}') == (3,)
    assert end_ids("{}") == ()


def test_a_beam_of_one_is_nothing_and_a_beam_of_four_is_refused():
    assert "changes nothing" in read_generation_config(CONFIG, "transformers")[1][-1].why
    with pytest.raises(PlanError, match="num_beams=4 changes the law"):
        read_generation_config('{"num_beams": 4}', "transformers")


def test_off_is_what_the_description_calls_off():
    assert is_off(0, "the same; 0 is off")
    assert is_off(1.0, "guidance; unset or 1 is off")
    assert not is_off(2, "no sequence of so many ids twice; 0 is off")
    assert not is_off(True, "a watermark; unset is off")
    assert is_off(None, "a watermark; unset is off")


def test_the_metadata_of_a_gguf_is_in_the_engines_names():
    fields = {f"{PREFIX}{key}": 1 for key in KEYS} | {f"{PREFIX}future": 1, "general.name": "x"}
    kept, left = sampling_metadata(fields)
    assert set(kept) == set(KEYS.values())
    assert [one.name for one in left] == [f"{PREFIX}future"]
    assert type(kept["top_k"]) is int
    assert type(kept["top_p"]) is float


def test_a_real_gguf_gives_its_sampling_metadata_back(tmp_path):
    gguf = pytest.importorskip("gguf")
    writer = gguf.GGUFWriter(tmp_path / "m.gguf", "llama")
    writer.add_float32(f"{PREFIX}temp", 0.5)
    writer.add_int32(f"{PREFIX}top_k", 20)
    writer.add_string(f"{PREFIX}sequence", "top_k;temperature")
    for step in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file, writer.close):
        step()
    assert read_gguf_sampling(str(tmp_path / "m.gguf"))[0] == {
        "temperature": 0.5, "top_k": 20, "samplers": ["top_k", "temperature"],
    }  # fmt: skip
    (tmp_path / "no.gguf").write_bytes(b"nothing")
    with pytest.raises(UnavailableError, match="not a readable GGUF"):
        read_gguf_sampling(str(tmp_path / "no.gguf"))


class TestLlamaCpp:
    """Forms of llama.cpp."""

    def test_a_command_line_is_read_flag_by_flag(self):
        asked = _read(
            "llama_cli",
            "./llama-server -m a.gguf --temp 0.5 --top-k 20 -n -1 -s 7 --mirostat-lr 0.2 --logit-bias 15-1.5 -l 16+2 "
            "--sampling-seq kt --dry-sequence-breaker none --ignore-eos --host 0.0.0.0 --temp -3",
        )
        assert dict(asked.request) == {
            "temperature": 0.0, "top_k": 20, "seed": 7, "mirostat_eta": 0.2, "logit_bias": {"15": -1.5, "16": 2.0},
            "samplers": ["kt"], "dry_sequence_breakers": [], "ignore_eos": True,
        }  # fmt: skip
        assert _why(asked) == {
            "-m": "not about sampling: the model",
            "-n": "means: not set",
            "--host": "not about sampling: how it is served",
        }

    def test_mistakes_in_a_command_line_are_sentences(self):
        for text, words in (
            ("--top-k", "--top-k needs a value"),
            ("--top-k many", "--top-k must be a whole number"),
            ("-l word", "-l must be a token id"),
            ("--temp '0.5", "quotes closed"),
        ):
            with pytest.raises((PlanError, ParameterError), match=words):
                _read("llama_cli", text)

    def test_a_grammar_is_refused_by_name(self):
        with pytest.raises(PlanError, match="--grammar is a grammar"):
            _read("llama_cli", "llama-cli --grammar 'root ::= x'")
        with pytest.raises(PlanError, match="format is a grammar"):
            _read("ollama", {"format": "json", "options": {}})
        with pytest.raises(PlanError, match="response_format="):
            _read("llama_server", {"response_format": {"type": "json_object"}})

    def test_a_body_of_the_server_has_pairs_and_its_own_way_of_unset(self):
        asked = _read(
            "llama_server", {"prompt": "a", "logit_bias": [[3, 1.5]], "seed": -1, "n_predict": -1, "top_k": 4}
        )
        assert dict(asked.request) == {"logit_bias": {"3": 1.5}, "top_k": 4}
        with pytest.raises(ParameterError, match="pass a mask"):
            _read("llama_server", {"logit_bias": [[3, False]]})

    def test_ollama_stands_between_the_request_and_llama_cpps_defaults(self):
        # D17: 60 logits from 5 down to 2.05; llama.cpp alone keeps 35, Ollama's numbers keep 31.
        row = np.float32(5 - 0.05 * np.arange(60))
        ollama = plan_of_request(_read("ollama", {"model": "m", "options": {"temperature": 0.8}}))
        plain = plan_of_request(_read("llama_server", {"temperature": 0.8}))
        assert [law(plan, row).support.size for plan in (ollama, plain)] == [31, 35]


def test_a_beam_search_of_vllm_is_refused_and_its_other_fields_are_named():
    with pytest.raises(PlanError, match="use_beam_search=True changes the law"):
        _read("vllm", {"use_beam_search": True, "temperature": 0.5})
    aside = {
        "reasoning_effort": "low", "include_reasoning": False, "truncate_prompt_tokens": 9, "cache_salt": "x",
        "continue_final_message": True, "documents": [], "return_token_ids": True,
    }  # fmt: skip
    why = _why(_read("vllm", {"length_penalty": 1.2, **aside}))
    assert all(why[name].startswith("not about sampling") for name in aside)
    assert why["length_penalty"] == "changes nothing: acts with beams alone"


def test_an_extra_body_acts_in_every_form_and_is_told():
    for form in ("vllm", "openai", "llama_server"):
        asked = _read(form, {"extra_body": {"temperature": 0.5}})
        assert dict(asked.request) == {"temperature": 0.5}
        assert "in a raw body no server reads it" in _why(asked)["extra_body"]
    assert "extra_body" in _why(_read("ollama", {"extra_body": {"options": {"temperature": 0.5}}}))


def test_an_extra_body_that_is_no_object_is_refused():
    for value in (5, "x", [1], False):
        with pytest.raises(PlanError, match="extra_body must be a JSON object"):
            _read("vllm", {"extra_body": value})
    assert _read("vllm", {"extra_body": None, "top_k": 2}).left_out == ()


def test_ollama_reads_no_option_beside_its_options():
    for beside in ({"model": "x"}, {"truncate": True}, {"options": {}}):
        asked = _read("ollama", {**beside, "temperature": 0.7, "nonsense": 1})
        assert "temperature" not in asked.request
        assert _why(asked)["temperature"] == "ollama reads it under options alone"
        assert _why(asked)["nonsense"] == "ollama does not know it and passes over it"
    assert plan_of_request(_read("ollama", {"model": "x", "temperature": 0.7})) == Plan.parse("ollama:")
    assert dict(_read("ollama", {"temperature": 0.7}).request) == {"temperature": 0.7}
    why = _why(_read("ollama", {"truncate": True, "shift": False}))
    assert all(reason.startswith("not about sampling") for reason in why.values())


def test_a_bias_that_is_no_finite_number_for_each_token_is_refused():
    for bias in ({"5": "abc"}, [[5, None]], {"5": True}, [[5, [1]]], [[5, 1.0], [5, 2.0]], [["x", 1.0]], 7):
        with pytest.raises(ParameterError, match="logit_bias must be"):
            _read("llama_server", {"logit_bias": bias})


def test_end_ids_that_are_no_token_ids_are_refused():
    for ids in ("x", [1, "x"], 2.5, {"a": 1}, True, -1):
        with pytest.raises(ParameterError, match="eos_token_id must be a list of token ids"):
            end_ids(json.dumps({"eos_token_id": ids}))


def test_names_and_rows_of_another_type_are_refused_in_words():
    with pytest.raises(PlanError, match="a parameter's name must be a text, got 3"):
        Plan.resolve({3: 4}, dialect="vllm")  # type: ignore[dict-item]
    with pytest.raises(ParameterError, match="dialect must be a text"):
        translate(Plan.parse("vllm:"), None)  # type: ignore[arg-type]
    for rows in (3.0, "abc", np.zeros((1, 2, 3), np.float32)):
        with pytest.raises(LogitsError, match=r"or two, \(rows, vocab\)"):
            translate(Plan.parse("vllm:"), "sglang", logits=rows)
    with pytest.raises(LogitsError, match="rows of one length"):
        translate(Plan.parse("vllm:"), "sglang", logits=[[1.0, 2.0], [3.0]])


def test_a_plain_text_is_no_grammar():
    for form in ("vllm", "openai", "llama_server"):
        asked = _read(form, {"response_format": {"type": "text"}, "temperature": 1})
        assert (dict(asked.request), _why(asked)) == ({"temperature": 1}, {"response_format": "means: not set"})
        with pytest.raises(PlanError, match="response_format="):
            _read(form, {"response_format": {"type": "text", "schema": {}}})


def test_openais_logprobs_are_a_report():
    assert dict(_read("openai", {"logprobs": True, "top_logprobs": 3}).request) == {"top_logprobs": 3}
    assert dict(_read("openai", {"logprobs": True}).request) == {"top_logprobs": 0}
    assert dict(_read("openai", {"logprobs": False}).request) == {}


def test_end_ids_of_a_generation_config_are_said_to_end_the_text():
    for engine, words in (
        ("vllm", "a fact of the model; vllm adds it to the ids that end a text"),
        ("sglang", "a fact of the model; sglang adds it to the ids that end a text"),
        ("mlx_lm", "taken for the ids that end a text"),
    ):
        why = {left.name: left.why for left in read_generation_config(CONFIG, engine)[1]}
        assert why["eos_token_id"] == words
        assert words != why["num_beams"]


def test_an_engine_is_quoted_on_numbers_alone():
    for engine in ("vllm", "sglang", "mlx_lm"):
        name = "temp" if engine == "mlx_lm" else "temperature"
        with pytest.raises(ParameterError, match=r"hint: a number stands without quotes$"):
            Plan.resolve({name: "0.7"}, dialect=engine)
        with pytest.raises(ParameterError, match="itself says"):
            Plan.resolve({name: -1.0}, dialect=engine)
    with pytest.raises(ParameterError) as refused:
        Plan.resolve({"temperature": True}, dialect="vllm")
    assert refused.value.hint == ""


def test_the_server_of_llama_cpp_refuses_a_window_of_less_than_nothing():
    with pytest.raises(ParameterError, match="repeat_last_n must be a whole number >= 0, got -1"):
        _read("llama_server", {"repeat_last_n": -1})
    assert dict(_read("llama_server", {"repeat_last_n": 0}).request) == {"repeat_last_n": 0}


def test_a_slip_that_a_server_passes_over_is_told_with_what_was_meant():
    why = _why(_read("vllm", {"temperatur": 0.5, "typical_p": 0.9, "temp": 1}))
    passed = "vllm does not know it and passes over it"
    assert why == {
        "temperatur": f"{passed}; did you mean 'temperature'?",
        "typical_p": f"{passed}; not there; no stage of vLLM's does it",
        "temp": f"{passed}; here it is temperature",
    }
