"""Tests against the real engines: `pytest -m engines`, after `pip install -e '.[engines]'`."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Fix the order of torch's float32 sums; skip where the engines are not installed."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    torch.set_num_threads(1)
