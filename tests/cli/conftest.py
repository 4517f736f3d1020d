"""Commands in this process, with what they printed; and small files of rows."""

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

ROWS = np.float32([[2.0, 1.5, 1.0, 0.5, 0.0, -1.0], [9.0, 0.0, 0.0, 0.0, 0.0, 0.0]])


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def plain_output(monkeypatch) -> None:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "FAIRDRAW_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cli(capsys) -> Callable[..., Ran]:
    from fairdraw.cli.main import run

    def command(*arguments: str) -> Ran:
        capsys.readouterr()
        code = run(list(arguments))
        said = capsys.readouterr()
        return Ran(code, said.out, said.err)

    return command


@pytest.fixture
def process(tmp_path) -> Callable[..., Ran]:
    def command(*arguments: str, **environment: str) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "fairdraw.cli", *arguments],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=os.environ | environment,
            cwd=tmp_path,
            timeout=120,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return command


@pytest.fixture
def rows_npy(tmp_path: Path) -> str:
    """Two rows: the golden one of six tokens, and a peak before equal tokens."""
    np.save(tmp_path / "rows.npy", ROWS)
    return str(tmp_path / "rows.npy")
