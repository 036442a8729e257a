"""Rules for means over the query of functions of ``|M x|`` and ``x . M x``, x uniform on the sphere.

- If ``M'M`` and ``M + M'`` commute and have few joint eigenspaces (symmetric matrices with few eigenvalues),
  both numbers depend on the squared lengths of x in these, whose law is Dirichlet: Gauss-Jacobi rules.
- Else, in at most five dimensions, a product rule on the sphere, in polar coordinates.
- Else scrambled Sobol points, with fixed seeds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, roots_gegenbauer, roots_jacobi

from icl.tasks.base import Array

_MOST_BLOCKS, _MOST_DIM = 5, 5
_QUERIES = 2**17  # most queries of a deterministic rule
_SCRAMBLINGS, _POINTS = 16, 2**11


@dataclass(frozen=True)
class QueryRule:
    """One rule.

    Attributes:
        kappa: ``|M x|`` at the nodes, shape (q,).
        product: ``x . M x``, shape (q,).
        p: Probabilities, shape (q,).
        outer: Maps h, shape (q,), to ``sum_q h x x'``, shape (d, d).
    """

    kappa: Array
    product: Array
    p: Array
    outer: Callable[[Array], Array]


def deterministic(M: Array) -> Iterator[QueryRule] | None:
    """Return rules for a matrix, each twice as fine as the one before; None if they would be too large."""
    blocks = _blocks(M)
    if blocks is None and len(M) > _MOST_DIM:
        return None
    axes = len(M) - 1 if blocks is None else len(blocks[0]) - 1
    orders = [8 * 2**k for k in range(17) if (8 * 2**k) ** axes <= _QUERIES] if axes else [1]
    return (_polar(M, order) if blocks is None else _dirichlet(*blocks, order) for order in orders)


def randomized(M: Array) -> Iterator[QueryRule]:
    """Return independent randomizations of a rule for any matrix."""
    return (_scrambled(M, seed) for seed in range(_SCRAMBLINGS))


def _blocks(M: Array) -> tuple[list[Array], Array, Array] | None:
    """Return bases of the joint eigenspaces of ``M'M`` and ``(M + M') / 2``, and their eigenvalues.

    None if they do not commute, or there are too many.
    """
    scale = float(np.linalg.norm(M, 2)) or 1.0
    pair = [M.T @ M / scale**2, (M + M.T) / (2 * scale)]
    values, basis = np.linalg.eigh(pair[0] + math.sqrt(2) * pair[1])
    split = np.flatnonzero(np.diff(values) > 1e-12) + 1
    bases = np.split(basis, split, axis=1)
    moduli, cosines = (np.array([np.trace(b.T @ a @ b) / b.shape[1] for b in bases]) for a in pair)
    rebuilt = [sum(v * (b @ b.T) for v, b in zip(vs, bases, strict=True)) for vs in (moduli, cosines)]
    if len(bases) > _MOST_BLOCKS or any(
        np.abs(a - b).max() > 1e-12 for a, b in zip(pair, rebuilt, strict=True)
    ):
        return None
    return bases, np.maximum(moduli, 0) * scale**2, cosines * scale


def _dirichlet(bases: list[Array], moduli: Array, cosines: Array, order: int) -> QueryRule:
    """Return a product of Gauss-Jacobi rules for the squared lengths in the eigenspaces."""
    sizes = [b.shape[1] for b in bases]
    u, p, left = np.empty((1, 0)), np.ones(1), np.ones((1, 1))
    for i, size in enumerate(sizes[:-1]):
        x, q = roots_jacobi(order, sum(sizes[i + 1 :]) / 2 - 1, size / 2 - 1)
        share = np.tile((1 + x) / 2, len(p))[:, None]
        u, left = np.repeat(u, order, axis=0), np.repeat(left, order, axis=0)
        u, left, p = np.hstack([u, left * share]), left * (1 - share), np.outer(p, q / q.sum()).ravel()
    u = np.hstack([u, left])

    def outer(h: Array) -> Array:
        return np.asarray(sum((h @ v) / b.shape[1] * (b @ b.T) for v, b in zip(u.T, bases, strict=True)))

    return QueryRule(np.sqrt(u @ moduli), u @ cosines, p, outer)


def _polar(M: Array, order: int) -> QueryRule:
    """Return a product rule in polar coordinates on half the sphere: nothing changes at -x."""
    angle = np.pi * (np.arange(order if len(M) == 2 else 2 * order) + 0.5) / order
    x, p = np.stack([np.cos(angle), np.sin(angle)], axis=1), np.full(angle.size, 1 / angle.size)
    for dim in range(3, len(M) + 1):
        t, q = roots_gegenbauer(order, (dim - 2) / 2)
        if dim == len(M):
            t, q = t[t > 0], q[t > 0]
        x = np.hstack([np.kron(np.sqrt(1 - t * t)[:, None], x), np.repeat(t, len(x))[:, None]])
        p = np.outer(q / q.sum(), p).ravel()
    return _points(M, x, p)


def _scrambled(M: Array, seed: int) -> QueryRule:
    """Return scrambled Sobol points, mapped to the sphere."""
    from scipy.stats import qmc  # takes long to import, and only few matrices need it

    x = ndtri(np.clip(qmc.Sobol(len(M), rng=seed).random(_POINTS), 1e-16, 1 - 1e-16))
    return _points(M, x / np.linalg.norm(x, axis=1, keepdims=True), np.full(_POINTS, 1 / _POINTS))


def _points(M: Array, x: Array, p: Array) -> QueryRule:
    z = x @ M.T
    return QueryRule(np.linalg.norm(z, axis=1), (z * x).sum(1), p, lambda h: (x * h[:, None]).T @ x)
