"""The stages: one rule, one file, and the table of all of them."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.stages.bad_words import BadWords
from fairdraw.stages.base import CutStage, EditStage, ForbidStage, Stage
from fairdraw.stages.checkpoint import Checkpoint
from fairdraw.stages.logit_bias import LogitBias
from fairdraw.stages.masks import AllowedIds, Mask, MinTokens
from fairdraw.stages.min_p import MinP
from fairdraw.stages.penalties import PresenceFrequencyPenalty, RepetitionPenalty
from fairdraw.stages.temperature import Temperature
from fairdraw.stages.top_k import TopK
from fairdraw.stages.top_p import TopP
from fairdraw.stages.typical import Typical

STAGES: MappingProxyType[str, type[Stage]] = MappingProxyType(
    {
        stage.name: stage
        for stage in (
            Mask,
            AllowedIds,
            LogitBias,
            BadWords,
            MinTokens,
            RepetitionPenalty,
            PresenceFrequencyPenalty,
            Temperature,
            Checkpoint,
            TopK,
            TopP,
            MinP,
            Typical,
        )
    }
)
"""Name to stage."""

__all__ = [
    "STAGES",
    "AllowedIds",
    "BadWords",
    "Checkpoint",
    "CutStage",
    "EditStage",
    "ForbidStage",
    "LogitBias",
    "Mask",
    "MinP",
    "MinTokens",
    "PresenceFrequencyPenalty",
    "RepetitionPenalty",
    "Stage",
    "Temperature",
    "TopK",
    "TopP",
    "Typical",
]
