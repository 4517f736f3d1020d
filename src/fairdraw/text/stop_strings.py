"""Stop strings: where a text ends, and what may be shown before that is known.

The search is the automaton of Aho and Corasick, "Efficient string matching: an aid to bibliographic search",
CACM 18(6), 1975: one step per character, whatever the number of stop strings.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from fairdraw.errors import ParameterError


@dataclass(frozen=True, slots=True, kw_only=True)
class StopMatch:
    """A stop string that was found.

    Whoever excludes the stop string shows ``before``; whoever includes it shows ``before + matched``.

    Parameters
    ----------
    before : str
        Text in front of the match that had not been released yet.
    matched : str
        The stop string.
    after : str
        Text behind the match that came in the same push; it is dropped.
    """

    before: str
    matched: str
    after: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Automaton:
    """A tree of prefixes: node 0 is the empty one, the others spell the start of a stop string."""

    children: tuple[dict[str, int], ...]
    fallback: tuple[int, ...]
    """The node of the longest proper suffix that is in the tree."""
    depth: tuple[int, ...]
    """How many characters the node spells."""
    ending: tuple[int, ...]
    """Length of the stop string that the node spells; 0: it spells none."""

    def step(self, node: int, character: str) -> int:
        while node and character not in self.children[node]:
            node = self.fallback[node]
        return self.children[node].get(character, 0)


def _build_automaton(stops: tuple[str, ...]) -> _Automaton:
    # No stop string has another one inside it before its last character, so only a node that spells a whole
    # stop string can end a match, and that stop string is the longest that ends there.
    children: list[dict[str, int]] = [{}]
    depth, ending = [0], [0]
    for stop in stops:
        node = 0
        for character in stop:
            if character not in children[node]:
                children[node][character] = len(children)
                children.append({})
                depth.append(depth[node] + 1)
                ending.append(0)
            node = children[node][character]
        ending[node] = len(stop)
    fallback = [0] * len(children)
    # Shorter prefixes first, so that a node's fallback is ready before its children ask for it.
    waiting = deque(children[0].values())
    while waiting:
        parent = waiting.popleft()
        for character, node in children[parent].items():
            shorter = fallback[parent]
            while shorter and character not in children[shorter]:
                shorter = fallback[shorter]
            fallback[node] = children[shorter].get(character, 0)
            waiting.append(node)
    return _Automaton(children=tuple(children), fallback=tuple(fallback), depth=tuple(depth), ending=tuple(ending))


@dataclass(frozen=True, slots=True)
class StopStrings:
    """The strings that end a text.

    The match whose last character comes first wins.  Of several that end at the same character, the one that
    starts first, which is the longest, wins; the order of the list never matters.  Strings are compared code
    point by code point, without normalisation.

    Parameters
    ----------
    stops : tuple of str
        None of them empty; duplicates are harmless.  No string at all: the text never stops.

    Raises
    ------
    ParameterError
        One is empty or no string, or something else was given for the tuple, such as a bare string.

    Notes
    -----
    By this rule a match depends on the text alone, not on how the text was cut into pieces.  A stop string
    that contains another one before its last character can never win, so no text is held for it.

    Examples
    --------
    >>> StopStrings(("WXYZ",)).matcher().push("abWX")
    (StopMatcher(stops=StopStrings(stops=('WXYZ',)), held='WX'), 'ab', None)
    >>> StopStrings(("",))
    Traceback (most recent call last):
    fairdraw.errors.ParameterError: stops must be a tuple of strings that are not empty, got ('',)
    hint: an empty string would end every text before its first character
    """

    stops: tuple[str, ...] = ()
    _automaton: _Automaton = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        domain = "a tuple of strings that are not empty"
        if isinstance(self.stops, str):
            raise ParameterError("stops", self.stops, domain, f"one stop string is ({self.stops!r},)")
        if not isinstance(self.stops, tuple) or not all(isinstance(stop, str) for stop in self.stops):
            raise ParameterError("stops", self.stops, domain)
        if "" in self.stops:
            hint = "an empty string would end every text before its first character"
            raise ParameterError("stops", self.stops, domain, hint)
        can_win = tuple(stop for stop in self.stops if not any(other in stop[:-1] for other in self.stops))
        object.__setattr__(self, "_automaton", _build_automaton(can_win))

    def matcher(self) -> StopMatcher:
        """Start to read a text.

        Returns
        -------
        StopMatcher
            One that holds nothing.
        """
        return StopMatcher(stops=self)


@dataclass(frozen=True, slots=True, kw_only=True)
class StopMatcher:
    """Look for stop strings in a text that arrives in arbitrary pieces.

    Held back is exactly what may still become part of a match: the longest end of the text that is a proper
    prefix of a stop string (of one that can win).  A matcher is a value: ``push`` returns the next one, and
    the old one stays good.

    Parameters
    ----------
    stops : StopStrings
        What to look for.
    held : str
        Text that came and was not released; empty at the beginning of a text.

    Notes
    -----
    A push costs one step for each held and each new character; held is shorter than the longest stop string.

    Examples
    --------
    The "XY" that was held turns out to be text as soon as "X" cannot follow it.

    >>> matcher, released, match = StopStrings(("XYX", "Q")).matcher().push("aXY")
    >>> released, matcher.held
    ('a', 'XY')
    >>> matcher.push("bX")[1]
    'XYb'
    >>> matcher.push("Xtail")[2]
    StopMatch(before='', matched='XYX', after='tail')
    """

    stops: StopStrings
    held: str = ""

    def push(self, text: str) -> tuple[StopMatcher, str, StopMatch | None]:
        """Read the next piece of text.

        Parameters
        ----------
        text : str
            What came, cut anywhere; may be empty.

        Returns
        -------
        StopMatcher
            The matcher after this piece; after a match one that holds nothing, for a new text.
        str
            What can no longer be part of a match.  With a match: ``match.before``.
        StopMatch or None
            The match that this piece completed, even if it began in an earlier one.
        """
        automaton = self.stops._automaton
        text = self.held + text
        node = 0
        for end, character in enumerate(text, start=1):
            node = automaton.step(node, character)
            if length := automaton.ending[node]:
                match = StopMatch(before=text[: end - length], matched=text[end - length : end], after=text[end:])
                return self.stops.matcher(), match.before, match
        released = len(text) - automaton.depth[node]
        return StopMatcher(stops=self.stops, held=text[released:]), text[:released], None

    def finish(self) -> str:
        """Say what is still to be released if no more text comes.

        Returns
        -------
        str
            The held text: without its rest it is no match.
        """
        return self.held
