"""Mistakes and odd arrays where a kernel draws: the same errors and the same tokens as in NumPy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import pytest

import fairdraw as fd
from fairdraw.kernels import backends
from fairdraw.kernels.calling import as_source, kind_of

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


@pytest.mark.parametrize("seeds", [np.array(3), np.array(3, np.uint64), np.array(3, object), np.int32(3)])
def test_a_seed_in_an_array_without_axes_is_that_seed(monkeypatch: pytest.MonkeyPatch, seeds: np.ndarray) -> None:
    def ask() -> list[int]:
        batch = fd.sample_batch(PLAN, [ROW] * 8, seeds=seeds, positions=range(8), sample_indices=np.array(1))
        return batch.tokens.tolist()

    alone = [fd.sample(PLAN, ROW, seed=3, position=position, sample_index=1).token for position in range(8)]
    assert by_both(monkeypatch, ask) == [alone, alone]


@pytest.mark.parametrize(
    ("name", "values", "came"),
    [
        ("seeds", np.array([[1], [2], [3]]), "'shape (3, 1)'"),
        ("positions", [[1], [2], [3]], "'shape (3, 1)'"),
        ("seeds", [[1], [2, 3], 4], "[[1], [2, 3], 4]"),
        ("sample_indices", [1, 2], "'2 of them'"),
    ],
)
def test_numbers_that_are_not_one_a_row_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, values: object, came: str
) -> None:
    numbers: dict[str, object] = {"seeds": 1, "positions": 2} | {name: values}
    said = by_both(monkeypatch, lambda: fd.sample_batch(PLAN, [ROW] * 3, on_error="return", **numbers))  # type: ignore[arg-type]
    assert said[0] == said[1]
    assert str(said[0]).startswith(f"ParameterError: {name} must be ")
    assert f", got {came}" in str(said[0])


def test_many_rows_of_a_masked_array_are_refused_by_both(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.ma.array([ROW, ROW], mask=[[True, False, False, False, False]] * 2)
    said = by_both(monkeypatch, lambda: fd.sample_batch(PLAN, rows, seeds=1, positions=2).tokens)
    assert said[0] == said[1]
    assert str(said[0]).startswith("LogitsError: logits row 0 must hide nothing, got numpy.ma.MaskedArray")


def test_no_kernel_reads_a_row_whose_entries_straddle(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = np.zeros(4 * ROW.size + 1, np.uint8)
    row = memory[1:].view(np.float32)
    row[:] = ROW
    assert not row.flags.aligned
    for given in (row, np.ascontiguousarray(ROW[::-1])[::-1]):
        source, kind = as_source(given)
        assert (source.flags.aligned, source.flags.c_contiguous, type(source), kind) == (True, True, np.ndarray, 0)
        assert source.tolist() == ROW.tolist()
        said = by_both(monkeypatch, lambda given=given: fd.sample(PLAN, given, seed=1, position=6).token)
        assert said == [fd.sample(PLAN, ROW, seed=1, position=6).token] * 2
