"""Watermark: a bias for a keyed part of the vocabulary (Kirchenbauer et al., "A watermark for LLMs", 2023)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fairdraw.context import Context
from fairdraw.domains import Choice, Real, Whole
from fairdraw.masses import Ids
from fairdraw.rows import Row
from fairdraw.stages.base import Domains, Stage
from fairdraw.streams.torch_mt19937 import mt19937

TABLE = 1_000_003
"""Size of the fixed table of ``"selfhash"``."""
MOST_TRIED = 40
"""How many of the best tokens ``"selfhash"`` looks at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermark(Stage):
    """Add a bias to the green ids: a part of the vocabulary that the last tokens and a key choose.

    ``"lefthash"``: the last token seeds a shuffle whose first part is green.  ``"selfhash"``: each of the 40 best
    tokens, with the tokens before it, seeds its own shuffle, and is green if it lies in the first part.  A forbidden
    id stays forbidden.  A text shorter than ``width``, left padding included, gets no bias.

    Notes
    -----
    The shuffles are ``torch.randperm`` on the CPU (mt19937 from the low 32 bits of the seed), so torch's own
    detector finds the mark.  Which of several equal tokens are among the 40 best is left to the engine's sort; here
    the lower ids.  Cost: a shuffle of ``share`` of the vocabulary, for ``"selfhash"`` 40 of them.
    Source: transformers 5.24.0, generation/logits_process.py, ``WatermarkLogitsProcessor``; torch 2.13.0.

    Examples
    --------
    >>> from fairdraw.history import History
    >>> from fairdraw.masses import RealMasses
    >>> row, context = Row.of(np.zeros(8, np.float32), RealMasses), Context(history=History(prompt=[5]))
    >>> np.flatnonzero(Watermark(bias=2.0).apply(row, context).scores).tolist()
    [0, 5]
    """

    name: ClassVar[str] = "watermark"
    domains: ClassVar[Domains] = MappingProxyType(
        {
            "bias": Real(),
            "share": Real(0, 1, open="both"),
            "key": Whole(0, 2**63 - 1),
            "scheme": Choice(("lefthash", "selfhash")),
            "width": Whole(1),
        }
    )

    bias: float = 2.0
    """What is added. Off: 0."""
    share: float = 0.25
    """Which part of the vocabulary is green, in (0, 1)."""
    key: int = 15_485_863
    """The secret that seeds every shuffle."""
    scheme: Literal["lefthash", "selfhash"] = "lefthash"
    """What a shuffle is seeded with besides."""
    width: int = 1
    """How many of the last tokens, the candidate included, seed ``"selfhash"``; fewer in the text: no bias."""

    def apply(self, row: Row, context: Context) -> Row:
        """Return the row with the bias on the green ids."""
        tokens = context.history.tail("padded", self.width)
        if tokens.size < self.width:
            return row
        green = self._green(row.vocab, int(tokens[-1])) if self.scheme == "lefthash" else self._own_green(row, tokens)
        with np.errstate(over="ignore"):
            return row.edited(green, row.scores[green] + np.float32(self.bias))

    def _green(self, vocab: int, last: int) -> Ids:
        return shuffled(vocab, int(vocab * self.share), _low_bits(_wrapped(self.key * last)))

    def _own_green(self, row: Row, tokens: NDArray[np.int64]) -> Ids:
        known = min(TABLE, max(row.vocab, int(tokens.max()) + 1))
        table, first = shuffled(TABLE, known, _low_bits(self.key)), int(row.vocab * self.share)
        green = []
        for token in row.order[:MOST_TRIED].tolist():
            seen = np.append(tokens, token)[-self.width :]
            own = int(table[token % TABLE]) + 1
            seed = min(_wrapped(_wrapped(self.key * (int(table[i % TABLE]) + 1)) * own) for i in seen.tolist())
            if token in shuffled(row.vocab, first, _low_bits(seed)):
                green.append(token)
        return np.array(sorted(green), np.int64)


def _wrapped(number: int) -> int:
    """What int64 makes of it."""
    return (number + 2**63) % 2**64 - 2**63


def _low_bits(seed: int) -> int:
    """What torch's generator takes of a seed, as the engine cuts it."""
    return seed % (2**64 - 1) & 0xFFFFFFFF


@lru_cache(maxsize=128)
def shuffled(size: int, first: int, seed: int) -> Ids:
    """The first entries of ``torch.randperm(size)`` on the CPU, for sizes below 2^32 / 20; read-only.

    Examples
    --------
    >>> shuffled(8, 2, 5 * 15_485_863).tolist()
    [0, 5]
    """
    order: list[int] = []
    # Where an entry no longer has its own number; torch takes no word for the last one.
    moved: dict[int, int] = {}
    for place, word in enumerate([*mt19937(seed).random_raw(min(first, size - 1)).tolist(), 0][:first]):
        other = place + word % (size - place)
        here = moved.get(place, place)
        order.append(moved.get(other, other))
        moved[other] = here
    out = np.array(order, np.int64)
    out.flags.writeable = False
    return out
