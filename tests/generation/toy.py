"""A model of a few tokens that says what it is told to: logits are scripted, one row a step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairdraw.context import ModelFacts


@dataclass(frozen=True, kw_only=True)
class ToyTokenizer:
    texts: tuple[bytes, ...]
    chat_template: str | None = None

    @property
    def vocab_size(self) -> int:
        return len(self.texts)

    def token_bytes(self, token: int) -> bytes:
        return self.texts[token]

    def encode(self, text: str) -> list[int]:
        return [self.texts.index(text.encode())]


@dataclass
class ToySession:
    model: ToyModel
    length: int = 0

    def feed(self, tokens: Sequence[int]) -> np.ndarray:
        self.length += len(tokens)
        self.model.fed.append(tuple(tokens))
        step = len(self.model.fed) - 1
        row = self.model.rows[min(step, len(self.model.rows) - 1)]
        return np.array(row, np.float32)


@dataclass
class ToyModel:
    """``rows[i]`` are the logits of step i; the last one repeats."""

    rows: Sequence[Sequence[float]]
    texts: tuple[bytes, ...]
    ends: tuple[int, ...] = ()
    context_length: int | None = None
    name: str = "toy"
    fed: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def facts(self) -> ModelFacts:
        return ModelFacts(
            vocab_size=len(self.texts),
            end_token_ids=self.ends,
            context_length=self.context_length,
            encode=self.tokenizer.encode,
        )

    @property
    def tokenizer(self) -> ToyTokenizer:
        return ToyTokenizer(texts=self.texts)

    def start(self) -> ToySession:
        return ToySession(self)


def saying(tokens: Sequence[int], texts: Sequence[bytes | str], **more: object) -> ToyModel:
    """A model whose best token at step i is ``tokens[i]``."""
    encoded = tuple(text.encode() if isinstance(text, str) else text for text in texts)
    rows = [[5.0 if token == best else 0.0 for token in range(len(encoded))] for best in tokens]
    return ToyModel(rows=rows, texts=encoded, **more)  # type: ignore[arg-type]
