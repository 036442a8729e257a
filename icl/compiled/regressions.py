"""Compiled rows of the two squared softmax regressions: gradient and Hessian product."""

from __future__ import annotations

import math

import numpy as np
import torch

from icl.compiled.elementary import LANES, compiled, exp2_for_dtype, inline


def squared_gradient(S: torch.Tensor, B: torch.Tensor, kind: str) -> None:
    """Write `icl.tensor_trick.formulas.row_gradient` over the logits.

    With t the row's largest logit, e = exp(s - t), z = sum of e and c = b - f = b - e / z,

        normalized:  p = -(1 / z)    e (c - r),   r = <c, f>,
        rescaled:    p = -exp(2t) z  e (c - r),   r = <c, b> = <c, f> + |c|^2.

    Logits S and targets B are (n, m), contiguous, on a CPU, in single or double precision.
    """
    _gradient(S.numpy(), B.numpy(), kind == "rescaled")


def squared_hvp(S: torch.Tensor, T: torch.Tensor, B: torch.Tensor, kind: str) -> None:
    """Write `icl.tensor_trick.formulas.row_hvp` over the logits, of which T is the derivative.

    With e and z as above and a trailing ``_t`` for the derivative along T,

        normalized:  w = f_t (c - <f, c>) + f (f_t - <f_t, c> - <f, f_t>),   c = f - b,
        rescaled:    w = exp(2t) e (T (q - <q, b>) + q_t - <q_t, b>),        q = e - z b.

    S, T and B are as for `squared_gradient`.
    """
    _hvp(S.numpy(), T.numpy(), B.numpy(), kind == "rescaled")


@inline
def _largest(row, top):  # a maximum kept in one number would not be vectorized
    whole = row.size - row.size % LANES
    top[:] = row[0]
    for begin in range(0, whole, LANES):
        part = row[begin : begin + LANES]
        for j in range(LANES):
            top[j] = max(top[j], part[j])
    t = top[0]
    for j in range(LANES):
        t = max(t, top[j])
    for j in range(whole, row.size):
        t = max(t, row[j])
    return t


@compiled
def _gradient(S, B, rescaled):
    real, top = S.dtype.type, np.empty(LANES, S.dtype)
    one, two, per_log2 = real(1), real(2), real(1 / math.log(2))
    for i in range(S.shape[0]):
        e, b, z = S[i], B[i], real(0)
        t = _largest(e, top)
        for j in range(e.size):
            e[j] = exp2_for_dtype(real((e[j] - t) * per_log2))
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


@compiled
def _hvp(S, T, B, rescaled):
    real, top = S.dtype.type, np.empty(LANES, S.dtype)
    one, two, per_log2 = real(1), real(2), real(1 / math.log(2))
    for i in range(S.shape[0]):
        e, move, b, z, z_t = S[i], T[i], B[i], real(0), real(0)
        t = _largest(e, top)
        for j in range(e.size):
            e[j] = exp2_for_dtype(real((e[j] - t) * per_log2))
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
