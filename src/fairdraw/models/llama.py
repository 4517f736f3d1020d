"""The forward pass of the llama architecture in plain NumPy: float32, one text at a time.

Weights come transposed and fused (query, key and value in one matrix, gate and up in another), the gains of
the two norms folded into the matrices that follow, the 1/sqrt(head width) of attention folded into the query.
So a token costs four products per layer. Source of the layout: llama.cpp, ``src/models/llama.cpp``
(rotary pairs are neighbours, as GGUF stores them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fairdraw.errors import ParameterError

Floats = NDArray[np.float32]

# Tokens that pass through the layers together: bounds the memory of a long prompt's attention scores.
_CHUNK = 128
# The cache grows by this many tokens; 512 tokens of SmolLM2 are 23.6 MB.
_CACHE_STEP = 512


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


def _unit(x: Floats, epsilon: float) -> Floats:
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(epsilon))


def _rotate(x: Floats, cosine: Floats, sine: Floats) -> Floats:
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = even * cosine - odd * sine
    turned[..., 1::2] = even * sine + odd * cosine
    return turned


def _attend(query: Floats, keys: Floats, values: Floats) -> Floats:
    """Mix the values for the last ``count`` positions; later positions stay unseen.

    query (count, heads, head_width); keys and values (key_value_heads, total, head_width).
    """
    count, heads, head_width = query.shape
    groups, total, _ = keys.shape
    shared = heads // groups
    rows = query.reshape(count, groups, shared, head_width).transpose(1, 2, 0, 3)
    scores = rows.reshape(groups, shared * count, head_width) @ keys.transpose(0, 2, 1)
    if count > 1:
        later = np.triu(np.full((count, count), -np.inf, dtype=np.float32), k=1)
        scores.reshape(groups, shared, count, total)[..., total - count :] += later
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = (scores @ values).reshape(groups, shared, count, head_width)
    return mixed.transpose(2, 0, 1, 3).reshape(count, heads * head_width)


def _feed_forward(x: Floats, gate_up: Floats, down: Floats) -> Floats:
    both = x @ gate_up
    half = both.shape[-1] // 2
    gate = both[:, :half]
    # exp overflows to inf for a gate under -88; the quotient is then the right 0.
    with np.errstate(over="ignore"):
        opened: Floats = gate / (np.float32(1) + np.exp(-gate))
    opened *= both[:, half:]
    lowered: Floats = opened @ down
    return lowered


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

    __slots__ = ("_angles", "_keys", "_length", "_values", "_weights")

    def __init__(self, weights: LlamaWeights, angles: Rotation) -> None:
        self._weights = weights
        self._angles = angles
        self._length = 0
        shape = weights.shape
        nothing = np.empty((shape.key_value_heads, 0, shape.head_width), dtype=np.float32)
        self._keys: list[Floats] = [nothing] * shape.layers
        self._values: list[Floats] = [nothing] * shape.layers

    @property
    def length(self) -> int:
        """Number of tokens fed so far."""
        return self._length

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
        hidden = np.empty((0, self._weights.shape.width), dtype=np.float32)
        for first in range(0, ids.size, _CHUNK):
            hidden = self._pass_through(ids[first : first + _CHUNK], self._length + first)
        # Only now: an interrupted call leaves the session as it was.
        self._length = end
        last: Floats = _unit(hidden[-1], self._weights.shape.norm_epsilon) * self._weights.output_gain
        logits: Floats = self._weights.embedding @ last
        return logits

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
        self._length = length

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
        twin._length = self._length
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
        weights, shape = self._weights, self._weights.shape
        end, turned = start + ids.size, shape.heads + shape.key_value_heads
        cosine = self._angles.cosine[start:end, None, :]
        sine = self._angles.sine[start:end, None, :]
        x = weights.embedding[ids]
        for layer in range(shape.layers):
            fused = _unit(x, shape.norm_epsilon) @ weights.query_key_value[layer]
            heads = fused.reshape(ids.size, -1, shape.head_width)
            rotated = _rotate(heads[:, :turned], cosine, sine)
            keys, values = self._keys[layer], self._values[layer]
            keys[:, start:end] = rotated[:, shape.heads :].transpose(1, 0, 2)
            values[:, start:end] = heads[:, turned:].transpose(1, 0, 2)
            mixed = _attend(rotated[:, : shape.heads], keys[:, :end], values[:, :end])
            x = x + mixed @ weights.attention_output[layer]
            x = x + _feed_forward(_unit(x, shape.norm_epsilon), weights.gate_up[layer], weights.down[layer])
        return x


def _is_id(token: object, vocab_size: int) -> bool:
    whole = isinstance(token, int | np.integer) and not isinstance(token, bool)
    return whole and 0 <= int(token) < vocab_size
