"""What the commands read: plans, rows of logits from files, and the row after a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import ModelFacts
from fairdraw.errors import ParameterError, PlanError, UnavailableError
from fairdraw.generation.loop import encode_prompt
from fairdraw.history import History
from fairdraw.models import Model, load
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan
from fairdraw.text.packages import missing_package

SUFFIXES = (".npy", ".npz", ".safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of logits with their numbers, and the tokens before them."""

    numbers: tuple[int, ...]
    logits: NDArray[Any]
    """Floating point, shape (rows, vocab)."""
    history: History
    source: str


def plan_from(
    text: str | None, params: SamplingParams, dialect: str, facts: ModelFacts | None, kept: Sequence[str] = ("seed",)
) -> Plan:
    """The plan of ``--plan``, or of the parameters as flags.

    Raises
    ------
    PlanError
        Both are given: nothing is ignored.
    """
    if text is None:
        return Plan.resolve(params, dialect=dialect, facts=facts)
    given = [name for name, _ in params.given() if name not in kept]
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise PlanError(f"--plan cannot be combined with {flags}", "write the values into the plan")
    return Plan.parse(text, facts=facts)


def read_rows(
    path: str, *, tensor: str | None, row: int | None, prompt_ids: Sequence[int], output_ids: Sequence[int]
) -> Rows:
    """Rows of a file: all of them, or one.

    Raises
    ------
    ParameterError
        The file, the tensor or the row is not there, or the array is not one or two axes of floats.
    """
    array = _read_array(Path(path), tensor)
    if array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2 or 0 in array.shape:
        raise ParameterError("--logits", f"shape {array.shape}", "(vocab,) or (rows, vocab), none of them 0")
    if row is not None and not -array.shape[0] <= row < array.shape[0]:
        raise ParameterError("--row", row, f"in 0..{array.shape[0] - 1}", f"{path} has {array.shape[0]} rows")
    numbers = tuple(range(array.shape[0])) if row is None else (row % array.shape[0],)
    history = History(prompt=prompt_ids, output=output_ids)
    return Rows(numbers=numbers, logits=array[list(numbers)], history=history, source=path)


def row_after(model: Model, prompt: str) -> Rows:
    """The one row after a user's message in the model's chat template."""
    ids = encode_prompt(model, prompt)
    logits = model.start().feed(ids)
    return Rows(
        numbers=(0,), logits=logits[np.newaxis], history=History(prompt=ids), source=f"{model.name} after the prompt"
    )


def model_named(name: str) -> Model:
    """Load a model by name."""
    return load(name)


def _read_array(path: Path, tensor: str | None) -> NDArray[Any]:
    if path.suffix not in SUFFIXES:
        raise ParameterError("--logits", str(path), f"a file that ends in {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise ParameterError("--logits", str(path), "a file that exists")
    if path.suffix == ".npy":
        return _numpy_load(path)
    if path.suffix == ".npz":
        archive = _numpy_load(path)
        return archive[_pick(list(archive.files), tensor, path)]
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise missing_package("safetensors", "read .safetensors files") from None
    try:
        with safe_open(path, framework="numpy") as file:
            return file.get_tensor(_pick(list(file.keys()), tensor, path))
    except (SafetensorError, TypeError, AttributeError) as problem:
        raise UnavailableError(f"{path} cannot be read as safetensors: {problem}") from None


def _numpy_load(path: Path) -> Any:
    try:
        return np.load(path, allow_pickle=False)
    except Exception as problem:
        raise UnavailableError(f"{path} cannot be read: {problem}") from None


def _pick(names: list[str], tensor: str | None, path: Path) -> str:
    if tensor is None and len(names) == 1:
        return names[0]
    if tensor not in names:
        hint = f"{path} has {', '.join(names[:10])}"
        raise ParameterError("--tensor", tensor, "the name of an array in the file", hint)
    return tensor  # type: ignore[return-value]
