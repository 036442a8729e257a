r"""The exact risk of any key-query matrix, and its gradient.

Given the query, softmax attention with the matrix M has the weights of the query ``z = M x_q``. By rotation
invariance its risk depends on two numbers, ``kappa = |z|`` and ``c = x_q . z / kappa``:

    rho(kappa, c) = L(kappa) + 2 sum_l a_l m_l(kappa) (1 - P_l(c)),
    m_l(kappa) = E sum_i omega_i P_l(x_i . z / kappa),

where L(kappa) is the risk of kappa I. In the mean over f, ``sum_ij omega_i omega_j k(x_i . x_j) -
2 sum_i omega_i k(x_i . x_q) + k(1)``, only the middle term knows the query, and by the addition theorem
``P_l(x_i . x_q)`` averages to ``P_l(x_i . z / kappa) P_l(c)`` over the rotations about z.

The functions of kappa are tabulated on Chebyshev panels, once for each class and context length. The risk of
M is the mean of rho over the query, by the rules of `icl.risk.queries`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray

from icl.checks import integer, matrix_rows, real
from icl.risk.integrals import attended_gegenbauer_means, bandlimit, integrate, spectrum
from icl.risk.queries import QueryRule, deterministic, randomized
from icl.risk.result import MatrixRisk
from icl.tasks import Zonal, check_task
from icl.tasks.base import MOST, Array
from icl.tasks.gegenbauer import Polynomials

_NODES = 20  # Chebyshev nodes of a panel [v, 2 v] in kappa
_DEGREES = 2**10  # more Gegenbauer degrees than this are refused
_SETTLED = 1e-12  # a rule is not doubled again once doubling changes less than this


def matrix_risk(task: Zonal, M: ArrayLike, n: int, noise_std: float) -> MatrixRisk:
    """Compute the population risk of the attention unit with the key-query matrix M, and its gradient.

    Scores are ``x_i . M x_q``; tokens and query are uniform on the sphere. M has shape (d, d); the other
    arguments are those of `population_risk`, without broadcasting.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range, or M is too large for the class (see `population_risk`).

    >>> from icl.tasks import Affine
    >>> risk = matrix_risk(Affine(dim=5), np.zeros((5, 5)), n=20, noise_std=1.0)
    >>> round(float(risk.noise), 12)  # equal weights average the noise
    0.05
    """
    check_task(task)
    length, variance = float(integer(n, "n", 1, MOST)), real(noise_std, "noise_std", 0, MOST) ** 2
    matrix = as_square_matrix(M, task.dim)
    mean = partial(_mean, task, length, variance, matrix)
    rules, change = deterministic(matrix), 0.0
    if rules is None:
        rows = np.stack([mean(queries) for queries in randomized(matrix)])
        row, change = rows.mean(0), float(rows.std(0, ddof=1).max()) / len(rows) ** 0.5
    else:
        row = mean(next(rules))
        for queries in rules:
            before, row = row, mean(queries)
            change = float(np.abs(row - before).max())
            if change <= _SETTLED * (row[0] + row[1]):
                break
    coarser = _panel(task, length, _index(float(np.linalg.norm(matrix, 2)))).error
    error = np.asarray(change / max(row[0] + row[1], 1e-300) + coarser)
    return MatrixRisk(row[0], row[1], error[()], row[2:].reshape(matrix.shape))


def as_square_matrix(M: Any, dim: int, name: str = "M") -> Array:
    """Return a key-query matrix as a float64 array of shape (dim, dim), or raise ValueError."""
    matrix = np.array(matrix_rows(M, name))
    if matrix.shape != (dim, dim) or np.abs(matrix).max() > MOST:
        raise ValueError(f"{name}: shape {matrix.shape}, must be ({dim}, {dim}), entries at most {MOST:g}")
    return matrix


def curvatures(task: Zonal, w: float, n: int, noise_std: float) -> Array:
    """Compute the second derivatives of the risk at ``w (I + eps K)`` in eps, ``|K|_F^2 = d``.

    By Schur's lemma the Hessian at a multiple w >= 0 of the identity is one number on each of three spaces.

    Returns:
        Shape (2, 3): for K a multiple of I, traceless symmetric, antisymmetric; and estimated errors, what
        the last two coefficients of the expansions in w and a coarser rule for the integrals change.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range.
    """
    check_task(task)
    length, variance = integer(n, "n", 1, MOST), real(noise_std, "noise_std", 0, MOST) ** 2
    w, d = real(w, "w", 0, MOST), task.dim
    panel = _panel(task, float(length), _index(w))
    fine = _curvatures(panel, d, w, variance)
    coarse = _curvatures(replace(panel, curve=panel.curve[:-2], pull=panel.pull[:-2]), d, w, variance)
    return np.array([fine, np.abs(fine - coarse) + panel.error * np.abs(fine)])


def _curvatures(panel: _Panel, d: int, w: float, variance: float) -> Array:
    degree = np.arange(1, panel.pull.shape[1] + 1)
    risk = panel.curve[:, 0] + variance * panel.curve[:, 1]
    slope, second = (panel.at(np.array([w]), risk[:, None], k)[0, 0] for k in (1, 2))
    pull = panel.at(np.array([w]), panel.pull)[:, 0] * w * degree * (degree + d - 2) / (d - 1)
    turn = w * slope + 2 * float(pull.sum())
    return np.array([w * w * second, (2 * w * w * second + d * turn) / (d + 2), turn])


@dataclass(frozen=True)
class _Panel:
    """Chebyshev coefficients of functions of kappa on ``left <= kappa <= right``.

    Attributes:
        left, right: The ends.
        curve: Bias and noise / sigma^2 of ``kappa I``, shape (nodes, 2).
        pull: ``a_l m_l(kappa) / kappa``, shape (nodes, degrees).
        error: Relative error of bias and noise: what a coarser rule changes at the right end.
    """

    left: float
    right: float
    curve: Array
    pull: Array
    error: float

    def at(self, kappa: Array, coefficients: Array, derivative: int = 0) -> Array:
        """Return one row for each column of ``coefficients``, (columns, len(kappa))."""
        half = (self.right - self.left) / 2
        table = chebyshev.chebder(coefficients, derivative, 1 / half) if derivative else coefficients
        return np.asarray(table.T @ chebyshev.chebvander((kappa - self.left) / half - 1, len(table) - 1).T)


def _index(kappa: float) -> int:
    """Return the number of the panel of ``kappa``: [0, 1], [1, 2], [2, 4], ..."""
    return int(_indices(np.array(kappa)))


def _indices(kappa: Array) -> NDArray[np.int_]:
    return np.maximum(0, np.frexp(kappa)[1])


@lru_cache(maxsize=512)
def _panel(task: Zonal, n: float, index: int) -> _Panel:
    left, right = (0.0 if index == 0 else 2.0 ** (index - 1)), 2.0**index
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    kappa = left + (right - left) / 2 * (1 + np.cos(angles))
    length = np.array([n])
    curve = np.array([integrate(task, k, length, slopes=False)[:, 0] for k in kappa])
    coarse = integrate(task, kappa[0], length, order=12, slopes=False)[:, 0]
    error = float(np.max(np.abs(coarse - curve[0]) / np.maximum(curve[0], 1e-300)))
    degree = int(min(bandlimit(task), 16 * math.ceil(right**0.5)))
    while True:
        if degree > _DEGREES:
            raise ValueError(f"M is too large for {task!r}, whose spectrum falls too slowly: at {right:g}")
        a, rest = spectrum(task, degree)
        m = (
            np.zeros((_NODES, degree))
            if n == 1
            else np.array([attended_gegenbauer_means(task.dim, k, n, degree) for k in kappa])
        )
        if degree >= bandlimit(task) or rest * np.abs(m[:, -8:]).max() <= 1e-14 * (a.sum() + rest):
            break
        degree *= 2
    transform = 2 / _NODES * np.cos(np.outer(np.arange(_NODES), angles))
    transform[0] /= 2
    return _Panel(left, right, transform @ curve, transform @ (a * m / kappa[:, None]), error)


def _conditional(task: Zonal, n: float, variance: float, kappa: Array, c: Array) -> Array:
    """Return bias, noise and the gradient's two parts; its value is ``along M x / kappa + beta x``.

    Shape (4, queries). With ``beta = rho_c / kappa`` and ``along = rho_kappa - c beta`` this is the
    derivative of rho in ``z = M x``.
    """
    out = np.empty((4, kappa.size))
    dim, indices = task.dim, _indices(kappa)
    for index in np.unique(indices):
        here, panel = indices == index, _panel(task, n, int(index))
        k, cosine = kappa[here], c[here]
        degrees = panel.pull.shape[1]
        theta, degree = np.arccos(np.clip(cosine, -1, 1)), np.arange(1, degrees + 1)[:, None]
        missed = Polynomials(dim, theta).take(degrees + 1)[1:]  # 1 - P_l
        # P_l' is proportional to the polynomial of degree l - 1 in d + 2 dimensions
        bend = (1 - Polynomials(dim + 2, theta).take(degrees)) * (degree * (degree + dim - 2) / (dim - 1))
        coefficients = np.hstack([panel.curve, panel.pull])
        value, value_k = panel.at(k, coefficients), panel.at(k, coefficients, 1)
        (bias, noise), pull = value[:2], value[2:]
        (bias_k, noise_k), pull_k = value_k[:2], value_k[2:]
        beta = -2 * np.einsum("lq,lq->q", pull, bend)
        turn = 2 * np.einsum("lq,lq->q", pull, missed)
        slope = bias_k + variance * noise_k + turn + 2 * k * np.einsum("lq,lq->q", pull_k, missed)
        out[:, here] = bias + k * turn, variance * noise, slope - cosine * beta, beta
    return out


def _mean(task: Zonal, n: float, variance: float, M: Array, queries: QueryRule) -> Array:
    """Return the means of bias, noise and gradient, flat."""
    kappa, p = queries.kappa, queries.p
    divisor = np.where(kappa > 0, kappa, 1.0)
    c = np.where(kappa > 0, queries.product / divisor, 1.0)
    bias, noise, along, beta = _conditional(task, n, variance, kappa, c)
    gradient = M @ queries.outer(along / divisor * p) + queries.outer(beta * p)
    return np.concatenate([[bias @ p, noise @ p], gradient.ravel()])
