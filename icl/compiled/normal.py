"""Normal numbers of PyTorch's generator on a CPU, drawn a few times faster than PyTorch draws them.

PyTorch draws uniform numbers of 24 bits from the Mersenne twister MT19937 [1]. It takes sixteen numbers
at a time, as eight pairs (u, v). Each pair becomes two normal numbers by the method of Box and Muller, ::

    sqrt(-2 log(1 - u)) cos(2 pi v),   sqrt(-2 log(1 - u)) sin(2 pi v).

The loops do not have branches or calls, so that the processor computes many entries at once. The normal
numbers are those of PyTorch up to rounding, because log, cos and sin are the polynomials of the library
Cephes.

[1] M. Matsumoto and T. Nishimura, ACM Transactions on Modeling and Computer Simulation 8 (1998) 3-30.
"""

import math

import numpy as np
from numba import njit

from icl.compiled.jit import compiled

inline = njit(inline="always")
F32, I32, U32 = np.float32, np.int32, np.uint32
# words of the twister's state; its masks and numbers below are those of [1], too
_WORDS = 624


def _single(*coefficients):
    return tuple(map(F32, coefficients))


_LOG = _single(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
_COSINE = _single(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2, -0.5, 1.0)
_SINE = _single(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1, 1.0)


@compiled(nogil=True, error_model="numpy", fastmath={"contract"})
def normal(seed, size):
    """Return the first ``size`` normal numbers, float32, of PyTorch's generator with this seed.

    ``size`` is at least sixteen.
    """
    # the authors of [1] published this recurrence in 2002
    state = np.empty(_WORDS, np.uint32)
    state[0] = U32(seed)
    for j in range(1, _WORDS):
        last = state[j - 1]
        state[j] = U32(U32(1812433253) * (last ^ (last >> U32(30))) + U32(j))
    # If `size` is not whole rows of sixteen, PyTorch draws the last sixteen again. This extra row is drawn
    # behind the others, and moved at the end.
    rows, rest = divmod(size, 16)
    extra = 1 if rest else 0
    out = np.empty(size + 16 * extra, np.float32)
    for start in range(0, out.size, _WORDS):
        _draw_uniform(state, out[start : start + _WORDS])
    for k in range(rows + extra):
        start = 16 * k if k < rows else size
        _box_muller(out[start : start + 16])
    if rest:
        out[size - 16 : size] = out[size:]
    return out[:size]


@inline
def _draw_uniform(state, out):
    """Renew all words of the twister's state, and make entry j of ``out``, in [0, 1), from word j."""
    # word j is mixed with words j + 1 and j + 397, where indices are modulo 624
    for j in range(227):
        state[j] = _twist(state[j], state[j + 1], state[j + 397])
    for j in range(227, 623):
        state[j] = _twist(state[j], state[j + 1], state[j - 227])
    state[623] = _twist(state[623], state[0], state[396])
    # the output mixes the bits once more, and the state keeps the word
    for j in range(out.size):
        word = state[j]
        word ^= word >> U32(11)
        word ^= (word << U32(7)) & U32(0x9D2C5680)
        word ^= (word << U32(15)) & U32(0xEFC60000)
        word ^= word >> U32(18)
        # many processors convert only signed integers by a vector instruction
        out[j] = F32(I32(word & U32(0xFFFFFF))) * F32(2.0**-24)


@inline
def _twist(high, low, far):
    """Return the highest bit of the word ``high`` joined to the lower bits of ``low``, mixed with ``far``."""
    joined = (high & U32(0x80000000)) | (low & U32(0x7FFFFFFF))
    # all bits are set if the last bit of `joined` is
    odd = U32(0) - (joined & U32(1))
    return far ^ (joined >> U32(1)) ^ (odd & U32(0x9908B0DF))


@inline
def _box_muller(row):
    """Turn sixteen uniform numbers into normal ones, in place; a pair (u, v) is entries j and j + 8."""
    for j in range(8):
        radius = np.sqrt(F32(-2) * _log(F32(1) - row[j]))
        # 2 pi v is quarter turns plus an angle between -1/8 and 1/8 of a turn
        quarters = np.floor(F32(4) * row[j + 8] + F32(0.5))
        angle = (F32(4) * row[j + 8] - quarters) * F32(math.pi / 2)
        cosine = _horner(angle * angle, _COSINE)
        sine = angle * _horner(angle * angle, _SINE)
        # Each quarter turn exchanges cosine and sine, and changes the sign of one of them.
        quarter = I32(quarters)
        odd = (quarter & 1) != 0
        x = sine if odd else cosine
        y = cosine if odd else sine
        row[j] = -radius * x if ((quarter + 1) & 2) != 0 else radius * x
        row[j + 8] = -radius * y if (quarter & 2) != 0 else radius * y


@inline
def _log(x):
    """Return the logarithm of a number in (0, 1]."""
    # x is a mantissa, from 1/2 to 1, times a power of two. A mantissa below sqrt(1/2) is doubled, so that y,
    # the mantissa minus one, is small.
    bits = F32(x).view(np.int32)
    mantissa = I32((bits & 0x7FFFFF) | 0x3F000000).view(np.float32)
    exponent = F32(I32((bits >> 23) - 126))
    small = mantissa < F32(math.sqrt(0.5))
    exponent -= F32(1) if small else F32(0)
    y = mantissa + (mantissa if small else F32(0)) - F32(1)
    # log(1 + y) is y - y^2 / 2 plus y^3 times the polynomial
    tail = _horner(y, _LOG) * y * y * y - F32(0.5) * y * y
    # log 2 is 0.693359375 - 2.12194440e-4, and an exponent times the first number is exact
    return y + (tail - exponent * F32(2.12194440e-4)) + exponent * F32(0.693359375)


@inline
def _horner(x, coefficients):
    """Return the polynomial with these coefficients, that of the highest power first."""
    value = coefficients[0]
    for coefficient in coefficients[1:]:
        value = value * x + coefficient
    return value
