"""Targets and drafts that depend on the whole prefix, as tables of rows."""

import numpy as np


def table(seed: int, vocab: int, depth: int, sharpness: float = 1.0):
    """A conditional: for each prefix shorter than ``depth`` a row of its own."""
    generator = np.random.default_rng(seed)
    rows = [softmax(sharpness * generator.standard_normal((vocab,) * (length + 1))) for length in range(depth)]

    def conditional(tokens):
        row = rows[tokens.shape[-1]][tuple(np.moveaxis(tokens, -1, 0))]
        return np.broadcast_to(row, (*tokens.shape[:-1], vocab))

    return conditional


def softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def adversarial(target):
    """The draft that likes least what the target likes most."""
    return lambda tokens: softmax(-3 * np.log(target(tokens)))


def joint(conditional, vocab: int, length: int):
    """The law of ``length`` tokens."""
    grid = np.indices((vocab,) * length).reshape(length, -1).T
    law = np.ones(len(grid))
    for index in range(length):
        row = conditional(grid[:, :index])
        law = law * np.take_along_axis(row, grid[:, index, None], axis=-1)[:, 0]
    return law.reshape((vocab,) * length)


def total_variation(p, q) -> float:
    return float(np.abs(p - q).sum() / 2)
