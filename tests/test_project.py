"""Facts about the package as a whole."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import fairdraw as fd

ROOT = Path(__file__).resolve().parent.parent
HEAVY = ("numba", "scipy", "torch", "rich", "cyclopts", "gguf", "tokenizers", "jinja2", "safetensors")


def modules_after(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join(sys.modules))"
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return {name.partition(".")[0] for name in listed.split()}


def test_importing_fairdraw_loads_numpy_and_nothing_heavy():
    loaded = modules_after("import fairdraw")
    assert "numpy" in loaded
    assert loaded.isdisjoint(HEAVY)


def test_drawing_a_token_without_kernels_loads_nothing_heavy_either():
    draw = (
        "import os; os.environ['FAIRDRAW_BACKEND'] = 'numpy'; import fairdraw as fd; "
        "fd.sample(fd.Plan.parse('fairdraw: top_p=0.9'), [1.0, 2.0], seed=1, position=0)"
    )
    assert modules_after(draw).isdisjoint(HEAVY)


def test_every_exported_name_exists_and_is_listed_in_order():
    assert all(hasattr(fd, name) for name in fd.__all__)
    assert fd.__all__ == sorted(fd.__all__, key=lambda name: (not name.isupper(), name[0].islower(), name))


def test_the_version_is_the_project_files_one():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == fd.__version__


def test_the_layout_in_the_readme_is_the_layout():
    readme = (ROOT / "README.md").read_text()
    block = readme.partition("    src/fairdraw/\n")[2].partition("\n\n")[0]
    named = set(re.findall(r"\b([a-z_0-9]+(?:\.py|/))", block))
    source = ROOT / "src/fairdraw"
    modules = {path.name for path in source.glob("*.py")} - {"__init__.py"}
    packages = {f"{path.parent.name}/" for path in source.glob("*/__init__.py")}
    assert modules | packages <= named


def test_the_base_needs_numpy_and_numba_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert [re.match(r"\w+", need)[0] for need in project["dependencies"]] == ["numpy", "numba"]
    assert not any("torch" in need for need in project["optional-dependencies"]["test"])
