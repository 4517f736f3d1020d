"""Random requests of a dialect, and rows with ties, exact hits and long tails."""

from collections.abc import Iterator

import numpy as np

from fairdraw.dialects import DIALECTS
from fairdraw.errors import FairdrawError
from fairdraw.history import History
from fairdraw.plan import Plan

DOCUMENTED = tuple(name for name in DIALECTS if name not in ("openai", "anthropic"))
HISTORY = History(prompt=(0, 3, 3), output=(1, 3))
_VALUES = {
    "temperature": (0.3, 0.5, 0.7, 1.0, 1.3, 2.0),
    "top_k": (1, 2, 3, 5, 40),
    "top_p": (0.3, 0.6, 0.9, 0.95),
    "min_p": (0.02, 0.1, 0.3),
    "typical_p": (0.4, 0.9),
    "top_n_sigma": (0.7, 1.5),
    "repetition_penalty": (1.1, 1.5),
    "presence_penalty": (0.4, -0.3),
    "frequency_penalty": (0.2,),
    "logit_bias": ({"2": 1.5, "0": -0.5},),
    "penalty_last_n": (0, 3, 64),
    "epsilon_cutoff": (0.01,),
    "xtc_probability": (0.5,),
}


def random_plans(dialect: str, count: int, seed: int) -> Iterator[Plan]:
    """Plans that the dialect takes, of all its variants."""
    rng = np.random.default_rng(seed)
    variants = DIALECTS[dialect].variants
    made = 0
    while made < count:
        name = list(variants)[rng.integers(len(variants))]
        request: dict[str, object] = {}
        for p in variants[name].parameters:
            options = _VALUES.get(p.canonical, ())
            if options and (p.required or rng.random() < 0.4):
                request[p.name] = options[rng.integers(len(options))]
            if p.name == "do_sample":
                request[p.name] = bool(rng.random() < 0.9)
        try:
            yield Plan.resolve(request, dialect=dialect, variant=name)
        except FairdrawError:
            continue
        made += 1


def distinct_row(vocab: int, seed: int) -> np.ndarray:
    """A row whose logits all differ by far more than rounding."""
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(0, 2.5, vocab))[::-1]
    values = np.minimum.accumulate(values - np.arange(vocab) * 1e-4)
    return np.float32(rng.permutation(values))


def tied_row(vocab: int, seed: int) -> np.ndarray:
    """A row of few different logits."""
    return np.float32(np.random.default_rng(seed).integers(-3, 4, vocab) / 2)


def long_tail(seed: int) -> np.ndarray:
    """A language model's kind of row: a head, and 40000 small ones."""
    rng = np.random.default_rng(seed)
    tail = rng.normal(0, 1.0, 40_000)
    head = np.array([9.0, 8.6, 8.1, 7.2, 6.9, 6.0, 5.8, 5.1])
    return np.float32(np.concatenate([head, tail]))
