r"""The means over the query of the risk of one matrix M, and of its gradient.

Given the query x, the risk rho depends on ``kappa = |M x|`` and ``c = x . M x / kappa`` only, as
`icl.risk.matrix` derives: ::

    rho(kappa, c) = L(kappa) + 2 sum_l a_l m_l(kappa) (1 - P_l(c)).

L(kappa) is the risk of the matrix kappa I, the a_l are the coefficients of the covariance, and m_l is the
mean of P_l under the attention weights of kappa I. The functions of kappa are tabulated on Chebyshev panels,
once for each class and context length. The mean of rho over the query is taken by one of two rules:

- If ``M'M`` and ``M + M'`` commute and have few joint eigenspaces, as symmetric matrices with few eigenvalues
  have, kappa and c depend only on the squared lengths of x in these eigenspaces. The law of these squared
  lengths is a Dirichlet law, for which there are Gauss-Jacobi rules.
- Otherwise the rule is a product rule in polar coordinates on the sphere, in at most five dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike, NDArray
from scipy.special import roots_gegenbauer, roots_jacobi

from icl.risk.numerics.integrals import attended_gegenbauer_means, bandlimit, integrate, spectrum
from icl.tasks import Zonal
from icl.tasks.base import Array, cache_by_class
from icl.tasks.gegenbauer import Polynomials

# a panel in kappa has this many Chebyshev nodes
_NODES = 20
# a panel that needs more Gegenbauer degrees than this raises ValueError
_MAX_DEGREES = 2**10
# A matrix may have `_MAX_BLOCKS` joint eigenspaces. If it has more, it may have `_MAX_DIM` dimensions.
_MAX_BLOCKS, _MAX_DIM = 5, 5
# rules are refined only up to this many queries
_MAX_QUERIES = 2**17


@dataclass(frozen=True)
class Panel:
    """Chebyshev coefficients of functions of kappa on ``left <= kappa <= right``."""

    left: float
    right: float
    # The columns are the bias of kappa I, its noise / sigma^2, and a_l m_l(kappa) / kappa for l = 1, 2, ...
    # All m_l are zero at kappa = 0, so that these ratios are finite there.
    table: Array
    # the larger relative change of bias and noise, near the right end, if the rule for tokens is coarser
    error: float

    def at(self, kappa: Array, derivative: int = 0) -> Array:
        """Return the functions at ``kappa``, or derivatives of the given order, (columns, len(kappa))."""
        # the series are in x = (kappa - left) / half - 1, which runs from -1 to 1
        half = (self.right - self.left) / 2
        table = chebyshev.chebder(self.table, derivative, 1 / half) if derivative else self.table
        return np.asarray(
            table.T @ chebyshev.chebvander((kappa - self.left) / half - 1, len(table) - 1).T
        )


def _number_panels(kappa: ArrayLike) -> NDArray[np.int_]:
    """Return the numbers of the panels that kappa lies on: 0 for [0, 1], 1 for [1, 2], 2 for [2, 4], ..."""
    return np.asarray(np.maximum(0, np.frexp(kappa)[1]))


def panel_of(task: Zonal, n: float, kappa: float) -> Panel:
    """Return the panel that kappa lies on.

    >>> from icl.tasks import Affine
    >>> panel = panel_of(Affine(3), 4.0, 2.5)
    >>> panel.left, panel.right, panel.error < 1e-9
    (2.0, 4.0, True)
    """
    return _tabulate_panel(task, n, int(_number_panels(kappa)))


@cache_by_class(512)
def _tabulate_panel(task: Zonal, n: float, index: int) -> Panel:
    """Tabulate the panel with the number ``index``; ValueError if it needs too many degrees."""
    left = 0.0 if index == 0 else 2.0 ** (index - 1)
    right = 2.0**index
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    kappa = left + (right - left) / 2 * (1 + np.cos(angles))
    length = np.array([n])
    curve = np.array([integrate(task, k, length, slopes=False)[:, 0] for k in kappa])
    # The rule for tokens is compared with a coarser one, of order 12 in place of 16. This is done at the
    # largest node, kappa[0], where the integrals are hardest.
    coarse = integrate(task, kappa[0], length, order=12, slopes=False)[:, 0]
    error = float(np.max(np.abs(coarse - curve[0]) / np.maximum(curve[0], 1e-300)))
    # A window kappa resolves about sqrt(kappa) degrees. Sixteen times as many are tried first.
    degree = int(min(bandlimit(task), 16 * math.ceil(right**0.5)))
    while True:
        if degree > _MAX_DEGREES:
            raise ValueError(
                f"M is too large for {task!r}, whose spectrum falls too slowly: at {right:g}"
            )
        a, rest = spectrum(task, degree)
        # a single token is independent of the query, so that every m_l is zero
        m = np.zeros((_NODES, degree))
        if n > 1:
            m = np.array([attended_gegenbauer_means(task.dim, k, n, degree) for k in kappa])
        # `rest` is the sum of all later a_l. The largest of the last eight m_l stands for the later m_l. The
        # degrees are enough if the product of the two is negligible.
        if degree >= bandlimit(task) or rest * np.abs(m[:, -8:]).max() <= 1e-14 * (a.sum() + rest):
            break
        degree *= 2
    # this matrix maps values at the nodes to Chebyshev coefficients
    transform = 2 / _NODES * np.cos(np.outer(np.arange(_NODES), angles))
    transform[0] /= 2
    # every node has kappa > 0
    ratios = a * m / kappa[:, None]
    return Panel(left, right, transform @ np.hstack([curve, ratios]), error)


def _condition_on_query(task: Zonal, n: float, variance: float, kappa: Array, c: Array) -> Array:
    """Return bias, noise, ``along`` and ``beta`` for queries with these kappa and c, in shape (4, queries).

    ``variance`` is that of the label noise. Bias and noise add up to rho. The derivative of rho in
    ``z = M x`` is ``along z / kappa + beta x``. With the partial derivatives rho_kappa and rho_c of rho,
    ``beta`` is ``rho_c / kappa``, and ``along`` is ``rho_kappa - c beta``.
    """
    out = np.empty((4, kappa.size))
    dim, indices = task.dim, _number_panels(kappa)
    for index in np.unique(indices):
        panel = _tabulate_panel(task, n, int(index))
        # the queries whose kappa lies on this panel
        on_panel = indices == index
        k, cosine = kappa[on_panel], c[on_panel]
        degrees = panel.table.shape[1] - 2
        theta = np.arccos(np.clip(cosine, -1, 1))
        degree = np.arange(1, degrees + 1)[:, None]
        # `missed` is 1 - P_l(c), and like `bend` and `pull` has shape (degrees, queries)
        missed = Polynomials(dim, theta).take(degrees + 1)[1:]
        # `bend` is P_l'(c), which is proportional to the polynomial of degree l - 1 in d + 2 dimensions
        bend = (1 - Polynomials(dim + 2, theta).take(degrees)) * (
            degree * (degree + dim - 2) / (dim - 1)
        )
        # `pull` is a_l m_l / kappa, and the ending _k means the derivative in kappa
        (bias, noise, *pull), (bias_k, noise_k, *pull_k) = panel.at(k), panel.at(k, 1)
        # rho is bias + variance noise + kappa turn
        beta = -2 * np.einsum("lq,lq->q", pull, bend)
        turn = 2 * np.einsum("lq,lq->q", pull, missed)
        rho_kappa = (
            bias_k + variance * noise_k + turn + 2 * k * np.einsum("lq,lq->q", pull_k, missed)
        )
        out[:, on_panel] = bias + k * turn, variance * noise, rho_kappa - cosine * beta, beta
    return out


def rule_means(task: Zonal, n: float, variance: float, M: Array, queries: QueryRule) -> Array:
    """Return the means over the query of bias, noise and the gradient in M, in one row, (2 + d * d,).

    ``variance`` is that of the label noise, and ``queries`` is the rule for the query.

    >>> from icl.tasks import Affine
    >>> M = np.zeros((3, 3))  # equal weights: the bias is a_1 (1 + 1 / n), the noise sigma^2 / n
    >>> rule_means(Affine(3), 4.0, 1.0, M, next(query_rules(M)))[:2].round(12)
    array([0.13888889, 0.25      ])
    """
    kappa, p = queries.kappa, queries.p
    # Where kappa = 0, M x and x . M x are zero, too, and neither the risk nor its gradient depends on c. So
    # the divisor may be one there, and so may c.
    divisor = np.where(kappa > 0, kappa, 1.0)
    c = np.where(kappa > 0, queries.product / divisor, 1.0)
    # the derivative of the risk in z = M x is `along z / kappa + beta x`, and the gradient in M is the mean
    # of this times x'
    bias, noise, along, beta = _condition_on_query(task, n, variance, kappa, c)
    gradient = M @ queries.outer(along / divisor * p) + queries.outer(beta * p)
    return np.concatenate([[bias @ p, noise @ p], gradient.ravel()])


@dataclass(frozen=True)
class QueryRule:
    """A rule for the mean over the query x; the arrays have shape (q,), one entry for each node."""

    # these are |M x| and x . M x
    kappa: Array
    product: Array
    # the probabilities of the nodes
    p: Array
    # outer(h), (d, d), is the sum of h x x' over the nodes for numbers h of shape (q,)
    outer: Callable[[Array], Array]


def query_rules(M: Array) -> Iterator[QueryRule]:
    """Return rules for a matrix, each twice as fine as the one before; ValueError if the matrix has none.

    >>> rule = next(query_rules(np.diag([3.0, 4.0, 12.0])))
    >>> round(float(rule.p @ rule.kappa**2), 9)  # E |M x|^2 is the sum of squares over d
    56.333333333
    """
    blocks = _find_blocks(M)
    if blocks is None and len(M) > _MAX_DIM:
        raise ValueError(
            f"M: dim={len(M)}, must be at most {_MAX_DIM} unless M'M and M + M' commute and have at most "
            f"{_MAX_BLOCKS} joint eigenspaces; icl.pretrain.metrics.evaluation_error samples its risk"
        )
    return _refine(M, blocks)


def _refine(M: Array, blocks: tuple[list[Array], Array, Array] | None) -> Iterator[QueryRule]:
    """Yield rules of order 8, 16, 32, ... until one would have too many queries.

    ``blocks`` is what `_find_blocks` returns. A rule has about ``order**axes`` queries. Here ``axes`` is the
    number of eigenspaces less one, or if ``blocks`` is None, the dimension less one. For a single eigenspace
    there is only one rule.
    """
    if blocks is not None and len(blocks[0]) == 1:
        # on the only eigenspace x has the length one, so that one query is exact
        yield _dirichlet(*blocks, 1)
        return
    axes = len(M) - 1 if blocks is None else len(blocks[0]) - 1
    order = 8
    while order**axes <= _MAX_QUERIES:
        yield _polar(M, order) if blocks is None else _dirichlet(*blocks, order)
        order *= 2


def _find_blocks(M: Array) -> tuple[list[Array], Array, Array] | None:
    """Return bases of the joint eigenspaces of ``M'M`` and ``(M + M') / 2``, and the eigenvalues on them.

    After the list of bases come two arrays. The first has the eigenvalue of ``M'M`` on each eigenspace, and
    the second has that of ``(M + M') / 2``. The result is None if the matrices do not commute or have too
    many joint eigenspaces.
    """
    scale = float(np.linalg.norm(M, 2)) or 1.0
    # both matrices are scaled, so that their eigenvalues are at most one in size
    squared, symmetric = M.T @ M / scale**2, (M + M.T) / (2 * scale)
    # only by accident does this combination have the same eigenvalue on two joint eigenspaces
    values, basis = np.linalg.eigh(squared + math.sqrt(2) * symmetric)
    split = np.flatnonzero(np.diff(values) > 1e-12) + 1
    bases = np.split(basis, split, axis=1)
    if len(bases) > _MAX_BLOCKS:
        return None
    # `moduli` are the eigenvalues of `squared`, and `cosines` those of `symmetric`
    moduli = np.array([np.trace(b.T @ squared @ b) / b.shape[1] for b in bases])
    cosines = np.array([np.trace(b.T @ symmetric @ b) / b.shape[1] for b in bases])
    # the eigenspaces are joint ones if eigenvalues times projections add up to both matrices
    for matrix, eigenvalues in ((squared, moduli), (symmetric, cosines)):
        rebuilt = sum(v * (b @ b.T) for v, b in zip(eigenvalues, bases, strict=True))
        if np.abs(matrix - rebuilt).max() > 1e-12:
            return None
    return bases, np.maximum(moduli, 0) * scale**2, cosines * scale


def _dirichlet(bases: list[Array], moduli: Array, cosines: Array, order: int) -> QueryRule:
    """Return a product of Gauss-Jacobi rules for the squared lengths of x in the eigenspaces.

    The first three arguments are what `_find_blocks` returns. Each rule has ``order`` nodes.
    """
    sizes = [b.shape[1] for b in bases]
    # u has the squared lengths of x in the eigenspaces so far, (queries, eigenspaces)
    u = np.empty((1, 0))
    # `left` is what these squared lengths leave of |x|^2 = 1
    left = np.ones((1, 1))
    # p has the probabilities of the nodes so far
    p = np.ones(1)
    # the squared length in the next eigenspace, divided by `left`, has a beta law
    for i, size in enumerate(sizes[:-1]):
        # here x are nodes from -1 to 1 and q their weights, while a beta law is on the interval from 0 to 1
        x, q = roots_jacobi(order, sum(sizes[i + 1 :]) / 2 - 1, size / 2 - 1)
        share = np.tile((1 + x) / 2, len(p))[:, None]
        u, left = np.repeat(u, order, axis=0), np.repeat(left, order, axis=0)
        u = np.hstack([u, left * share])
        left = left * (1 - share)
        p = np.outer(p, q / q.sum()).ravel()
    u = np.hstack([u, left])

    def outer(h: Array) -> Array:
        # given the squared length u in an eigenspace, the mean of x x' there is u / size times the identity
        return np.asarray(
            sum((h @ v) / b.shape[1] * (b @ b.T) for v, b in zip(u.T, bases, strict=True))
        )

    # |M x|^2 is x . M'M x, and x . M x is x . (M + M') x / 2
    return QueryRule(np.sqrt(u @ moduli), u @ cosines, p, outer)


def _polar(M: Array, order: int) -> QueryRule:
    """Return a product rule in polar coordinates on half the sphere, because all functions are even in x."""
    # In two dimensions the angles lie on half the circle. In more dimensions they lie on the whole circle.
    angle = np.pi * (np.arange(order if len(M) == 2 else 2 * order) + 0.5) / order
    x = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    p = np.full(angle.size, 1 / angle.size)
    # each further dimension adds the coordinate t, and multiplies the others by sqrt(1 - t^2)
    for dim in range(3, len(M) + 1):
        t, q = roots_gegenbauer(order, (dim - 2) / 2)
        # on half the sphere the last coordinate is positive
        if dim == len(M):
            t, q = t[t > 0], q[t > 0]
        x = np.hstack([np.kron(np.sqrt(1 - t * t)[:, None], x), np.repeat(t, len(x))[:, None]])
        p = np.outer(q / q.sum(), p).ravel()
    z = x @ M.T
    return QueryRule(np.linalg.norm(z, axis=1), (z * x).sum(1), p, lambda h: (x * h[:, None]).T @ x)
