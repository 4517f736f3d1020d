"""No call waits for a compiler: what happens from the first token until a kernel draws."""

import ctypes
import importlib
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

import fairdraw as fd
from fairdraw.kernels import backends, pacing, slots, warming
from fairdraw.kernels.examples import example
from fairdraw.kernels.promise import PROMISES

GREEDY = fd.Plan.parse("fairdraw: temperature=0")
ROW = [0.0, 3.0, 1.0]
SAMPLE = """
import os, sys, threading, time, warnings
import numpy as np
import fairdraw as fd
from fairdraw.kernels import backends
backends.ENOUGH["greedy"] = 5
plan = fd.Plan.parse("fairdraw: temperature=0")
row = (np.arange(1000) * 2654435761 % 2**32 >> 20).astype(np.float32) / 256 - 8
def draw():
    return fd.sample(plan, row, seed=1, position=2).token
def until_ready(seconds=100):
    tokens, end = [], time.monotonic() + seconds
    while "greedy" not in backends._READY and time.monotonic() < end:
        tokens.append(draw())
        time.sleep(0.005)
    return tokens
"""


def run(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {name: value for name, value in os.environ.items() if name != backends.VARIABLE} | environment
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", SAMPLE + code]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done


@pytest.fixture
def automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_READY", "_DRAWN"):
        monkeypatch.setattr(backends, name, {})
    monkeypatch.setattr(backends, "_ASKED", set())
    monkeypatch.setattr(backends, "_PROBLEMS", [])
    monkeypatch.setattr(backends, "chosen", lambda: backends.AUTOMATIC)
    monkeypatch.setitem(backends.ENOUGH, "greedy", 3)


def test_a_process_with_an_empty_folder_compiles_beside_numpy_and_the_next_one_only_loads(tmp_path: Path) -> None:
    code = """
tokens = until_ready()
assert "greedy" in backends._READY, backends._PROBLEMS
assert {draw(), *tokens} == {int(row.argmax())} and len(tokens) > 5
"""
    run(code, NUMBA_CACHE_DIR=str(tmp_path))
    never = """
from fairdraw.kernels import warming
def never(mode, folder):
    raise AssertionError("a compiler was started")
warming.compile_elsewhere = never
"""
    run(never + code, NUMBA_CACHE_DIR=str(tmp_path))


@pytest.mark.usefixtures("automatic")
def test_numpy_draws_as_long_as_loading_takes_and_then_the_kernel_does(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, asked = threading.Event(), []

    def draws_one(record: int, *others: int) -> None:
        ctypes.c_int64.from_address(record + 8 * slots.TOKEN).value = 1

    def slow_load(mode: str) -> backends.Kernel:
        asked.append(mode)
        assert go_on.wait(30)
        return draws_one

    monkeypatch.setattr(warming, "load", slow_load)
    before = [fd.sample(GREEDY, ROW, seed=0, position=position).token for position in range(50)]
    assert not backends._READY
    go_on.set()
    end = time.monotonic() + 30
    while not backends._READY and time.monotonic() < end:
        time.sleep(0.001)
    assert backends.find_kernel("greedy") is backends._READY["greedy"]
    assert {*before, fd.sample(GREEDY, ROW, seed=0, position=50).token} == {1}
    assert asked == ["greedy"]


@pytest.mark.usefixtures("automatic")
def test_a_call_that_draws_many_counts_for_many(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(threading, "Thread", lambda args, **others: asked.append(args) or SimpleNamespace(start=str))
    assert backends.find_kernel("many", 99) is None
    assert asked == []
    assert backends.find_kernel("many", 1) is None
    assert backends.find_kernel("many", 1000) is None
    assert asked == [("many",)]


@pytest.mark.usefixtures("automatic")
def test_numpy_goes_on_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**arguments: object) -> None:
        raise RuntimeError("can't start new thread at interpreter shutdown")

    monkeypatch.setattr(threading, "Thread", refuse)
    assert {fd.sample(GREEDY, ROW, seed=0, position=position).token for position in range(9)} == {1}


@pytest.mark.parametrize(("broken", "said"), [
    ("raise RuntimeError('no LLVM here')", "RuntimeError: no LLVM here"),
    ("raise ImportError('numba needs another NumPy')", "ImportError: numba needs another NumPy"),
])  # fmt: skip
def test_a_broken_numba_is_said_once_and_numpy_draws_on(tmp_path: Path, broken: str, said: str) -> None:
    (tmp_path / "numba").mkdir()
    (tmp_path / "numba" / "__init__.py").write_text(broken)
    code = f"""
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    tokens = until_ready(1)
    assert "top_k" in backends._ASKED
    backends._DRAWN["top_k"] = 1000
    fd.sample(fd.Plan.parse("fairdraw: top_k=2"), row, seed=1, position=1)
assert [str(one.message) for one in told] == [
    "Numba cannot be used, NumPy draws the same tokens, slower ({said}); FAIRDRAW_BACKEND=numpy avoids this"
], told
assert set(tokens) == {{int(row.argmax())}} and threading.active_count() == 1
"""
    run(code, PYTHONPATH=str(tmp_path))


def test_where_numba_keeps_nothing_on_disk_numpy_draws_and_it_is_said() -> None:
    code = """
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    until_ready(4)
assert len(told) == 1 and "no folder to keep compiled kernels" in str(told[0].message), told
assert "hint: set NUMBA_CACHE_DIR" in str(told[0].message)
"""
    run(code, NUMBA_DISABLE_JIT="1")


@pytest.mark.parametrize("wait", [0.0, 0.3, 1.0])
def test_a_process_may_end_at_any_moment_of_loading(tmp_path: Path, wait: float) -> None:
    begun = time.monotonic()
    run(f"[draw() for _ in range(6)]; time.sleep({wait})", NUMBA_CACHE_DIR=str(tmp_path))
    assert time.monotonic() - begun < 60


def test_while_something_is_loaded_the_interpreters_lock_changes_hands_sooner() -> None:
    with pacing._LOADING:  # no thread of another test loads now
        before = sys.getswitchinterval()
        with pacing.in_pieces(), pacing.in_pieces():
            assert sys.getswitchinterval() <= 0.0002
        assert sys.getswitchinterval() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("moment", [0.05, 0.4])
def test_a_child_forked_while_a_thread_loads_here_and_now_draws_as_well(moment: float) -> None:
    code = f"""
loader = threading.Thread(target=draw)
loader.start()
time.sleep({moment})
child = os.fork()
if child == 0:
    os._exit(0 if draw() == draw() else 1)
end = time.monotonic() + 90
while (done := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < end:
    time.sleep(0.01)
if done[0] == 0:
    os.kill(child, 9)
assert done == (child, 0), done
loader.join()
"""
    run(code, FAIRDRAW_BACKEND="numba")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_draws_and_can_import_numba_whenever_it_was_forked() -> None:
    code = """
[draw() for _ in range(6)]
for wait in (0.0, 0.3):
    time.sleep(wait)
    child = os.fork()
    if not child:
        import numba
        os._exit(0 if draw() == row.argmax() else 1)
    assert os.waitpid(child, 0)[1] == 0
"""
    run(code)


def test_a_fork_waits_until_no_module_is_half_imported() -> None:
    inside, left = threading.Event(), []

    def load() -> None:
        with pacing.in_pieces():
            inside.set()
            time.sleep(0.2)
            left.append(True)

    thread = threading.Thread(target=load)
    thread.start()
    assert inside.wait(10)
    pacing.before_fork()
    assert left == [True]
    pacing.after_fork_in_parent()
    thread.join(10)
    assert not pacing._FORKING


def test_loading_rests_between_modules_only_while_somebody_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    rests: list[float] = []
    monkeypatch.setattr(pacing.time, "sleep", rests.append)
    monkeypatch.setattr(pacing, "PIECE", 0.0)
    monkeypatch.setattr(pacing, "_LAST_DRAW", [time.monotonic() - 10])
    finders = list(sys.meta_path)
    with pacing.in_pieces() as pause:
        pause()
        assert rests == []
        pacing.note_draw()
        with pytest.raises(ImportError):
            __import__("fairdraw.no_such_module")
        assert rests == [pacing.REST]
        thread = threading.Thread(target=lambda: sys.meta_path[0].find_spec("json"))
        thread.start()
        thread.join(10)
        assert rests == [pacing.REST]
    assert sys.meta_path == finders


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM or SIGINT to send")
def test_one_process_compiles_into_a_folder_and_one_that_is_killed_frees_it(tmp_path: Path) -> None:
    code = "import sys, time, pathlib; from fairdraw.kernels import warming\n"
    code += "with warming.alone_in(pathlib.Path(sys.argv[1])): print('in', flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "in\n"
        assert warming.is_busy(tmp_path)
        other.send_signal(signal.SIGKILL)
    assert not warming.is_busy(tmp_path)
    with warming.alone_in(tmp_path):
        assert warming.is_busy(tmp_path)


def test_a_compiler_that_fails_is_an_error_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = [sys.executable, "-c", "import sys; sys.exit('much\\nLLVM is out of memory')"]
    monkeypatch.setattr(warming, "compiler_command", lambda mode: failing)
    with pytest.raises(fd.UnavailableError, match="could not be compiled: LLVM is out of memory"):
        warming.compile_elsewhere("greedy", tmp_path)


@pytest.mark.parametrize("program", ["", "/opt/app/server", "/usr/bin/uwsgi"])
def test_a_program_that_is_no_python_is_never_started_as_a_compiler(
    program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", program)
    with pytest.raises(fd.UnavailableError, match="no Python interpreter"):
        warming.compiler_command("greedy")


def test_a_frozen_program_is_never_started_as_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(fd.UnavailableError, match="no Python interpreter"):
        warming.compiler_command("greedy")


def test_the_compiler_says_in_one_line_what_went_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    assert warming.main(["no_such_mode"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("mode", PROMISES)
def test_every_mode_has_arguments_to_be_compiled_for(mode: str) -> None:
    kernel = getattr(importlib.import_module(warming.ENTRIES), mode)
    assert len(example(mode)) == len(inspect.signature(kernel.py_func).parameters)
