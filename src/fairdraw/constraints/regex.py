"""A regular expression that the whole text must match."""

from __future__ import annotations

from dataclasses import dataclass

from fairdraw.constraints.engine import GrammarState, regex_rule, start_grammar
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Regex:
    r"""The whole text must match a regular expression.

    Parameters
    ----------
    pattern : str
        In the syntax of Rust's ``regex`` crate, without look-around, word boundaries and backreferences.  Classes
        such as ``\d`` are Unicode's, as in Python's ``re``.  It matches from the first to the last character.

    Raises
    ------
    ParameterError
        It is no str, or empty.

    Notes
    -----
    Masks come from llguidance: between 1 us and 1 ms at a vocabulary of 49152.

    Examples
    --------
    >>> from fairdraw.constraints.tracking import Track
    >>> toy = Vocabulary(token_bytes=(b"", b"1", b"23", b"x"), width=4, end_ids=(0,))
    >>> Track(Regex(r"[0-9]+"), toy).mask().tolist()
    [False, True, True, False]
    >>> Track(Regex(r"[0-9"), toy)
    Traceback (most recent call last):
    fairdraw.errors.ParameterError: regex must be a regular expression, got '[0-9'
    hint: unclosed character class
    """

    pattern: str

    def __post_init__(self) -> None:
        if not isinstance(self.pattern, str) or not self.pattern:
            raise ParameterError("regex", self.pattern, "a regular expression that is not empty")

    @property
    def name(self) -> str:
        """``regex``."""
        return "regex"

    def to_json(self) -> dict[str, object]:
        """Plain data."""
        return {"kind": "regex", "pattern": self.pattern}

    def start(self, vocabulary: Vocabulary) -> GrammarState:
        """Give the state before the first token.

        Raises
        ------
        ParameterError
            The pattern is malformed or uses what the engine does not know.
        UnavailableError
            llguidance is missing.
        """
        rule = regex_rule(self.pattern, vocabulary)
        return start_grammar("regex", self.pattern, "a regular expression", rule, vocabulary)
