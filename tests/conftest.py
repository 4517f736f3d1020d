"""Shared by all tests: one BLAS thread, repeatable hypothesis, the real rows."""

from __future__ import annotations

import os

# Before NumPy is imported: several BLAS threads on shared cores cost far more than they bring.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
# Tests start no compilers, unless they say so.
os.environ.setdefault("FAIRDRAW_BACKEND", "numpy")

from pathlib import Path

import hypothesis
import numpy as np
import pytest

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
hypothesis.settings.load_profile("repeatable")

GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture(scope="session")
def real_rows() -> np.ndarray:
    """Ten rows of SmolLM2's logits, float32, shape (10, 49152); their numbers stand in smollm2_rows.json."""
    from safetensors.numpy import load_file

    return load_file(GOLDEN / "smollm2_rows.safetensors")["logits"]


@pytest.fixture
def numpy_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """No kernels: for tests that put their own numbers into the NumPy noise."""
    monkeypatch.setattr("fairdraw.kernels.backends.chosen", lambda: "numpy")
