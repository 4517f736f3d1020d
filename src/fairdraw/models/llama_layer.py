"""What happens inside one layer of a llama: norm, rotation, attention, feed-forward."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def unit(x: Floats, epsilon: float) -> Floats:
    """Scale each vector to a mean square of 1."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(epsilon))


def rotate(x: Floats, cosine: Floats, sine: Floats) -> Floats:
    """Turn neighbouring pairs by their angles."""
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = np.empty_like(x)
    turned[..., 0::2] = even * cosine - odd * sine
    turned[..., 1::2] = even * sine + odd * cosine
    return turned


def attend(query: Floats, keys: Floats, values: Floats) -> Floats:
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


def feed_forward(x: Floats, gate_up: Floats, down: Floats) -> Floats:
    """The gated part between two products."""
    both = x @ gate_up
    half = both.shape[-1] // 2
    gate = both[:, :half]
    # exp overflows to inf for a gate under -88; the quotient is then the right 0.
    with np.errstate(over="ignore"):
        opened: Floats = gate / (np.float32(1) + np.exp(-gate))
    opened *= both[:, half:]
    lowered: Floats = opened @ down
    return lowered
