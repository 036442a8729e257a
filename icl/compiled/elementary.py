"""Elementary functions for compiled loops: exponential, logarithm, sine and cosine as polynomials.

A loop over polynomials is compiled to vector instructions, one over functions of the C library is not.
"""

import contextlib
import functools
import math

import numpy as np
from numba import config, njit
from numba.core.caching import FunctionCache

LANES = 64  # contexts that go through the gradient side by side

#: What may be rearranged: sums and products, not the meaning of infinity and NaN: divergence is seen.
FAST = {"reassoc", "contract", "arcp", "nsz"}

inline = functools.partial(njit, inline="always")


def compiled(function, fastmath=FAST):
    """Compile a loop, and keep the result between processes where there is a folder for it."""
    if (
        config.DISABLE_JIT
    ):  # integers wrap around and idle lanes overflow, as they do when compiled
        return np.errstate(all="ignore")(function)
    dispatcher = njit(fastmath=fastmath, nogil=True, error_model="numpy")(function)
    with contextlib.suppress(
        RuntimeError, OSError, AttributeError
    ):  # no folder, or nothing is compiled
        kept = _Kept(function)
        if hasattr(dispatcher, "_cache"):
            dispatcher._cache = kept
    return dispatcher


class _Kept(FunctionCache):
    """numba's cache, without which the loop is compiled again: a full disk or a quota ends no computation."""

    def load_overload(self, sig, target_context):
        with contextlib.suppress(OSError):
            return super().load_overload(sig, target_context)

    def save_overload(self, sig, data):
        with contextlib.suppress(OSError):
            super().save_overload(sig, data)


# numba would widen every result
u32, u64, i32, i64, f32, f64 = (
    np.uint32,
    np.uint64,
    np.int32,
    np.int64,
    np.float32,
    np.float64,
)


def _polynomial(function, low, high, degree, real=f32):
    """The interpolant at the Chebyshev points of [low, high], compiled."""
    series = np.polynomial.Chebyshev.interpolate(function, degree, [low, high])
    first, *others = (
        real(c) for c in series.convert(kind=np.polynomial.Polynomial).coef[::-1]
    )
    others = tuple(others)

    @inline
    def horner(x):
        value = first
        for c in others:
            value = real(value * x + c)
        return value

    return horner


_half_turn = np.pi / 2
_log1p_over_x = _polynomial(lambda x: np.log1p(x) / x, -1 / 3, 1 / 3, 7)
_sine_over_t = _polynomial(
    lambda s: np.sin(_half_turn * np.sqrt(s)) / np.sqrt(s), 1e-12, 1, 5
)  # of t^2
_cosine = _polynomial(lambda s: np.cos(_half_turn * np.sqrt(np.abs(s))), 0, 1, 5)
_LOG2, _PER_LOG2 = f32(math.log(2)), f32(1 / math.log(2))


def _power_of_two(real, integer, degree):
    """``2^x``, x below the largest exponent: a polynomial, and the whole part as the bits of an exponent."""
    fraction, half, limits = (
        _polynomial(np.exp2, -0.5, 0.5, degree, real),
        real(0.5),
        np.finfo(real),
    )
    lowest, bias, bits = (
        real(limits.minexp),
        integer(limits.maxexp - 1),
        integer(limits.nmant),
    )

    @inline
    def exp2(x):
        x = lowest if x < lowest else x  # NaN stays
        whole = real(np.floor(real(x + half)))
        scale = integer(integer(integer(i32(whole)) + bias) << bits).view(real)
        return real(fraction(real(x - whole)) * scale)

    return exp2


exp2 = _power_of_two(f32, i32, 5)


@inline
def exp(x):
    """``exp(x)`` for x <= 88."""
    return exp2(f32(x * _PER_LOG2))


@inline
def log(x):
    """``log(x)`` for normal x > 0: with x = 2^e m and m in [2/3, 4/3), which is exact near 1."""
    bits = f32(x).view(i32)
    e = i32(i32(bits - i32(0x3F2AAAAB)) >> i32(23))
    m = f32(i32(bits - i32(e << i32(23))).view(f32) - f32(1))
    return f32(f32(e) * _LOG2 + m * _log1p_over_x(m))


@inline
def cos_sin_pi(t):
    """``cos(pi t), sin(pi t)`` for t in [-1, 1], by doubling the angle."""
    square = f32(t * t)
    sine, cosine = f32(t * _sine_over_t(square)), _cosine(square)
    return f32(f32(1) - f32(2) * sine * sine), f32(f32(2) * sine * cosine)
