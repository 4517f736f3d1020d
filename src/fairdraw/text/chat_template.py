"""Write a conversation with a model's own Jinja template, so that no message can forge a special token.

Before rendering, every special token in the *template* is replaced by its id between two marks; the mark is a
private-use character that occurs nowhere in the messages. After rendering, only marked ids
become special tokens; whatever a message says, ``<|im_end|>`` included, is encoded as plain text. The
messages themselves pass through untouched, so a template's tests, ``trim`` and ``split`` see the true words.

The sandbox and its settings follow transformers (``utils/chat_template_utils.py``): immutable,
``trim_blocks``, ``lstrip_blocks``, loop controls, ``raise_exception``, ``tojson``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from fairdraw.errors import ParameterError, UnavailableError
from fairdraw.text.packages import missing_package
from fairdraw.text.tokenizer import Tokenizer

Messages = Sequence[Mapping[str, str]]
"""Each with at least ``role`` and ``content``."""


class _RefusalError(Exception):
    """A template called ``raise_exception``."""


def render_chat(template: str, messages: Messages, *, bos: str = "", eos: str = "") -> str:
    """Write a conversation as the one text the model was trained on, up to where the answer starts.

    For reading. To feed a model use `encode_chat`: in this text a message's ``<|im_end|>`` looks real.

    Parameters
    ----------
    template : str
        Jinja source.
    messages : sequence of mappings
        Each with ``role`` and ``content``, both str.
    bos, eos : str
        Texts of the tokens that open and end a text: the template's ``bos_token`` and ``eos_token``.

    Returns
    -------
    str

    Raises
    ------
    ParameterError
        A message is malformed, the template refuses the messages, or the template itself is wrong.
    UnavailableError
        The package ``jinja2`` is missing.

    Examples
    --------
    >>> template = "{% for m in messages %}[{{ m.role }}] {{ m.content | trim }}{{ eos_token }}{% endfor %}"
    >>> render_chat(template, [{"role": "user", "content": " hi "}], eos="</s>")
    '[user] hi</s>'
    """
    _check(messages)
    return _render(template, messages, bos, eos)


def encode_chat(tokenizer: Tokenizer, messages: Messages) -> list[int]:
    """Write a conversation as token ids, up to where the answer starts.

    Special tokens come from the template alone. A message that spells one gets the ids of its letters.

    Parameters
    ----------
    tokenizer : Tokenizer
        With a chat template.
    messages : sequence of mappings
        Each with ``role`` and ``content``, both str.

    Returns
    -------
    list of int

    Raises
    ------
    ParameterError
        A message is malformed, the template refuses the messages, or the template itself is wrong.
    UnavailableError
        The tokenizer has no chat template, or the package ``jinja2`` is missing.

    Notes
    -----
    A special token that the template glues together from parts, as in ``'<|' + role + '|>'``, stays plain.
    """
    if tokenizer.chat_template is None:
        raise UnavailableError("this model has no chat template", "give it plain text instead of a conversation")
    _check(messages)
    mark = _unused_letter(tokenizer.chat_template + json.dumps(list(map(dict, messages)), ensure_ascii=False))
    marked = {text: f"{mark}{index}{mark}" for text, index in tokenizer.special_tokens.items()}
    bos, eos = (f"{mark}{index}{mark}" if index is not None else "" for index in (tokenizer.bos_id, tokenizer.eos_id))
    rendered = _render(_replace_all(tokenizer.chat_template, marked), messages, bos, eos)
    # Odd pieces are the ids between two marks.
    ids: list[int] = []
    for position, piece in enumerate(re.split(f"{mark}([0-9]+){mark}", rendered)):
        ids.extend([int(piece)] if position % 2 else tokenizer.encode(piece))
    return ids


def _check(messages: Messages) -> None:
    if not messages:
        raise ParameterError("messages", messages, "at least one message")
    for index, message in enumerate(messages):
        parts = [message.get(key) if isinstance(message, Mapping) else None for key in ("role", "content")]
        if not all(isinstance(part, str) for part in parts):
            raise ParameterError(
                f"messages[{index}]",
                message,
                "a mapping with the texts 'role' and 'content'",
                'for instance {"role": "user", "content": "Hello"}',
            )


def _unused_letter(text: str) -> str:
    # Supplementary Private Use Area A has 65534 letters; a text with all of them is no conversation.
    taken = set(text)
    for code in range(0xF0000, 0xFFFFE):
        if chr(code) not in taken:
            return chr(code)
    raise ParameterError("messages", "every private-use character", "text with a private-use character to spare")


def _replace_all(text: str, replacements: Mapping[str, str]) -> str:
    if not replacements:
        return text
    names = sorted(replacements, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, names)), lambda match: replacements[match[0]], text)


def _refuse(reason: str) -> NoReturn:
    raise _RefusalError(reason)


def _render(template: str, messages: Messages, bos: str, eos: str) -> str:
    try:
        from jinja2 import TemplateError
        from jinja2.sandbox import ImmutableSandboxedEnvironment
    except ImportError as error:
        raise missing_package("jinja2", "write a conversation with the model's template") from error
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    # Jinja's own tojson escapes for HTML; a prompt wants the characters.
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    try:
        return environment.from_string(template).render(
            messages=messages,
            bos_token=bos,
            eos_token=eos,
            add_generation_prompt=True,
            raise_exception=_refuse,
        )
    except _RefusalError as refusal:
        roles = [message["role"] for message in messages]
        raise ParameterError("messages", roles, "what the chat template accepts", str(refusal)) from None
    except TemplateError as error:
        raise _wrong_template(template, error, getattr(error, "lineno", None)) from error
    except Exception as error:
        # A template is a program from a model's file: it can raise anything Python can.
        raise _wrong_template(template, error, None) from error


def _wrong_template(template: str, error: Exception, line: int | None) -> ParameterError:
    excerpt = template if len(template) <= 60 else template[:57] + "..."
    place = f" in line {line}" if line else ""
    return ParameterError(
        "chat template",
        excerpt,
        "a Jinja template that renders these messages",
        f"it fails{place}: {type(error).__name__}: {error}",
    )
