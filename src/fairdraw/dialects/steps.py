"""Steps and shapes that several dialects share."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fairdraw.dialects.base import Mode, Parameter, Step, Variant, off_if
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
