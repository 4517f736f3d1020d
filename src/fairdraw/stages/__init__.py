"""The stages: one rule, one file, and the table of all of them."""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.stages.adaptive_p import AdaptiveP
from fairdraw.stages.at_least import AtLeast
from fairdraw.stages.bad_words import BadWords
from fairdraw.stages.base import CutStage, EditStage, FilterStage, ForbidStage, Stage, StatefulStage
from fairdraw.stages.candidate_typical import CandidateTypical
from fairdraw.stages.checkpoint import Checkpoint
from fairdraw.stages.dry import Dry
from fairdraw.stages.dynamic_temperature import DynamicTemperature
from fairdraw.stages.epsilon import Epsilon
from fairdraw.stages.eta import Eta
from fairdraw.stages.finite_scores import FiniteScores
from fairdraw.stages.forced_tokens import ForcedTokens, SuppressedTokens
from fairdraw.stages.guidance import Guidance
from fairdraw.stages.knapsack_top_p import KnapsackTopP
from fairdraw.stages.length_decay import LengthDecay
from fairdraw.stages.log_softmax import LogSoftmax
from fairdraw.stages.logit_bias import LogitBias
from fairdraw.stages.masks import AllowedIds, Mask, MinTokens
from fairdraw.stages.min_p import MinP
from fairdraw.stages.mirostat import Mirostat1, Mirostat2
from fairdraw.stages.no_repeat_ngram import NoRepeatNgram
from fairdraw.stages.penalties import PresenceFrequencyPenalty, RepetitionPenalty
from fairdraw.stages.pivot_cut import PivotCut
from fairdraw.stages.prompt_rules import NoPromptNgram, PromptPenalty
from fairdraw.stages.redraw import Redraw, Restart
from fairdraw.stages.sequence_bias import SequenceBias
from fairdraw.stages.smoothing import Smoothing
from fairdraw.stages.spare_min_p import SpareMinP
from fairdraw.stages.tail_free import TailFree
from fairdraw.stages.temperature import Temperature
from fairdraw.stages.top_a import TopA
from fairdraw.stages.top_h import TopH
from fairdraw.stages.top_k import TopK
from fairdraw.stages.top_n_sigma import TopNSigma
from fairdraw.stages.top_p import TopP
from fairdraw.stages.top_p_decay import TopPDecay
from fairdraw.stages.typical import Typical
from fairdraw.stages.watermark import Watermark
from fairdraw.stages.xtc import Xtc, XtcAverage

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
            PivotCut,
            AdaptiveP,
            Dry,
            DynamicTemperature,
            Epsilon,
            Eta,
            Mirostat1,
            Mirostat2,
            Smoothing,
            TailFree,
            TopA,
            TopH,
            TopNSigma,
            TopPDecay,
            Xtc,
            XtcAverage,
            NoRepeatNgram,
            SequenceBias,
            LengthDecay,
            ForcedTokens,
            SuppressedTokens,
            Guidance,
            KnapsackTopP,
            SpareMinP,
            CandidateTypical,
            AtLeast,
            Restart,
            Redraw,
            Watermark,
            PromptPenalty,
            NoPromptNgram,
            FiniteScores,
            LogSoftmax,
        )
    }
)
"""Name to stage."""

__all__ = [
    "STAGES",
    "AdaptiveP",
    "AllowedIds",
    "AtLeast",
    "BadWords",
    "CandidateTypical",
    "Checkpoint",
    "CutStage",
    "Dry",
    "DynamicTemperature",
    "EditStage",
    "Epsilon",
    "Eta",
    "FilterStage",
    "FiniteScores",
    "ForbidStage",
    "ForcedTokens",
    "Guidance",
    "KnapsackTopP",
    "LengthDecay",
    "LogSoftmax",
    "LogitBias",
    "Mask",
    "MinP",
    "MinTokens",
    "Mirostat1",
    "Mirostat2",
    "NoPromptNgram",
    "NoRepeatNgram",
    "PivotCut",
    "PresenceFrequencyPenalty",
    "PromptPenalty",
    "Redraw",
    "RepetitionPenalty",
    "Restart",
    "SequenceBias",
    "Smoothing",
    "SpareMinP",
    "Stage",
    "StatefulStage",
    "SuppressedTokens",
    "TailFree",
    "Temperature",
    "TopA",
    "TopH",
    "TopK",
    "TopNSigma",
    "TopP",
    "TopPDecay",
    "Typical",
    "Watermark",
    "Xtc",
    "XtcAverage",
]
