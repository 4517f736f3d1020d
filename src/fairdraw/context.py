"""What a stage may read besides the row, and what a plan may read of a model.  Nothing in it is random."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fairdraw.history import History

Memory = Mapping[str, object]
"""State of the stateful stages, by their names: plain data."""


def _nothing() -> Mapping[str, object]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What resolving a plan may need to know of a model."""

    vocab_size: int
    """Width of a logits row, padding included."""
    end_token_ids: tuple[int, ...] = ()
    """Ids that end a text."""
    context_length: int | None = None
    """Most tokens the model can read, prompt and output together."""
    defaults: Mapping[str, object] = field(default_factory=_nothing)
    """Sampling parameters that the model's own files ask for, in an engine's own names."""
    encode: Callable[[str], list[int]] | None = None
    """Text to token ids, nothing added; needed by parameters that are given as text (``bad_words``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """Everything a stage may read besides the row."""

    history: History = field(default_factory=History)
    mask: NDArray[np.bool_] | None = None
    """Allowed ids, from a constraint: bool, shape (vocab,)."""
    second: NDArray[np.float32] | None = None
    """The logits without the prompt, for guidance: float32, shape (vocab,)."""
    facts: ModelFacts | None = None
    memory: Memory = field(default_factory=_nothing)
    """State of the stateful stages, before this token."""
