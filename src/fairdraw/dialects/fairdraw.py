"""fairdraw's own dialect: no hidden defaults.

Order: mask, allowed ids, min tokens, bias, bad words; repetition, presence and frequency penalty; temperature
(exact); top-k (exactly k, lower ids first), top-p (of what top-k left; the crossing token stays; lower ids first),
min-p, typical.  Temperature 0 is greedy.  Every default is off.
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
    AllowedIds,
    BadWords,
    LogitBias,
    Mask,
    MinP,
    MinTokens,
    PresenceFrequencyPenalty,
    RepetitionPenalty,
    Temperature,
    TopK,
    TopP,
    Typical,
)


def _parameter(name: str, default: object, meaning: str, limit: str = "") -> Parameter:
    return Parameter(name=name, domain=DOMAINS[name], default=default, meaning=meaning, canonical=name, limit=limit)


PARAMETERS = (
    _parameter("temperature", 1.0, "divides the logits; 0 is greedy, 1 is off"),
    _parameter("top_k", 0, "keep this many of the most probable tokens; 0 is off"),
    _parameter("top_p", 1.0, "keep the shortest prefix with this mass; 1 is off"),
    _parameter("min_p", 0.0, "keep tokens with this share of the best one; 0 is off"),
    _parameter("typical_p", 1.0, "keep the most typical tokens up to this mass; 1 is off"),
    _parameter("repetition_penalty", 1.0, "divides the logits of ids seen in prompt and output; 1 is off"),
    _parameter("presence_penalty", 0.0, "subtracted once from ids of the output; 0 is off"),
    _parameter("frequency_penalty", 0.0, "subtracted from ids of the output for each time; 0 is off"),
    _parameter("penalty_last_n", 0, "how many of the last tokens penalties look at; 0 is all"),
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
    sequences = list(values["bad_words_ids"])  # type: ignore[arg-type]
    texts = values["bad_words"]
    if texts and (facts is None or facts.encode is None):
        hint = "pass facts of a model with a tokenizer, or the ids as bad_words_ids"
        raise ParameterError("bad_words", list(texts), "empty where no tokenizer is known", hint)  # type: ignore[call-overload]
    for text in texts:  # type: ignore[attr-defined]
        for spelling in (text.lstrip(" "), f" {text.lstrip(' ')}"):
            ids = tuple(facts.encode(spelling))  # type: ignore[union-attr, misc]
            if ids and ids not in sequences:
                sequences.append(ids)
    return tuple(sequences)


_EDITS = (
    Step(stage=Mask),
    Step(stage=AllowedIds, fields={"ids": "allowed_token_ids"}, off=(off_if("allowed_token_ids", "is", ()),)),
    Step(
        stage=MinTokens,
        fields={"count": "min_tokens", "end_ids": end_ids},
        off=(off_if("min_tokens", "is", 0),),
        reads=("stop_token_ids",),
    ),
    Step(stage=LogitBias, fields={"bias": "logit_bias"}, off=(off_if("logit_bias", "is", ()),)),
    Step(
        stage=BadWords,
        fields={"sequences": spellings},
        reads=("bad_words", "bad_words_ids"),
        off=(off_if("bad_words", "falsy with", "bad_words_ids"),),
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
)
_CUTS = (
    Step(stage=Temperature, fields={"value": "temperature"}, off=(off_if("temperature", "is", 1.0),)),
    Step(stage=TopK, fields={"k": "top_k"}, off=(off_if("top_k", "is", 0),)),
    Step(stage=TopP, fields={"p": "top_p"}, off=(off_if("top_p", ">=", 1.0),)),
    Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "<=", 0.0),)),
    Step(stage=Typical, fields={"p": "typical_p"}, off=(off_if("typical_p", ">=", 1.0),)),
)


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    return "", dict(params.given())


FAIRDRAW = Dialect(
    engine="fairdraw",
    version="",
    summary="no hidden default; order mask, bias, penalties, temperature, top-k, top-p, min-p, typical",
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
            "do_sample": "temperature (0 is greedy)",
        }
    ),
)
