"""``fairdraw warmup``."""

import json
import sys
from pathlib import Path

import pytest

from fairdraw.cli import warmup
from fairdraw.kernels import warming
from fairdraw.kernels.promise import PROMISES
from fairdraw.kernels.warming import Warmed


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything takes two seconds, and the first kernel is there already."""
    monkeypatch.setattr(warmup, "folder", lambda: Path("/kernels"))
    monkeypatch.setattr(warmup, "warm", lambda mode: Warmed(mode=mode, seconds=2.0, compiled=mode != "greedy"))


@pytest.mark.usefixtures("no_compiler")
def test_every_mode_is_warmed_with_its_time_and_the_folder_is_named(cli):
    ran = cli("warmup")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert [line.split() for line in lines[2 : 2 + len(PROMISES)]] == [
        [mode, "2.00", *(["was", "there"] if mode == "greedy" else ["compiled"])] for mode in PROMISES
    ]
    assert lines[-1] == "kept in /kernels"
    assert ran.err.splitlines() == [f"{mode} ..." for mode in PROMISES]


@pytest.mark.usefixtures("no_compiler")
def test_json_is_one_object_and_progress_stays_on_stderr(cli):
    ran = cli("warmup", "--json")
    said = json.loads(ran.out)
    assert said["folder"] == "/kernels"
    assert said["kernels"][:2] == [
        {"mode": "greedy", "seconds": 2.0, "compiled": False},
        {"mode": "temperature", "seconds": 2.0, "compiled": True},
    ]
    assert [kernel["mode"] for kernel in said["kernels"]] == list(PROMISES)
    assert said["seconds"] >= 0


@pytest.mark.usefixtures("no_compiler")
def test_a_terminal_sees_a_bar_that_goes_away(cli, monkeypatch):
    # What pytest puts in the place of stderr.
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda stream: stream is sys.stderr, raising=False)
    ran = cli("warmup", "--json")
    assert ran.code == 0
    assert "greedy ..." not in ran.err
    assert len(json.loads(ran.out)["kernels"]) == len(PROMISES)


def test_a_missing_numba_is_one_sentence_with_a_hint(cli, monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    for name in [name for name in sys.modules if name.startswith("fairdraw.kernels.numba_cpu")]:
        monkeypatch.delitem(sys.modules, name)
    ran = cli("warmup")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("fairdraw: Numba cannot be used (ModuleNotFoundError: ")
    assert ran.err.splitlines()[1] == "hint: FAIRDRAW_BACKEND=numpy draws the same tokens without kernels, slower"


def test_without_a_folder_to_keep_them_in_nothing_is_compiled(cli, monkeypatch):
    class Nothing:
        greedy = None

    monkeypatch.setattr(warming.importlib, "import_module", lambda name: Nothing)
    ran = cli("warmup")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        "fairdraw: Numba finds no folder to keep compiled kernels in\n"
        "hint: set NUMBA_CACHE_DIR to a folder that can be written to\n"
    )
