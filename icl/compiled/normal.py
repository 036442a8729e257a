"""Random numbers of PyTorch's generator on a CPU, drawn a few times faster than PyTorch draws them.

PyTorch draws uniform numbers u of 24 bits from the Mersenne twister MT19937 [1], and in each row of sixteen
makes eight pairs (u, v) of them normal by the method of Box and Muller, ::

    sqrt(-2 log(1 - u)) cos(2 pi v),   sqrt(-2 log(1 - u)) sin(2 pi v).

Here the loops over the words of the twister and over the pairs have no branches and no calls, so that the
processor takes many entries at once. Uniform numbers are the same to the last bit, normal ones up to
rounding. A state has the 624 words of the twister, and as one more how many of them are used.

[1] M. Matsumoto and T. Nishimura, ACM Transactions on Modeling and Computer Simulation 8 (1998) 3-30.
"""

import math

import numpy as np

from icl.compiled.jit import compiled, inline

F32 = np.float32
I32 = np.int32
U32 = np.uint32
_WORDS = 624


@compiled
def start(seed):
    """Return the state of the generator with a seed."""
    state = np.empty(_WORDS + 1, dtype=np.uint32)
    state[0] = U32(seed)
    for j in range(1, _WORDS):
        last = state[j - 1]
        state[j] = U32(U32(1812433253) * (last ^ (last >> U32(30))) + U32(j))
    state[_WORDS] = _WORDS
    return state


@compiled
def uniform(state, size):
    """Draw uniform numbers in [0, 1), (size,) float32."""
    out = np.empty(size, dtype=np.float32)
    done = 0
    while done < size:
        if state[_WORDS] == _WORDS:
            for j in range(227):
                state[j] = _twisted(state[j], state[j + 1], state[j + 397])
            for j in range(227, 623):
                state[j] = _twisted(state[j], state[j + 1], state[j - 227])
            state[623] = _twisted(state[623], state[0], state[396])
            state[_WORDS] = 0
        words = state[state[_WORDS] : _WORDS]
        some = out[done : done + words.size]
        for j in range(some.size):
            word = words[j]
            word ^= word >> U32(11)
            word ^= (word << U32(7)) & U32(0x9D2C5680)
            word ^= (word << U32(15)) & U32(0xEFC60000)
            word ^= word >> U32(18)
            some[j] = F32(I32(word & U32(0xFFFFFF))) * F32(2.0**-24)
        state[_WORDS] += U32(some.size)
        done += some.size
    return out


@compiled
def normal(state, size):
    """Draw normal numbers, at least sixteen, (size,) float32."""
    out = uniform(state, size)
    _box_muller(out[: size - size % 16])
    if size % 16 > 0:
        # the last sixteen are drawn anew
        last = uniform(state, 16)
        _box_muller(last)
        out[size - 16 :] = last
    return out


@inline
def _twisted(high, low, far):
    joined = (high & U32(0x80000000)) | (low & U32(0x7FFFFFFF))
    # all bits are one if the last one is
    odd = U32(0) - (joined & U32(1))
    return far ^ (joined >> U32(1)) ^ (odd & U32(0x9908B0DF))


@compiled(fastmath={"contract"})
def _box_muller(numbers):
    """Turn uniform numbers, a multiple of sixteen, into normal ones."""
    for start in range(0, numbers.size, 16):
        row = numbers[start : start + 16]
        for j in range(8):
            radius = np.sqrt(F32(-2) * _log(F32(1) - row[j]))
            # quarters of a turn, and what is left, between -1/8 and 1/8 of a turn
            quarters = np.floor(F32(4) * row[j + 8] + F32(0.5))
            angle = (F32(4) * row[j + 8] - quarters) * F32(math.pi / 2)
            cosine, sine = _cosine_and_sine(angle)
            quarter = I32(quarters)
            odd = (quarter & 1) != 0
            x = sine if odd else cosine
            y = cosine if odd else sine
            row[j] = -radius * x if ((quarter + 1) & 2) != 0 else radius * x
            row[j + 8] = -radius * y if (quarter & 2) != 0 else radius * y


@inline
def _log(x):
    """Return the logarithm of a number in (0, 1], by the polynomial of the library Cephes."""
    bits = F32(x).view(np.int32)
    mantissa = I32((bits & 0x7FFFFF) | 0x3F000000).view(np.float32)
    exponent = F32(I32((bits >> 23) - 126))
    small = mantissa < F32(math.sqrt(0.5))
    exponent -= F32(1) if small else F32(0)
    y = mantissa + (mantissa if small else F32(0)) - F32(1)
    p = F32(7.0376836292e-2)
    p = p * y + F32(-1.1514610310e-1)
    p = p * y + F32(1.1676998740e-1)
    p = p * y + F32(-1.2420140846e-1)
    p = p * y + F32(1.4249322787e-1)
    p = p * y + F32(-1.6668057665e-1)
    p = p * y + F32(2.0000714765e-1)
    p = p * y + F32(-2.4999993993e-1)
    p = p * y + F32(3.3333331174e-1)
    # log 2 in two parts, the first of which times an exponent is exact
    tail = p * y * y * y - exponent * F32(2.12194440e-4) - F32(0.5) * y * y
    return y + tail + exponent * F32(0.693359375)


@inline
def _cosine_and_sine(angle):
    """Return cosine and sine between -pi / 4 and pi / 4, by the polynomials of the library Cephes."""
    x = angle * angle
    p = F32(2.443315711809948e-5)
    p = p * x + F32(-1.388731625493765e-3)
    p = p * x + F32(4.166664568298827e-2)
    q = F32(-1.9515295891e-4)
    q = q * x + F32(8.3321608736e-3)
    q = q * x + F32(-1.6666654611e-1)
    return p * x * x - F32(0.5) * x + F32(1), q * x * angle + angle
