"""What the commands read: plans, rows of logits from files, and the row after a prompt."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from fairdraw.cli.flags import IDS, WHOLE
from fairdraw.context import ModelFacts
from fairdraw.dialects.reading import did_you_mean
from fairdraw.errors import ParameterError, PlanError, UnavailableError
from fairdraw.generation.prompts import encode_prompt
from fairdraw.history import History
from fairdraw.models import Model, load
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan
from fairdraw.text.packages import missing_package

SOME_MODEL = ModelFacts(vocab_size=2**31, end_token_ids=(0,), encode=lambda text: [0])
"""Enough to resolve a plan for its mistakes, before a model is fetched."""
SUFFIXES = (".npy", ".npz", ".safetensors")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of logits with their numbers, and the tokens before them."""

    numbers: tuple[int, ...]
    logits: NDArray[Any]
    """Floating point, shape (rows, vocab)."""
    history: History
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the rows come from, as the flags say it: a file, the model after a prompt, or nowhere."""

    prompt: str | None = None
    """The row that the model gives after this message."""
    logits: str | None = None
    """Rows of a file: .npy, .npz or .safetensors."""
    tensor: str | None = None
    """Name of the array in a .npz or .safetensors file that has several."""
    row: Annotated[int | None, WHOLE] = None
    """Number of the row, from 0 (negative: from the end). If not given: all (compare), the first (explain)."""
    prompt_ids: Annotated[tuple[int, ...], IDS] = ()
    """Token ids of the prompt, for penalties: 11 12 13. Only with --logits."""
    output_ids: Annotated[tuple[int, ...], IDS] = ()
    """Token ids drawn so far. Only with --logits."""
    model: str | None = None
    """Model for --prompt (smollm2), or whose token texts label the ids of --logits."""

    def __post_init__(self) -> None:
        if self.prompt is not None and self.logits is not None:
            raise PlanError("--prompt and --logits cannot be combined", "one of the two gives the row")
        if self.logits is None:
            for name in ("tensor", "row", "prompt_ids", "output_ids"):
                if getattr(self, name) not in (None, ()):
                    raise PlanError(f"--{name.replace('_', '-')} needs --logits", "it speaks of a row of a file")

    def load_model(self) -> Model | None:
        """The model, where the flags ask for one."""
        return load(self.model or "smollm2") if self.prompt is not None or self.model is not None else None

    def rows(self, model: Model | None) -> Rows | None:
        """The rows, if there are any.

        Raises
        ------
        ParameterError
            The file, the tensor or the row is not there, or is no array of floats with one or two axes.
        """
        if self.logits is not None:
            return _read_rows(self, self.logits)
        if self.prompt is not None and model is not None:
            return _row_after(model, self.prompt)
        return None


def plan_from(
    text: str | None, params: SamplingParams, dialect: str | None, facts: ModelFacts | None, kept: Sequence[str]
) -> Plan:
    """The plan of ``--plan``, or of the parameters as flags.

    Raises
    ------
    PlanError
        Both are given: nothing is ignored.
    """
    if text is None:
        asked = params
        if dialect not in (None, "fairdraw"):
            # The command sees to these itself, whether the engine has a name for them or not.
            asked = SamplingParams(**{name: value for name, value in params.given() if name not in kept})
        return Plan.resolve(asked, dialect=dialect or "fairdraw", facts=facts)
    given = [name for name, _ in params.given() if name not in kept] + ["dialect"] * (dialect is not None)
    if given:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise PlanError(f"--plan cannot be combined with {flags}", "write the values into the plan")
    return plan_of(text, facts)


def plan_of(text: str, facts: ModelFacts | None) -> Plan:
    """A plan as text, as JSON, or as a file of JSON (what ``--json`` prints of a plan).

    Raises
    ------
    PlanError, ParameterError
        As in `Plan.parse` and `Plan.from_json`.
    """
    if text.endswith(".json") and Path(text).is_file():
        text = Path(text).read_text(encoding="utf-8")
    if not text.lstrip().startswith("{"):
        return Plan.parse(text, facts=facts)
    try:
        data = json.loads(text)
    except ValueError as problem:
        raise PlanError(f"a plan that begins with '{{' must be JSON: {problem}") from None
    return Plan.from_json(data.get("plan", data))


def parse_plan(text: str, model: Model | None) -> Plan:
    """A plan from its text, with what the model knows.

    Raises
    ------
    PlanError, ParameterError
        As in `Plan.parse`; what needs a model says which flag gives one.
    """
    try:
        return plan_of(text, model.facts if model else None)
    except ParameterError as problem:
        if model is None and "facts" in problem.hint:
            hint = "--model smollm2 tells its end ids and its tokens"
            raise ParameterError(problem.parameter, problem.value, problem.domain, hint) from None
        raise


def _read_rows(source: Source, path: str) -> Rows:
    array, row = _read_array(Path(path), source.tensor), source.row
    if array.ndim not in (1, 2) or 0 in array.shape:
        raise ParameterError("--logits", f"shape {array.shape}", "(vocab,) or (rows, vocab), none of them 0")
    array = array[np.newaxis] if array.ndim == 1 else array
    if row is not None and not -array.shape[0] <= row < array.shape[0]:
        raise ParameterError("--row", row, f"in 0..{array.shape[0] - 1}", f"{path} has {array.shape[0]} rows")
    numbers = tuple(range(array.shape[0])) if row is None else (row % array.shape[0],)
    for flag, given in (("--prompt-ids", source.prompt_ids), ("--output-ids", source.output_ids)):
        if given and max(given) >= array.shape[1]:
            raise ParameterError(
                flag, max(given), f"in 0..{array.shape[1] - 1}", f"{path} has {array.shape[1]} columns"
            )
    history = History(prompt=source.prompt_ids, output=source.output_ids)
    return Rows(numbers=numbers, logits=array[list(numbers)], history=history, source=path)


def _row_after(model: Model, prompt: str) -> Rows:
    """The one row after a user's message in the model's chat template."""
    ids = encode_prompt(model, prompt)
    logits = model.start().feed(ids)
    return Rows(
        numbers=(0,), logits=logits[np.newaxis], history=History(prompt=ids), source=f"{model.name} after the prompt"
    )


def _read_array(path: Path, tensor: str | None) -> NDArray[Any]:
    if path.suffix not in SUFFIXES:
        raise ParameterError("--logits", str(path), f"a file that ends in {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise ParameterError("--logits", str(path), "a file that exists")
    if path.suffix == ".npy":
        if tensor is not None:
            raise ParameterError("--tensor", tensor, "absent for .npy", "such a file holds one array without a name")
        return _numpy_load(path)
    if path.suffix == ".npz":
        archive = _numpy_load(path)
        name = _pick(list(archive.files), tensor, path)
        try:
            return archive[name]
        except Exception:
            raise UnavailableError(f"{path}: its arrays cannot be read as numbers") from None
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
        raise UnavailableError(f"{path} is no NumPy file of numbers ({type(problem).__name__})") from None


def _pick(names: list[str], tensor: str | None, path: Path) -> str:
    if tensor is None and len(names) == 1:
        return names[0]
    if tensor not in names:
        hint = did_you_mean(tensor or "", names) or f"{path} has {', '.join(names[:10]) or 'none'}"
        raise ParameterError("--tensor", tensor, "the name of an array in the file", hint)
    return tensor  # type: ignore[return-value]
