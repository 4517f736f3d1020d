"""What ends a text: everything in a plan that is not about one token's distribution."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import ClassVar

from fairdraw.domains import SEED, Domain, Texts, TokenIds, Truth, Whole, require


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a text ends, how many texts there are, and what is reported of each token."""

    domains: ClassVar[Mapping[str, Domain]] = MappingProxyType(
        {
            "max_tokens": Whole(0),
            "min_tokens": Whole(0),
            "stop": Texts(),
            "stop_token_ids": TokenIds(),
            "include_stop_str_in_output": Truth(),
            "ignore_eos": Truth(),
            "n": Whole(1, 2**32 - 1),
            "seed": SEED,
            "logprobs": Whole(0),
        }
    )

    max_tokens: int | None = None
    """At most this many tokens; None: the caller decides."""
    min_tokens: int = 0
    """No end and no stop before this many tokens."""
    stop: tuple[str, ...] = ()
    """Texts that end the output."""
    stop_token_ids: tuple[int, ...] = ()
    """Token ids that end the output, beside the model's own."""
    include_stop_str_in_output: bool = False
    """Whether the stop text that matched stays in the output."""
    ignore_eos: bool = False
    """Whether to go on after the model's own end ids."""
    n: int = 1
    """How many texts: sample indices 0 to n-1."""
    seed: int | None = None
    """The request's seed; None: a fresh one."""
    logprobs: int | None = None
    """How many of the best alternatives are reported with each token; None: no report."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                object.__setattr__(self, field.name, require(field.name, value, self.domains[field.name]))
