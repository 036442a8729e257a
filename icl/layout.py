"""Tensors stored coordinate by coordinate, and products and norms that keep that layout."""

from __future__ import annotations

import numpy as np
import torch


def normalize(x: torch.Tensor) -> torch.Tensor:
    """``x / |x|`` along the last axis, in the same memory layout and perhaps in place."""
    if x.stride(-1) == 1:
        return x / x.norm(dim=-1, keepdim=True)
    p = planes(x)
    if compilable(p):
        from icl.compiled import units

        units.normalize(p.view(len(p), -1).numpy())
        return x
    return planes(p.mul_(dot(p, p).rsqrt_()))


def compilable(x: torch.Tensor) -> bool:
    """Whether the loops of `icl.compiled` take it: single precision, on a CPU, without gaps."""
    return x.device.type == "cpu" and x.dtype == torch.float32 and x.is_contiguous()


def planes(x: torch.Tensor) -> torch.Tensor:
    """``x`` with its axes reversed: contiguous if x lies in memory coordinate by coordinate."""
    return x.permute(*reversed(range(x.ndim)))


def dot(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """``sum_i a[i] b[i]`` over the first axis, plane by plane and so without a large intermediate."""
    total = a[0] * b[0]
    for one, other in zip(a[1:], b[1:], strict=True):
        total.addcmul_(one, other)
    return total


def linear_map(matrix, x: torch.Tensor) -> torch.Tensor:
    """``matrix @ x`` along the last axis of ``x``, keeping the memory layout of planes.

    Args:
        matrix: (m, d), anything NumPy reads as a matrix.
        x: (..., d).

    Returns:
        (..., m).
    """
    A = torch.as_tensor(np.asarray(matrix, dtype=float)).to(x)
    if x.stride(-1) == 1:
        return x @ A.T
    p = planes(x)
    return planes((A @ p.reshape(len(p), -1)).reshape(-1, *p.shape[1:]))


def inner_products(q: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """``q_b.x_bn``: directions (count, d), points (count, n, d) of any memory layout; shape (count, n)."""
    q = q.to(x)
    if x.stride(-1) == 1:
        return torch.einsum("bd,bnd->bn", q, x)
    q, p = q.T.contiguous(), planes(x)  # x lies in memory coordinate by coordinate
    if compilable(p):
        from icl.compiled import units

        out = torch.empty(p.shape[1:])
        units.project(q.numpy(), p.numpy(), out.numpy())
        return out.T
    return dot(q.unsqueeze(1), p).T
