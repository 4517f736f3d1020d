"""What guesses ahead: the text itself, a smaller model, heads on the target. The table names those with a text."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fairdraw.generation.speculation.drafts.lookup import PromptLookup as PromptLookup
from fairdraw.generation.speculation.drafts.models import FirstLayers as FirstLayers

DRAFTS: Mapping[str, tuple[Callable[..., Any], str, str]] = MappingProxyType(
    {
        "lookup": (PromptLookup, "longest", ""),
        "layers": (FirstLayers, "layers", "how many of the model's first layers: layers:28"),
    }
)
"""Name, and the class, what its number is, and what it means if it must be given."""
