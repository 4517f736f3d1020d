"""-ln and log2: near the truth over all of the range that noise uses, and the same bits everywhere."""

import hashlib
import math

import mpmath
import numpy as np
import pytest

from fairdraw.streams import logarithms
from fairdraw.streams.logarithms import log2, minus_log

TOLERANCE = 1e-15
LARGEST_E = 53 * math.log(2) * (1 + 1 / 64 + 1 / 1024)
"""Above every Exp(1) that the tree can make: -ln(2^-53) at each of the three levels."""


def uniforms() -> np.ndarray:
    """Every kind of (k + 1/2) / 2^52: next to 0, next to 1, around each power of two and where the mantissa splits."""
    rng = np.random.default_rng(1)
    near_zero = np.arange(200)
    powers = np.array([(1 << bits) + offset for bits in range(2, 52) for offset in (-2, -1, 0, 1)])
    split = np.array(
        [int(math.sqrt(0.5) * 2.0**52 / 2**shift) + offset for shift in range(40) for offset in range(-3, 4)]
    )
    spread = (2.0 ** rng.uniform(0, 52, 3000)).astype(np.int64)
    everywhere = rng.integers(0, 2**52, 3000)
    bits = np.concatenate([near_zero, powers, split, spread, everywhere, 2**52 - 1 - near_zero, 2**52 - 1 - spread])
    return (np.clip(bits, 0, 2**52 - 1).astype(np.float64) + 0.5) * 2.0**-52


def exponentials() -> np.ndarray:
    """Exp(1) noise from its smallest (2^-53 / 1024) to its largest, and every neighbour of 1."""
    rng = np.random.default_rng(2)
    smallest = 2.0**-53 / 1024
    spread = np.exp(rng.uniform(math.log(smallest), math.log(LARGEST_E), 4000))
    around_one = np.concatenate([1 + np.arange(100) * 2.0**-52, 1 - np.arange(100) * 2.0**-53])
    near_one = 1 + rng.uniform(-1, 1, 2000) * 10.0 ** rng.uniform(-15, -1, 2000)
    split = np.sqrt(0.5) * 2.0 ** np.arange(-60, 6)
    neighbours = np.concatenate([split, np.nextafter(split, 0), np.nextafter(split, 100)])
    return np.concatenate([[smallest, LARGEST_E], minus_log(uniforms()), spread, around_one, near_one, neighbours])


def largest_relative_error(got: np.ndarray, at: np.ndarray, truth: object) -> float:
    with mpmath.workdps(40):
        errors = []
        for value, x in zip(got.tolist(), at.tolist(), strict=True):
            exact = truth(mpmath.mpf(x))  # type: ignore[operator]
            errors.append(abs(value - exact) / abs(exact) if exact else abs(value))
        return float(max(errors))


def test_minus_log_is_within_1e_15_of_the_truth_for_every_kind_of_uniform() -> None:
    u = uniforms()
    assert (u.min(), u.max()) == (2.0**-53, 1 - 2.0**-53)
    assert largest_relative_error(minus_log(u), u, lambda x: -mpmath.log(x)) < TOLERANCE


def test_log2_is_within_1e_15_of_the_truth_for_every_kind_of_noise() -> None:
    e = exponentials()
    assert (e.min(), e.max()) == (2.0**-63, LARGEST_E)
    assert largest_relative_error(log2(e), e, lambda x: mpmath.log(x, 2)) < TOLERANCE


def test_log2_of_a_power_of_two_is_exact() -> None:
    assert log2(2.0 ** np.arange(-70, 8)).tolist() == list(range(-70, 8))


def test_minus_log_of_the_uniform_next_to_1_is_its_distance_to_1() -> None:
    assert minus_log(np.array([1 - 2.0**-53])).item() == 2.0**-53


GOLDEN = {
    "0x1.0000000000000p-53": ("0x1.25e4f7b2737fap+5", "-0x1.a800000000000p+5"),
    "0x1.8000000000000p-52": ("0x1.1d1b02751cfe2p+5", "-0x1.9b51ff2e30215p+5"),
    "0x1.0000040000000p-30": ("0x1.4cb5ecb0a9658p+4", "-0x1.dfffffa3aae32p+4"),
    "0x1.999999999999ap-4": ("0x1.26bb1bbb55515p+1", "-0x1.a934f0979a371p+1"),
    "0x1.6a09e667f3bccp-1": ("0x1.62e42fefa39f0p-2", "-0x1.0000000000000p-1"),
    "0x1.6a09e667f3bcdp-1": ("0x1.62e42fefa39eep-2", "-0x1.ffffffffffffep-2"),
    "0x1.fffffffffffffp-1": ("0x1.0000000000000p-53", "-0x1.71547652b82fep-53"),
    "0x1.0000000000000p+0": ("-0x0.0p+0", "0x0.0p+0"),
    "0x1.0000000000001p+0": ("-0x1.fffffffffffffp-53", "0x1.71547652b82fdp-52"),
    "0x1.199999999999ap+0": ("-0x1.8663f793c46ccp-4", "0x1.199b728cb9d0cp-3"),
    "0x1.4000000000000p+3": ("-0x1.26bb1bbb55516p+1", "0x1.a934f0979a371p+1"),
    "0x1.259999999999ap+5": ("-0x1.cd27c9e8e3110p+1", "0x1.4ca7401e24a87p+2"),
    "0x1.0000000000000p-63": ("0x1.5d589f2fe5107p+5", "-0x1.f800000000000p+5"),
}


@pytest.mark.parametrize("x", GOLDEN)
def test_the_logarithms_have_these_bits(x: str) -> None:
    value = np.array([float.fromhex(x)])
    assert (minus_log(value).item().hex(), log2(value).item().hex()) == GOLDEN[x]


def test_no_digit_of_a_coefficient_has_changed() -> None:
    # The last digits of the higher ones hardly ever reach a result, so the numbers themselves are held.
    names = ("NATURAL_TAIL", "BINARY_TAIL", "LN2_HIGH", "LN2_LOW", "LOG2E_HIGH", "LOG2E_LOW")
    text = repr([getattr(logarithms, name) for name in names])
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "c303eadd85a9ef2f"


def test_the_logarithms_of_two_hundred_thousand_numbers_have_the_golden_bits() -> None:
    grid = np.arange(1, 200_001) / 2.0**17
    digests = [hashlib.sha256(f(grid).astype("<f8").tobytes()).hexdigest()[:16] for f in (minus_log, log2)]
    assert digests == ["9e63826c5f70ae01", "b54b5a09897cc74f"]


def step_by_step(x: float, tail: tuple[float, ...], binary: bool) -> float:
    """The same arithmetic in Python's floats: one operation at a time, so nothing can be contracted."""
    mantissa, exponent = math.frexp(x)
    if mantissa < float.fromhex("0x1.6a09e667f3bcdp-1"):
        mantissa, exponent = mantissa * 2.0, exponent - 1
    f = mantissa - 1.0
    q = tail[-1]
    for coefficient in tail[-2::-1]:
        q = q * f
        q = q + coefficient
    square = f * f
    if binary:
        rest = f * logarithms.LOG2E_LOW + square * q
        return exponent + (f * logarithms.LOG2E_HIGH + rest)
    return -(exponent * logarithms.LN2_HIGH + (exponent * logarithms.LN2_LOW + (f + square * q)))


def test_no_operation_of_the_logarithms_is_fused_or_reordered() -> None:
    u, e = uniforms(), exponentials()
    assert minus_log(u).tolist() == [step_by_step(x, logarithms.NATURAL_TAIL, binary=False) for x in u.tolist()]
    assert log2(e).tolist() == [step_by_step(x, logarithms.BINARY_TAIL, binary=True) for x in e.tolist()]


def test_the_logarithms_do_not_depend_on_shape_stride_or_length() -> None:
    u = uniforms()[:4096]
    whole = minus_log(u)
    assert minus_log(u[::3]).tolist() == whole[::3].tolist()
    assert minus_log(u.reshape(64, 64).T).T.ravel().tolist() == whole.tolist()
    assert [minus_log(u[i : i + 1]).item() for i in range(0, 4096, 97)] == whole[::97].tolist()
