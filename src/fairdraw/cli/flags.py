"""The sampling parameters as flags: one for each field of `SamplingParams`, read strictly.

Cyclopts reads "2.5" as the whole number 2; here a flag means what it says, or is refused.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields, make_dataclass
from typing import Annotated, Any

from cyclopts import Group, Parameter, Token

from fairdraw.domains import (
    BiasMap,
    Domain,
    Real,
    SequenceBiasMap,
    Texts,
    TokenIds,
    TokenSequences,
    Truth,
    Whole,
    ZeroOr,
)
from fairdraw.limits import Limits
from fairdraw.params import DOMAINS, SamplingParams

MAX_TOKENS = 256
"""How many tokens at most when nobody says."""
SAMPLING = Group("Sampling", help="How a token is drawn. Not given: the dialect decides.", sort_key=2)
TEXT = Group("Text", help="When the text ends, and what is reported.", sort_key=3)
GENERAL = Group("General", sort_key=1)
_HELP = {
    "max_tokens": f"At most this many tokens; {MAX_TOKENS} if neither this nor the plan says.",
    "seed": "Chooses the noise. 0 to 2^64-1; not given: a fresh one, which is printed.",
    "logprobs": "How many of the best alternatives to report for each token.",
    "stop": "A text that ends the output; once for each: --stop A --stop B.",
    "bad_words": "A text that must not be completed; once for each.",
    "bad_words_ids": "Ids that must not be completed: 11,12; once for each sequence.",
    "allowed_token_ids": "The only ids that may be drawn: 1 2 3, or 1,2,3. Empty: all.",
    "dry_sequence_breakers": "A text that no repetition reaches across, for DRY; once for each.",
    "suppress_tokens": "Ids that are never drawn: 1 2 3, or 1,2,3.",
    "sequence_bias": "Added where a sequence is completed: '{\"[1, 2]\": NUMBER}'.",
    "logit_bias": "Added to a token's logit: --logit-bias.ID NUMBER, or '{\"ID\": NUMBER}'.",
}


def whole(kind: object, tokens: Sequence[Token]) -> int:
    """A whole number, written as one."""
    return _whole(tokens[0].value)


def ids(kind: object, tokens: Sequence[Token]) -> tuple[int, ...]:
    """Token ids: one or several a word, with commas between."""
    try:
        return tuple(token_id for token in tokens for token_id in _ids(token.value))
    except ValueError as problem:
        # Cyclopts names the flag only where one word follows it.
        flag = f"Invalid value for {tokens[0].keyword}: " if len(tokens) > 1 else ""
        raise ValueError(f"{flag}{problem}") from None


def id_sequences(kind: object, tokens: Sequence[Token]) -> tuple[tuple[int, ...], ...]:
    """Sequences of token ids: one a word, with commas between its ids."""
    return tuple(_ids(token.value) for token in tokens)


WHOLE = Parameter(converter=whole)
IDS = Parameter(converter=ids, consume_multiple=True, json_list=False, negative="", show_default=False)
_KINDS: dict[type[Domain], tuple[Any, Parameter]] = {
    Whole: (int, WHOLE),
    Real: (float, Parameter()),
    ZeroOr: (float, Parameter()),
    Truth: (bool, Parameter(negative="")),
    Texts: (tuple[str, ...], Parameter(negative="", json_list=False)),
    TokenIds: (tuple[int, ...], IDS),
    TokenSequences: (tuple[str, ...], Parameter(converter=id_sequences, negative="", json_list=False)),
    BiasMap: (dict[str, float], Parameter()),
    SequenceBiasMap: (dict[str, float], Parameter()),
}


def _flag(name: str) -> Any:
    kind, reading = _KINDS[type(DOMAINS[name])]
    group = TEXT if name in {field.name for field in fields(Limits)} else SAMPLING
    words = (Parameter(help=_HELP[name]),) if name in _HELP else ()
    return Annotated[(kind | None, reading, Parameter(group=group), *words)]  # type: ignore[index]


SamplingFlags: type[SamplingParams] = make_dataclass(
    "SamplingFlags",
    [(field.name, _flag(field.name), None) for field in fields(SamplingParams)],  # type: ignore[arg-type]
    bases=(SamplingParams,),
    frozen=True,
    kw_only=True,
    slots=True,
    namespace={"__module__": __name__},
)
"""`SamplingParams` with the reading of its flags; the words of help are those of its fields."""


def _whole(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,40}", text):
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def _ids(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.strip().removeprefix("[").removesuffix("]").split(",")]
    if not all(re.fullmatch(r"[0-9]{1,10}", part) for part in parts):
        raise ValueError(f"{text!r} is not a token id (a whole number >= 0), nor several with commas between")
    return tuple(int(part) for part in parts)
