"""The forward pass of the llama architecture in plain NumPy: float32, one text at a time.

Weights come transposed and fused (query, key and value in one matrix, gate and up in another), the gains of
the two norms folded into the matrices that follow, the 1/sqrt(head width) of attention folded into the query.
So a token costs four products per layer. Source of the layout: llama.cpp, ``src/models/llama.cpp``
(rotary pairs are neighbours, as GGUF stores them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fairdraw.errors import ParameterError
from fairdraw.models.llama_layer import attend, feed_forward, rotate, unit

Floats = NDArray[np.float32]

# Tokens that pass through the layers together: bounds the memory of a long prompt's attention scores.
_CHUNK = 128
# The cache grows by this many tokens; 512 tokens of SmolLM2 are 23.6 MB.
_CACHE_STEP = 512
# Rows of the output matrix used for several tokens before the next ones are read: 2.4 MB at a width of 576.
_OUTPUT_STEP = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaShape:
    """The numbers that fix a llama architecture."""

    layers: int
    """Number of blocks."""
    width: int
    """Length of a token's vector between blocks."""
    heads: int
    """Number of query heads."""
    key_value_heads: int
    """Number of key and value heads; divides ``heads``."""
    feed_forward: int
    """Width inside the feed-forward part."""
    vocab_size: int
    """Number of tokens."""
    context_length: int
    """Most tokens a text may have."""
    rope_base: float
    """Base of the rotary angles."""
    norm_epsilon: float
    """Added to the mean square before its root."""

    @property
    def head_width(self) -> int:
        """Length of one head's query, key or value."""
        return self.width // self.heads


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaWeights:
    """Every matrix of the model, float32, laid out as ``x @ matrix`` wants it."""

    shape: LlamaShape
    """The numbers of the architecture."""
    embedding: Floats
    """Shape (vocab, width); also the output matrix."""
    output_gain: Floats
    """Shape (width,): the gain of the last norm."""
    query_key_value: Floats
    """Shape (layers, width, (heads + 2 key_value_heads) head_width)."""
    attention_output: Floats
    """Shape (layers, width, width)."""
    gate_up: Floats
    """Shape (layers, width, 2 feed_forward)."""
    down: Floats
    """Shape (layers, feed_forward, width)."""

    def first_layers(self, count: int) -> LlamaWeights:
        """The first layers, as views, and the same embedding and last norm."""
        return replace(
            self,
            shape=replace(self.shape, layers=count),
            query_key_value=self.query_key_value[:count],
            attention_output=self.attention_output[:count],
            gate_up=self.gate_up[:count],
            down=self.down[:count],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Cosine and sine of every rotary angle, shape (context_length, head_width / 2)."""

    cosine: Floats
    """Cosines."""
    sine: Floats
    """Sines."""


def rotation(shape: LlamaShape) -> Rotation:
    """Tabulate the rotary angles in float64, rounded once.

    Parameters
    ----------
    shape : LlamaShape
        Uses head width, base and context length.

    Returns
    -------
    Rotation
    """
    pairs = np.arange(0, shape.head_width, 2) / shape.head_width
    angles = np.outer(np.arange(shape.context_length), shape.rope_base**-pairs)
    return Rotation(cosine=np.cos(angles).astype(np.float32), sine=np.sin(angles).astype(np.float32))


class LlamaSession:
    """One text in progress, with the keys and values of its tokens.

    Parameters
    ----------
    weights : LlamaWeights
        Shared between sessions, never written.
    angles : Rotation
        Shared as well.

    Notes
    -----
    The cache grows in steps of 512 tokens. A session is not safe to use from two threads at once; fork it.
    """

    __slots__ = ("_angles", "_hidden", "_keys", "_length", "_looked", "_values", "_weights")

    def __init__(self, weights: LlamaWeights, angles: Rotation) -> None:
        self._weights = weights
        self._angles = angles
        self._length = 0
        # How many of the last tokens came by feed_all and can still be chosen from by keep.
        self._looked = 0
        shape = weights.shape
        self._hidden = np.empty((0, shape.width), dtype=np.float32)
        nothing = np.empty((shape.key_value_heads, 0, shape.head_width), dtype=np.float32)
        self._keys: list[Floats] = [nothing] * shape.layers
        self._values: list[Floats] = [nothing] * shape.layers

    @property
    def length(self) -> int:
        """Number of tokens fed so far."""
        return self._length

    @property
    def hidden(self) -> Floats:
        """What an output head reads: after the last norm, of the tokens fed last; shape (count, width)."""
        return self._hidden

    def feed(self, tokens: Sequence[int]) -> Floats:
        """Append tokens and give the logits after the last of them.

        Parameters
        ----------
        tokens : sequence of int
            At least one token id in [0, vocab_size).

        Returns
        -------
        float32, shape (vocab,)
            A fresh array.

        Raises
        ------
        ParameterError
            No token, an unknown id, or more tokens than the context holds. The session is unchanged then.

        Notes
        -----
        One token costs one read of all weights. Tokens fed together go through in chunks of 128; how a text
        is split between calls changes the logits in their last digits (under 1e-3 for SmolLM2).
        """
        ids = self._checked(tokens)
        end = self._length + ids.size
        self._reserve(end)
        hidden = [
            self._pass_through(ids[first : first + _CHUNK], self._length + first)
            for first in range(0, ids.size, _CHUNK)
        ]
        last = self._normed(hidden[-1][-1])
        logits = self._logits([last])[0]
        # Only now: an interrupted call leaves the session as it was.
        self._length, self._looked = end, 0
        self._hidden = np.concatenate([*map(self._normed, hidden[:-1]), self._normed(hidden[-1][:-1]), last[None]])
        return logits

    def feed_all(self, tokens: Sequence[int], parents: Sequence[int] | None = None) -> Floats:
        """Append several tokens, a chain or a tree, and give the logits after each of them.

        Parameters
        ----------
        tokens : sequence of int
            At least one token id in [0, vocab_size).
        parents : sequence of int, optional
            For each token the index of the one that it follows, which comes before it; -1: the text fed so far.
            None: each follows the one before it.

        Returns
        -------
        float32, shape (count, vocab)
            A fresh array. Each row has the same bits as feeding the tokens on its way one by one.

        Raises
        ------
        ParameterError
            As `feed`; or a parent that does not come before its token. The session is unchanged then.

        Notes
        -----
        The weights are read from memory once, and from the processor's cache for every further token: a token
        more costs less than half of the first. The products are those of a single token, never of a matrix, since
        BLAS rounds the two differently, and a text must not depend on how much was guessed ahead. After a tree,
        `keep` says which way stays; after a chain all of it does, until `rollback` or `keep`.
        """
        ids = self._checked(tokens)
        above = _ways(ids.size, parents)
        self._reserve(self._length + ids.size)
        hidden = self._pass_singly(ids, above)
        logits = self._logits(hidden)
        self._length, self._looked = self._length + ids.size, ids.size
        self._hidden = np.stack(hidden)
        return logits

    def feed_together(self, tokens: Sequence[int]) -> Floats:
        """Append tokens and give the logits after each of them, shape (count, vocab): for scoring.

        They go through as matrices, as in `feed`: several times as fast as `feed_all`, with other last digits.
        """
        self.feed(tokens)
        return self._hidden @ self._weights.embedding.T

    def keep(self, way: Sequence[int]) -> None:
        """Of the tokens of the last `feed_all`, keep these and forget the others.

        Parameters
        ----------
        way : sequence of int
            Indices of a token that follows the text, of one that follows it, and so on; none forgets all.

        Raises
        ------
        ParameterError
            Not ascending indices of that call's tokens.
        """
        chosen = list(way)
        if chosen != sorted(set(chosen)) or (chosen and not 0 <= chosen[0] <= chosen[-1] < self._looked):
            hint = "feed_all comes first" if not self._looked else ""
            raise ParameterError("way", chosen, f"ascending indices in [0, {self._looked}), the last tokens fed", hint)
        begin = self._length - self._looked
        sources = [begin + index for index in chosen]
        targets = list(range(begin, begin + len(chosen)))
        if sources != targets:
            for stores in (self._keys, self._values):
                for store in stores:
                    store[:, targets] = store[:, sources]
        self._length, self._looked = begin + len(chosen), 0
        self._hidden = self._hidden[chosen]

    def rollback(self, length: int) -> None:
        """Forget everything after the first ``length`` tokens.

        Parameters
        ----------
        length : int
            In [0, self.length].

        Raises
        ------
        ParameterError
            The session has never been that long.
        """
        if not 0 <= length <= self._length:
            raise ParameterError("length", length, f"in [0, {self._length}], the tokens fed so far")
        gone = self._length - length
        self._length, self._looked = length, 0
        self._hidden = self._hidden[: max(0, len(self._hidden) - gone)]

    def fork(self) -> LlamaSession:
        """Copy the session; what happens to one does not touch the other.

        Returns
        -------
        LlamaSession
            Costs one copy of the used part of the cache.
        """
        twin = LlamaSession(self._weights, self._angles)
        twin._keys = [keys[:, : self._length].copy() for keys in self._keys]
        twin._values = [values[:, : self._length].copy() for values in self._values]
        twin._length, twin._looked, twin._hidden = self._length, self._looked, self._hidden
        return twin

    def _checked(self, tokens: Sequence[int]) -> NDArray[np.int64]:
        shape = self._weights.shape
        ids = np.asarray(tokens)
        if ids.ndim != 1 or ids.size == 0:
            raise ParameterError("tokens", tokens, "a flat sequence of at least one token id")
        if ids.dtype.kind not in "iu" or ids.min() < 0 or ids.max() >= shape.vocab_size:
            wrong = [token for token in tokens if not _is_id(token, shape.vocab_size)]
            raise ParameterError("tokens", wrong[:5], f"whole numbers in [0, {shape.vocab_size})")
        if self._length + ids.size > shape.context_length:
            raise ParameterError(
                "tokens",
                f"{ids.size} after {self._length}",
                f"at most {shape.context_length} in all, the model's context",
                "start a new session with a shorter text",
            )
        return ids.astype(np.int64)

    def _reserve(self, needed: int) -> None:
        # The last to grow: if it did, an interrupted call left none behind.
        if self._values[-1].shape[1] >= needed:
            return
        shape = self._weights.shape
        capacity = min(-(-needed // _CACHE_STEP) * _CACHE_STEP, shape.context_length)
        # Layer by layer, so old and new cache never stand side by side as a whole.
        for stores in (self._keys, self._values):
            for layer, old in enumerate(stores):
                new = np.empty((shape.key_value_heads, capacity, shape.head_width), dtype=np.float32)
                new[:, : self._length] = old[:, : self._length]
                stores[layer] = new

    def _pass_through(self, ids: NDArray[np.int64], start: int) -> Floats:
        x = self._weights.embedding[ids]
        for layer in range(self._weights.shape.layers):
            x = self._through(layer, x, start, start, None)
        return x

    def _pass_singly(self, ids: NDArray[np.int64], above: Sequence[Sequence[int]]) -> list[Floats]:
        """The last norm's output of each token, each computed as if it were fed alone after those above it."""
        states = [self._weights.embedding[token][None] for token in ids]
        start = self._length
        # Layer by layer, so that its weights are still in the cache for the next token.
        for layer in range(self._weights.shape.layers):
            for index, way in enumerate(above):
                slot, position = start + index, start + len(way)
                seen = None if slot == position else [*range(start), *(start + i for i in way), slot]
                states[index] = self._through(layer, states[index], slot, position, seen)
        return [self._normed(state[0]) for state in states]

    def _through(self, layer: int, x: Floats, slot: int, position: int, seen: list[int] | None) -> Floats:
        """One layer for tokens that are stored from a slot on; ``seen``: what a token sees if not all up to itself."""
        weights, shape = self._weights, self._weights.shape
        count, turned = x.shape[0], shape.heads + shape.key_value_heads
        cosine = self._angles.cosine[position : position + count, None, :]
        sine = self._angles.sine[position : position + count, None, :]
        fused = unit(x, shape.norm_epsilon) @ weights.query_key_value[layer]
        heads = fused.reshape(count, -1, shape.head_width)
        rotated = rotate(heads[:, :turned], cosine, sine)
        keys, values = self._keys[layer], self._values[layer]
        keys[:, slot : slot + count] = rotated[:, shape.heads :].transpose(1, 0, 2)
        values[:, slot : slot + count] = heads[:, turned:].transpose(1, 0, 2)
        visible = slice(slot + count) if seen is None else seen
        mixed = attend(rotated[:, : shape.heads], keys[:, visible], values[:, visible])
        x = x + mixed @ weights.attention_output[layer]
        return x + feed_forward(unit(x, shape.norm_epsilon), weights.gate_up[layer], weights.down[layer])

    def _normed(self, x: Floats) -> Floats:
        normed: Floats = unit(x, self._weights.shape.norm_epsilon) * self._weights.output_gain
        return normed

    def _logits(self, hidden: Sequence[Floats]) -> Floats:
        """One row for each vector; the same bits however many there are."""
        embedding = self._weights.embedding
        logits = np.empty((len(hidden), embedding.shape[0]), dtype=np.float32)
        for first in range(0, embedding.shape[0], _OUTPUT_STEP):
            part = embedding[first : first + _OUTPUT_STEP]
            for row, vector in zip(logits, hidden, strict=True):
                row[first : first + _OUTPUT_STEP] = part @ vector
        return logits


def _ways(count: int, parents: Sequence[int] | None) -> list[tuple[int, ...]]:
    """For each token the indices of those it follows, the first one first."""
    chosen = range(-1, count - 1) if parents is None else list(parents)
    if len(chosen) != count or any(not -1 <= parent < index for index, parent in enumerate(chosen)):
        raise ParameterError("parents", parents, f"{count} indices, each of an earlier token, or -1")
    ways: list[tuple[int, ...]] = []
    for parent in chosen:
        ways.append(() if parent < 0 else (*ways[parent], parent))
    return ways


def _is_id(token: object, vocab_size: int) -> bool:
    whole = isinstance(token, int | np.integer) and not isinstance(token, bool)
    return whole and 0 <= int(token) < vocab_size
