"""What a constraint does to the law of whole texts: masking each step against conditioning on the whole.

A mask forbids what cannot become a legal text; it does not ask how likely the rest is.  So masked steps give

    product of p(token | before) / p(what is allowed | before),

while the model's own law, given that its text is legal, is proportional to the product of p(token | before) alone.
They agree where each step allows the same share, and can lie far apart where a likely beginning is legal only with an
unlikely end.  Here both are worked out in full, for grammars with few texts; the conditional law is drawn from, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairdraw.constraints.protocol import Constraint, State
from fairdraw.constraints.tracking import Track
from fairdraw.constraints.vocabulary import Vocabulary
from fairdraw.domains import Whole, require
from fairdraw.errors import LogitsError, ParameterError, PlanError
from fairdraw.history import History
from fairdraw.plan import Plan
from fairdraw.sampling import law, sample
from fairdraw.stages import StatefulStage

Tokens = tuple[int, ...]
Rows = Callable[[Tokens], ArrayLike]
"""The logits after some output tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLaw:
    """A law over whole texts, each a sequence of tokens without its end token."""

    tokens: tuple[Tokens, ...]
    """In ascending order."""
    probabilities: NDArray[np.float64]
    """They sum to 1."""
    legal: float
    """Probability that a free text is legal, of a conditional law; 1 of a masked one."""

    def of_bytes(self, vocabulary: Vocabulary) -> dict[bytes, float]:
        """The law of what is written: sequences of tokens that spell the same text together."""
        texts: dict[bytes, float] = {}
        for tokens, probability in zip(self.tokens, self.probabilities, strict=True):
            text = vocabulary.text(tokens)
            texts[text] = texts.get(text, 0.0) + float(probability)
        return texts

    def total_variation(self, other: TextLaw) -> float:
        """Half the sum of the absolute differences: how far one law's probability of an event may be off."""
        mine, others = (dict(zip(one.tokens, one.probabilities, strict=True)) for one in (self, other))
        return float(sum(abs(mine.get(t, 0.0) - others.get(t, 0.0)) for t in mine.keys() | others.keys())) / 2

    def draw(self, *, seed: int, sample_index: int = 0) -> Tokens:
        """Draw a text: the race over texts, one number a text.

        Notes
        -----
        Log-probabilities are rounded to float32, a relative error of 1e-6 at most in a text's probability.
        """
        with np.errstate(divide="ignore"):
            logits = np.log(self.probabilities).astype(np.float32)
        return self.tokens[sample(_AS_IT_IS, logits, seed=seed, position=0, sample_index=sample_index).token]


_AS_IT_IS = Plan.parse("fairdraw: temperature=1.0")


def masked_law(
    rows: Rows, plan: Plan, constraint: Constraint, vocabulary: Vocabulary, *, most: int, prompt: Sequence[int] = ()
) -> TextLaw:
    """The law of the texts that masking each step gives.

    Parameters
    ----------
    rows : callable
        Gets the output tokens so far and gives the logits after them.
    plan : Plan
        How a token is drawn; it has a mask stage.
    constraint : Constraint
        With few texts, each of at most ``most`` tokens.
    vocabulary : Vocabulary
        The tokens.
    most : int, at least 1
        A text with more tokens is an error: the law would not be whole.
    prompt : sequence of int
        Token ids before the output, for penalties.

    Returns
    -------
    TextLaw

    Raises
    ------
    LogitsError
        Some texts lead to a step at which nothing is allowed.
    ParameterError, PlanError
        The constraint has longer texts; the plan has a stage with a memory, such as mirostat.

    Notes
    -----
    One row and one `fairdraw.law` for each legal beginning.

    Examples
    --------
    A likely "a" that becomes legal only with an unlikely "x":

    >>> from fairdraw.constraints.choice import Choice
    >>> toy = Vocabulary(token_bytes=(b"a", b"b", b"x", b"y"), width=4, end_ids=())
    >>> shares = {(): [6, 2, 0, 0], (0,): [0, 0, 1, 7], (1,): [0, 0, 8, 0]}
    >>> def rows(tokens):
    ...     with np.errstate(divide="ignore"):
    ...         return np.log(shares[tokens])
    >>> plan, either = Plan.parse("fairdraw: temperature=1.0"), Choice(("ax", "bx"))
    >>> masked = masked_law(rows, plan, either, toy, most=2)
    >>> {text: round(p, 4) for text, p in masked.of_bytes(toy).items()}
    {b'ax': 0.75, b'bx': 0.25}
    >>> whole = conditional_law(rows, plan, either, toy, most=2)
    >>> {text: round(p, 4) for text, p in whole.of_bytes(toy).items()}
    {b'ax': 0.2727, b'bx': 0.7273}
    >>> round(masked.total_variation(whole), 4), round(whole.legal, 4)
    (0.4773, 0.3438)
    """
    walk = _Walk(rows, plan, vocabulary, require_most(most), tuple(prompt))
    walk.masked(Track(constraint, vocabulary), (), 1.0)
    return walk.law(1.0)


def conditional_law(
    rows: Rows, plan: Plan, constraint: Constraint, vocabulary: Vocabulary, *, most: int, prompt: Sequence[int] = ()
) -> TextLaw:
    """The law of the texts that the plan draws freely, given that they are legal and end.

    A free text ends with an end token, which counts; with a vocabulary without end tokens it ends where the
    constraint is complete.

    Parameters
    ----------
    rows, plan, constraint, vocabulary, most, prompt
        As in `masked_law`; the plan needs no mask stage.

    Returns
    -------
    TextLaw
        ``legal`` is the share of free texts that are legal, so rejection takes ``1 / legal`` tries on average.

    Raises
    ------
    LogitsError
        No legal text has a probability above 0.
    ParameterError, PlanError
        The constraint has longer texts; the plan has a stage with a memory, such as mirostat.
    """
    walk = _Walk(rows, plan, vocabulary, require_most(most), tuple(prompt))
    walk.free(constraint.start(vocabulary), (), 1.0)
    total = sum(walk.found.values())
    if total <= 0:
        raise LogitsError(f"the law under {constraint.name}", "give some legal text a probability above 0", "none")
    return walk.law(total)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """A text that was drawn by rejection."""

    tokens: Tokens
    """Without its end token."""
    tries: int
    """How many texts were begun; the last one is this."""


def draw_by_rejection(
    rows: Rows,
    plan: Plan,
    constraint: Constraint,
    vocabulary: Vocabulary,
    *,
    seed: int,
    first_index: int = 0,
    tries: int = 1000,
    most: int,
    prompt: Sequence[int] = (),
) -> Accepted:
    """Draw from the conditional law exactly: draw freely until a text is legal.

    Parameters
    ----------
    rows, plan, constraint, vocabulary, most, prompt
        As in `conditional_law`; a text of more than ``most`` tokens counts as not legal.
    seed : int, 0 to 2^64-1
        Chooses the noise.
    first_index : int
        Sample index of the first try; each further one has the next.
    tries : int, at least 1
        How many texts to begin at most.

    Returns
    -------
    Accepted

    Raises
    ------
    LogitsError
        None of the tries was legal.

    Notes
    -----
    A try stops at its first token that is not allowed.
    """
    require("tries", tries, Whole(1))
    before = tuple(prompt)
    for number in range(tries):
        tokens = _free_text(
            rows, plan, constraint.start(vocabulary), vocabulary, seed, first_index + number, most, before
        )
        if tokens is not None:
            return Accepted(tokens=tokens, tries=number + 1)
    hint = "more tries, or conditional_law where the texts can be listed"
    raise LogitsError(f"{tries} free texts under {constraint.name}", "have a legal one among them", "none", hint)


def require_most(most: int) -> int:
    """How many tokens a text may have.

    Raises
    ------
    ParameterError
        Not a whole number of at least 1.
    """
    return int(require("most", most, Whole(1)))  # type: ignore[call-overload]


def _free_text(
    rows: Rows, plan: Plan, state: State, vocabulary: Vocabulary, seed: int, index: int, most: int, prompt: Tokens
) -> Tokens | None:
    tokens: Tokens = ()
    while True:
        if state.is_complete and not vocabulary.end_ids:
            return tokens
        history = History(prompt=prompt, output=tokens)
        token = sample(plan, rows(tokens), seed=seed, position=len(history), sample_index=index, history=history).token
        if not state.allows(token):
            return None
        if token in vocabulary.ends:
            return tokens
        if len(tokens) == most:
            return None
        state, tokens = state.advance(token), (*tokens, token)


class _Walk:
    """Every legal beginning, with the probability of coming there."""

    def __init__(self, rows: Rows, plan: Plan, vocabulary: Vocabulary, most: int, prompt: Tokens) -> None:
        for stage in plan.stages:
            if isinstance(stage, StatefulStage):
                hint = "a memory is not followed from step to step here"
                raise PlanError(f"the law of whole texts needs a plan without {stage.name}", hint)
        self.rows, self.plan, self.vocabulary, self.most, self.prompt = rows, plan, vocabulary, most, prompt
        self.found: dict[Tokens, float] = {}

    def law(self, total: float) -> TextLaw:
        tokens = tuple(sorted(self.found))
        probabilities = np.array([self.found[t] for t in tokens]) / total
        return TextLaw(tokens=tokens, probabilities=probabilities, legal=total)

    def masked(self, track: Track, tokens: Tokens, probability: float) -> None:
        if track.is_complete:
            self._add(tokens, probability)
            return
        shares = self._law(tokens, track.mask())
        for token in np.flatnonzero(shares):
            if int(token) in self.vocabulary.ends:
                self._add(tokens, probability * float(shares[token]))
            else:
                self._require_room(tokens)
                grown = track.fork()
                grown.advance(int(token))
                self.masked(grown, (*tokens, int(token)), probability * float(shares[token]))

    def free(self, state: State, tokens: Tokens, probability: float) -> None:
        if state.is_complete and not self.vocabulary.end_ids:
            self._add(tokens, probability)
            return
        shares = self._law(tokens, None)
        for token in np.flatnonzero(shares):
            if not state.allows(int(token)):
                continue
            if int(token) in self.vocabulary.ends:
                self._add(tokens, probability * float(shares[token]))
            else:
                self._require_room(tokens)
                self.free(state.advance(int(token)), (*tokens, int(token)), probability * float(shares[token]))

    def _add(self, tokens: Tokens, probability: float) -> None:
        self.found[tokens] = self.found.get(tokens, 0.0) + probability

    def _law(self, tokens: Tokens, mask: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        history = History(prompt=self.prompt, output=tokens)
        return law(self.plan, self.rows(tokens), history=history, mask=mask).probabilities

    def _require_room(self, tokens: Tokens) -> None:
        if len(tokens) == self.most:
            hint = "both laws are worked out in full, so the constraint must have few and short texts"
            raise ParameterError("most", self.most, "as many tokens as the longest legal text has", hint)
