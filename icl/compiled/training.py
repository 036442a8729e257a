"""Steps of softmax attention units on a CPU: the formula of `icl.pretrain.model`, unit by unit."""

import math

import numpy as np
from numba import njit

from icl.compiled.jit import compiled

inline = njit(inline="always")
F32, I32 = np.float32, np.int32
# coefficients of the exponential series up to degree 6, that of the highest power first
_EXP = tuple(F32(1 / math.factorial(k)) for k in range(6, -1, -1))


@compiled(nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
def take_steps(x, y, M, mean, square, rates, factors, adam, first_unit, last_unit):
    """Take T steps of the units ``first_unit`` to ``last_unit - 1``, of K that see the same tokens.

    M and the moments of Adam, mean and square, all (K, d, d), change. Tokens are x (T, d, n + 1, B), the
    query last, labels y (T, K, n + 1, B); the innermost loops run over the B contexts. The initial step sizes
    are the rates, (K,). Rows of ``factors``, (T, 3), are the step size as a share of the initial one, and
    what Adam divides mean and square by. Without ``adam`` the step is the plain one.
    """
    dim, contexts = len(x[0]), x.shape[3]
    # these three are memory for `_gradient`, and the slope is its result
    weights = np.empty(x.shape[2:], x.dtype)
    sums = np.empty((dim + 4, contexts), x.dtype)
    slope = np.empty_like(M[0])
    real = M.dtype.type
    for t in range(len(factors)):
        share, mean_weight, square_weight = factors[t]
        for k in range(first_unit, last_unit):
            _gradient(x[t], y[t, k], M[k], weights, sums, slope)
            for a in range(dim):
                for c in range(dim):
                    step = slope[a, c]
                    if adam:
                        # the new entries of both means have the weights 1 - 0.9 and 1 - 0.999
                        mean[k, a, c] += (step - mean[k, a, c]) * real(0.1)
                        square[k, a, c] += (step * step - square[k, a, c]) * real(0.001)
                        size = math.sqrt(square[k, a, c] / square_weight) + 1e-8
                        step = mean[k, a, c] / mean_weight / size
                    M[k, a, c] -= rates[k] * share * step


@inline
def _gradient(x, y, M, weights, sums, slope):
    """Set the slope, (d, d), to the mean of ``2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'`` over a batch.

    Here omega_i are the weights of a context's n labeled tokens, p is their prediction, and y_q the label of
    the query. Weights (n + 1, B) and sums (d + 4, B) are memory to work in.
    """
    dim, n, contexts = len(x), len(weights) - 1, weights.shape[1]
    single = weights.itemsize == 4
    largest, total, p, pull = sums[dim], sums[dim + 1], sums[dim + 2], sums[dim + 3]
    # this sets the totals and the predictions to zero, too
    sums[:] = 0
    # M x_q, in the first d rows of the sums
    for a in range(dim):
        for c in range(dim):
            for b in range(contexts):
                sums[a, b] += M[a, c] * x[c, n, b]
    # scores
    largest[:] = -np.inf
    weights[:] = 0
    for i in range(n):
        for a in range(dim):
            for b in range(contexts):
                weights[i, b] += sums[a, b] * x[a, i, b]
        for b in range(contexts):
            largest[b] = max(largest[b], weights[i, b])
    # weights before normalization, and the prediction
    for i in range(n):
        for b in range(contexts):
            weights[i, b] = _exp(weights[i, b] - largest[b], single)
            total[b] += weights[i, b]
            p[b] += weights[i, b] * y[i, b]
    for b in range(contexts):
        p[b] /= total[b]
        # from here on `total` is the common factor of all terms, 2 (p - y_q) over B times the old total
        total[b] = (p[b] - y[n, b]) / (total[b] * weights.dtype.type(contexts / 2))
    # and the weights are the derivatives of the mean loss in the scores
    for i in range(n):
        for b in range(contexts):
            weights[i, b] *= (y[i, b] - p[b]) * total[b]
    # the slope is the sum of these derivatives times x_i x_q'; `pull` sums coordinate a of the x_i
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
    """Return exp(s) for s <= 0 to two units in the last place, without a call that prevents vectorization.

    A smaller s than -87 counts as -87: the result is negligible beside the largest weight, which is one, and
    is not a denormal number, which would be slow.
    """
    s = F32(-87) if s < F32(-87) else s
    # s = k log 2 + r, where log 2 has two parts and k times the first is exact
    k = np.floor(s * F32(1 / math.log(2)) + F32(0.5))
    r = s - k * F32(0.693359375) + k * F32(2.12194440e-4)
    value = _EXP[0]
    for coefficient in _EXP[1:]:
        value = value * r + coefficient
    # 2^k by its bits: the exponent is stored with 127 added
    return value * I32((I32(k) + 127) << 23).view(np.float32)
