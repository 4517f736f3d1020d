"""llama.cpp's law against its server: raw logits in, what it draws from out, for 200 random chains.

A coin of the engine's (XTC) has fallen one way or the other; the law with that outcome is the one compared.
The engine sums in float32, one token after another: over tens of thousands of them its running mass is off by some
1e-5, and top-p may take or leave the token at its edge; so is an entropy, and the temperature that follows it.  Such a
chain equals our law at a p or a temperature that near, and is counted.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import fairdraw as fd
from engines.llama_server import MODEL, llama_server

pytestmark = pytest.mark.engines

CHAINS, WITHIN = 200, 1e-5
SUMS, MOST_ROUNDED = 2.0**-13, 4
"""How far a float32 sum may be off, and how many chains of a half may show it."""
PROMPTS = (
    [504, 3575, 338, 4461, 30, 504, 3575, 338],
    [1, 4093, 198, 19556, 346, 2, 198, 1, 520, 9531, 198],
    [28, 29, 28, 29, 28, 29, 28],
    [504, 2033, 282, 4649, 314, 504, 2033, 282, 4649],
)
VALUES = {
    "temperature": (0.0, 0.3, 0.8, 1.0, 1.5, 3.0),
    "top_k": (0, 1, 2, 5, 20, 40, 300, -1),
    "top_p": (0.0, 0.3, 0.6, 0.9, 0.95, 0.99, 1.0),
    "min_p": (0.0, 0.01, 0.05, 0.2, 1.0),
    "typical_p": (0.2, 0.5, 0.9, 1.0),
    "top_n_sigma": (-1.0, 0.7, 1.5, 3.0),
    "xtc_probability": (0.5, 1.0),
    "xtc_threshold": (0.02, 0.1, 0.3, 0.6),
    "dynatemp_range": (0.0, 0.4, 0.8),
    "dynatemp_exponent": (0.5, 1.0, 2.0),
    "repeat_penalty": (0.7, 1.1, 1.8),
    "presence_penalty": (-0.5, 0.8),
    "frequency_penalty": (-0.2, 0.4),
    "repeat_last_n": (0, 3, 64),
    "dry_multiplier": (0.8, 2.0),
    "dry_allowed_length": (1, 2, 4),
    "dry_penalty_last_n": (0, 5, 64),
    "min_keep": (0, 1, 3, 10),
    "logit_bias": ([[28, 2.5], [198, -4.0]], [[504, -100.0]]),
    "mirostat": (1, 2),
}
DEFAULTS = {"top_p": 0.95, "typical_p": 1.0}
ORDER = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")
RARE = {"mirostat": 0.04, "min_keep": 0.2}
UNSEEN = "\u0416\u0416\u0416\u0416"
"""The server wants one breaker of DRY at least."""


def plan_of(request: dict) -> fd.Plan:
    return fd.Plan.resolve({**request, "dry_sequence_breakers": []}, dialect="llama_cpp")


def random_chain(random: np.random.Generator) -> dict:
    asked = {name for name in VALUES if random.random() < RARE.get(name, 0.35)}
    request = {name: VALUES[name][random.integers(len(VALUES[name]))] for name in VALUES if name in asked}
    if random.random() < 0.3:
        request["samplers"] = random.permutation(ORDER)[: random.integers(4, len(ORDER) + 1)].tolist()
    return request


def apart(ours: np.ndarray, theirs: dict[int, float]) -> float:
    """Total variation, where all that the server does not tell counts as one token."""
    ids, told = np.array([*theirs]), np.array([*theirs.values()])
    return float(np.abs(ours[ids] - told).sum() + abs(ours.sum() - ours[ids].sum() - (1 - told.sum()))) / 2


def distance(request: dict, row: np.ndarray, ids: list[int], theirs: dict[int, float]) -> float:
    """Total variation to the nearest reading of either way in which a coin may fall."""
    coins = [{"xtc_probability": fires} for fires in (0.0, 1.0)] if "xtc_probability" in request else [{}]
    found = []
    for coin in coins:
        weights = fd.law(plan_of(request | coin), row, history=fd.History(prompt=ids))
        found += [apart(reading.probabilities, theirs) for reading in (weights, *weights.others)]
    return min(found)


def is_rounded(request: dict, row: np.ndarray, ids: list[int], theirs: dict[int, float]) -> bool:
    """Whether theirs is our law at a p and, where it follows the entropy, a temperature within what sums are off."""
    masses = [{}, *({name: request.get(name, p) + by} for name, p in DEFAULTS.items() for by in (-SUMS, SUMS))]
    return any(_least_distance(request | mass, row, ids, theirs) <= WITHIN for mass in masses)


def _least_distance(request: dict, row: np.ndarray, ids: list[int], theirs: dict[int, float]) -> float:
    """The distance at the nearest temperature, by a search in three rounds."""
    if not request.get("dynatemp_range"):
        return distance(request, row, ids, theirs)
    best, least = request.get("temperature", 0.8), 1.0
    for span in (SUMS, SUMS / 4, SUMS / 16):
        for temperature in (best + np.linspace(-span, span, 9)).tolist():
            off = distance(request | {"temperature": temperature}, row, ids, theirs)
            best, least = (temperature, off) if off < least else (best, least)
    return least


@pytest.mark.parametrize("half", [0, 1])
def test_the_servers_probabilities_are_those_of_our_law(half):
    if not MODEL.exists():
        pytest.skip("the model is not in the cache: run `fairdraw generate` once")
    random, far, rounded, stages = np.random.default_rng(2026), [], 0, Counter()
    with llama_server() as server:
        rows = [(ids, server.logits(ids)) for ids in PROMPTS]
        for chain in range(CHAINS):
            (ids, row), request = rows[chain % len(rows)], random_chain(random)
            if chain % 2 != half:
                continue
            theirs = server.probabilities(ids, request | {"seed": chain, "dry_sequence_breakers": [UNSEEN]})
            stages.update(stage.name for stage in plan_of(request).stages)
            off = distance(request, row, ids, theirs)
            if off > WITHIN and is_rounded(request, row, ids, theirs):
                rounded += 1
            elif off > WITHIN:
                far.append((chain, request, off))
    assert far == []
    assert rounded <= MOST_ROUNDED
    assert all(stages[name] >= 5 for name in ("candidate_typical", "top_n_sigma", "xtc", "dynamic_temperature", "dry"))
