"""What a text may go on from: a message, token ids, or a conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fairdraw.domains import TokenIds, require
from fairdraw.errors import ParameterError
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
