"""What is measured: sizes, and the cases that the axes of a size span."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from types import MappingProxyType

from fairdraw.benchmarks.modes import MODES
from fairdraw.benchmarks.rows import KINDS

VOCABULARIES = (49152, 128256, 151936, 262144)
BATCHES = (1, 8, 64, 256)
ALL = 0
"""A number of threads that means every core."""
FILE = "file"
"""The kind of rows that come from a file, with the file's own vocabulary."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One line of a table."""

    mode: str
    batch: int
    threads: int
    vocab: int
    rows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Axes:
    """Every combination of these is a case."""

    modes: tuple[str, ...]
    batch: tuple[int, ...] = (1,)
    threads: tuple[int, ...] = (1,)
    vocab: tuple[int, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much is measured when nobody says more."""

    axes: tuple[Axes, ...]
    repeats: int


_MAIN = ("temperature", "top_k", "top_p")
_ALL_MODES, _ALL_ROWS = tuple(MODES), tuple(KINDS)
SIZES = MappingProxyType(
    {
        "quick": Size(
            axes=(
                Axes(modes=_MAIN, vocab=(49152, 128256, 262144), rows=("peaky", "lm-like")),
                Axes(modes=_MAIN, vocab=(128256,), rows=("flat",)),
            ),
            repeats=15,
        ),
        "full": Size(
            axes=(
                Axes(modes=_ALL_MODES, vocab=VOCABULARIES, rows=_ALL_ROWS),
                Axes(modes=_ALL_MODES, batch=BATCHES[1:], threads=(1, ALL), vocab=(128256,), rows=("peaky", "flat")),
            ),
            repeats=31,
        ),
    }
)
"""Quick is for a minute, full for an hour."""


def cases_of(
    size: Size, asked: Mapping[str, Sequence[object]], *, cores: int, file_vocab: int | None = None
) -> tuple[Case, ...]:
    """The cases of a size, with some axes replaced.

    Parameters
    ----------
    size : Size
        Where the other axes come from.
    asked : mapping of str to sequence
        Axis (``modes``, ``batch``, ``threads``, ``vocab``, ``rows``) to its values; an empty one is not asked.
    cores : int
        What every core means.
    file_vocab : int, optional
        Vocabulary of the rows of the kind "file".

    Returns
    -------
    tuple of Case
        Sorted by mode, batch, threads and vocabulary, without doubles.

    Examples
    --------
    >>> asked = {"modes": ["top_k"], "vocab": [8], "rows": ["flat"], "threads": [1, 0]}
    >>> [(case.batch, case.threads) for case in cases_of(SIZES["quick"], asked, cores=2)]
    [(1, 1), (1, 2)]
    """
    changed = {name: tuple(values) for name, values in asked.items() if values}
    found: dict[Case, None] = {}
    for axes in size.axes:
        axes = replace(axes, **changed)  # type: ignore[bad-argument-type]
        for mode, batch, threads, vocab, rows in product(axes.modes, axes.batch, axes.threads, axes.vocab, axes.rows):
            vocab = vocab if rows != FILE or file_vocab is None else file_vocab
            found[Case(mode=mode, batch=batch, threads=threads or cores, vocab=vocab, rows=rows)] = None
    return tuple(sorted(found, key=_place))


def _place(case: Case) -> tuple[int, int, int, int]:
    return _ALL_MODES.index(case.mode), case.batch, case.threads, case.vocab
