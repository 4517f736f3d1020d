"""Top-p decay: a nucleus that shrinks from token to token (Lee et al., "Factuality enhanced language models", 2022)."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from fairdraw.context import Context
from fairdraw.domains import PROBABILITY, TOKEN_ID, Choice
from fairdraw.masses import Boundary
from fairdraw.rows import Row, Ties
from fairdraw.stages.base import BOUNDARY, TIES, Domains, StatefulStage
from fairdraw.stages.checkpoint import CHECKPOINTS
from fairdraw.stages.top_p import TopP


@dataclass(frozen=True, slots=True, kw_only=True)
class TopPDecay(StatefulStage):
    """Top-p whose p is multiplied by a decay after each token, down to a floor, until a reset id is drawn.

    The memory is the p of the next step.  Factual nucleus sampling resets at the end of a sentence.

    Notes
    -----
    Source: TensorRT-LLM, cpp/tensorrt_llm/kernels/samplingTopPKernels.cu, the top-p decay kernel (read, not run):
    max(p * decay, lowest), and the first p again after the reset id.  It cuts
    nothing: it draws from the first p of the mass.

    Examples
    --------
    >>> from fairdraw.rows import Row
    >>> import numpy as np
    >>> from fairdraw.masses import RealMasses
    >>> row = Row.of(np.log(np.float32([0.5, 0.3, 0.2])), RealMasses)
    >>> stage = TopPDecay(p=0.9, decay=0.5, lowest=0.3, reset_id=2)
    >>> stage.apply(row, Context()).kept.tolist(), stage.advance(row, Context(), 0)
    ([0, 1, 2], 0.45)
    >>> later = Context(memory={"top_p_decay": 0.45})
    >>> stage.apply(row, later).kept.tolist(), stage.advance(row, later, 0), stage.advance(row, later, 2)
    ([0], 0.3, 0.9)
    """

    name: ClassVar[str] = "top_p_decay"
    domains: ClassVar[Domains] = MappingProxyType(
        {
            "p": PROBABILITY,
            "decay": PROBABILITY,
            "lowest": PROBABILITY,
            "reset_id": TOKEN_ID,
            "boundary": BOUNDARY,
            "mass": Choice(("current", *CHECKPOINTS)),
            "ties": TIES,
        }
    )

    p: float
    """Mass of the first prefix, and of those after the reset id. In [0, 1]."""
    decay: float
    """What p is multiplied by. In [0, 1]; off: 1."""
    lowest: float = 0.0
    """p never falls below this. In [0, 1]."""
    reset_id: int | None = None
    """The id after which p starts again; None: none."""
    boundary: Boundary = "inclusive"
    """As in top-p."""
    mass: str = "current"
    """As in top-p."""
    ties: Ties = "lowest"
    """As in top-p."""

    def start(self) -> float:
        """The first p."""
        return self.p

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the prefix of this step's mass."""
        p = float(self.memory(context))
        return TopP(p=p, boundary=self.boundary, mass=self.mass, ties=self.ties).apply(row, context)

    def advance(self, row: Row, context: Context, token: int) -> float:
        """The next p."""
        return self.p if token == self.reset_id else max(float(self.memory(context)) * self.decay, self.lowest)
