"""Steps of softmax attention units on a CPU: `icl.pretrain.model`'s gradient and Adam, unit by unit."""

import math

import numpy as np

from icl.compiled.jit import compiled, inline

F32 = np.float32


@compiled(fastmath={"contract", "reassoc", "nsz"})
def take_steps(
    x,
    values,
    noise,
    kinds,
    scales,
    noise_stds,
    M,
    mean,
    square,
    rates,
    factors,
    adam,
):
    """Take T steps of K units that see the same tokens; M and the moments of Adam, (K, d, d), are changed.

    With scores ``s_i = x_i' M x_q``, weights omega and prediction p, the gradient is the mean over contexts
    of ``2 (p - y_q) sum_i omega_i (y_i - p) x_i x_q'``. Contexts lie next to each other in every array, and
    the innermost loops run over them.

    Tokens are x (T, d, n + 1, B), the query last. Labels are ``scale values + noise_std noise``, where a unit
    has a scale and a noise_std, (K,), and of the values (T, kinds, n + 1, B) those of its kind; the noise is
    (T, n + 1, B). The initial step sizes are the rates, (K,); `icl.pretrain.config.Settings.factors` are
    (T, 3).
    """
    steps, dim, tokens, contexts = x.shape
    n = tokens - 1
    real = M.dtype.type
    single = x.itemsize == 4
    y = np.empty((tokens, contexts), x.dtype)
    u = np.empty((dim, contexts), x.dtype)
    weights = np.empty((n, contexts), x.dtype)
    largest = np.empty(contexts, x.dtype)
    total = np.empty(contexts, x.dtype)
    p = np.empty(contexts, x.dtype)
    error = np.empty(contexts, x.dtype)
    pull = np.empty(contexts, x.dtype)
    for t in range(steps):
        for k in range(len(M)):
            for i in range(tokens):
                for b in range(contexts):
                    y[i, b] = (
                        scales[k] * values[t, kinds[k], i, b]
                        + noise_stds[k] * noise[t, i, b]
                    )
            # u = M x_q and the scores
            u[:] = 0
            for a in range(dim):
                for c in range(dim):
                    for b in range(contexts):
                        u[a, b] += M[k, a, c] * x[t, c, n, b]
            largest[:] = -np.inf
            for i in range(n):
                for b in range(contexts):
                    weights[i, b] = u[0, b] * x[t, 0, i, b]
                for a in range(1, dim):
                    for b in range(contexts):
                        weights[i, b] += u[a, b] * x[t, a, i, b]
                for b in range(contexts):
                    largest[b] = max(largest[b], weights[i, b])
            # weights, as yet without their sum, and the prediction
            total[:] = 0
            p[:] = 0
            for i in range(n):
                for b in range(contexts):
                    weight = _exp(weights[i, b] - largest[b], single)
                    weights[i, b] = weight
                    total[b] += weight
                    p[b] += weight * y[i, b]
            for b in range(contexts):
                p[b] /= total[b]
                error[b] = real(2) * (p[b] - y[n, b]) / (total[b] * real(contexts))
            # omega_i (y_i - p), and the gradient
            for i in range(n):
                for b in range(contexts):
                    weights[i, b] *= (y[i, b] - p[b]) * error[b]
            for a in range(dim):
                pull[:] = 0
                for i in range(n):
                    for b in range(contexts):
                        pull[b] += weights[i, b] * x[t, a, i, b]
                for c in range(dim):
                    gradient = real(0)
                    for b in range(contexts):
                        gradient += pull[b] * x[t, c, n, b]
                    rate = rates[k] * factors[t, 0]
                    if not adam:
                        M[k, a, c] -= rate * gradient
                        continue
                    mean[k, a, c] += real(0.1) * (gradient - mean[k, a, c])
                    square[k, a, c] += real(0.001) * (
                        gradient * gradient - square[k, a, c]
                    )
                    size = math.sqrt(square[k, a, c] / factors[t, 2])
                    step = mean[k, a, c] / factors[t, 1] / (size + real(1e-8))
                    M[k, a, c] -= rate * step


@inline
def _exp(s, single):
    return _single_exp(F32(s)) if single else math.exp(s)


@inline
def _single_exp(s):
    """Return exp(s) for s <= 0 to two units in the last place, without a call that stops vectors.

    Below -87 the result is as good as zero beside the largest weight, which is one, and would be denormal.
    """
    s = F32(-87) if s < F32(-87) else s
    # s = k log 2 + r, where log 2 has two parts and k times the first is exact
    k = np.floor(s * F32(1 / math.log(2)) + F32(0.5))
    r = s - k * F32(0.693359375) + k * F32(2.12194440e-4)
    e = F32(1 / 720) * r + F32(1 / 120)
    e = e * r + F32(1 / 24)
    e = e * r + F32(1 / 6)
    e = e * r + F32(1 / 2)
    e = e * r + F32(1)
    e = e * r + F32(1)
    # 2^k by its bits
    return e * np.int32((np.int32(k) + 127) << 23).view(np.float32)
