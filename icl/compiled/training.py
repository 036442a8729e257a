"""Steps of softmax attention units on a CPU: the formula of `icl.pretrain.model`, unit by unit.

The innermost loops run over the last axis, the B contexts of a batch.
"""

import math

import numpy as np
from numba import njit

from icl.compiled.jit import compiled

inline = njit(inline="always")
F32, I32 = np.float32, np.int32
# Coefficients of the exponential series up to degree 6, that of the highest power first.
_EXP = tuple(F32(1 / math.factorial(k)) for k in range(6, -1, -1))


# these flags let sums be vectorized, while infinity and NaN keep their meaning
@compiled(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def take_steps(x, y, M, mean, square, rates, factors, adam, first_unit, last_unit):
    """Take T steps of the units ``first_unit`` to ``last_unit - 1``, of K units that see the same tokens.

    Args:
        x: Tokens, (T, d, n + 1, B).
        y: Labels, (T, K, n + 1, B).
        M: Key-query matrices, (K, d, d), overwritten.
        mean: Adam's mean of the gradients, (K, d, d), overwritten.
        square: Adam's mean of the squared gradients, (K, d, d), overwritten.
        rates: Initial step sizes, (K,).
        factors: A row for each step, (T, 3): the step size as a share of the initial one, and the numbers by
            which Adam divides mean and square.
        adam: Whether the steps are those of Adam.
        first_unit: The first unit that takes steps.
        last_unit: One more than the last unit.
    """
    dim, contexts = len(x[0]), x.shape[3]
    # `_compute_gradient` writes to `slope`, and works in the two others
    weights = np.empty(x.shape[2:], x.dtype)
    sums = np.empty((dim + 4, contexts), x.dtype)
    slope = np.empty_like(M[0])
    # `real` gives the constants below the precision of M
    real = M.dtype.type
    for t in range(len(factors)):
        share, mean_weight, square_weight = factors[t]
        for k in range(first_unit, last_unit):
            _compute_gradient(x[t], y[t, k], M[k], weights, sums, slope)
            for a in range(dim):
                for c in range(dim):
                    step = slope[a, c]
                    if adam:
                        # a new gradient enters the means with the weights 1 - 0.9 and 1 - 0.999
                        mean[k, a, c] += (step - mean[k, a, c]) * real(0.1)
                        square[k, a, c] += (step * step - square[k, a, c]) * real(0.001)
                        size = math.sqrt(square[k, a, c] / square_weight) + 1e-8
                        step = mean[k, a, c] / mean_weight / size
                    M[k, a, c] -= rates[k] * share * step


@inline
def _compute_gradient(x, y, M, weights, sums, slope):
    """Set ``slope``, (d, d), to the gradient of the mean loss of one unit over the contexts of a batch.

    The arrays ``weights``, (n + 1, B), and ``sums``, (d + 4, B), are memory to work in.
    """
    dim, n, contexts = len(x), len(weights) - 1, weights.shape[1]
    single = weights.itemsize == 4
    largest, total, p, pull = sums[dim], sums[dim + 1], sums[dim + 2], sums[dim + 3]
    # this sets `total` and `p` to zero, too
    sums[:] = 0
    # the first d rows of the sums become M x_q
    for a in range(dim):
        for c in range(dim):
            for b in range(contexts):
                sums[a, b] += M[a, c] * x[c, n, b]
    # here `weights` become the scores
    largest[:] = -np.inf
    weights[:] = 0
    for i in range(n):
        for a in range(dim):
            for b in range(contexts):
                weights[i, b] += sums[a, b] * x[a, i, b]
        for b in range(contexts):
            largest[b] = max(largest[b], weights[i, b])
    # here `weights` become exponentials, `total` their sum, and p the sum with the labels
    for i in range(n):
        for b in range(contexts):
            weights[i, b] = _exp(weights[i, b] - largest[b], single)
            total[b] += weights[i, b]
            p[b] += weights[i, b] * y[i, b]
    for b in range(contexts):
        p[b] /= total[b]
        # From here on `total` is the factor that all tokens share.
        total[b] = (p[b] - y[n, b]) / (total[b] * weights.dtype.type(contexts / 2))
    # from here on `weights` are the derivatives of the mean loss with respect to the scores
    for i in range(n):
        for b in range(contexts):
            weights[i, b] *= (y[i, b] - p[b]) * total[b]
    # `pull` is the sum of these derivatives times coordinate a of the tokens
    for a in range(dim):
        pull[:] = 0
        for i in range(n):
            for b in range(contexts):
                pull[b] += weights[i, b] * x[a, i, b]
        for c in range(dim):
            entry = weights.dtype.type(0)
            for b in range(contexts):
                entry += pull[b] * x[c, n, b]
            slope[a, c] = entry


@inline
def _exp(s, single):
    return _single_exp(F32(s)) if single else math.exp(s)


@inline
def _single_exp(s):
    """Return exp(s) for s <= 0 to a relative error of 1e-6, without a call that prevents vectorization.

    Below -87 the result is exp(-87), because subnormal numbers are slow.
    """
    s = F32(-87) if s < F32(-87) else s
    # s is k log 2 + r, log 2 is the difference of these numbers, and k times the first is exact
    k = np.floor(s * F32(1 / math.log(2)) + F32(0.5))
    r = s - k * F32(0.693359375) + k * F32(2.12194440e-4)
    value = _EXP[0]
    for coefficient in _EXP[1:]:
        value = value * r + coefficient
    # the bits of the float 2^k are those of k + 127, shifted by 23
    return value * I32((I32(k) + 127) << 23).view(np.float32)
