"""Tensors stored coordinate by coordinate, and products and norms that keep that layout.

PyTorch and numba are loaded by the functions that call them: who imports this module may not need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import torch


def normalize(x: torch.Tensor) -> torch.Tensor:
    """Return ``x / |x|`` along the last axis in the layout of x; its memory may be overwritten."""
    if x.stride(-1) == 1:
        unit: torch.Tensor = x / x.norm(dim=-1, keepdim=True)
        return unit
    p = planes(x)
    if compilable(p):
        from icl.compiled import softmax_kernels

        softmax_kernels.normalize(p.view(len(p), -1).numpy())
        return x
    return planes(p.mul_(dot(p, p).rsqrt_()))


def compilable(x: torch.Tensor) -> bool:
    """Return whether the loops of `icl.compiled` take ``x``: single precision, on a CPU, contiguous."""
    import torch

    return x.device.type == "cpu" and x.dtype == torch.float32 and x.is_contiguous()


def planes(x: torch.Tensor) -> torch.Tensor:
    """Return ``x`` with its axes reversed: contiguous if x lies in memory coordinate by coordinate."""
    return x.permute(*reversed(range(x.ndim)))


def dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Return ``sum_i a[i] b[i]`` over the first axis, plane by plane, without a large intermediate."""
    total = a[0] * b[0]
    for one, other in zip(a[1:], b[1:], strict=True):
        total.addcmul_(one, other)
    return total


def linear_map(matrix: ArrayLike, x: torch.Tensor) -> torch.Tensor:
    """Return ``matrix @ x``, (m, d) times (..., d), along the last axis, in the memory layout of x."""
    A = x.new_tensor(np.asarray(matrix, dtype=float))
    if x.stride(-1) == 1:
        return x @ A.T
    p = planes(x)
    return planes((A @ p.reshape(len(p), -1)).reshape(-1, *p.shape[1:]))


def inner_products(q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``q_b.x_bn``: directions (count, d), points (count, n, d) of any layout; shape (count, n)."""
    import torch

    q = q.to(x)
    if x.stride(-1) == 1:
        return torch.einsum("bd,bnd->bn", q, x)
    q, p = q.T.contiguous(), planes(x)  # x lies in memory coordinate by coordinate
    if compilable(p):
        from icl.compiled import softmax_kernels

        out = torch.empty(p.shape[1:], dtype=p.dtype)
        softmax_kernels.project(q.numpy(), p.numpy(), out.numpy())
        return out.T
    return dot(q.unsqueeze(1), p).T
