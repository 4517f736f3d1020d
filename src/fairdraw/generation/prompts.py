"""What a text may go on from: a message, token ids, or a conversation."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from fairdraw.domains import SEED, TokenIds, Whole, require
from fairdraw.errors import ParameterError
from fairdraw.limits import Limits
from fairdraw.models.protocol import Model
from fairdraw.text.chat_template import encode_chat

Prompt = str | Sequence[int] | Sequence[Mapping[str, str]]
"""A user's message, token ids as they are, or a conversation of mappings with role and content."""


def encode_prompt(model: Model, prompt: Prompt) -> list[int]:
    """Token ids of a prompt; at least one.

    Raises
    ------
    ParameterError
        The prompt is empty, or an id is not the model's.
    """
    if isinstance(prompt, str):
        return encode_chat(model.tokenizer, [{"role": "user", "content": prompt}])
    if isinstance(prompt, Sequence) and prompt and isinstance(prompt[0], Mapping):
        return encode_chat(model.tokenizer, prompt)  # type: ignore[arg-type]
    ids = list(require("prompt", prompt, TokenIds()))  # type: ignore[call-overload]
    if not ids:
        raise ParameterError("prompt", "none", "at least one token id", "a text needs a token to go on from")
    if max(ids) >= model.facts.vocab_size:
        raise ParameterError("prompt", max(ids), f"token ids in 0..{model.facts.vocab_size - 1}")
    return ids


def require_model(model: object) -> None:
    """Refuse what is no model, with a hint how to come by one.

    Raises
    ------
    ParameterError
        It is something else, for instance a model's name.
    """
    if isinstance(model, type) or not all(hasattr(model, part) for part in ("facts", "tokenizer", "start")):
        hint = f"load_model({model!r})" if isinstance(model, str) else 'for instance load_model("smollm2")'
        raise ParameterError("model", model, "a loaded model", hint)


def fit_prompt(model: Model, prompt: Prompt, limits: Limits, max_tokens: int | None) -> tuple[tuple[int, ...], int]:
    """Token ids of a prompt, and how many may follow them.

    Raises
    ------
    ParameterError
        The prompt is empty or longer than the model's context, or an id or ``max_tokens`` is out of range.
    """
    ids = tuple(encode_prompt(model, prompt))
    room = (model.facts.context_length or 2**32) - len(ids)
    if room < 0:
        hint = "shorten the prompt"
        raise ParameterError("prompt", f"{len(ids)} tokens", f"at most {model.facts.context_length} tokens", hint)
    limit = limits.max_tokens if max_tokens is None else require("max_tokens", max_tokens, Whole(0))
    return ids, room if limit is None else min(room, int(limit))  # type: ignore[call-overload]


def choose_seed(seed: int | None, limits: Limits) -> int:
    """The caller's seed, or else the plan's, or else a fresh one.

    Raises
    ------
    ParameterError
        It is not in 0..2^64-1.
    """
    given = limits.seed if seed is None else seed
    return secrets.randbits(64) if given is None else int(require("seed", given, SEED))  # type: ignore[call-overload]
