"""Bytes into text, a piece at a time, without ever showing half a character.

The rule is Python's own: the pieces, joined, are ``all_bytes.decode("utf-8", "replace")``, which puts one
U+FFFD for each maximal part of a broken sequence (the Unicode Standard, section 3.9, "U+FFFD Substitution
of Maximal Subparts").
The decoding is done by the incremental decoder of the standard library; here it becomes a value.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

_new_decoder = codecs.getincrementaldecoder("utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Utf8Stream:
    r"""Decode UTF-8 that arrives in arbitrary pieces.

    A character goes out with the byte that completes it; a byte that can no longer become part of a
    character goes out as U+FFFD at once.  A stream is a value: ``push`` returns the next one, and the old
    one stays good, so going back is keeping it.

    Parameters
    ----------
    pending : bytes, at most 3
        The start of a character whose last bytes have not come; empty at the beginning of a text.

    Notes
    -----
    A byte order mark is kept, as U+FEFF.

    Examples
    --------
    >>> stream, text = Utf8Stream().push(b" \xf0\x9f")
    >>> text, stream.pending
    (' ', b'\xf0\x9f')
    >>> stream.push(b"\x98\x80")[1]
    '😀'
    >>> stream.finish()
    '�'
    """

    pending: bytes = b""

    def push(self, data: bytes) -> tuple[Utf8Stream, str]:
        r"""Decode the next bytes.

        Parameters
        ----------
        data : bytes
            What came, cut anywhere; may be empty.

        Returns
        -------
        Utf8Stream
            The stream after these bytes.
        str
            The characters that are now certain.

        Examples
        --------
        >>> Utf8Stream().push(b"\xc3(")
        (Utf8Stream(pending=b''), '�(')
        """
        decoder = _new_decoder("replace")
        text = decoder.decode(self.pending + data)
        pending, _ = decoder.getstate()
        held_text = pending.decode("utf-8", "replace")
        # CPython also keeps ED A0..ED BF, for "surrogatepass".  Here it is no start of a character, which
        # shows as one U+FFFD for each byte: release it.
        if len(held_text) > 1:
            return Utf8Stream(), text + held_text
        return Utf8Stream(pending=pending), text

    def finish(self) -> str:
        """Say what the pending bytes become if no more bytes come.

        Returns
        -------
        str
            One U+FFFD for an incomplete character, else nothing.
        """
        return self.pending.decode("utf-8", "replace")
