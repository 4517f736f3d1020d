"""Tokens in, text out: the bytes of each token, decoded and searched for stop strings."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace

from fairdraw.errors import ParameterError
from fairdraw.text.detokenizer import Utf8Stream
from fairdraw.text.stop_strings import StopMatch, StopStrings

_NEVER = StopStrings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """What one token, or the end, adds to the text.

    Parameters
    ----------
    text : str
        New text that can be shown now and will never be taken back.  Without the stop string: to include it,
        show ``text + stopped.matched``.
    stopped : StopMatch or None
        The stop string that ended the text.
    """

    text: str = ""
    stopped: StopMatch | None = None


class TextAssembler:
    r"""Put a text together from the bytes of its tokens.

    Bytes follow the rule of :class:`Utf8Stream`, stop strings that of :class:`StopStrings`, so the text does
    not depend on how the bytes are cut into tokens.  A character belongs to the token that completes it;
    what ``finish`` makes of incomplete bytes belongs to the last token.

    Parameters
    ----------
    stops : StopStrings
        What ends the text; by default nothing does.
    armed_after : int, at least 0
        How many tokens come before stop strings are looked for, as ``min_tokens`` asks.  The characters
        of these tokens are shown at once and are no part of a match, not even its beginning.

    Raises
    ------
    ParameterError
        ``armed_after`` is negative.

    Notes
    -----
    O(bytes) in total.  ``fork`` and ``offsets`` copy one number for each token.

    Examples
    --------
    >>> assembler = TextAssembler(StopStrings(("WXYZ",)))
    >>> [assembler.push(token).text for token in (b"ab", b"WX", b"Y")], assembler.held
    (['ab', '', ''], 'WXY')
    >>> other = assembler.fork()
    >>> assembler.push(b"Zq")
    Piece(text='', stopped=StopMatch(before='', matched='WXYZ', after='q'))
    >>> other.push(b"Q")
    Piece(text='WXYQ', stopped=None)
    >>> other.offsets
    (0, 2, 4, 5)
    """

    __slots__ = ("_armed_after", "_ended", "_length", "_matcher", "_offsets", "_stream")

    def __init__(self, stops: StopStrings = _NEVER, *, armed_after: int = 0) -> None:
        if armed_after < 0:
            raise ParameterError("armed_after", armed_after, "0 or more", "0 looks for stop strings at once")
        self._armed_after = armed_after
        self._stream = Utf8Stream()
        self._matcher = stops.matcher()
        self._offsets: list[int] = []
        self._length = 0
        self._ended = False

    @property
    def held(self) -> str:
        """Complete characters that came and are not shown, because they may begin a stop string."""
        return self._matcher.held

    @property
    def offsets(self) -> tuple[int, ...]:
        """For each token, the number of characters, shown or held, that were complete before it.

        Character ``k`` belongs to the last token whose offset is at most ``k``.  A stop string cuts the
        text that is shown, not the offsets: those of its own tokens may lie beyond that text.
        """
        return tuple(self._offsets)

    def push(self, token_bytes: bytes) -> Piece:
        """Add one token.

        Parameters
        ----------
        token_bytes : bytes
            All bytes of the token; empty for a token without text, which counts as a token all the same.

        Returns
        -------
        Piece
            The text that became certain, and the stop string if one was completed.

        Raises
        ------
        ParameterError
            The text has ended: by a stop string, or by ``finish``.
        """
        if self._ended:
            hint = "fork() before the end, to go on from there"
            raise ParameterError("token_bytes", token_bytes, "pushed before the text has ended", hint)
        self._offsets.append(self._length)
        self._stream, text = self._stream.push(token_bytes)
        return self._add(text)

    def finish(self) -> Piece:
        """End the text where it is: generation stopped for another reason than a stop string.

        Returns
        -------
        Piece
            The held text, and U+FFFD for an incomplete character; nothing if the text had already ended.
            Only a stop string that itself ends in U+FFFD can still be found here.
        """
        if self._ended:
            return Piece()
        text, self._stream = self._stream.finish(), Utf8Stream()
        piece = self._add(text)
        rest, self._matcher = self._matcher.finish(), self._matcher.stops.matcher()
        self._ended = True
        return replace(piece, text=piece.text + rest)

    def fork(self) -> TextAssembler:
        """Make a second assembler that continues from here; what is pushed to one does not reach the other.

        Returns
        -------
        TextAssembler
            A copy.
        """
        twin = copy(self)
        twin._offsets = self._offsets.copy()
        return twin

    def _add(self, text: str) -> Piece:
        self._length += len(text)
        if len(self._offsets) <= self._armed_after:
            return Piece(text=text)
        self._matcher, released, match = self._matcher.push(text)
        if match is None:
            return Piece(text=released)
        self._ended = True
        # Nothing follows, so the bytes of a character that began behind the match end here too.
        unfinished, self._stream = self._stream.finish(), Utf8Stream()
        return Piece(text=released, stopped=replace(match, after=match.after + unfinished))
