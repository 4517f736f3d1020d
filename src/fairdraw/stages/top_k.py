"""Top-k: keep the k most probable tokens (Fan, Lewis and Dauphin, "Hierarchical neural story generation", 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Literal

from fairdraw.context import Context
from fairdraw.domains import Choice, Whole
from fairdraw.errors import ParameterError
from fairdraw.rows import Row, Ties
from fairdraw.stages.base import TIES, CutStage, Domains


@dataclass(frozen=True, slots=True, kw_only=True)
class TopK(CutStage):
    """Keep the k tokens with the highest logits; a k that reaches the whole row keeps all.

    Notes
    -----
    Ties at the cut: ``"lowest"`` keeps exactly k, the lower ids first; ``"all"`` keeps every token that equals the
    k-th (transformers); ``"any"`` keeps exactly k and reports the tie group, since the engine leaves open which.

    Examples
    --------
    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.float32([3, 2, 2, 1]), RealMasses)
    >>> [TopK(k=2, ties=ties).apply(row, Context()).kept.tolist() for ties in ("lowest", "all")]
    [[0, 1], [0, 1, 2]]
    """

    name: ClassVar[str] = "top_k"
    domains: ClassVar[Domains] = MappingProxyType(
        {"k": Whole(1), "ties": TIES, "beyond": Choice(("off", "refuse_whole", "refuse_more"))}
    )

    k: int
    """How many tokens stay, at least 1."""
    ties: Ties = "lowest"
    """What happens to tokens equal to the k-th."""
    beyond: Literal["off", "refuse_whole", "refuse_more"] = "off"
    """What a k of the whole row or more does: keep all, or be refused from V or from V + 1 on."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the best k tokens."""
        most = {"off": self.k, "refuse_whole": row.vocab - 1, "refuse_more": row.vocab}[self.beyond]
        if self.k > most:
            hint = "the engine fails on a k beyond its row"
            raise ParameterError("top_k.k", self.k, f"at most {most} on a row of {row.vocab} in this plan", hint)
        return row.keep(row.best, min(self.k, row.kept.size), self.ties)
