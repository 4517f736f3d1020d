"""Mistakes and odd arrays where a kernel draws: the same errors and the same tokens as in NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels import backends
from fairdraw.kernels.calling import kind_of

pytest.importorskip("fairdraw.kernels.numba_cpu.entries")
PLAN = fd.Plan.parse("fairdraw: temperature=0.7 top_k=3")
ROW = np.float32([2.0, 1.5, 1.0, 0.5, 0.0])


@pytest.fixture(autouse=True)
def _kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "chosen", lambda: "numba")
    backends._ASKED.clear()


def by_both(monkeypatch: pytest.MonkeyPatch, ask: Callable[[], object]) -> list[object]:
    """What kernels and what NumPy say: a result, or the text of one of our errors."""
    said: list[object] = []
    for backend in ("numba", "numpy"):
        monkeypatch.setattr(backends, "chosen", lambda backend=backend: backend)
        try:
            said.append(ask())
        except fd.FairdrawError as problem:
            said.append(f"{type(problem).__name__}: {problem}")
    return said


class Tensor:
    """What fairdraw asks of a torch tensor."""

    def __init__(self, values: np.ndarray, problem: Exception | None = None, dtype: str = "float32") -> None:
        self.values, self.problem, self.dtype, self.device = values, problem, dtype, SimpleNamespace(type="cpu")
        self.ndim, self.shape = values.ndim, values.shape

    def detach(self) -> Tensor:
        return self

    def is_neg(self) -> bool:
        return self.problem is not None

    def view(self, dtype: str) -> Tensor:
        return Tensor(-self.values, None, dtype)

    def float(self) -> Tensor:
        return Tensor(self.values)

    def resolve_neg(self) -> Tensor:
        return self if type(self.problem) is TypeError else Tensor(self.values)

    def numpy(self) -> np.ndarray:
        if self.problem is not None:
            raise self.problem
        return self.values

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.numpy()


TORCH = SimpleNamespace(Tensor=Tensor, float32="float32", float16="float16", bfloat16="torch.bfloat16", int16="int16")


def test_a_packed_mask_without_words_forbids_every_id(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = fd.Plan.parse("custom: mask() > top_p(p=0.8) > inverse_cdf()")
    mask = fd.PackedMask(words=np.zeros(0, np.int32), beyond="forbid")
    alone = by_both(monkeypatch, lambda: fd.sample(plan, ROW, seed=1, position=2, mask=mask).token)
    batch = by_both(
        monkeypatch,
        lambda: fd.sample_batch(plan, [ROW], seeds=1, positions=2, masks=[mask], on_error="return").status,
    )
    assert alone[0] == alone[1]
    assert str(alone[0]).startswith("LogitsError")
    assert batch[0] == batch[1] != ("",)


def test_a_forbidden_import_of_torch_is_no_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)  # type: ignore[arg-type]
    assert kind_of([0.5, 2.0]) == ([0.5, 2.0], -1)
    said = by_both(monkeypatch, lambda: fd.sample(PLAN, ROW.tolist(), seed=1, position=2).token)
    assert said[0] == said[1]


@pytest.mark.parametrize("dtype", ["float32", "torch.bfloat16"])
def test_a_view_that_negates_draws_what_its_values_draw(monkeypatch: pytest.MonkeyPatch, dtype: str) -> None:
    monkeypatch.setitem(sys.modules, "torch", TORCH)  # type: ignore[arg-type]
    row = Tensor(ROW, RuntimeError("negative bit"), dtype)
    for position in range(8):
        said = by_both(monkeypatch, lambda at=position: fd.sample(PLAN, row, seed=1, position=at).token)
        assert said == [fd.sample(PLAN, ROW, seed=1, position=position).token] * 2


def test_a_tensor_without_plain_memory_is_refused_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", TORCH)  # type: ignore[arg-type]
    row = Tensor(ROW, TypeError("sparse"))
    said = by_both(monkeypatch, lambda: fd.sample(PLAN, row, seed=1, position=2).token)
    assert said[0] == said[1]
    assert str(said[0]).startswith("LogitsError: logits must be an array of floats that NumPy can read")
    said = by_both(monkeypatch, lambda: fd.sample_batch(PLAN, [row], seeds=1, positions=2).tokens)
    assert said[0] == said[1]
    assert str(said[0]).startswith("LogitsError: logits row 0 must be an array of floats")
