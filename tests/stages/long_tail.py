"""A row with a long tail, and what float64 makes of it."""

import numpy as np

VOCAB = 32_768


def row(seed: int = 0) -> np.ndarray:
    """Logits of 32768 tokens whose probabilities fall like a power of the rank, in random order; float32."""
    random = np.random.default_rng(seed)
    falling = -1.1 * np.log(np.arange(1, VOCAB + 1)) + random.normal(0, 0.3, VOCAB)
    return random.permutation(falling).astype(np.float32)


def probabilities(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits.astype(np.float64) - float(logits.max()))
    return weights / weights.sum()


def entropy(p: np.ndarray) -> float:
    """In nats."""
    return float(-(p * np.log(p)).sum())
