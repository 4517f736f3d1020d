"""The law of stages alone, on probabilities or logits that can be checked by hand."""

import numpy as np

import fairdraw as fd
from fairdraw.stages import Stage

SIX = [2.0, 1.5, 1.0, 0.5, 0.0, -1.0]
"""Logits of six tokens; probabilities .420 .255 .154 .094 .057 .021."""


def law(logits: object, *stages: Stage, history: fd.History | None = None) -> fd.Weights:
    return fd.law(fd.Plan.of(*stages), logits, history=history)


def law_of(probabilities: object, *stages: Stage) -> fd.Weights:
    """As `law`, from probabilities."""
    with np.errstate(divide="ignore"):
        return law(np.log(np.array(probabilities)), *stages)


def kept(logits: object, *stages: Stage, history: fd.History | None = None) -> list[int]:
    return law(logits, *stages, history=history).trace[-1].row.kept.tolist()


def scores(logits: object, *stages: Stage, history: fd.History | None = None) -> list[float]:
    """Logits after the stages."""
    return law(logits, *stages, history=history).trace[-1].row.scores.tolist()
