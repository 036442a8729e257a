"""Compiled loops of pretraining: normalization, projection, the gradient of softmax units, Adam.

The layout is that of `icl.pretrain.model`: loops run along contexts, which lie next to each other.
"""

from __future__ import annotations

import functools

import numpy as np
import torch
from numpy.typing import NDArray

from icl.compiled.elementary import LANES, compiled, exp, f32


@compiled
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


@compiled
def project(q, x, out):
    """``out[i, b] = sum_a q[a, b] x[a, i, b]``: directions (d, B), tokens (d, n, B), result (n, B)."""
    for i in range(x.shape[1]):
        row = out[i]
        row[:] = 0
        for a in range(x.shape[0]):
            direction, token = q[a], x[a, i]
            for j in range(row.size):
                row[j] += direction[j] * token[j]


def gradient(theta: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return `icl.pretrain.model.gradient` of reduced softmax units with sampled labels: float32, on a CPU.

    Key-query matrices are (S, K, d * d). Tokens x, (S, 1, d, n + 1, B), and labels y, (S, K, n + 1, B), are
    contiguous tensors, or the same slice of their last axes.
    """
    out, B, start = (
        torch.zeros_like(theta),
        x.shape[-1],
        x.storage_offset() % x.stride(-2),
    )
    _gradient_loop(x.shape[2])(
        theta.numpy(), _block(x), _block(y), start, start + B, out.numpy()
    )
    return out.mul_(2 / B)


@compiled
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


def _block(x: torch.Tensor) -> NDArray[np.float32]:
    """Return the contiguous block that x is a slice of along the last axis: the compiler asks for one."""
    width = x.stride(-2)
    start = x.storage_offset() // width * width
    return np.asarray(
        x.as_strided((*x.shape[:-1], width), x.stride(), start).numpy(), f32
    )


@functools.cache
def _gradient_loop(d):
    """Return the loop for tokens of dimension d, a constant to the compiler; W contexts at a time."""
    W = LANES

    @compiled
    def loop(theta, xs, ys, start, stop, out):
        n = xs.shape[3] - 1
        x, y, q = np.empty((n, d, W), f32), np.empty((n, W), f32), np.empty((d, W), f32)
        z, dz, e = np.empty((d, W), f32), np.empty((d, W), f32), np.empty((n, W), f32)
        top, total, p, error = (
            np.empty(W, f32),
            np.empty(W, f32),
            np.empty(W, f32),
            np.zeros(W, f32),
        )
        for s in range(theta.shape[0]):
            for begin in range(start, stop, W):
                lanes = min(W, stop - begin)
                for a in range(d):
                    for i in range(n):
                        row = xs[s, 0, a, i, begin:]
                        for j in range(lanes):
                            x[i, a, j] = row[j]
                    row = xs[s, 0, a, n, begin:]
                    for j in range(lanes):
                        q[a, j] = row[j]
                for k in range(theta.shape[1]):
                    M, G = theta[s, k], out[s, k]
                    for i in range(n):
                        row = ys[s, k, i, begin:]
                        for j in range(lanes):
                            y[i, j] = row[j]
                    z[:], dz[:], top[:], total[:], p[:] = 0, 0, -np.inf, 0, 0
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
                    row = ys[s, k, n, begin:]
                    for j in range(lanes):
                        p[j] /= total[j]
                        error[j] = (p[j] - row[j]) / total[j]
                    for i in range(n):  # sum of omega_i (y_i - p) x_i
                        for j in range(W):
                            adjoint = e[i, j] * (y[i, j] - p[j])
                            for a in range(d):
                                dz[a, j] += adjoint * x[i, a, j]
                    for a in range(d):
                        for b in range(d):
                            part = f32(0)
                            for j in range(lanes):
                                part += error[j] * dz[a, j] * q[b, j]
                            G[a * d + b] += part

    return loop
