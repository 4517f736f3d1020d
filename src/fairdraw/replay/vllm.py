"""vLLM's own tokens for a seeded request: Gumbel noise keyed by seed, position and token id (its V2 model runner).

A token's noise is g = -log(-log1p(-u)), u the murmur3 hash of (seed, position, id) as a uniform, in float32; the token
is the first largest logit / T + g.  Nothing else enters: batch, order and other requests do not matter.  A request
with an explicit seed always takes this path; the V1 runner, the FlashInfer sampler and drafted tokens do not.

vLLM runs this on a GPU, whose log, division and fused products differ from ours in last places: a token whose lead is
as small as that is in doubt.

Source: vllm 0.33.0, v1/worker/gpu/sample/gumbel.py (``murmur3_hash32``, ``murmur3_uniform32``, ``murmur3_uniform64``,
``_log1p_neg_stable``, ``gumbel_noised_argmax``), sampler.py, states.py, sampling_params.py.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.arrays import as_logits, as_mask
from fairdraw.domains import Choice, Domain, Real, Whole, require
from fairdraw.errors import LogitsError, ParameterError
from fairdraw.masses import Ids
from fairdraw.replay.result import Replayed

Precision = Literal["float32", "float64"]
"""The arithmetic of the noise; float64 is the engine's ``use_fp64_gumbel``."""
Words = NDArray[np.uint32]

SEED = Whole(-(2**63), 2**63 - 1)
POSITION = Whole(1, 2**31 - 1)
TEMPERATURE = Real(0, 2)
PRECISION = Choice(("float32", "float64"))
LEAST_TEMPERATURE = 0.01
"""The engine raises a smaller one to this, but for 0, which is greedy."""
SECOND_HALF = 0x9E3779B9
"""Where the hash starts for the high word of a float64 uniform; for the other it starts at 0."""
CLOSE = 2.0**-20
"""Leads below this, times the score's size and at least 4, are within what a GPU's arithmetic differs."""


def noise(seed: int, position: int, ids: Ids, precision: Precision = "float32") -> NDArray[Any]:
    """Gumbel noise of token ids: a pure function of seed, position and id.

    Parameters
    ----------
    seed : int, -2^63 to 2^63-1, but not -1
        The request's seed; -1 asks the engine for a fresh one.
    position : int, at least 1
        How many tokens stand before the drawn one, prompt included; the engine's own count is one less.
    ids : int64, shape (n,)
        Token ids.
    precision : "float32" or "float64"
        The engine's default is float32.

    Returns
    -------
    float32 or float64, shape (n,)

    Raises
    ------
    ParameterError
        Seed, position or precision is out of range.

    Examples
    --------
    >>> [f"{value:.5f}" for value in noise(42, 1, np.arange(3))]
    ['0.56026', '0.61663', '-0.46546']
    """
    if _number("seed", seed, SEED) == -1:
        raise ParameterError("seed", seed, "a seed of its own", "-1 means a fresh one, which is not told")
    place = _number("position", position, POSITION) - 1
    require("precision", precision, PRECISION)
    low = _hash(seed, place, ids, 0)
    if precision == "float64":
        high = _hash(seed, place, ids, SECOND_HALF)
        bits = (high.astype(np.uint64) << np.uint64(32) | low) >> np.uint64(11)
        uniform = np.minimum((bits.astype(np.float64) + 0.5) * 2.0**-53, 1 - 2.0**-53)
        return -np.log(-np.log(uniform))
    half = np.float32(0.5)
    uniform = (low >> np.uint32(16)).astype(np.float32) * np.float32(2.0**-16)
    uniform += ((low & np.uint32(0xFFFF)).astype(np.float32) + half) * np.float32(2.0**-32)
    return -np.log(-_log_of_rest(uniform))


def draw(
    logits: object,
    *,
    seed: int,
    position: int,
    temperature: float = 1.0,
    mask: ArrayLike | None = None,
    precision: Precision = "float32",
) -> Replayed:
    """Draw one token as the engine does.

    Parameters
    ----------
    logits : array_like of float, shape (vocab,)
        After bias, penalties and whatever else edits them; before temperature.
    seed, position, precision
        As in `noise`.
    temperature : float, 0 to 2
        Divides in float32; 0 takes the best token without noise; what lies between 0 and 0.01 counts as 0.01.
    mask : array_like of bool, shape (vocab,), optional
        True for what min-p, top-k and top-p keep: cuts move no other token's noise.

    Returns
    -------
    Replayed
        The token, and what could make the engine's another one.

    Raises
    ------
    LogitsError, ParameterError
        The row or another value is not usable, or the mask leaves nothing.

    Examples
    --------
    >>> [draw([2.0, 1.5, 1.0, 0.5, 0.0, -1.0], seed=42, position=position).token for position in range(1, 9)]
    [0, 2, 2, 3, 1, 2, 0, 2]
    """
    row = as_logits(logits)
    heat = float(require("temperature", temperature, TEMPERATURE))  # type: ignore[arg-type]
    scores = row.copy()
    if mask is not None:
        scores[~as_mask(mask, row.size)] = -np.inf
        if not np.any(scores > -np.inf):
            raise LogitsError("logits under the mask", "have a finite entry", "nothing but -inf")
    if heat == 0:
        return Replayed(token=int(np.argmax(scores)))
    if heat != 1:
        scores /= np.float32(max(heat, LEAST_TEMPERATURE))
    arrivals = scores + noise(seed, position, np.arange(row.size), precision)
    first = int(np.argmax(arrivals))
    best = float(arrivals[first])
    near = np.flatnonzero(arrivals >= best - CLOSE * max(4.0, abs(best)))
    doubt = f"ids {near.tolist()} arrive within a GPU's rounding of each other" if near.size > 1 else ""
    return Replayed(token=first, doubt=doubt)


def replay(
    rows: Iterable[object], *, seed: int, position: int, temperature: float = 1.0, precision: Precision = "float32"
) -> tuple[Replayed, ...]:
    """Draw a run of one request again.

    Parameters
    ----------
    rows : iterable of array_like, shape (vocab,)
        The logits of each step, cuts included as -inf.
    seed, temperature, precision
        As in `draw`.
    position : int, at least 1
        Of the first token: the length of the prompt.

    Returns
    -------
    tuple of Replayed
        One a row.

    Examples
    --------
    >>> rows = [[2.0, 1.5, 1.0, 0.5, 0.0, -1.0]] * 8
    >>> [step.token for step in replay(rows, seed=42, position=1, temperature=0.7)]
    [0, 2, 2, 3, 1, 0, 0, 0]
    """
    return tuple(
        draw(row, seed=seed, position=place, temperature=temperature, precision=precision)
        for place, row in enumerate(rows, start=_number("position", position, POSITION))
    )


def _number(name: str, value: object, domain: Domain) -> int:
    return int(require(name, value, domain))  # type: ignore[call-overload]


def _hash(seed: int, place: int, ids: Ids, start: int) -> Words:
    """murmur3_x86_32 (Appleby, 2011) of four words: the seed's low and high one, the place, the id."""
    state = np.full(ids.shape, start, np.uint32)
    for word in (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF, place & 0xFFFFFFFF):
        state = _mixed(state, np.full(ids.shape, word, np.uint32))
    state = _mixed(state, ids.astype(np.uint32)) ^ np.uint32(16)
    state = (state ^ state >> np.uint32(16)) * np.uint32(0x85EBCA6B)
    state = (state ^ state >> np.uint32(13)) * np.uint32(0xC2B2AE35)
    return state ^ state >> np.uint32(16)


def _mixed(state: Words, word: Words) -> Words:
    word = _rotated(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotated(state ^ word, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _rotated(word: Words, places: int) -> Words:
    return word << np.uint32(places) | word >> np.uint32(32 - places)


def _log_of_rest(uniform: NDArray[np.float32]) -> NDArray[np.float32]:
    """log(1 - u) as the engine's float32 kernel has it: eight terms of the series below 1/4, else a logarithm."""
    terms = np.full_like(uniform, 1 / 8)
    for divisor in range(7, 0, -1):
        terms = np.float32(1 / divisor) + uniform * terms
    rest = np.maximum(np.float32(1) - uniform, np.float32(2.0**-24))
    return np.where(uniform < np.float32(0.25), -uniform * terms, np.log(rest))
