"""The commands as processes: streams, pipes, colour, exit codes, start-up."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from .conftest import ROWS

COMPARE = ("compare", "fairdraw: top_k=2", "fairdraw: top_k=3", "--logits", "rows.npy")


@pytest.fixture(autouse=True)
def rows_here(tmp_path) -> None:
    np.save(tmp_path / "rows.npy", ROWS)


def test_data_goes_to_stdout_words_go_to_stderr_and_the_code_is_the_verdict(process):
    ran = process(*COMPARE, "--row", "0")
    assert ran.code == 1
    assert "verdict          differ" in ran.out
    assert ran.err.splitlines()[2] == "rows.npy, vocabulary 6"
    assert process(*COMPARE[:2], COMPARE[1], *COMPARE[3:]).code == 0
    failed = process("compare", "fairdraw: top_k=2", "fairdraw: top_k=3", "--logits", "no.npy")
    assert (failed.code, failed.out) == (2, "")


def test_an_error_leaves_stdout_empty_also_with_json(process):
    ran = process("explain", "fairdraw: top_p=2", "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("fairdraw: top_p must be a number in [0, 1], got 2.0")


def test_a_pipe_gets_neither_colour_nor_wrapped_sentences_nor_trailing_spaces(process):
    for arguments in (COMPARE, ("explain", COMPARE[1], "--logits", "rows.npy"), ("dialects", "candle")):
        ran = process(*arguments)
        assert "\x1b" not in ran.out + ran.err
        assert all(line == line.rstrip() for line in ran.out.splitlines())
    summary = process("dialects", "transformers").out.splitlines()[1]
    assert len(summary) > 80


def test_colour_can_be_forced_and_then_forbidden(process):
    forced = {"FORCE_COLOR": "1", "TERM": "xterm-256color"}
    coloured = process("explain", COMPARE[1], "--logits", "rows.npy", **forced).out
    assert "\x1b[36m" in coloured
    plain = process("explain", COMPARE[1], "--logits", "rows.npy", **forced, NO_COLOR="1").out
    assert "\x1b[36m" not in plain


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_who_leaves_is_no_error_to_read_about(tmp_path, unbuffered):
    for arguments in (["dialects"], ["dialects", "--json"], list(COMPARE)):
        with subprocess.Popen(
            [sys.executable, "-m", "fairdraw.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        ) as command:
            assert command.stdout is not None
            assert command.stderr is not None
            command.stdout.close()
            err = command.stderr.read()
        # For compare 1 would say that the plans differ.
        assert command.returncode == (2 if arguments[0] == "compare" else 1)
        assert not any(word in err for word in (b"Traceback", b"Broken", b"Exception"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM or SIGINT to send")
def test_ctrl_c_exits_with_130_in_silence(tmp_path):
    command = subprocess.Popen(
        [sys.executable, "-m", "fairdraw.cli", *COMPARE, "--draws", "4000000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        text=True,
        encoding="utf-8",
    )
    assert command.stderr is not None
    # The words on stderr come first; then the drawing begins.
    while "vocabulary" not in command.stderr.readline():
        pass
    time.sleep(1)
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert command.returncode == 130
    assert "Traceback" not in err


def test_a_stream_that_cannot_write_bars_gets_plain_ones_and_whole_json(process):
    ran = process("explain", COMPARE[1], "--logits", "rows.npy", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert ran.code == 0
    assert "###" in ran.out
    plan = 'transformers: do_sample=true stop_strings=["é☃"]'
    ran = process("explain", plan, "--json", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert json.loads(ran.out)["plan"]["text"].endswith('stop_strings=["é☃"]')


def test_without_the_demo_packages_a_sentence_says_what_to_install(process, tmp_path):
    (tmp_path / "cyclopts.py").write_text("raise ModuleNotFoundError(\"No module named 'cyclopts'\", name='cyclopts')")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ran = process("dialects", PYTHONPATH=path)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "fairdraw: the command line needs cyclopts, which is not installed\n"
        'hint: pip install "fairdraw[demo]"\n'
    )  # fmt: skip


def test_a_model_that_can_be_had_nowhere_is_one_sentence(process, tmp_path):
    offline = {"FAIRDRAW_CACHE": str(tmp_path / "cache"), "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    ran = process("generate", "Hello", **offline)
    assert (ran.code, ran.out) == (1, "")
    lines = ran.err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("fairdraw: SmolLM2-135M-Instruct.Q4_1.gguf is not in the cache")
    assert lines[1].startswith("hint: ")
    assert process("compare", "fairdraw:", "fairdraw:", "--prompt", "x", **offline).code == 2


def test_listing_dialects_loads_nothing_heavy(tmp_path):
    code = (
        "import sys; from fairdraw.cli.main import run; run(['dialects']);"
        "heavy = {'numba', 'scipy', 'torch', 'tokenizers', 'gguf', 'jinja2', 'safetensors'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
