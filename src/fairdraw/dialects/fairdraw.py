"""fairdraw's own dialect: no hidden defaults.

Order: guidance; mask, allowed ids, min tokens, suppressed ids, bias, sequence bias, bad words, no repeated n-grams;
repetition, presence and frequency penalty, DRY; smoothing; temperature (exact, or following the entropy);
top-n-sigma, top-k (exactly k, lower ids first), top-p (of what top-k left; the crossing token stays; lower ids first),
min-p, typical, top-a, tail-free, epsilon, eta, top-h; XTC (a coin); mirostat; adaptive-p.  Temperature 0 is greedy.
Every default is off.
"""

from __future__ import annotations

from types import MappingProxyType

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Mode, Parameter, Step, Values, Variant, off_if
from fairdraw.dialects.text_parameters import TEXT
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.params import DOMAINS, SamplingParams
from fairdraw.stages import (
    AdaptiveP,
    AllowedIds,
    BadWords,
    Dry,
    DynamicTemperature,
    Epsilon,
    Eta,
    Guidance,
    LogitBias,
    Mask,
    MinP,
    MinTokens,
    Mirostat1,
    Mirostat2,
    NoRepeatNgram,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    SequenceBias,
    Smoothing,
    SuppressedTokens,
    TailFree,
    Temperature,
    TopA,
    TopH,
    TopK,
    TopNSigma,
    TopP,
    Typical,
    Xtc,
)


def _parameter(name: str, default: object, meaning: str, limit: str = "") -> Parameter:
    return Parameter(name=name, domain=DOMAINS[name], default=default, meaning=meaning, canonical=name, limit=limit)


PARAMETERS = (
    _parameter("temperature", 1.0, "divides the logits; 0 is greedy, 1 is off"),
    _parameter("top_k", 0, "keep this many of the most probable tokens; 0 is off"),
    _parameter("top_p", 1.0, "keep the shortest prefix with this mass; 1 is off"),
    _parameter("min_p", 0.0, "keep tokens with this share of the best one; 0 is off"),
    _parameter("typical_p", 1.0, "keep the most typical tokens up to this mass; 1 is off"),
    _parameter("top_n_sigma", 0.0, "keep logits within so many deviations of the best one; 0 is off"),
    _parameter("top_a", 0.0, "keep tokens with this multiple of the best one's squared probability; 0 is off"),
    _parameter("tfs", 1.0, "keep the most probable tokens up to this share of their curvature; 1 is off"),
    _parameter("epsilon_cutoff", 0.0, "keep tokens with this probability; 0 is off"),
    _parameter("eta_cutoff", 0.0, "keep tokens with a probability that falls as the entropy grows; 0 is off"),
    _parameter("top_h", None, "keep the most probable tokens up to this share of the entropy; unset is off"),
    _parameter("xtc_probability", 0.0, "how often the likely tokens but the last of them are removed; 0 is off"),
    _parameter("xtc_threshold", 0.1, "probability from which XTC calls a token likely"),
    _parameter("mirostat", 0, "its version, 1 or 2; 0 is off"),
    _parameter("mirostat_tau", 5.0, "surprise that mirostat aims at, in bits"),
    _parameter("mirostat_eta", 0.1, "how fast mirostat follows"),
    _parameter("adaptive_target", None, "probability that adaptive-p aims at; unset is off"),
    _parameter("adaptive_decay", 0.9, "how much of the past counts for adaptive-p"),
    _parameter("dynatemp_range", 0.0, "the temperature follows the entropy, so far to both sides; 0 is off"),
    _parameter("dynatemp_exponent", 1.0, "above 1: cold for longer"),
    _parameter("smoothing_factor", 0.0, "squares each logit's distance from the best one, times this; 0 is off"),
    _parameter("repetition_penalty", 1.0, "divides the logits of ids seen in prompt and output; 1 is off"),
    _parameter("presence_penalty", 0.0, "subtracted once from ids of the output; 0 is off"),
    _parameter("frequency_penalty", 0.0, "subtracted from ids of the output for each time; 0 is off"),
    _parameter("penalty_last_n", 0, "how many of the last tokens penalties look at; 0 is all"),
    _parameter("dry_multiplier", 0.0, "subtracted from an id that would lengthen a repetition; 0 is off"),
    _parameter("dry_base", 1.75, "by what DRY's penalty grows with each token more"),
    _parameter("dry_allowed_length", 2, "length from which a repetition counts for DRY"),
    _parameter("dry_penalty_last_n", 0, "how many of the last tokens DRY looks at; 0 is all"),
    _parameter("dry_sequence_breakers", (), "texts that no repetition reaches across"),
    _parameter("no_repeat_ngram_size", 0, "no sequence of so many ids twice; 0 is off"),
    _parameter("guidance_scale", 1.0, "how far to go from a second row's logits; 1 is off"),
    _parameter("sequence_bias", (), "added to the logit of the id that completes a sequence"),
    _parameter("suppress_tokens", (), "ids that are never drawn"),
    _parameter("logit_bias", (), "added to the logits of a few ids"),
    _parameter("allowed_token_ids", (), "the only ids that may be drawn; none is all"),
    _parameter("bad_words", (), "texts that must not be completed"),
    _parameter("bad_words_ids", (), "sequences of ids that must not be completed"),
    _parameter("min_tokens", 0, "no end or stop before this many tokens", limit="min_tokens"),
    *TEXT,
)


def last_n(values: Values, facts: ModelFacts | None) -> object:
    """The window of the penalties; 0 means the whole history."""
    return values["penalty_last_n"] or None


def end_ids(values: Values, facts: ModelFacts | None) -> object:
    """Ids that min_tokens forbids: the model's own ends and the request's."""
    own = facts.end_token_ids if facts else ()
    ids = tuple(dict.fromkeys((*own, *(values["stop_token_ids"] or ()))))  # type: ignore[misc]
    if not ids:
        hint = "pass facts=ModelFacts(vocab_size=..., end_token_ids=...)"
        raise ParameterError("min_tokens", values["min_tokens"], "0 where no end id is known", hint)
    return ids


def spellings(values: Values, facts: ModelFacts | None) -> object:
    """Sequences of ids that are forbidden: those given, and each text at the start of a line and after a space."""
    return _encoded("bad_words", values, facts, list(values["bad_words_ids"]))  # type: ignore[arg-type]


def _encoded(
    name: str, values: Values, facts: ModelFacts | None, sequences: list[tuple[int, ...]]
) -> tuple[tuple[int, ...], ...]:
    """The sequences, then each text of a parameter at the start of a line and after a space."""
    texts = values[name]
    if texts and (facts is None or facts.encode is None):
        ids = ", or the ids as bad_words_ids" if name == "bad_words" else ""
        hint = f"pass facts of a model with a tokenizer{ids}"
        raise ParameterError(name, list(texts), "empty where no tokenizer is known", hint)  # type: ignore[call-overload]
    for text in texts:  # type: ignore[attr-defined]
        for spelling in (text.lstrip(" "), f" {text.lstrip(' ')}"):
            ids = tuple(facts.encode(spelling))  # type: ignore[union-attr, misc]
            if ids and ids not in sequences:
                sequences.append(ids)
    return tuple(sequences)


def breakers(values: Values, facts: ModelFacts | None) -> object:
    """DRY's breakers as sequences of ids: each text at the start of a line and after a space."""
    return _encoded("dry_sequence_breakers", values, facts, [])


def dry_last_n(values: Values, facts: ModelFacts | None) -> object:
    """The window of DRY; 0 means the whole history."""
    return values["dry_penalty_last_n"] or None


def coldest(values: Values, facts: ModelFacts | None) -> object:
    """Temperature of a row without entropy."""
    return max(0.0, values["temperature"] - values["dynatemp_range"])  # type: ignore[operator]


def hottest(values: Values, facts: ModelFacts | None) -> object:
    """Temperature of a flat row."""
    return values["temperature"] + values["dynatemp_range"]  # type: ignore[operator]


_EDITS = (
    Step(stage=Guidance, fields={"scale": "guidance_scale"}, off=(off_if("guidance_scale", "is", 1.0),)),
    Step(stage=Mask),
    Step(stage=AllowedIds, fields={"ids": "allowed_token_ids"}, off=(off_if("allowed_token_ids", "is", ()),)),
    Step(
        stage=MinTokens,
        fields={"count": "min_tokens", "end_ids": end_ids},
        off=(off_if("min_tokens", "is", 0),),
        reads=("stop_token_ids",),
    ),
    Step(stage=SuppressedTokens, fields={"ids": "suppress_tokens"}, off=(off_if("suppress_tokens", "is", ()),)),
    Step(stage=LogitBias, fields={"bias": "logit_bias"}, off=(off_if("logit_bias", "is", ()),)),
    Step(stage=SequenceBias, fields={"bias": "sequence_bias"}, off=(off_if("sequence_bias", "is", ()),)),
    Step(
        stage=BadWords,
        fields={"sequences": spellings},
        reads=("bad_words", "bad_words_ids"),
        off=(off_if("bad_words", "falsy with", "bad_words_ids"),),
    ),
    Step(
        stage=NoRepeatNgram,
        fields={"size": "no_repeat_ngram_size"},
        off=(off_if("no_repeat_ngram_size", "is", 0),),
    ),
    Step(
        stage=RepetitionPenalty,
        fields={"penalty": "repetition_penalty", "window": last_n},
        off=(off_if("repetition_penalty", "is", 1.0),),
        reads=("penalty_last_n",),
    ),
    Step(
        stage=PresenceFrequencyPenalty,
        fields={"presence": "presence_penalty", "frequency": "frequency_penalty", "window": last_n},
        off=(off_if("presence_penalty", "falsy with", "frequency_penalty"),),
        reads=("penalty_last_n",),
    ),
    Step(
        stage=Dry,
        fields={
            "multiplier": "dry_multiplier",
            "base": "dry_base",
            "allowed_length": "dry_allowed_length",
            "window": dry_last_n,
            "breakers": breakers,
        },
        off=(off_if("dry_multiplier", "is", 0.0),),
        reads=("dry_penalty_last_n", "dry_sequence_breakers"),
    ),
)
_CUTS = (
    Step(stage=Smoothing, fields={"factor": "smoothing_factor"}, off=(off_if("smoothing_factor", "is", 0.0),)),
    Step(
        stage=Temperature,
        fields={"value": "temperature"},
        off=(off_if("temperature", "is", 1.0), off_if("dynatemp_range", ">", 0.0)),
    ),
    Step(
        stage=DynamicTemperature,
        fields={"low": coldest, "high": hottest, "exponent": "dynatemp_exponent"},
        off=(off_if("dynatemp_range", "is", 0.0),),
        reads=("temperature",),
    ),
    Step(stage=TopNSigma, fields={"n": "top_n_sigma"}, off=(off_if("top_n_sigma", "is", 0.0),)),
    Step(stage=TopK, fields={"k": "top_k"}, off=(off_if("top_k", "is", 0),)),
    Step(stage=TopP, fields={"p": "top_p"}, off=(off_if("top_p", ">=", 1.0),)),
    Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "<=", 0.0),)),
    Step(stage=Typical, fields={"p": "typical_p"}, off=(off_if("typical_p", ">=", 1.0),)),
    Step(stage=TopA, fields={"a": "top_a"}, off=(off_if("top_a", "is", 0.0),)),
    Step(stage=TailFree, fields={"z": "tfs"}, off=(off_if("tfs", ">=", 1.0),)),
    Step(stage=Epsilon, fields={"epsilon": "epsilon_cutoff"}, off=(off_if("epsilon_cutoff", "is", 0.0),)),
    Step(stage=Eta, fields={"epsilon": "eta_cutoff"}, off=(off_if("eta_cutoff", "is", 0.0),)),
    Step(stage=TopH, fields={"h": "top_h"}, off=(off_if("top_h", "is", None),)),
    Step(
        stage=Xtc,
        fields={"probability": "xtc_probability", "threshold": "xtc_threshold"},
        off=(off_if("xtc_probability", "is", 0.0),),
    ),
    *(
        Step(
            stage=stage,
            fields={"tau": "mirostat_tau", "eta": "mirostat_eta"},
            off=(off_if("mirostat", "is", 0, other),),
        )
        for stage, other in ((Mirostat1, 2), (Mirostat2, 1))
    ),
    Step(
        stage=AdaptiveP,
        fields={"target": "adaptive_target", "decay": "adaptive_decay"},
        off=(off_if("adaptive_target", "is", None),),
    ),
)


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    return "", dict(params.given())


FAIRDRAW = Dialect(
    engine="fairdraw",
    version="",
    summary="no hidden default; order mask, bias, penalties, temperature, top-k, top-p, min-p, typical, others",
    source="this library",
    variants=MappingProxyType(
        {
            "": Variant(
                parameters=PARAMETERS,
                modes=(
                    Mode(
                        name="greedy",
                        steps=_EDITS,
                        when=lambda values: values["temperature"] == 0,
                        draw=Greedy(),
                        reads=("temperature",),
                        ignores="temperature 0 is greedy",
                    ),
                    Mode(name="sample", steps=(*_EDITS, *_CUTS)),
                ),
            )
        }
    ),
    from_params=_from_params,
    elsewhere=MappingProxyType(
        {
            "repeat_penalty": "repetition_penalty",
            "repeat_last_n": "penalty_last_n",
            "max_new_tokens": "max_tokens",
            "min_new_tokens": "min_tokens",
            "temp": "temperature",
            "typical": "typical_p",
            "tfs_z": "tfs",
            "dry_range": "dry_penalty_last_n",
            "temp_exponent": "dynatemp_exponent",
            "do_sample": "temperature (0 is greedy)",
        }
    ),
)
