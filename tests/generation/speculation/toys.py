"""A model whose rows depend on the last two tokens, so that every rollback and every branch shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from fairdraw.context import ModelFacts
from generation.toy import ToyTokenizer


@dataclass
class PrefixSession:
    model: PrefixModel
    tokens: list[int] = field(default_factory=list)
    looked: int = 0
    hidden: np.ndarray = field(default_factory=lambda: np.zeros((0, 1), np.float32))

    @property
    def length(self) -> int:
        return len(self.tokens)

    def feed(self, tokens: Sequence[int]) -> np.ndarray:
        assert tokens, "a feed needs a token"
        self.tokens.extend(tokens)
        self.check()
        self.looked = 0
        self.model.fed.append(tuple(tokens))
        self.hidden = np.array(tokens, np.float32)[:, None]
        return self.model.row(self.tokens)

    def feed_all(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> np.ndarray:
        parents = range(-1, len(tokens) - 1) if parents is None else parents
        self.model.fed.append(tuple(tokens))
        ways: list[list[int]] = []
        for token, parent in zip(tokens, parents, strict=True):
            ways.append([*(ways[parent] if parent >= 0 else self.tokens), token])
        self.tokens.extend(tokens)
        self.check()
        self.looked = len(tokens)
        self.hidden = np.array(tokens, np.float32)[:, None]
        return np.stack([self.model.row(way) for way in ways])

    def check(self) -> None:
        assert len(self.tokens) <= (self.model.context_length or 1 << 32), "more tokens than the context holds"

    def keep(self, way: Sequence[int]) -> None:
        assert list(way) == sorted(set(way))
        begin = len(self.tokens) - self.looked
        kept = [self.tokens[begin + index] for index in way]
        self.tokens[begin:] = kept
        self.looked = 0
        self.hidden = np.array(kept, np.float32)[:, None]

    def rollback(self, length: int) -> None:
        assert 0 <= length <= len(self.tokens)
        del self.tokens[length:]
        self.looked = 0

    def fork(self) -> PrefixSession:
        return PrefixSession(self.model, list(self.tokens))


@dataclass
class PrefixModel:
    seed: int = 0
    vocab: int = 12
    sharpness: float = 1.5
    ends: tuple[int, ...] = ()
    context_length: int | None = None
    name: str = "prefix"
    fed: list[tuple[int, ...]] = field(default_factory=list)

    def row(self, tokens: Sequence[int]) -> np.ndarray:
        generator = np.random.default_rng([self.seed, *tokens[-2:], len(tokens) % 3])
        return (self.sharpness * generator.standard_normal(self.vocab)).astype(np.float32)

    @property
    def facts(self) -> ModelFacts:
        return ModelFacts(vocab_size=self.vocab, end_token_ids=self.ends, context_length=self.context_length)

    @property
    def tokenizer(self) -> ToyTokenizer:
        return ToyTokenizer(texts=tuple(chr(97 + i).encode() for i in range(self.vocab)))

    def start(self) -> PrefixSession:
        return PrefixSession(self)
