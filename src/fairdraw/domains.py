"""What values a parameter may have, as data: used by checks, by error messages and by the documentation.

A domain has a text, the end of "must be ...", and a test.  Booleans are never numbers here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fairdraw.errors import ParameterError


class Domain(Protocol):
    """A set of allowed values."""

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        ...

    def holds(self, value: object) -> bool:
        """Whether a value is allowed."""
        ...

    def clean(self, value: object) -> object:
        """The same value as plain Python data (a NumPy number becomes a number, a list a tuple)."""
        ...


def require(parameter: str, value: object, domain: Domain, hint: str = "") -> object:
    """Return the value as plain data, or raise.

    Parameters
    ----------
    parameter : str
        Name of the value, as the caller wrote it.
    value : object
        What came.
    domain : Domain
        What must hold.
    hint : str, optional
        One sentence that helps.

    Returns
    -------
    object
        The value, with NumPy scalars and lists turned into plain immutable data.

    Raises
    ------
    ParameterError
        The value lies outside the domain.

    Examples
    --------
    >>> require("top_p", 0.9, Real(0, 1))
    0.9
    >>> require("top_p", float("nan"), Real(0, 1))
    Traceback (most recent call last):
    fairdraw.errors.ParameterError: top_p must be a number in [0, 1], got nan
    """
    if not domain.holds(value):
        raise ParameterError(parameter, value, domain.text, hint)
    return domain.clean(value)


def _is_number(value: object, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and not isinstance(value, (bool, np.bool_))


@dataclass(frozen=True, slots=True)
class Real:
    """A finite number between two bounds; ``open`` names the bounds left out: "", "low", "high" or "both"."""

    low: float = -math.inf
    high: float = math.inf
    open: str = ""

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        if self.low == -math.inf and self.high == math.inf:
            return "a finite number"
        if self.high == math.inf:
            relation = ">" if self.open in ("low", "both") else ">="
            return f"a finite number {relation} {self.low:g}"
        left = "(" if self.open in ("low", "both") else "["
        right = ")" if self.open in ("high", "both") else "]"
        return f"a number in {left}{self.low:g}, {self.high:g}{right}"

    def holds(self, value: object) -> bool:
        """Whether a value is a finite number inside the bounds."""
        if not _is_number(value, (int, float, np.integer, np.floating)):
            return False
        try:
            number = float(value)  # type: ignore[arg-type]
        except OverflowError:
            return False
        above = number > self.low if self.open in ("low", "both") else number >= self.low
        below = number < self.high if self.open in ("high", "both") else number <= self.high
        return math.isfinite(number) and above and below

    def clean(self, value: object) -> float:
        """The number as a float."""
        return float(value)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class StrictReal(Real):
    """A number that must be written as a float, with one value at which the engine does not look at the type."""

    exempt: float = 1.0

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        return f"{Real.text.fget(self)} of type float"  # type: ignore[attr-defined]

    def holds(self, value: object) -> bool:
        """Whether a value is a float inside the bounds, or equals the exempt value."""
        if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
            return value == self.exempt
        return isinstance(value, float) and Real.holds(self, value)


@dataclass(frozen=True, slots=True)
class ZeroOr(Real):
    """Exactly 0, or a finite number between two bounds."""

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        return f"0 or {Real.text.fget(self)}"  # type: ignore[attr-defined]

    def holds(self, value: object) -> bool:
        """Whether a value is 0 or a number inside the bounds."""
        return Real(0, 0).holds(value) or Real.holds(self, value)


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number between two bounds, both allowed."""

    low: int | None = None
    high: int | None = None

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        if self.low is None and self.high is None:
            return "a whole number"
        if self.high is None:
            return f"a whole number >= {self.low}"
        return f"a whole number in {self.low}..{self.high}"

    def holds(self, value: object) -> bool:
        """Whether a value is an integer inside the bounds."""
        if not _is_number(value, (int, np.integer)):
            return False
        number = int(value)  # type: ignore[call-overload]
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def clean(self, value: object) -> int:
        """The number as an int."""
        return int(value)  # type: ignore[call-overload]


@dataclass(frozen=True, slots=True)
class Truth:
    """True or False."""

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        return "true or false"

    def holds(self, value: object) -> bool:
        """Whether a value is a boolean."""
        return isinstance(value, (bool, np.bool_))

    def clean(self, value: object) -> bool:
        """The value as a bool."""
        return bool(value)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        return "one of " + ", ".join(repr(word) for word in self.words)

    def holds(self, value: object) -> bool:
        """Whether a value is one of the words."""
        return isinstance(value, str) and value in self.words

    def clean(self, value: object) -> str:
        """The word."""
        return str(value)


@dataclass(frozen=True, slots=True)
class TokenIds:
    """A sequence of token ids (whole numbers >= 0); one id alone counts as a sequence of one."""

    text: str = "a list of token ids (whole numbers >= 0)"

    def holds(self, value: object) -> bool:
        """Whether a value is a token id or a sequence of them."""
        return all(TOKEN_ID.holds(item) for item in _items(value))

    def clean(self, value: object) -> tuple[int, ...]:
        """The ids as a tuple of ints, in the order given."""
        return tuple(TOKEN_ID.clean(item) for item in _items(value))


@dataclass(frozen=True, slots=True)
class TokenSequences:
    """A sequence of at least ``least`` non-empty sequences of token ids."""

    least: int = 0

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        return f"a {'non-empty ' if self.least else ''}list of non-empty lists of token ids"

    def holds(self, value: object) -> bool:
        """Whether a value is a list of non-empty lists of token ids."""
        if isinstance(value, (str, bytes)) or not isinstance(value, (Sequence, np.ndarray)):
            return False
        return len(value) >= self.least and all(
            isinstance(item, (Sequence, np.ndarray)) and len(item) > 0 and TokenIds().holds(item) for item in value
        )

    def clean(self, value: object) -> tuple[tuple[int, ...], ...]:
        """The sequences as tuples of ints, in the order given."""
        return tuple(TokenIds().clean(item) for item in _items(value))


@dataclass(frozen=True, slots=True)
class Texts:
    """A sequence of non-empty strings; one string alone counts as a sequence of one."""

    text: str = "a non-empty string or a list of them"

    def holds(self, value: object) -> bool:
        """Whether a value is a non-empty string or a sequence of them."""
        items = (value,) if isinstance(value, str) else value
        return isinstance(items, Sequence) and all(isinstance(item, str) and item for item in items)

    def clean(self, value: object) -> tuple[str, ...]:
        """The strings as a tuple, in the order given."""
        return (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class BiasMap:
    """Token ids and what is added to their logits: a mapping (keys may be strings, as in JSON) or pairs."""

    limit: float = math.inf
    """Largest size of a bias."""

    @property
    def text(self) -> str:
        """The end of "must be ..."."""
        size = "a finite number" if self.limit == math.inf else f"a number in [-{self.limit:g}, {self.limit:g}]"
        return f"a mapping from token id (a whole number >= 0) to {size}"

    def holds(self, value: object) -> bool:
        """Whether every id and every bias is allowed, and no id comes twice."""
        pairs = _pairs(value)
        if pairs is None:
            return False
        number = Real(-self.limit, self.limit)
        allowed = all(TOKEN_ID.holds(token) and number.holds(bias) for token, bias in pairs)
        return allowed and len({token for token, _ in pairs}) == len(pairs)

    def clean(self, value: object) -> tuple[tuple[int, float], ...]:
        """The pairs (id, bias), by id."""
        pairs = _pairs(value)
        assert pairs is not None
        return tuple(sorted((int(token), float(bias)) for token, bias in pairs))  # type: ignore[call-overload, arg-type]


@dataclass(frozen=True, slots=True)
class SequenceBiasMap:
    """Sequences of token ids and what is added where one is completed: a mapping (keys may be JSON) or pairs."""

    text: str = "a mapping from non-empty lists of token ids to a finite number"

    def holds(self, value: object) -> bool:
        """Whether every sequence and every bias is allowed, and no sequence comes twice."""
        pairs = _sequence_pairs(value)
        if pairs is None:
            return False
        allowed = TokenSequences().holds([ids for ids, _ in pairs]) and all(Real().holds(bias) for _, bias in pairs)
        return allowed and len({TokenIds().clean(ids) for ids, _ in pairs}) == len(pairs)

    def clean(self, value: object) -> tuple[tuple[tuple[int, ...], float], ...]:
        """The pairs (sequence, bias), in the order given."""
        pairs = _sequence_pairs(value)
        assert pairs is not None
        return tuple((TokenIds().clean(ids), float(bias)) for ids, bias in pairs)  # type: ignore[arg-type]


def _sequence_pairs(value: object) -> list[tuple[object, object]] | None:
    pairs = _pairs(value)
    try:
        return None if pairs is None else [(json.loads(i) if isinstance(i, str) else i, b) for i, b in pairs]
    except json.JSONDecodeError:
        return None


def _items(value: object) -> Sequence[object]:
    if _is_number(value, (int, np.integer)):
        return (value,)
    if hasattr(value, "tolist"):
        # NumPy arrays, and what other libraries made in their image.
        items = value.tolist()  # type: ignore[union-attr]
        return items if isinstance(items, list) else (items,)
    if isinstance(value, (set, frozenset)):
        return sorted(value)
    if isinstance(value, (Sequence, range)) and not isinstance(value, (str, bytes)):
        return value
    return ("not a sequence",)


def _pairs(value: object) -> list[tuple[object, object]] | None:
    source = value.items() if hasattr(value, "items") else value  # type: ignore[union-attr]
    try:
        pairs = [(token, bias) for token, bias in source]  # type: ignore[union-attr]
    except (TypeError, ValueError):
        return None
    return [(int(t) if isinstance(t, str) and t.isascii() and t.isdigit() else t, b) for t, b in pairs]


TOKEN_ID = Whole(0, 2**31 - 1)
SEED = Whole(0, 2**64 - 1)
COUNTER = Whole(0, 2**32 - 1)
"""A position or a sample index: one 32-bit word of the noise's counter; overflow is an error."""
PROBABILITY = Real(0, 1)
TEMPERATURE = Real(1e-38, 1e38)
