"""fairdraw: logits into tokens, exactly, reproducibly and provably."""

from __future__ import annotations

from fairdraw.batch import DrawnBatch, sample_batch
from fairdraw.context import ModelFacts
from fairdraw.errors import FairdrawError, LogitsError, ParameterError, PlanError, UnavailableError
from fairdraw.generation.loop import generate
from fairdraw.generation.result import Completion
from fairdraw.history import History
from fairdraw.limits import Limits
from fairdraw.logprobs import logprobs
from fairdraw.models import load as load_model
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan
from fairdraw.sampling import Drawn, law, sample, sample_many
from fairdraw.streams.noise import STREAM_VERSION
from fairdraw.verify.comparison import Comparison, compare
from fairdraw.verify.redrawing import Redrawing, redraw
from fairdraw.weights import Weights

__version__ = "0.1.0"

__all__ = [
    "STREAM_VERSION",
    "Comparison",
    "Completion",
    "Drawn",
    "DrawnBatch",
    "FairdrawError",
    "History",
    "Limits",
    "LogitsError",
    "ModelFacts",
    "ParameterError",
    "Plan",
    "PlanError",
    "Redrawing",
    "SamplingParams",
    "UnavailableError",
    "Weights",
    "compare",
    "generate",
    "law",
    "load_model",
    "logprobs",
    "redraw",
    "sample",
    "sample_batch",
    "sample_many",
]
