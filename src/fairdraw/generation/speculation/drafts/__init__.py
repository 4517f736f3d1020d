"""What guesses ahead: the text itself, a smaller model, heads on the target. The table names those with a text."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fairdraw.generation.speculation.drafts.lookup import PromptLookup as PromptLookup
from fairdraw.generation.speculation.drafts.models import FirstLayers as FirstLayers

DRAFTS: Mapping[str, tuple[Callable[..., Any], str, bool]] = MappingProxyType(
    {"lookup": (PromptLookup, "longest", False), "layers": (FirstLayers, "layers", True)}
)
"""Name, and the class, what its number is, and whether it needs one."""
