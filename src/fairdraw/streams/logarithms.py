"""Natural and binary logarithm from IEEE multiplications and additions alone, the same bits everywhere.

A number is split into a power of two and a mantissa 1 + f in [sqrt(1/2), sqrt(2)); then
log(1 + f) = f + f^2 Q(f), where Q is a fixed polynomial of degree 20 that interpolates the exact quotient at
Chebyshev points.  float64 throughout, every operation rounded once, in the order written here: no fused
multiply-add, no library logarithm.  Relative error below 1e-15 (a test against mpmath holds it).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def _coefficients(*hexadecimal: str) -> tuple[float, ...]:
    return tuple(float.fromhex(text) for text in hexadecimal)


NATURAL_TAIL = _coefficients(
    "-0x1.0000000000000p-1", "0x1.555555555555cp-2", "-0x1.fffffffffff34p-3", "0x1.999999999772bp-3",
    "-0x1.5555555561dddp-3", "0x1.249249261f2ccp-3", "-0x1.fffffff7e955cp-4", "0x1.c71c70c1303cbp-4",
    "-0x1.99999a6364b62p-4", "0x1.745d460eacbc4p-4", "-0x1.55556c388aeddp-4", "0x1.3b0eda8f5d75cp-4",
    "-0x1.248b2a78bff20p-4", "0x1.115b4daceee38p-4", "-0x1.00b0e81fd59f4p-4", "0x1.dd3093b701211p-5",
    "-0x1.b635ac30a3dacp-5", "0x1.bb08e0be73d94p-5", "-0x1.fc84a09888c57p-5", "0x1.ceab3eecb74d9p-5",
    "-0x1.8e8f5f6d78efbp-6",
)  # fmt: skip
"""Q for the natural logarithm, constant term first."""
BINARY_TAIL = _coefficients(
    "-0x1.71547652b82fep-1", "0x1.ec709dc3a0408p-2", "-0x1.71547652b826bp-2", "0x1.2776c50ef8328p-2",
    "-0x1.ec709dc3b254cp-3", "0x1.a61762a9ea84ap-3", "-0x1.7154764ce2849p-3", "0x1.484b131ad0390p-3",
    "-0x1.2776c5a089ebfp-3", "0x1.0c9aa658b9effp-3", "-0x1.ec70bec8ada25p-4", "0x1.c6885b8702ef2p-4",
    "-0x1.a60d1d18a8ecdp-4", "0x1.8a5ecb442acdap-4", "-0x1.7253af4689b4ep-4", "0x1.58383ab4ead37p-4",
    "-0x1.3c19f8ac78fe2p-4", "0x1.3f94fbd0c1559p-4", "-0x1.6ed1790500c8dp-4", "0x1.4dbebdde244fep-4",
    "-0x1.1f8013e77cf3ep-5",
)  # fmt: skip
"""The same Q times log2(e)."""
LN2_HIGH, LN2_LOW = _coefficients("0x1.62e42fefa2000p-1", "0x1.9ef35793c7673p-41")
"""ln 2 in two parts; the high one has so few digits that its product with an exponent is exact."""
LOG2E_HIGH, LOG2E_LOW = _coefficients("0x1.71547652b82fep+0", "0x1.777d0ffda0d24p-56")
"""log2(e) in two parts."""
_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)


def minus_log(values: Reals) -> Reals:
    """-ln of positive normal float64 numbers, any shape.

    Examples
    --------
    >>> minus_log(np.array([1.0, 0.5])).tolist()
    [-0.0, 0.6931471805599453]
    """
    exponent, fraction = _split(values)
    tail = fraction * fraction * _polynomial(NATURAL_TAIL, fraction)
    return -(exponent * LN2_HIGH + (exponent * LN2_LOW + (fraction + tail)))


def log2(values: Reals) -> Reals:
    """Binary logarithm of positive normal float64 numbers, any shape.

    Examples
    --------
    >>> log2(np.array([8.0, 1.0, 0.5])).tolist()
    [3.0, 0.0, -1.0]
    """
    exponent, fraction = _split(values)
    tail = fraction * LOG2E_LOW + fraction * fraction * _polynomial(BINARY_TAIL, fraction)
    return exponent + (fraction * LOG2E_HIGH + tail)


def _split(values: Reals) -> tuple[Reals, Reals]:
    """Exponent n and fraction f with value = 2^n (1 + f), 1 + f in [sqrt(1/2), sqrt(2)); both exact."""
    bits = np.ascontiguousarray(values, np.float64).view(np.int64)
    exponent = (bits - _SQRT_HALF_BITS) >> np.int64(52)
    mantissa = (bits - (exponent << np.int64(52))).view(np.float64)
    return exponent.astype(np.float64), mantissa - 1.0


def _polynomial(coefficients: tuple[float, ...], x: Reals) -> Reals:
    """Horner's rule, from the highest coefficient down."""
    value = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value
