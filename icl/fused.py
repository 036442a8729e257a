"""Compiled loops for a CPU: random numbers, softmax units, the exact risk's recurrence, softmax regressions.

PyTorch passes over memory once an operation. Here everything that happens to a number happens while it is
in a register or near; numba compiles the loops for the machine at hand and keeps the result beside the
module. Single precision for units, both for regressions, double for the recurrence.

Random numbers come from Philox-4x32 (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random numbers: as easy
as 1, 2, 3"): ten rounds of multiplication scramble a counter, so that number i needs none of those before
it, and many can be made at once. Box and Muller turn two words into two normal numbers.

Layout of units as in `icl.unit`: contexts lie next to each other, and loops run along them. Every loop has
a plain counterpart in NumPy, PyTorch, `icl.unit` or `icl.tensor_trick` that the tests compare it with.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import torch
from numba import njit, types
from numba.extending import overload

_LANES = 64  # contexts that go through the gradient side by side

# What may be rearranged: sums and products, not the meaning of infinity and NaN, so that a unit that
# diverges is seen.
_FAST = {"reassoc", "contract", "arcp", "nsz"}
_inline = functools.partial(njit, inline="always")


def _compiled(function, fastmath=_FAST):
    options = {"fastmath": fastmath, "nogil": True, "error_model": "numpy"}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # there is no folder to keep the result in
        return njit(**options)(function)


# numba would widen every result
u32, u64, i32, i64, f32, f64 = np.uint32, np.uint64, np.int32, np.int64, np.float32, np.float64


# ------------------------------------------------------------------------- functions of one number
def _polynomial(function, low, high, degree, real=f32):
    """The interpolant at the Chebyshev points of [low, high], compiled."""
    series = np.polynomial.Chebyshev.interpolate(function, degree, [low, high])
    first, *others = (real(c) for c in series.convert(kind=np.polynomial.Polynomial).coef[::-1])
    others = tuple(others)

    @_inline
    def horner(x):
        value = first
        for c in others:
            value = real(value * x + c)
        return value
    return horner


_half_turn = np.pi / 2
_log1p_over_x = _polynomial(lambda x: np.log1p(x) / x, -1 / 3, 1 / 3, 7)
_sine_over_t = _polynomial(lambda s: np.sin(_half_turn * np.sqrt(s)) / np.sqrt(s), 1e-12, 1, 5)  # of t^2
_cosine = _polynomial(lambda s: np.cos(_half_turn * np.sqrt(np.abs(s))), 0, 1, 5)
_LOG2, _PER_LOG2 = f32(math.log(2)), f32(1 / math.log(2))


def _power_of_two(real, integer, degree):
    """``2^x``, x below the largest exponent: a polynomial, and the whole part as the bits of an exponent."""
    fraction, half, limits = _polynomial(np.exp2, -0.5, 0.5, degree, real), real(0.5), np.finfo(real)
    lowest, bias, bits = real(limits.minexp), integer(limits.maxexp - 1), integer(limits.nmant)

    @_inline
    def exp2(x):
        x = lowest if x < lowest else x  # NaN stays
        whole = real(np.floor(real(x + half)))
        scale = integer(integer(integer(i32(whole)) + bias) << bits).view(real)
        return real(fraction(real(x - whole)) * scale)
    return exp2


exp2, exp2_double = _power_of_two(f32, i32, 5), _power_of_two(f64, i64, 11)


def any_exp2(x):
    """That of the two which fits x, in compiled code."""
    raise NotImplementedError


@overload(any_exp2, inline="always")
def _any_exp2(x):
    return {types.float32: exp2, types.float64: exp2_double}[x].py_func


@_inline
def exp(x):
    """``exp(x)`` for x <= 88."""
    return exp2(f32(x * _PER_LOG2))


@_inline
def log(x):
    """``log(x)`` for normal x > 0: with x = 2^e m and m in [2/3, 4/3), which is exact near 1."""
    bits = f32(x).view(i32)
    e = i32(i32(bits - i32(0x3F2AAAAB)) >> i32(23))
    m = f32(i32(bits - i32(e << i32(23))).view(f32) - f32(1))
    return f32(f32(e) * _LOG2 + m * _log1p_over_x(m))


@_inline
def circle(t):
    """``cos(pi t), sin(pi t)`` for t in [-1, 1], by doubling the angle."""
    square = f32(t * t)
    sine, cosine = f32(t * _sine_over_t(square)), _cosine(square)
    return f32(f32(1) - f32(2) * sine * sine), f32(f32(2) * sine * cosine)


# ------------------------------------------------------------------------------------ random numbers
@_inline
def philox(a, b, c, d, key, other):
    """Philox-4x32-10: four words from a counter of four words and a key of two."""
    for _ in range(10):
        left, right = u64(0xD2511F53) * u64(a), u64(0xCD9E8D57) * u64(c)
        a, b = u32(u32(right >> u64(32)) ^ b ^ key), u32(right)
        c, d = u32(u32(left >> u64(32)) ^ d ^ other), u32(left)
        key, other = u32(key + u32(0x9E3779B9)), u32(other + u32(0xBB67AE85))
    return a, b, c, d


@_inline
def unit_interval(word):
    """A uniform number, 0 < u <= 1, from the upper 24 bits of a word."""
    return f32((f32(i32(word >> u32(8))) + f32(0.5)) * f32(2.0**-24))


@_inline
def normal_pair(word, other):
    """Two independent normal numbers from two words (Box and Muller)."""
    radius = f32(np.sqrt(f32(-2) * log(unit_interval(word))))
    cosine, sine = circle(f32(f32(i32(other)) * f32(2.0**-31)))
    return f32(radius * cosine), f32(radius * sine)


@_compiled
def fill_words(out, key, call, step, name):
    """Fill ``out``, a multiple of 4 words: the words that this call gets from that stream at that step."""
    rows = out.reshape(4, -1)
    for i in range(rows.shape[1]):
        words = philox(u32(i), u32(call), u32(step), u32(name), key[0], key[1])
        rows[0, i], rows[1, i], rows[2, i], rows[3, i] = words


@_compiled
def fill_normal(out, key, call, step, name):
    """The same with normal numbers."""
    rows = out.reshape(4, -1)
    for i in range(rows.shape[1]):
        a, b, c, d = philox(u32(i), u32(call), u32(step), u32(name), key[0], key[1])
        (x, y), (z, t) = normal_pair(a, b), normal_pair(c, d)
        rows[0, i], rows[1, i], rows[2, i], rows[3, i] = x, y, z, t


@_compiled
def fill_uniform(out, key, call, step, name, low, high):
    """The same with uniform numbers between low and high."""
    rows = out.reshape(4, -1)
    for i in range(rows.shape[1]):
        words = philox(u32(i), u32(call), u32(step), u32(name), key[0], key[1])
        for j in range(4):
            rows[j, i] = low + (high - low) * unit_interval(words[j])


@_compiled
def normalize(planes):
    """Divide each column of (d, m) numbers by its norm, in place."""
    norm = np.empty(1024, f32)
    for begin in range(0, planes.shape[1], norm.size):
        norm[:] = 0
        for a in range(planes.shape[0]):
            row = planes[a, begin : begin + norm.size]
            for j in range(row.size):
                norm[j] += row[j] * row[j]
        norm[:] = f32(1) / np.sqrt(norm)
        for a in range(planes.shape[0]):
            row = planes[a, begin : begin + norm.size]
            for j in range(row.size):
                row[j] *= norm[j]


@_compiled
def project(q, x, out):
    """``out[i, b] = sum_a q[a, b] x[a, i, b]``: directions (d, B), tokens (d, n, B), result (n, B)."""
    for i in range(x.shape[1]):
        row = out[i]
        row[:] = 0
        for a in range(x.shape[0]):
            direction, token = q[a], x[a, i]
            for j in range(row.size):
                row[j] += direction[j] * token[j]


# ---------------------------------------------------------------------------------------- the gradient
def softmax_gradient(theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """`icl.unit.gradient` of reduced softmax units with sampled labels: float32, on a CPU.

    Args:
        theta: Key-query matrices, (S, K, d * d).
        x: Tokens, (S, 1, d, n + 1, B), contexts next to each other in memory.
        y: Labels, (S, K, n + 1, B), the same.

    Returns:
        Gradient of the mean loss, (S, K, d * d).
    """
    out = torch.zeros_like(theta)
    _softmax_gradient(x.shape[2])(
        theta.numpy(), *_flat(x), x.stride(0), x.stride(2), x.stride(3), *_flat(y), *y.stride()[:3],
        x.shape[3] - 1, x.shape[4], out.numpy(),
    )
    return out.mul_(2 / x.shape[4])


@_compiled
def adam(theta, mean, square, gradient, rate, first, second):
    """One step of Adam on (S, K, P) parameters in place, with step sizes (S, K, 1).

    ``first`` and ``second`` are its bias corrections, ``1 - 0.9^t`` and ``1 - 0.999^t``.
    """
    for s in range(theta.shape[0]):
        for k in range(theta.shape[1]):
            for i in range(theta.shape[2]):
                g = gradient[s, k, i]
                mean[s, k, i] += f32(0.1) * (g - mean[s, k, i])
                square[s, k, i] += f32(0.001) * (g * g - square[s, k, i])
                size = np.sqrt(square[s, k, i] / f32(second)) + f32(1e-8)
                theta[s, k, i] -= rate[s, k, 0] / f32(first) * mean[s, k, i] / size


def _flat(x):
    """All of the memory that ``x`` is a view of, in one row, and where x begins in it."""
    return x.as_strided((x.untyped_storage().nbytes() // 4,), (1,), 0).numpy(), x.storage_offset()


@functools.cache
def _softmax_gradient(d):
    """The loop for tokens of dimension d, a constant to the compiler."""
    W = _LANES

    @_compiled
    def loop(theta, xs, x0, xS, xd, xn, ys, y0, yS, yK, yn, n, B, out):
        x, y, q = np.empty((n, d, W), f32), np.empty((n, W), f32), np.empty((d, W), f32)
        z, reach, e = np.empty((d, W), f32), np.empty((d, W), f32), np.empty((n, W), f32)
        top, total, p, error = np.empty(W, f32), np.empty(W, f32), np.empty(W, f32), np.zeros(W, f32)
        for s in range(theta.shape[0]):
            for begin in range(0, B, W):
                lanes = min(W, B - begin)
                for a in range(d):
                    for i in range(n):
                        row = xs[x0 + s * xS + a * xd + i * xn + begin :]
                        for j in range(lanes):
                            x[i, a, j] = row[j]
                    row = xs[x0 + s * xS + a * xd + n * xn + begin :]
                    for j in range(lanes):
                        q[a, j] = row[j]
                for k in range(theta.shape[1]):
                    M, G = theta[s, k], out[s, k]
                    for i in range(n):
                        row = ys[y0 + s * yS + k * yK + i * yn + begin :]
                        for j in range(lanes):
                            y[i, j] = row[j]
                    z[:], reach[:], top[:], total[:], p[:] = 0, 0, -np.inf, 0, 0
                    for a in range(d):  # z = M x_q
                        for b in range(d):
                            m = M[a * d + b]
                            for j in range(W):
                                z[a, j] += m * q[b, j]
                    for i in range(n):  # scores
                        for j in range(W):
                            score = f32(0)
                            for a in range(d):
                                score += z[a, j] * x[i, a, j]
                            e[i, j] = score
                            top[j] = max(top[j], score)
                    for i in range(n):  # weights, up to their sum, and the prediction p
                        for j in range(W):
                            weight = exp(e[i, j] - top[j])
                            e[i, j] = weight
                            total[j] += weight
                            p[j] += weight * y[i, j]
                    row = ys[y0 + s * yS + k * yK + n * yn + begin :]
                    for j in range(lanes):
                        p[j] /= total[j]
                        error[j] = (p[j] - row[j]) / total[j]
                    for i in range(n):  # sum of omega_i (y_i - p) x_i
                        for j in range(W):
                            pull = e[i, j] * (y[i, j] - p[j])
                            for a in range(d):
                                reach[a, j] += pull * x[i, a, j]
                    for a in range(d):
                        for b in range(d):
                            part = f32(0)
                            for j in range(lanes):
                                part += error[j] * reach[a, j] * q[b, j]
                            G[a * d + b] += part
    return loop


# ------------------------------------------------------------------------------- the exact risk's recurrence
@_inline
def _up(i, dim):
    return (i + dim - 2) / (2 * i + dim - 2) if i > 0 else 1.0


@functools.partial(_compiled, fastmath=False)  # differences of small numbers: nothing may be rearranged
def recur(rows, q, step, gap, dim, degree, even):
    """Continue `icl.gegenbauer.one_minus_gegenbauer`: rows (k, m) from that degree on, and the state (m,)."""
    for row in rows:
        ahead, behind = _up(degree, dim), 1 - _up(degree, dim)
        if even:
            ahead *= _up(degree + 1, dim)
            behind *= 1 - _up(degree - 1, dim)
        ratio, lift = behind / ahead, 1 / ahead
        for j in range(q.size):
            row[j] = q[j]
            step[j] = ratio * step[j] + lift * (gap[j] * (1 - q[j]))
            q[j] += step[j]
        degree += 2 if even else 1


# --------------------------------------------------------------------- rows of the softmax regressions
def squared_gradient(S: torch.Tensor, B: torch.Tensor, kind: str) -> None:
    """Write `icl.tensor_trick.row_gradient` over the logits.

    With t the row's largest logit, e = exp(s - t), z = sum of e and c = b - f = b - e / z,

        normalized:  p = -(1 / z)    e (c - r),   r = <c, f>,
        rescaled:    p = -exp(2t) z  e (c - r),   r = <c, b> = <c, f> + |c|^2.

    Args:
        S: Logits (n, m), contiguous, on a CPU, of a dtype in `REALS`.
        B: Targets, the same.
        kind: "normalized" or "rescaled".
    """
    REALS[S.dtype][0](S.numpy(), B.numpy(), kind == "rescaled")


def squared_hvp(S: torch.Tensor, T: torch.Tensor, B: torch.Tensor, kind: str) -> None:
    """Write `icl.tensor_trick.row_hvp` over the logits, of which T is the derivative.

    With e and z as above and a trailing ``_t`` for the derivative along T,

        normalized:  w = f_t (c - <f, c>) + f (f_t - <f_t, c> - <f, f_t>),   c = f - b,
        rescaled:    w = exp(2t) e (T (q - <q, b>) + q_t - <q_t, b>),        q = e - z b.

    Args:
        S: As for `squared_gradient`.
        T: As S.
        B: As S.
        kind: As for `squared_gradient`.
    """
    REALS[S.dtype][1](S.numpy(), T.numpy(), B.numpy(), kind == "rescaled")


@_inline
def _largest(row, top):  # a maximum kept in one number would not be vectorized
    whole = row.size - row.size % _LANES
    top[:] = row[0]
    for begin in range(0, whole, _LANES):
        part = row[begin : begin + _LANES]
        for j in range(_LANES):
            top[j] = max(top[j], part[j])
    t = top[0]
    for j in range(_LANES):
        t = max(t, top[j])
    for j in range(whole, row.size):
        t = max(t, row[j])
    return t


def _squared(real):
    # what a loop captures is part of the key to its kept result: numbers may be, compiled functions not
    one, two, per_log2 = real(1), real(2), real(1 / math.log(2))

    @_compiled
    def gradient(S, B, rescaled):
        top = np.empty(_LANES, real)
        for i in range(S.shape[0]):
            e, b, z = S[i], B[i], real(0)
            t = _largest(e, top)
            for j in range(e.size):
                e[j] = any_exp2(real((e[j] - t) * per_log2))
                z += e[j]
            share, r, miss = one / z, real(0), real(0)
            for j in range(e.size):
                c = b[j] - e[j] * share
                r += c * e[j]
                miss += c * c
            r, factor = r * share, -share
            if rescaled:
                r, factor = r + miss, -z * real(np.exp(two * t))
            for j in range(e.size):
                e[j] *= factor * (b[j] - e[j] * share - r)

    @_compiled
    def hvp(S, T, B, rescaled):
        top = np.empty(_LANES, real)
        for i in range(S.shape[0]):
            e, move, b, z, z_t = S[i], T[i], B[i], real(0), real(0)
            t = _largest(e, top)
            for j in range(e.size):
                e[j] = any_exp2(real((e[j] - t) * per_log2))
                z += e[j]
                z_t += e[j] * move[j]
            if rescaled:
                r, r_t, factor = real(0), real(0), real(np.exp(two * t))
                for j in range(e.size):
                    r += (e[j] - z * b[j]) * b[j]
                    r_t += (e[j] * move[j] - z_t * b[j]) * b[j]
                for j in range(e.size):
                    q, q_t = e[j] - z * b[j], e[j] * move[j] - z_t * b[j]
                    e[j] *= factor * (move[j] * (q - r) + q_t - r_t)
            else:
                share, mean, r, r_t = one / z, z_t / z, real(0), real(0)
                for j in range(e.size):
                    f = e[j] * share
                    c, f_t = f - b[j], f * (move[j] - mean)
                    r += f * c
                    r_t += f_t * (c + f)
                for j in range(e.size):
                    f = e[j] * share
                    c, f_t = f - b[j], f * (move[j] - mean)
                    e[j] = f_t * (c - r) + f * (f_t - r_t)
    return gradient, hvp


#: The two loops for each dtype that has them.
REALS = {torch.float32: _squared(f32), torch.float64: _squared(f64)}
