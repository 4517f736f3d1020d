"""candle 0.11's own tokens: its ``LogitsProcessor`` with its float32 arithmetic and rand's generator.

The same seed draws the same tokens as a program on candle's CPU backend, given the same logits::

    processor = LogitsProcessor.from_sampling(299792458, Sampling.TopP(p=0.9, temperature=0.8))
    token = processor.sample(apply_repeat_penalty(logits, 1.1, tokens[-64:]))

Promise: the same token, where the logits are the same bits, candle was built with rustc 1.95 and rand 0.9, and
``sum_order`` is its build's.  On a device that computes the softmax itself (Metal, CUDA) the probabilities differ in
their last digits, and now and then the token.

For the law of these ways, and fast draws from it, see the dialect ``candle@0.11``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from fairdraw.arrays import as_logits
from fairdraw.domains import Choice, Real, Whole, require
from fairdraw.errors import LogitsError, ParameterError
from fairdraw.replay.candle_sampling import (
    All,
    ArgMax,
    GumbelSoftmax,
    Sampling,
    TopK,
    TopKThenTopP,
    TopP,
    Weighing,
    is_number,
)
from fairdraw.replay.candle_softmax import SUM_ORDERS, Singles, SumOrder, softmax
from fairdraw.replay.weighted_index import INVALID, WeightedIndex, engine_words
from fairdraw.streams.candle_metal import MetalGenerator
from fairdraw.streams.rust_std import StdRng

__all__ = [
    "All",
    "ArgMax",
    "GumbelSoftmax",
    "LogitsProcessor",
    "Sampling",
    "TopK",
    "TopKThenTopP",
    "TopP",
    "apply_repeat_penalty",
]

Edit = Callable[[Singles], object]
"""Changes a row of float32 probabilities in place."""

SMALLEST_TEMPERATURE = 1e-7
"""Below this, ``new`` takes the best token."""
GUMBEL_LOW, GUMBEL_HIGH = 1e-7, 0.999
"""Bounds of the uniforms behind the Gumbel noise."""


class LogitsProcessor:
    """A way of sampling and a generator: each token drawn moves the generator on by one word.

    Make one with `from_sampling` or `new`.

    Notes
    -----
    Source: candle-transformers 0.11.0, ``src/generation/mod.rs``.  A row with NaN, with ``+inf`` or with nothing but
    ``-inf`` is refused; candle refuses it in the four ways that weigh tokens, and takes some token in the other two.
    """

    __slots__ = ("_device_generator", "_generator", "_sampling", "_sum_order")

    def __init__(
        self, generator: StdRng, sampling: Sampling, sum_order: SumOrder, device_generator: MetalGenerator | None
    ) -> None:
        if not isinstance(sampling, Sampling) or type(sampling) is Sampling:
            domain = "one of candle's six ways, such as Sampling.All(temperature=1.0)"
            raise ParameterError("sampling", sampling, domain)
        require("sum_order", sum_order, Choice(SUM_ORDERS))
        self._generator, self._sampling, self._sum_order = generator, sampling, sum_order
        self._device_generator = device_generator

    @classmethod
    def from_sampling(
        cls,
        seed: int,
        sampling: Sampling,
        *,
        sum_order: SumOrder = "sequential",
        device_generator: MetalGenerator | None = None,
    ) -> LogitsProcessor:
        """A processor that samples in a given way.

        Parameters
        ----------
        seed : int
            0 to 2^64-1.
        sampling : Sampling
            How.
        sum_order : {"sequential", "neon", "avx2"}
            How candle's build sums the softmax up: a plain one for x86-64 is sequential, one for aarch64 (an Apple
            computer) is neon, one for x86-64 with AVX (``-C target-cpu=native``) avx2.  Rows of less than 32 do not
            depend on it; at a vocabulary of 49152 about 1 token of 200 does.
        device_generator : MetalGenerator, optional
            Where `GumbelSoftmax` takes its noise from.  candle takes it from the device, whatever the seed, and its
            CPU has a generator that nobody can seed.

        Examples
        --------
        >>> processor = LogitsProcessor.from_sampling(42, Sampling.All(temperature=1.0))
        >>> [processor.sample([2.0, 1.5, 1.0, 0.5, 0.0, -1.0]) for _ in range(8)]
        [0, 1, 0, 1, 3, 1, 5, 0]
        """
        return cls(StdRng.seed_from_u64(seed), sampling, sum_order, device_generator)

    @classmethod
    def new(
        cls,
        seed: int,
        temperature: float | None = None,
        top_p: float | None = None,
        *,
        sum_order: SumOrder = "sequential",
    ) -> LogitsProcessor:
        """A processor in candle's older form, which cannot say top-k.

        Parameters
        ----------
        seed, sum_order
            As in `from_sampling`.
        temperature : float, optional
            None, or below 1e-7: the best token, whatever ``top_p`` says.
        top_p : float, optional
            None: every token.

        Examples
        --------
        >>> LogitsProcessor.new(42, 0.0, 0.9).sample([1.0, 3.0, 2.0])
        1
        """
        if temperature is None or (is_number(temperature) and temperature < SMALLEST_TEMPERATURE):
            sampling: Sampling = ArgMax()
        elif top_p is None:
            sampling = All(temperature=temperature)
        else:
            sampling = TopP(p=top_p, temperature=temperature)
        return cls.from_sampling(seed, sampling, sum_order=sum_order)

    def sample(self, logits: object) -> int:
        """Draw a token.

        Parameters
        ----------
        logits : array_like of float, shape (vocab,)
            One row; it is not written.

        Returns
        -------
        int
            Token id.

        Raises
        ------
        LogitsError, ParameterError
            Where candle fails; the hint has its words.
        """
        return self.sample_f(logits, _nothing)

    def sample_f(self, logits: object, f: Edit) -> int:
        """Draw a token from probabilities that ``f`` may change first.

        Parameters
        ----------
        logits : array_like of float, shape (vocab,)
            As in `sample`.
        f : callable
            Takes the float32 probabilities, before the cut, and changes them in place; they need not add up to 1.
            It is called once, and not at all in `ArgMax` and `GumbelSoftmax`.

        Examples
        --------
        >>> def forbid_the_best(probabilities):
        ...     probabilities[0] = 0
        >>> processor = LogitsProcessor.from_sampling(42, Sampling.All(temperature=1.0))
        >>> [processor.sample_f([2.0, 1.5, 1.0, 0.5, 0.0, -1.0], forbid_the_best) for _ in range(8)]
        [1, 2, 1, 2, 4, 2, 5, 1]
        """
        return int(self.sample_many(logits, 1, f)[0])

    def sample_many(self, logits: object, draws: int, f: Edit | None = None) -> NDArray[np.int64]:
        """Draw many tokens from one row: those that as many calls of `sample`, or `sample_f`, would draw.

        Returns
        -------
        int64, shape (draws,)
            Token ids.

        Examples
        --------
        >>> processor = LogitsProcessor.from_sampling(42, Sampling.TopK(k=2, temperature=1.0))
        >>> np.bincount(processor.sample_many([3.0, 2.0, 2.0, 1.0], 10_000), minlength=4).tolist()
        [7349, 2651, 0, 0]
        """
        require("draws", draws, Whole(0))
        sampling = self._sampling
        row = _row(logits, reduces=not isinstance(sampling, Weighing))
        if isinstance(sampling, GumbelSoftmax) and sampling.temperature > 0:
            return np.array([self._noisy_best(row, sampling) for _ in range(draws)], np.int64)
        if not isinstance(sampling, Weighing):
            return np.full(draws, np.argmax(row))
        probabilities = softmax(_scaled(row, sampling), self._sum_order)
        (f or _nothing)(probabilities)
        ids, weights = sampling.kept(probabilities)
        places = WeightedIndex.of(weights, "probabilities after f").places(self._generator.draw_words(draws))
        return places if ids is None else ids[places]

    def _noisy_best(self, row: Singles, sampling: GumbelSoftmax) -> np.int64:
        if self._device_generator is None:
            hint = "candle@0.11 itself says of its CPU: 'cannot seed the CPU rng with set_seed'"
            domain = "a MetalGenerator for GumbelSoftmax, whose noise is the device's: the seed has no part in it"
            raise ParameterError("device_generator", None, domain, hint)
        uniforms = self._device_generator.uniforms(row.size, GUMBEL_LOW, GUMBEL_HIGH)
        noise = _logarithm(-_logarithm(uniforms))
        if sampling.temperature != 1:
            noise = noise * np.float32(sampling.temperature)
        return np.argmax(row - noise)


def apply_repeat_penalty(logits: object, penalty: float, context: Iterable[int]) -> Singles:
    """Divide the logit of each id in the context by the penalty, or multiply it where it is negative; once an id.

    Parameters
    ----------
    logits : array_like of float, shape (vocab,)
        One row; it is not written.
    penalty : float
        Rounded to float32; 1 changes nothing.  candle's examples have 1.1.
    context : iterable of int, each 0 to 2^32-1
        Token ids that were seen, the caller's choice how many of the last: candle's examples take 64.  Ids that the
        row does not have are passed over.

    Returns
    -------
    float32, shape (vocab,)
        The new row.

    Notes
    -----
    Source: candle-transformers 0.11.0, ``src/utils.rs``.

    Examples
    --------
    >>> apply_repeat_penalty([2.0, -2.0, 0.5], 2.0, [0, 1, 1, 1, 7]).tolist()
    [1.0, -4.0, 0.5]
    """
    row = _row(logits, reduces=False).copy()
    hint = f"candle@0.11 itself divides by it, and the next draw then says: {INVALID!r}"
    number = require("penalty", penalty, Real(), hint)
    factor = np.float32(number)  # type: ignore[arg-type]
    if factor == 0:
        raise ParameterError("penalty", penalty, "a number other than 0 in float32", hint)
    word = Whole(0, 2**32 - 1)
    seen = np.array([require("context", token, word) for token in context], np.int64)
    seen = seen[seen < row.size]
    with np.errstate(over="ignore"):
        # From the old row: an id that comes twice gets the same value twice.
        row[seen] = np.where(row[seen] >= 0, row[seen] / factor, row[seen] * factor)
    return row


def _row(logits: object, *, reduces: bool) -> Singles:
    """The row, checked; ``reduces`` says that candle takes an argmax along the last axis before it looks."""
    try:
        return as_logits(logits)
    except LogitsError as error:
        shape = tuple(np.shape(logits))  # type: ignore[arg-type]
        if len(shape) < 2:
            raise
        left, expected = (shape[:-1], 0) if reduces else (shape, 1)
        words = engine_words(f"unexpected rank, expected: {expected}, got: {len(left)} ({list(left)})")
        raise LogitsError(error.where, error.requirement, error.got, f"{error.hint}; {words}") from None


def _scaled(row: Singles, sampling: Weighing) -> Singles:
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = row * sampling.factor
    if not np.isfinite(scaled.max()):
        domain = "such that the largest logit * float32(1 / temperature) is finite, and none NaN"
        raise ParameterError("temperature", sampling.temperature, domain, engine_words(INVALID))
    return scaled


def _logarithm(values: Singles) -> Singles:
    """Natural logarithm, correctly rounded."""
    return np.log(values.astype(np.float64)).astype(np.float32)


def _nothing(probabilities: Singles) -> None:
    """Change nothing."""
