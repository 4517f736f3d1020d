"""PyTorch's CPU generator: mt19937, and the exponentials that its ``multinomial`` races with.

Matsumoto and Nishimura, "Mersenne Twister" (1998), started by Knuth's rule from the low 32 bits of the seed: the
words of NumPy's ``RandomState`` and of C++'s ``std::mt19937``.  An Exp(1) takes two words: r = first << 32 | second,
u = (r mod 2^53) / 2^53, and -log1p(-u) in float64, rounded to float32.

Source: torch 2.13.0, ATen/core/MT19937RNGEngine.h, TransformationHelper.h and
native/cpu/DistributionTemplates.h (the serial kernel), on the CPU.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairdraw.domains import SEED, Whole, require

FRACTION = np.uint64(2**53 - 1)
"""The bits of a 64-bit number that become a uniform."""
_COUNT = Whole(0)


def mt19937(seed: int) -> np.random.MT19937:
    """NumPy's generator in the state that Knuth's rule makes of 32 bits.

    Parameters
    ----------
    seed : int, 0 to 2^32-1
        Wider seeds are the caller's to cut.

    Returns
    -------
    numpy.random.MT19937
        ``random_raw(n)`` gives the next n words.

    Examples
    --------
    The first and the 10000th word of ``std::mt19937`` with its default seed; the C++ standard has the second:

    >>> words = mt19937(5489).random_raw(10_000)
    >>> int(words[0]), int(words[-1])
    (3499211612, 4123659995)
    """
    engine = np.random.MT19937()  # its own constructor seeds by another rule; RandomState is frozen and uses Knuth's
    engine.state = np.random.RandomState(seed).get_state(legacy=False)  # type: ignore[assignment]
    return engine


class TorchGenerator:
    """The state of ``torch.Generator("cpu")`` after ``manual_seed(seed)``; drawing moves it on.

    Parameters
    ----------
    seed : int, 0 to 2^64-1
        Only the low 32 bits count: 2^32 + 42 is 42, as in torch.  A negative seed of torch is seed + 2^64 here.

    Raises
    ------
    ParameterError
        The seed lies outside its range.

    Notes
    -----
    Bit for bit torch's as long as NumPy's log1p equals the C library's to one float64 unit, but for a value in some
    2^29 that such a unit would carry across the middle between two float32 numbers.

    Examples
    --------
    >>> generator = TorchGenerator(42)
    >>> [f"{value:.6f}" for value in generator.exponentials(3)]
    ['0.059914', '0.064976', '0.131917']
    >>> [f"{value:.6f}" for value in generator.exponentials(1)]
    ['0.054013']
    """

    __slots__ = ("_engine",)

    def __init__(self, seed: int) -> None:
        whole = int(require("seed", seed, SEED))  # type: ignore[call-overload]
        self._engine = mt19937(whole & 0xFFFFFFFF)

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next 32-bit words; uint64, shape (count,)."""
        return self._engine.random_raw(int(require("count", count, _COUNT)))  # type: ignore[call-overload]

    def exponentials(self, count: int) -> NDArray[np.float32]:
        """The next Exp(1) numbers, as ``torch.empty(count).exponential_()`` makes them; two words each.

        Parameters
        ----------
        count : int
            How many.  Those of a tensor of several axes come row by row.

        Returns
        -------
        float32, shape (count,)
        """
        pairs = self.words(2 * int(require("count", count, _COUNT))).reshape(-1, 2)  # type: ignore[call-overload]
        bits = (pairs[:, 0] << np.uint64(32) | pairs[:, 1]) & FRACTION
        return (-np.log1p(-(bits.astype(np.float64) * 2.0**-53))).astype(np.float32)
