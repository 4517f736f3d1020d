"""Typical acceptance: more tokens are accepted, and the text does not follow the target's law.

It is here to be compared with, under a name that says so; nothing chooses it by default.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairdraw.generation.speculation.chance import Reals, Tokens
from fairdraw.generation.speculation.siblings import TokenWise, at


@dataclass(frozen=True, slots=True, kw_only=True)
class InexactTypical(TokenWise):
    """Accept a token if p(x) > min(epsilon, delta exp(-H(p))), H the entropy in nats; the law is not the target's.

    Source: Cai et al., "Medusa" (ICML 2024), section 2.3.1; their delta is the root of epsilon.

    Examples
    --------
    >>> p = np.array([0.6, 0.3, 0.06, 0.04])
    >>> [float(InexactTypical().acceptance(p, p, np.array(x))) for x in range(4)]
    [1.0, 1.0, 0.0, 0.0]
    """

    epsilon: float = 0.09
    """Accepted whatever the entropy is, above this probability."""
    delta: float = 0.3
    """Share of exp(-H) that is enough."""

    def acceptance(self, left: Reals, law: Reals, token: Tokens) -> Reals:
        """1 or 0: no chance is involved."""
        entropy = -(left * np.log(np.where(left > 0, left, 1))).sum(axis=-1)
        return (at(left, token) > np.minimum(self.epsilon, self.delta * np.exp(-entropy))).astype(np.float64)

    def residual(self, left: Reals, law: Reals) -> Reals:
        """The target itself: this is what makes the law another."""
        return left
