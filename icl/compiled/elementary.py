"""How loops are compiled, and powers of two as polynomials for them.

A loop over polynomials is compiled to vector instructions, one over functions of the C library is not.
"""

import contextlib
import functools

import numpy as np
from numba import config, njit, types
from numba.core.caching import FunctionCache
from numba.extending import overload

LANES = 64  # numbers that are compared side by side

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
i32, i64 = np.int32, np.int64
f32, f64 = np.float32, np.float64


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


exp2, exp2_double = _power_of_two(f32, i32, 5), _power_of_two(f64, i64, 11)


def exp2_for_dtype(x):
    """``2^x`` in the precision of x; this body is what runs with ``NUMBA_DISABLE_JIT=1``."""
    return (exp2 if x.dtype == f32 else exp2_double)(x)


@overload(exp2_for_dtype, inline="always")
def _exp2_for_dtype(x):
    return {types.float32: exp2, types.float64: exp2_double}[x].py_func
