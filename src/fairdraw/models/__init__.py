"""Sources of logits. The table names them; a model's module is imported when it is loaded."""

from collections.abc import Mapping
from types import MappingProxyType

from fairdraw.models.loading import load as load
from fairdraw.models.protocol import Model as Model
from fairdraw.models.protocol import Session as Session

MODELS: Mapping[str, str] = MappingProxyType({"smollm2": "fairdraw.models.smollm2:load"})
"""Name of a model, and ``module:function`` that loads it."""
