"""Small vocabularies, and the real one."""

from __future__ import annotations

from hypothesis import strategies as st

from fairdraw.constraints.vocabulary import Vocabulary


def toy(*texts: str | bytes, ends: tuple[int, ...] = (0,), padding: int = 0) -> Vocabulary:
    """Id 0 is the end token; the texts follow; then the padding."""
    written = (b"", *(text.encode() if isinstance(text, str) else text for text in texts))
    return Vocabulary(token_bytes=written, width=len(written) + padding, end_ids=ends)


def vocabularies(alphabet: str, longest: int = 3) -> st.SearchStrategy[Vocabulary]:
    """Random tokens over some letters, every letter among them, some texts twice."""
    pieces = st.lists(st.text(alphabet, min_size=1, max_size=longest), max_size=12)
    return pieces.map(lambda texts: toy(*alphabet, *texts))
