"""The one place that talks to llguidance: a grammar and a vocabulary in, states out.

Masks are asked for with ``no_forcing``: without it the engine allows only the tokens its tokenizer would choose where
the grammar forces a text, and masks would depend on more than the text.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from fairdraw.constraints.bitmask import allows, widened
from fairdraw.constraints.states import Ended, refused
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.errors import ParameterError, UnavailableError
from fairdraw.packed_masks import Words, words_for

if TYPE_CHECKING:
    from llguidance import LLMatcher, LLTokenizer

_NO_FORCING = '\n%llguidance {"no_forcing": true}'
_SPECIAL = b"\xff"
"""What llguidance takes for the start of a special token's name; no UTF-8 has it."""
_BOUNDARY = r"word boundaries such as \b are not supported"
_ANCHOR = "^ and $ inside a pattern are not supported: it matches as a whole"
_DEAD_END = ("NoExtension", "NoExtensionBias")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GrammarState:
    """A grammar after some tokens."""

    name: str
    vocabulary: Vocabulary
    matcher: LLMatcher
    """Never moved: every question that could move it goes to a copy (3 us)."""

    @property
    def may_end(self) -> bool:
        """Whether the text so far is in the language."""
        return self.matcher.is_accepting()

    @property
    def is_complete(self) -> bool:
        """Whether it also begins no other text of the language."""
        return self.matcher.is_stopped() and self.may_end

    def mask(self) -> Words:
        """Tokens after which the text still begins one of the language, byte by byte."""
        words = self._text_words()
        return words | self.vocabulary.end_words if self.may_end else words

    def allows(self, token: int) -> bool:
        """Whether one token is such; about 1 us, a mask costs up to a millisecond."""
        if token in self.vocabulary.ends:
            return self.may_end
        # A stopped matcher would take any id for an error and stay in it.
        return allows(self.vocabulary.text_words, token) and self.matcher.validate_tokens([token]) == 1

    def advance(self, token: int) -> GrammarState | Ended:
        """Add a token."""
        if not self.allows(token):
            raise refused(self.name, token)
        if token in self.vocabulary.ends:
            return Ended(vocabulary=self.vocabulary)
        matcher = self.matcher.deep_copy()
        matcher.consume_token(token)
        self._require_sound(matcher)
        return GrammarState(name=self.name, vocabulary=self.vocabulary, matcher=matcher)

    def _text_words(self) -> Words:
        if self.matcher.is_stopped():
            return np.zeros(words_for(self.vocabulary.width), np.int32)
        matcher = self.matcher.deep_copy()
        raw = np.frombuffer(matcher.compute_bitmask(), "<i4")
        self._require_sound(matcher)
        return widened(raw, self.vocabulary.width) & self.vocabulary.text_words

    def _require_sound(self, matcher: LLMatcher) -> None:
        # That no token fits is no fault of the engine's: the mask is empty, and whoever draws says so.
        said = matcher.get_error().partition("\n")[0]
        if matcher.is_error() and said not in _DEAD_END:
            raise ParameterError(self.name, matcher.stop_reason(), "simple enough for the grammar engine", said)


def start_grammar(name: str, shown: object, domain: str, grammar: str, vocabulary: Vocabulary) -> GrammarState:
    """Compile a grammar and give its state before the first token.

    Parameters
    ----------
    name : str
        What errors call the constraint.
    shown : object
        What the caller wrote, for errors.
    domain : str
        What it must be, as the end of "must be ...".
    grammar : str
        In llguidance's dialect of Lark.
    vocabulary : Vocabulary
        The tokens.

    Raises
    ------
    ParameterError
        The grammar is malformed or uses what the engine does not know; the hint has the engine's words.
    UnavailableError
        llguidance is missing.
    """
    tokenizer = _tokenizer(vocabulary)
    from llguidance import LLMatcher

    grammar += _NO_FORCING
    failed, said = LLMatcher.validate_grammar_with_warnings(grammar, tokenizer)
    if failed or said:
        raise ParameterError(name, shown, domain, _plain(said[0]))
    matcher = LLMatcher(tokenizer, grammar, log_level=0)
    if matcher.is_error():
        raise ParameterError(name, shown, domain, _plain(matcher.get_error()))
    return GrammarState(name=name, vocabulary=vocabulary, matcher=matcher)


def regex_rule(pattern: str, vocabulary: Vocabulary) -> str:
    """The grammar of a regular expression, in Lark."""
    _tokenizer(vocabulary)
    from llguidance import LLMatcher

    return json.loads(LLMatcher.grammar_from_regex(pattern))["grammars"][0]["lark_grammar"]


def _plain(said: str) -> str:
    """What the engine says, in one line: its place in the text that we made helps nobody."""
    around = re.search(r"lookarounds not supported yet; (Word)?", said)
    if around:
        return _BOUNDARY if around[1] else _ANCHOR
    reason = re.search(r"^error: (.+)$", said, re.MULTILINE)
    if reason:
        return reason[1]
    line = said.strip().partition("\n")[0]
    return re.sub(r"^at \d+\(\d+\): |failed to compile JSON schema: ", "", re.sub(r"^at 1\(8\): ", "", line))


class _Tokens:
    """A vocabulary as llguidance wants it: special tokens have names, and one more token ends the text."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary) -> None:
        count = len(vocabulary.token_bytes)
        # Ends are ours to allow, so the engine gets an end of its own.
        self.eos_token_id = count
        self.tokens = [self._written(vocabulary, token) for token in range(count + 1)]
        self.special_token_ids = [token for token, text in enumerate(self.tokens) if text.startswith(_SPECIAL)]

    def __call__(self, text: str | bytes) -> list[int]:
        # Only forcing asks for the tokenizer's own way to split a text.
        return []

    @staticmethod
    def _written(vocabulary: Vocabulary, token: int) -> bytes:
        text = vocabulary.writes(token)
        return text if text and not text.startswith(_SPECIAL) else _SPECIAL + b"[%d]" % token


# Building the trie of a vocabulary of 49152 takes a tenth of a second.
@lru_cache(maxsize=4)
def _tokenizer(vocabulary: Vocabulary) -> LLTokenizer:
    try:
        from llguidance import LLTokenizer, TokenizerWrapper
    except ImportError as error:
        raise UnavailableError(
            "the package llguidance is needed for grammars, regular expressions and JSON schemas and is not installed",
            'pip install "fairdraw[constraints]"',
        ) from error
    tokens = _Tokens(vocabulary)
    return LLTokenizer(TokenizerWrapper(tokens), n_vocab=len(tokens.tokens), eos_token=tokens.eos_token_id)
