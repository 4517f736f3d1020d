"""A context-free grammar that the whole text must follow."""

from __future__ import annotations

from dataclasses import dataclass

from fairdraw.constraints.engine import GrammarState, start_grammar
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.errors import ParameterError

_DOMAIN = "a Lark grammar with a rule named start"


@dataclass(frozen=True, slots=True)
class Grammar:
    r"""The whole text must be derived from ``start`` of a grammar.

    Parameters
    ----------
    text : str
        The rules, in llguidance's dialect of Lark: small names for rules, capitals for tokens, ``%json`` for a schema
        inside.

    Raises
    ------
    ParameterError
        It is no str, or empty.

    Notes
    -----
    A rule that names a special token can never be followed: special tokens are no text.

    Examples
    --------
    >>> from fairdraw.constraints.tracking import Track
    >>> toy = Vocabulary(token_bytes=(b"", b"(", b")", b"x"), width=4, end_ids=(0,))
    >>> track = Track(Grammar('start: "x" | "(" start ")"'), toy)
    >>> for token in (1, 3):
    ...     track.advance(token)
    >>> track.mask().tolist()
    [False, False, True, False]
    """

    text: str

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not self.text.strip():
            raise ParameterError("grammar", self.text, _DOMAIN)

    @property
    def name(self) -> str:
        """``grammar``."""
        return "grammar"

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"kind": "grammar", "text": self.text}

    def start(self, vocabulary: Vocabulary) -> GrammarState:
        """Give the state before the first token.

        Raises
        ------
        ParameterError
            The grammar is malformed; the hint has line and column.
        UnavailableError
            llguidance is missing.
        """
        shown = self.text if len(self.text) <= 60 else self.text[:57] + "..."
        return start_grammar("grammar", shown, _DOMAIN, self.text, vocabulary)
