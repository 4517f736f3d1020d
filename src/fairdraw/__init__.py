"""fairdraw: logits into tokens, exactly, reproducibly and provably."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fairdraw.batch import DrawnBatch, sample_batch
from fairdraw.context import ModelFacts
from fairdraw.errors import FairdrawError, LogitsError, ParameterError, PlanError, UnavailableError
from fairdraw.history import History
from fairdraw.limits import Limits
from fairdraw.logprobs import logprobs
from fairdraw.packed_masks import PackedMask
from fairdraw.params import SamplingParams
from fairdraw.plan import Plan
from fairdraw.sampling import Drawn, law, sample, sample_many
from fairdraw.sharded import ShardedDrawn, sample_sharded
from fairdraw.streams.noise import STREAM_VERSION
from fairdraw.weights import Weights
from fairdraw.without_replacement import Arrived, arrivals

if TYPE_CHECKING:
    from fairdraw.generation.batch import Failed, News, Request, RequestBatch, generate_many
    from fairdraw.generation.beam_search import BeamTexts, beam_search
    from fairdraw.generation.beams import Beams
    from fairdraw.generation.loop import generate
    from fairdraw.generation.result import Completion
    from fairdraw.generation.scored import Scored
    from fairdraw.generation.scoring import score
    from fairdraw.generation.speculation.drafts.lookup import PromptLookup
    from fairdraw.generation.speculation.drafts.models import FirstLayers, ModelDraft
    from fairdraw.generation.speculation.settings import Speculation
    from fairdraw.generation.stochastic_beams import stochastic_beams
    from fairdraw.models.loading import load as load_model
    from fairdraw.translation.translating import Translation, translate
    from fairdraw.verify.comparison import Comparison, compare
    from fairdraw.verify.redrawing import Redrawing, redraw

__version__ = "0.1.0"

__all__ = [
    "STREAM_VERSION",
    "Arrived",
    "BeamTexts",
    "Beams",
    "Comparison",
    "Completion",
    "Drawn",
    "DrawnBatch",
    "Failed",
    "FairdrawError",
    "FirstLayers",
    "History",
    "Limits",
    "LogitsError",
    "ModelDraft",
    "ModelFacts",
    "News",
    "PackedMask",
    "ParameterError",
    "Plan",
    "PlanError",
    "PromptLookup",
    "Redrawing",
    "Request",
    "RequestBatch",
    "SamplingParams",
    "Scored",
    "ShardedDrawn",
    "Speculation",
    "Translation",
    "UnavailableError",
    "Weights",
    "arrivals",
    "beam_search",
    "compare",
    "generate",
    "generate_many",
    "law",
    "load_model",
    "logprobs",
    "redraw",
    "sample",
    "sample_batch",
    "sample_many",
    "sample_sharded",
    "score",
    "stochastic_beams",
    "translate",
]

# Text, models and verification are loaded when they are first asked for: whoever only draws waits for none of them.
_LATER = {
    "BeamTexts": ("fairdraw.generation.beam_search", "BeamTexts"),
    "Beams": ("fairdraw.generation.beams", "Beams"),
    "Comparison": ("fairdraw.verify.comparison", "Comparison"),
    "Completion": ("fairdraw.generation.result", "Completion"),
    "Failed": ("fairdraw.generation.batch", "Failed"),
    "FirstLayers": ("fairdraw.generation.speculation.drafts.models", "FirstLayers"),
    "ModelDraft": ("fairdraw.generation.speculation.drafts.models", "ModelDraft"),
    "News": ("fairdraw.generation.batch", "News"),
    "PromptLookup": ("fairdraw.generation.speculation.drafts.lookup", "PromptLookup"),
    "Redrawing": ("fairdraw.verify.redrawing", "Redrawing"),
    "Request": ("fairdraw.generation.batch", "Request"),
    "RequestBatch": ("fairdraw.generation.batch", "RequestBatch"),
    "Scored": ("fairdraw.generation.scored", "Scored"),
    "Speculation": ("fairdraw.generation.speculation.settings", "Speculation"),
    "Translation": ("fairdraw.translation.translating", "Translation"),
    "beam_search": ("fairdraw.generation.beam_search", "beam_search"),
    "compare": ("fairdraw.verify.comparison", "compare"),
    "generate": ("fairdraw.generation.loop", "generate"),
    "generate_many": ("fairdraw.generation.batch", "generate_many"),
    "load_model": ("fairdraw.models.loading", "load"),
    "redraw": ("fairdraw.verify.redrawing", "redraw"),
    "score": ("fairdraw.generation.scoring", "score"),
    "stochastic_beams": ("fairdraw.generation.stochastic_beams", "stochastic_beams"),
    "translate": ("fairdraw.translation.translating", "translate"),
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'fairdraw' has no attribute {name!r}")
    module, attribute = _LATER[name]
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
