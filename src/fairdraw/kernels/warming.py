"""Kernels on disk: compiled by a process of its own while NumPy serves, then loaded by a thread.

``python -m fairdraw.kernels.warming MODE...`` is that process.  It has the lowest priority, it ends when its kernels
are done whether its parent still lives or not, and where another compiles into the same folder it waits.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from fairdraw.errors import UnavailableError
from fairdraw.kernels.examples import example
from fairdraw.kernels.pacing import in_pieces

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

ENTRIES = "fairdraw.kernels.numba_cpu.entries"
LOCK = "fairdraw-compiling.lock"
ASK_AGAIN = 0.3
"""Seconds between two looks at a lock that another process holds."""
FOLDER_HINT = "set NUMBA_CACHE_DIR to a folder that can be written to"


@dataclass(frozen=True, slots=True, kw_only=True)
class Warmed:
    """A kernel that is on disk now."""

    mode: str
    seconds: float
    """What it took."""
    compiled: bool
    """False: it was on disk already."""


def load(mode: str) -> Callable[..., int]:
    """Load the kernel of a mode, in pieces; if it is not on disk, wait until a process of its own has compiled it.

    Raises
    ------
    UnavailableError
        Numba has no folder to keep it in, there is no Python to compile with, or the compiler failed.
    Exception
        Whatever a broken Numba raises.
    """
    with in_pieces() as pause:
        kernel = getattr(importlib.import_module(ENTRIES), mode)
        folder = folder_of(kernel)
        for part in (kernel.typingctx, kernel.targetctx):
            pause()
            part.refresh()
        pause()
        kept = is_kept(kernel, mode)
    if not kept:
        compile_elsewhere(mode, folder)
    with in_pieces() as pause:
        pause()
        # Else the call below would compile, here.
        if not kept and not is_kept(kernel, mode):
            raise UnavailableError(f"the compiler left no kernel in {folder}", FOLDER_HINT)
        pause()
        kernel(*example(mode))
    return kernel


def warm(mode: str) -> Warmed:
    """Put the kernel of a mode on disk, in this process, unless it is there.

    Raises
    ------
    UnavailableError
        Numba has no folder to keep it in.
    """
    begun = time.perf_counter()
    kernel = getattr(importlib.import_module(ENTRIES), mode)
    with alone_in(folder_of(kernel)):
        kept = is_kept(kernel, mode)
        if not kept:
            kernel(*example(mode))
    return Warmed(mode=mode, seconds=time.perf_counter() - begun, compiled=not kept)


def folder() -> Path:
    """The folder that Numba keeps the kernels in."""
    return folder_of(importlib.import_module(ENTRIES).greedy)


def folder_of(kernel: Any) -> Path:
    """The folder that Numba keeps a kernel in.

    Raises
    ------
    UnavailableError
        There is none.
    """
    path = getattr(getattr(kernel, "_cache", None), "cache_path", None)
    if path is None:
        raise UnavailableError("Numba finds no folder to keep compiled kernels in", FOLDER_HINT)
    return Path(path)


def is_kept(kernel: Any, mode: str) -> bool:
    """Whether Numba has a kernel on disk, for this machine, these sources and the arguments of every call."""
    typeof = importlib.import_module("numba").typeof
    types = tuple(typeof(argument) for argument in example(mode))
    return kernel._cache.load_overload(types, kernel.targetctx) is not None


def compile_elsewhere(mode: str, folder: Path) -> None:
    """Wait for whoever compiles into a folder already, and then for a process that compiles what is still missing.

    Raises
    ------
    UnavailableError
        There is no Python to run, or it failed.
    """
    command = compiler_command(mode)
    while is_busy(folder):
        time.sleep(ASK_AGAIN)
    # What this process can import, that one can; -P keeps the current folder out.
    path = os.pathsep.join(entry for entry in sys.path if entry)
    own_group: Any = {"start_new_session": True}
    if sys.platform == "win32":
        own_group = {"creationflags": subprocess.CREATE_NO_WINDOW | subprocess.IDLE_PRIORITY_CLASS}
    done = subprocess.run(
        command,
        env=os.environ | {"PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
        **own_group,
    )
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines() or [f"exit code {done.returncode}"]
        raise UnavailableError(f"kernels could not be compiled: {said[-1]}", "fairdraw warmup compiles them by hand")


def compiler_command(mode: str) -> list[str]:
    """The command that compiles a mode.

    Raises
    ------
    UnavailableError
        This process is no Python that could be started again: a frozen program, or one that embeds it.
    """
    program = Path(sys.executable or "")
    if getattr(sys, "frozen", False) or not program.name.lower().startswith("python"):
        hint = "FAIRDRAW_BACKEND=numba compiles in this process"
        raise UnavailableError("there is no Python interpreter to compile with", hint)
    return [str(program), "-P", "-m", "fairdraw.kernels.warming", mode]


@contextmanager
def alone_in(folder: Path) -> Generator[None]:
    """Wait until no other process compiles into a folder; the system frees the lock of one that died."""
    with _lock_file(folder) as file:
        while not _take(file):
            time.sleep(ASK_AGAIN)
        yield


def is_busy(folder: Path) -> bool:
    """Whether a process compiles into a folder now."""
    with _lock_file(folder) as file:
        return not _take(file)


def _lock_file(folder: Path) -> IO[bytes]:
    folder.mkdir(parents=True, exist_ok=True)
    return (folder / LOCK).open("ab")


def _take(file: IO[bytes]) -> bool:
    """Take the lock of an open file, which goes when it is closed; where there are no locks, two may compile."""
    if sys.platform == "win32":
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def main(modes: list[str]) -> int:
    """Compile modes with the lowest priority; one line about what went wrong."""
    with contextlib.suppress(AttributeError, OSError):
        os.nice(19)
    try:
        for mode in modes:
            warm(mode)
    except Exception as problem:  # whatever Numba and LLVM raise
        sys.stderr.write(f"{type(problem).__name__}: {' '.join(str(problem).split())}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
