"""Hugging Face transformers, ``generate(...)`` on one row without beams.

Read and run: transformers 5.22.0 and 5.24.0, generation/logits_process.py, generation/configuration_utils.py
(``_get_default_generation_params``) and generation/utils.py (``_get_logits_processor``); torch 2.13.0 on the CPU.

- Nothing asked for is greedy; ``do_sample=True`` brings **top_k=50** unasked.
- Processors first, in both modes: guidance, sequence biases, penalties, n-grams, bad words, minimum lengths, forced
  ids, the length penalty, suppressed ids, the caller's own.  When sampling, then: temperature (float32 division), top-h
  (which of several equal tokens stays at the edge is open), top-k (ties all stay), top-p of what top-k left (the set of
  an ascending walk; open in a tie as well), min-p, typical, epsilon, eta.  A watermark and log-softmax come last, in
  both modes.
- The ``encoder_`` parameters act on models without an encoder too: on the prompt.
- top-p compares with float32(1 - p), so the share that counts is 1 - float32(1 - p).
- ``min_new_tokens`` takes the place of ``min_length``.  Left padding is text for all but 5.24's repetition penalty.
- The two versions differ in the repetition penalty (5.22 penalises left padding, 5.24 skips it) and in the order in
  which the biases of longer sequences are added in float32 (5.22 as given, 5.24 by length).
- The engine sums in float32.  top-p's sums and min-p's comparison stay within the 2^-20 in which a cut is reported as
  a boundary tie, up to a vocabulary of 151936 (measured).  The float32 entropy of typical and eta does not on flat rows
  of 32768 ids or more: there the engine's set may differ from ours at the cut, by a total variation of 1e-7 to 1e-4,
  and by more where a large group of equal tokens stands at the cut.  Guidance multiplies the rounding of a float32
  log-softmax: 5e-7 in a probability at a scale of 3, more by as much as the temperature is below 1.
- A rule that leaves no token is refused, although forced ids or ``remove_invalid_values`` would give the engine one.
- Which of several equal tokens are among the 40 that a "selfhash" watermark looks at is left to the engine's sort; here
  the lower ids are.
- None counts as unset here, as in a ``GenerationConfig``; passed to ``generate`` itself, None switches a stage off.
"""

from __future__ import annotations

from types import MappingProxyType

import numpy as np

from fairdraw.context import ModelFacts
from fairdraw.dialects.base import Dialect, Fill, Mode, Step, Values, Variant, canonical_reading, off_if
from fairdraw.dialects.steps import DIVIDED_TEMPERATURE, in_float32
from fairdraw.dialects.transformers_parameters import PARAMETERS, UNMODELLED
from fairdraw.draws import Greedy
from fairdraw.errors import ParameterError
from fairdraw.history import Scope
from fairdraw.params import SamplingParams
from fairdraw.stages import (
    BadWords,
    Epsilon,
    Eta,
    FiniteScores,
    ForcedTokens,
    Guidance,
    LengthDecay,
    LogSoftmax,
    Mask,
    MinP,
    MinTokens,
    NoPromptNgram,
    NoRepeatNgram,
    PromptPenalty,
    RepetitionPenalty,
    SequenceBias,
    SuppressedTokens,
    TopH,
    TopK,
    TopP,
    Typical,
    Watermark,
)


def _end_ids(values: Values, facts: ModelFacts | None) -> tuple[int, ...]:
    own = facts.end_token_ids if facts else ()
    return tuple(dict.fromkeys((*own, *(values["eos_token_id"] or ()))))  # type: ignore[misc]


def _required_end_ids(values: Values, facts: ModelFacts | None) -> object:
    ids = _end_ids(values, facts)
    if not ids:
        hint = "pass facts=ModelFacts(vocab_size=..., end_token_ids=...), or eos_token_id"
        names = ("min_new_tokens", "min_length", "exponential_decay_length_penalty")
        name = next(name for name in names if values[name])
        domain = "unset where no end id is known" if name == names[2] else "0 where no end id is known"
        raise ParameterError(name, values[name], domain, hint)
    return ids


def _words(values: Values, facts: ModelFacts | None) -> object:
    ends = {(token,) for token in _end_ids(values, facts)}
    return tuple(words for words in values["bad_words_ids"] if words not in ends)  # type: ignore[attr-defined]


def _share(values: Values, facts: ModelFacts | None) -> object:
    """What a comparison with float32(1 - p) makes of p."""
    return max(0.0, 1.0 - float(np.float32(1.0 - float(values["top_p"]))))  # type: ignore[arg-type]


def _ids(name: str) -> Fill:
    """A list of ids that must not be empty, since the engine then forbids all."""

    def fill(values: Values, facts: ModelFacts | None) -> object:
        if not values[name]:
            raise ParameterError(name, values[name], "unset, or a non-empty list of token ids")
        return values[name]

    return fill


def _before_last(values: Values, facts: ModelFacts | None) -> object:
    if values["max_new_tokens"] is None:
        hint = "it forces the last one of them"
        raise ParameterError(
            "forced_eos_token_id", values["forced_eos_token_id"], "unset beside no max_new_tokens", hint
        )
    return values["max_new_tokens"] - 1  # type: ignore[operator]


_NONE_LEFT = (
    "Every token in `{name}` ({ids}) is also in `suppress_tokens`. Forcing a token while suppressing it sets all "
    "logits to `-inf` at the forcing step, which produces `nan` probabilities and crashes generation. Remove the "
    "overlapping token(s) from either `{name}` or `suppress_tokens` (if you meant to prevent an early EOS token, use "
    "`min_new_tokens` instead)."
)


def _suppressed(values: Values, facts: ModelFacts | None) -> object:
    ids = values["suppress_tokens"]
    for name in ("forced_bos_token_id", "forced_eos_token_id"):
        forced = set(values[name] or ())  # type: ignore[call-overload]
        if forced and forced <= set(ids):  # type: ignore[call-overload]
            hint = f"transformers itself says: {_NONE_LEFT.format(name=name, ids=sorted(forced))}"
            raise ParameterError("suppress_tokens", ids, f"without one id of {name} at least", hint)
    return ids


def _after_forced(values: Values, facts: ModelFacts | None) -> object:
    return 0 if values["forced_bos_token_id"] is None else 2


def _watermark(name: str) -> Fill:
    def fill(values: Values, facts: ModelFacts | None) -> object:
        return dict(values["watermarking_config"])[name]  # type: ignore[call-overload]

    return fill


def _end_steps() -> tuple[Step, ...]:
    """How long a text must be, and how it begins and ends."""
    return (
        Step(
            stage=MinTokens,
            fields={"count": "min_length", "end_ids": _required_end_ids},
            switches={"scope": "padded"},
            reads=("eos_token_id",),
            # min_new_tokens takes its place.
            off=(off_if("min_length", "is", 0), off_if("min_new_tokens", ">=", 0)),
        ),
        Step(
            stage=MinTokens,
            fields={"count": "min_new_tokens", "end_ids": _required_end_ids},
            reads=("eos_token_id",),
            off=(off_if("min_new_tokens", "is", None, 0),),
        ),
        Step(
            stage=ForcedTokens,
            fields={"ids": _ids("forced_bos_token_id")},
            switches={"length": 1, "scope": "padded"},
            off=(off_if("forced_bos_token_id", "is", None),),
        ),
        Step(
            stage=ForcedTokens,
            fields={"ids": _ids("forced_eos_token_id"), "length": _before_last},
            switches={"scope": "output"},
            off=(off_if("forced_eos_token_id", "is", None),),
        ),
        Step(stage=FiniteScores, off=(off_if("remove_invalid_values", "is", False),)),
        Step(
            stage=LengthDecay,
            fields={
                "start": lambda values, facts: values["exponential_decay_length_penalty"][0],  # type: ignore[index]
                "factor": lambda values, facts: values["exponential_decay_length_penalty"][1],  # type: ignore[index]
                "end_ids": _required_end_ids,
            },
            reads=("eos_token_id",),
            off=(off_if("exponential_decay_length_penalty", "is", None),),
        ),
    )


def _suppress_steps() -> tuple[Step, ...]:
    return (
        Step(
            stage=SuppressedTokens,
            fields={"ids": _suppressed},
            reads=("forced_bos_token_id", "forced_eos_token_id"),
            off=(off_if("suppress_tokens", "is", None),),
        ),
        # After a prompt of one id, a forced first id stands before the beginning, which is then the third.
        Step(
            stage=SuppressedTokens,
            fields={"ids": "begin_suppress_tokens", "shortest": _after_forced},
            switches={"length": 0, "scope": "output"},
            reads=("forced_bos_token_id",),
            off=(off_if("begin_suppress_tokens", "is", None),),
        ),
        Step(
            stage=SuppressedTokens,
            fields={"ids": "begin_suppress_tokens"},
            switches={"length": 2, "scope": "padded"},
            off=(off_if("begin_suppress_tokens", "is", None), off_if("forced_bos_token_id", "is", None)),
        ),
    )


def _processors(scope: Scope, bias_order: str) -> tuple[Step, ...]:
    return (
        Step(stage=Guidance, fields={"scale": "guidance_scale"}, off=(off_if("guidance_scale", "is", None, 1.0),)),
        Step(
            stage=SequenceBias,
            fields={"bias": "sequence_bias"},
            switches={"scope": "padded", "order": bias_order},
            off=(off_if("sequence_bias", "is", None),),
        ),
        Step(
            stage=PromptPenalty,
            fields={"penalty": lambda values, facts: 1.0 / float(values["encoder_repetition_penalty"])},  # type: ignore[arg-type]
            off=(off_if("encoder_repetition_penalty", "is", 1.0),),
        ),
        Step(
            stage=RepetitionPenalty,
            fields={"penalty": "repetition_penalty"},
            switches={"scope": scope, "unknown_ids": "ignore"},
            off=(off_if("repetition_penalty", "is", 1.0),),
        ),
        Step(
            stage=NoRepeatNgram,
            fields={"size": "no_repeat_ngram_size"},
            switches={"scope": "padded"},
            off=(off_if("no_repeat_ngram_size", "<=", 0),),
        ),
        Step(
            stage=NoPromptNgram,
            fields={"size": "encoder_no_repeat_ngram_size"},
            off=(off_if("encoder_no_repeat_ngram_size", "<=", 0),),
        ),
        Step(
            stage=BadWords,
            fields={"sequences": _words},
            switches={"scope": "padded"},
            reads=("bad_words_ids", "eos_token_id"),
            off=(off_if("bad_words_ids", "is", None),),
        ),
        *_end_steps(),
        *_suppress_steps(),
        Step(stage=Mask),
    )


SAMPLING = ("temperature", "top_h", "top_k", "top_p", "min_p", "typical_p", "epsilon_cutoff", "eta_cutoff")
"""What the engine reads when it draws, and not for greedy."""
_WARPERS = (
    DIVIDED_TEMPERATURE,
    Step(stage=TopH, fields={"h": "top_h"}, switches={"ties": "any"}, off=(off_if("top_h", "is", None),)),
    Step(stage=TopK, fields={"k": "top_k"}, switches={"ties": "all"}, off=(off_if("top_k", "is", 0),)),
    Step(
        stage=TopP,
        fields={"p": _share},
        switches={"ties": "any"},
        reads=("top_p",),
        off=(off_if("top_p", ">=", 1.0),),
    ),
    Step(stage=MinP, fields={"p": "min_p"}, off=(off_if("min_p", "is", None, 0.0),)),
    Step(stage=Typical, fields={"p": "typical_p"}, off=(off_if("typical_p", ">=", 1.0),)),
    Step(
        stage=Epsilon,
        fields={"epsilon": in_float32("epsilon_cutoff")},
        reads=("epsilon_cutoff",),
        off=(off_if("epsilon_cutoff", "<=", 0.0), off_if("epsilon_cutoff", ">=", 1.0)),
    ),
    Step(
        stage=Eta,
        fields={"epsilon": in_float32("eta_cutoff")},
        reads=("eta_cutoff",),
        off=(off_if("eta_cutoff", "<=", 0.0), off_if("eta_cutoff", ">=", 1.0)),
    ),
)

_LAST = (
    Step(
        stage=Watermark,
        fields={
            "bias": _watermark("bias"),
            "share": _watermark("greenlist_ratio"),
            "key": _watermark("hashing_key"),
            "scheme": _watermark("seeding_scheme"),
            "width": _watermark("context_width"),
        },
        off=(off_if("watermarking_config", "is", None),),
    ),
    Step(stage=LogSoftmax, off=(off_if("renormalize_logits", "is", None, False),)),
)


def _from_params(params: SamplingParams) -> tuple[str, dict[str, object]]:
    request = canonical_reading("transformers", PARAMETERS, params)
    request["do_sample"] = params.temperature != 0
    if params.temperature == 0:
        del request["temperature"]
    return "", request


def _dialect(version: str, scope: Scope, bias_order: str, padding: str) -> Dialect:
    processors = _processors(scope, bias_order)
    return Dialect(
        engine="transformers",
        version=version,
        summary=f"greedy unless do_sample; then top_k=50 unasked, top-p inside top-k, ties all; {padding}",
        source=f"transformers {version}.0: generation/logits_process.py, configuration_utils.py, utils.py",
        refuses="types",
        variants=MappingProxyType(
            {
                "": Variant(
                    parameters=PARAMETERS,
                    fixed_limits=MappingProxyType({"include_stop_str_in_output": True}),
                    modes=(
                        Mode(
                            name="greedy",
                            steps=(*processors, *_LAST),
                            when=lambda values: not values["do_sample"],
                            draw=Greedy(),
                            reads=("do_sample",),
                            unread=SAMPLING,
                            ignores="do_sample is false; the engine itself only warns that the flag may be ignored",
                        ),
                        Mode(name="sample", steps=(*processors, *_WARPERS, *_LAST), reads=("do_sample",)),
                    ),
                )
            }
        ),
        from_params=_from_params,
        unmodelled=UNMODELLED,
        elsewhere=MappingProxyType(
            {
                "max_tokens": "max_new_tokens",
                "min_tokens": "min_new_tokens",
                "stop": "stop_strings",
                "stop_token_ids": "eos_token_id",
                "repeat_penalty": "repetition_penalty",
                "bad_words": "bad_words_ids",
                "logit_bias": "sequence_bias",
                "cfg_scale": "guidance_scale",
                "temp": "temperature",
                "k": "top_k",
                "p": "top_p",
            }
        ),
    )


TRANSFORMERS_5_22 = _dialect("5.22", "padded", "given", "left padding is penalised")
TRANSFORMERS_5_24 = _dialect("5.24", "all", "by_length", "left padding is not penalised")
