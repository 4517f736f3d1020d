"""Steps and shapes that several dialects share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Fill, Mode, Parameter, Step, Values, Variant, off_if
from fairdraw.stages import Temperature

DIVIDED_TEMPERATURE = Step(
    stage=Temperature,
    fields={"value": "temperature"},
    switches={"operation": "divide"},
    off=(off_if("temperature", "is", 1.0),),
)
"""PyTorch's float32 division of the logits; 1 changes nothing."""


def always_sampling(parameters: tuple[Parameter, ...], *steps: Step) -> Mapping[str, Variant]:
    """The variants of an engine that has one way and always draws."""
    return MappingProxyType({"": Variant(parameters=parameters, modes=(Mode(name="sample", steps=steps),))})


def in_float32(name: str) -> Fill:
    """A number as the float32 that an engine computes with."""

    def fill(values: Values, facts: ModelFacts | None) -> object:
        return float(np.float32(values[name]))  # type: ignore[arg-type]

    return fill


def or_zero(name: str) -> Fill:
    """A number that is 0 where nobody set it."""

    def fill(values: Values, facts: ModelFacts | None) -> object:
        return values[name] or 0.0

    return fill
