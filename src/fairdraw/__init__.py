"""fairdraw: logits into tokens, exactly, reproducibly and provably."""

from __future__ import annotations

from fairdraw.context import ModelFacts
from fairdraw.errors import FairdrawError, LogitsError, ParameterError, PlanError, UnavailableError
from fairdraw.history import History
from fairdraw.limits import Limits
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan
from fairdraw.sampling import Drawn, law, sample, sample_many
from fairdraw.streams.noise import STREAM_VERSION
from fairdraw.weights import Weights

__version__ = "0.1.0"

__all__ = [
    "STREAM_VERSION",
    "Drawn",
    "FairdrawError",
    "History",
    "Limits",
    "LogitsError",
    "ModelFacts",
    "ParameterError",
    "Plan",
    "PlanError",
    "SamplingParams",
    "UnavailableError",
    "Weights",
    "law",
    "sample",
    "sample_many",
]
