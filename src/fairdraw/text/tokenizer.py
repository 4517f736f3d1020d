"""Text into token ids and back: byte-level BPE as the ``smollm`` family of GGUF files describes it.

The encoder is the ``tokenizers`` package, set up the way llama.cpp reads
``tokenizer.ggml.pre = smollm``: every numeral stands alone, then the pattern of GPT-2, then the merges.
Bytes of which the vocabulary has no token (21 of 256, none part of a common character) are dropped, as
llama.cpp drops them.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from fairdraw.errors import ParameterError
from fairdraw.text.packages import missing_package

if TYPE_CHECKING:
    from tokenizers import Tokenizer as Encoder


@functools.cache
def _byte_of_letter() -> dict[str, int]:
    # GPT-2 encoder.py bytes_to_unicode: printable Latin-1 stands for itself, the rest follows from U+0100.
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


def _build_encoder(tokens: Sequence[str], merges: Sequence[str]) -> Encoder:
    try:
        from tokenizers import Tokenizer as Encoder
        from tokenizers import models, pre_tokenizers
    except ImportError as error:
        raise missing_package("tokenizers", "split text into tokens") from error
    pairs = [(left, right) for left, right in (merge.split(" ") for merge in merges)]
    encoder = Encoder(models.BPE(vocab={token: index for index, token in enumerate(tokens)}, merges=pairs))
    encoder.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return encoder


class Tokenizer:
    """Text into token ids and back.

    Parameters
    ----------
    tokens : sequence of str
        The vocabulary in the byte alphabet of GPT-2; the index is the token id.
    merges : sequence of str
        ``"left right"``, most urgent first.
    special_ids : iterable of int
        Ids of control tokens, such as ``<|im_end|>``. Plain text never becomes one of them.
    chat_template : str, optional
        The Jinja source that writes a conversation as one text.
    bos_id, eos_id : int, optional
        The tokens that open and end a text.

    Examples
    --------
    >>> toy = Tokenizer(tokens=["<|end|>", "h", "i", "Ġ", "hi"], merges=["h i"], special_ids=[0])
    >>> toy.encode("hi h")
    [4, 3, 1]
    >>> toy.decode([4, 3, 1, 0])
    'hi h'
    """

    __slots__ = (
        "_bytes",
        "_encoder",
        "_merges",
        "_special_of_text",
        "_special_pattern",
        "_tokens",
        "bos_id",
        "chat_template",
        "eos_id",
        "special_ids",
    )

    def __init__(
        self,
        *,
        tokens: Sequence[str],
        merges: Sequence[str],
        special_ids: Iterable[int],
        chat_template: str | None = None,
        bos_id: int | None = None,
        eos_id: int | None = None,
    ) -> None:
        self._tokens = tuple(tokens)
        self._merges = tuple(merges)
        self._encoder = _build_encoder(self._tokens, self._merges)
        self._bytes: dict[int, bytes] = {}
        self.special_ids: frozenset[int] = frozenset(special_ids)
        self._special_of_text = {self._tokens[index]: index for index in sorted(self.special_ids)}
        # Longest first: at one place the longer of two special tokens wins.
        names = sorted(self._special_of_text, key=len, reverse=True)
        self._special_pattern = re.compile("(" + "|".join(map(re.escape, names)) + ")") if names else None
        self.chat_template = chat_template
        self.bos_id = bos_id
        self.eos_id = eos_id

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included."""
        return len(self._tokens)

    @property
    def special_tokens(self) -> Mapping[str, int]:
        """Text of every special token, with its id."""
        return dict(self._special_of_text)

    def encode(self, text: str) -> list[int]:
        """Split plain text into token ids.

        What looks like a special token is plain text here, so a user's words cannot end a turn.

        Parameters
        ----------
        text : str
            Any text without lone surrogates.

        Returns
        -------
        list of int
            Token ids; empty for an empty text.

        Raises
        ------
        ParameterError
            The text holds a lone surrogate, which no UTF-8 writes.
        """
        try:
            return self._encoder.encode(text, add_special_tokens=False).ids
        except (TypeError, UnicodeEncodeError) as error:
            raise ParameterError("text", text, "a str of whole Unicode characters") from error

    def encode_with_specials(self, text: str) -> list[int]:
        """Split trusted text into token ids; names of special tokens become those tokens.

        Parameters
        ----------
        text : str
            A text you wrote yourself. Never pass a stranger's words: see `encode`.

        Returns
        -------
        list of int
            Token ids.
        """
        if self._special_pattern is None:
            return self.encode(text)
        ids: list[int] = []
        for piece in self._special_pattern.split(text):
            special = self._special_of_text.get(piece)
            ids.extend(self.encode(piece) if special is None else [special])
        return ids

    def decode(self, ids: Iterable[int]) -> str:
        """Write token ids as text; special tokens are skipped.

        The bytes are joined before they are read as UTF-8, so a character split over several tokens comes
        back whole; bytes that are no character become U+FFFD.

        Parameters
        ----------
        ids : iterable of int
            Token ids.

        Returns
        -------
        str
        """
        return b"".join(map(self.token_bytes, ids)).decode("utf-8", "replace")

    def token_bytes(self, token_id: int) -> bytes:
        """Give the exact bytes of one token; empty for a special one.

        Parameters
        ----------
        token_id : int
            In [0, vocab_size).

        Returns
        -------
        bytes
            Possibly a part of a character.

        Raises
        ------
        ParameterError
            There is no such token.
        """
        known = self._bytes.get(token_id)
        if known is not None:
            return known
        token = self._token(token_id)
        letters = _byte_of_letter()
        written = b"" if token_id in self.special_ids else bytes(letters[letter] for letter in token)
        self._bytes[token_id] = written
        return written

    def token_text(self, token_id: int) -> str:
        """Show one token in a table: one line, every space visible.

        A space is shown as ``␣``, a control character as its escape, a part of a character as its bytes in
        hexadecimal, a special token by its name.

        Parameters
        ----------
        token_id : int
            In [0, vocab_size).

        Returns
        -------
        str
        """
        token = self._token(token_id)
        if token_id in self.special_ids:
            return token
        written = self.token_bytes(token_id)
        try:
            text = written.decode("utf-8")
        except UnicodeDecodeError:
            return f"<{written.hex(' ')}>"
        shown = (letter if letter.isprintable() else repr(letter)[1:-1] for letter in text)
        return "".join(shown).replace(" ", "␣")

    def to_json(self) -> str:
        """Write everything the tokenizer needs as JSON; `from_json` reads it."""
        return json.dumps(
            {
                "tokens": self._tokens,
                "merges": self._merges,
                "special_ids": sorted(self.special_ids),
                "chat_template": self.chat_template,
                "bos_id": self.bos_id,
                "eos_id": self.eos_id,
            },
            ensure_ascii=False,
        )

    @classmethod
    def from_json(cls, text: str) -> Tokenizer:
        """Read what `to_json` wrote.

        Parameters
        ----------
        text : str
            The JSON.

        Returns
        -------
        Tokenizer
        """
        return cls(**json.loads(text))

    def _token(self, token_id: int) -> str:
        if not 0 <= token_id < len(self._tokens):
            raise ParameterError("token id", token_id, f"in [0, {len(self._tokens)})")
        return self._tokens[token_id]
