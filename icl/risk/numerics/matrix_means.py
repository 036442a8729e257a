r"""The means over the query of the risk of one matrix, and of its gradient.

They are those that `icl.risk.matrix` derives: given the query x, the risk rho depends on ``kappa = |M x|``
and ``c = x . M x / kappa``, and is made of functions of kappa, the bias and the noise of kappa I and the
means m_l, and of polynomials P_l of c. The functions of kappa are tabulated on Chebyshev panels, once for
each class and context length. The mean of rho over the query is taken by one of two rules:

- If ``M'M`` and ``M + M'`` commute and have few joint eigenspaces (symmetric matrices with few eigenvalues),
  kappa and c depend on the squared lengths of x in these, whose law is Dirichlet: Gauss-Jacobi rules.
- Otherwise, in at most five dimensions, a product rule on the sphere, in polar coordinates.
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

# a panel [v, 2 v] in kappa has this many Chebyshev nodes
_NODES = 20
# a panel raises if it needs more Gegenbauer degrees than this
_MAX_DEGREES = 2**10
# the rules cover this many joint eigenspaces, or this many dimensions if the matrix has more of them
_MAX_BLOCKS, _MAX_DIM = 5, 5
# rules are refined only up to this many queries
_MAX_QUERIES = 2**17


@dataclass(frozen=True)
class Panel:
    """Chebyshev coefficients of functions of kappa on ``left <= kappa <= right``."""

    left: float
    right: float
    # The columns are bias and noise / sigma^2 of kappa I, and a_l m_l(kappa) / kappa for every degree, which
    # is finite at kappa = 0.
    table: Array
    # the relative error of bias and noise is what a coarser rule changes at the right end
    error: float

    def at(self, kappa: Array, derivative: int = 0) -> Array:
        """Return the functions, or their derivatives of that order, one a row, (columns, len(kappa))."""
        # the series are in the position on the panel, -1 to 1
        half = (self.right - self.left) / 2
        table = chebyshev.chebder(self.table, derivative, 1 / half) if derivative else self.table
        return np.asarray(
            table.T @ chebyshev.chebvander((kappa - self.left) / half - 1, len(table) - 1).T
        )


def _indices(kappa: ArrayLike) -> NDArray[np.int_]:
    """Return the numbers of the panels of ``kappa``: [0, 1], [1, 2], [2, 4], ..."""
    return np.asarray(np.maximum(0, np.frexp(kappa)[1]))


def panel_of(task: Zonal, n: float, kappa: float) -> Panel:
    """Return the panel that kappa lies on.

    >>> from icl.tasks import Affine
    >>> panel = panel_of(Affine(3), 4.0, 2.5)
    >>> panel.left, panel.right, panel.error < 1e-9
    (2.0, 4.0, True)
    """
    return _panel(task, n, int(_indices(kappa)))


@cache_by_class(512)
def _panel(task: Zonal, n: float, index: int) -> Panel:
    """Return a panel by its number, as `_indices` counts them; ValueError if it needs too many degrees."""
    left, right = (0.0 if index == 0 else 2.0 ** (index - 1)), 2.0**index
    angles = np.pi * (np.arange(_NODES) + 0.5) / _NODES
    kappa = left + (right - left) / 2 * (1 + np.cos(angles))
    length = np.array([n])
    curve = np.array([integrate(task, k, length, slopes=False)[:, 0] for k in kappa])
    # kappa[0] is the largest
    coarse = integrate(task, kappa[0], length, order=12, slopes=False)[:, 0]
    error = float(np.max(np.abs(coarse - curve[0]) / np.maximum(curve[0], 1e-300)))
    # a window kappa resolves about sqrt(kappa) degrees
    degree = int(min(bandlimit(task), 16 * math.ceil(right**0.5)))
    while True:
        if degree > _MAX_DEGREES:
            raise ValueError(
                f"M is too large for {task!r}, whose spectrum falls too slowly: at {right:g}"
            )
        a, rest = spectrum(task, degree)
        # of a single token every m_l is zero
        m = np.zeros((_NODES, degree))
        if n > 1:
            m = np.array([attended_gegenbauer_means(task.dim, k, n, degree) for k in kappa])
        # the degrees are enough once the last eight means of P_l are negligible for all later ones
        if degree >= bandlimit(task) or rest * np.abs(m[:, -8:]).max() <= 1e-14 * (a.sum() + rest):
            break
        degree *= 2
    # this matrix maps values at the nodes to Chebyshev coefficients
    transform = 2 / _NODES * np.cos(np.outer(np.arange(_NODES), angles))
    transform[0] /= 2
    return Panel(left, right, transform @ np.hstack([curve, a * m / kappa[:, None]]), error)


def _condition_on_query(task: Zonal, n: float, variance: float, kappa: Array, c: Array) -> Array:
    """Return bias, noise, ``along`` and ``beta``, where the derivative is ``along M x / kappa + beta x``.

    The result has shape (4, queries), for queries with these kappa and c and noise of this variance. The
    derivative is that of rho in ``z = M x``, with ``beta = rho_c / kappa`` and ``along = rho_kappa - c
    beta``, where rho_c and rho_kappa are partial derivatives.
    """
    out = np.empty((4, kappa.size))
    dim, indices = task.dim, _indices(kappa)
    for index in np.unique(indices):
        on_panel, panel = indices == index, _panel(task, n, int(index))
        k, cosine = kappa[on_panel], c[on_panel]
        degrees = panel.table.shape[1] - 2
        theta, degree = (np.arccos(np.clip(cosine, -1, 1)), np.arange(1, degrees + 1)[:, None])
        # `missed` is 1 - P_l
        missed = Polynomials(dim, theta).take(degrees + 1)[1:]
        # `bend` is P_l'(c), proportional to the polynomial of degree l - 1 in d + 2 dimensions
        bend = (1 - Polynomials(dim + 2, theta).take(degrees)) * (
            degree * (degree + dim - 2) / (dim - 1)
        )
        # bias, noise and all a_l m_l / kappa, and their derivatives in kappa; `pull` is (degrees, queries)
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
    """Return the means of bias, noise and gradient over the nodes of a rule, in one row, (2 + d * d,).

    ``variance`` is that of the label noise.

    >>> from icl.tasks import Affine
    >>> M = np.zeros((3, 3))  # equal weights: the bias is a_1 (1 + 1 / n), the noise sigma^2 / n
    >>> rule_means(Affine(3), 4.0, 1.0, M, next(query_rules(M)))[:2].round(12)
    array([0.13888889, 0.25      ])
    """
    kappa, p = queries.kappa, queries.p
    # where kappa = 0 the numerators M x and x . M x are zero, too, and no value depends on c
    divisor = np.where(kappa > 0, kappa, 1.0)
    c = np.where(kappa > 0, queries.product / divisor, 1.0)
    # the gradient in M is the derivative in z times x'
    bias, noise, along, beta = _condition_on_query(task, n, variance, kappa, c)
    gradient = M @ queries.outer(along / divisor * p) + queries.outer(beta * p)
    return np.concatenate([[bias @ p, noise @ p], gradient.ravel()])


@dataclass(frozen=True)
class QueryRule:
    """Nodes x and their probabilities; the arrays have shape (q,)."""

    # these are |M x| and x . M x
    kappa: Array
    product: Array
    p: Array
    # it maps h, (q,), to sum_q h x x', (d, d)
    outer: Callable[[Array], Array]


def query_rules(M: Array) -> Iterator[QueryRule]:
    """Return rules for a matrix, each twice as fine as the one before; ValueError if none takes the matrix.

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

    A rule has about ``order**axes`` queries: one axis for each eigenspace, or for each dimension, but one.
    """
    if blocks is not None and len(blocks[0]) == 1:
        # a single query is exact, because one block has one length
        yield _dirichlet(*blocks, 1)
        return
    axes = len(M) - 1 if blocks is None else len(blocks[0]) - 1
    order = 8
    while order**axes <= _MAX_QUERIES:
        yield _polar(M, order) if blocks is None else _dirichlet(*blocks, order)
        order *= 2


def _find_blocks(M: Array) -> tuple[list[Array], Array, Array] | None:
    """Return bases of the joint eigenspaces of ``M'M`` and ``(M + M') / 2``, and their eigenvalues.

    The result is None if the matrices do not commute or have too many joint eigenspaces.
    """
    scale = float(np.linalg.norm(M, 2)) or 1.0
    # moduli are the eigenvalues of M'M, and cosines those of (M + M') / 2; both are scaled to be at most one
    pair = [M.T @ M / scale**2, (M + M.T) / (2 * scale)]
    # two joint eigenspaces share an eigenvalue of this combination by accident only
    values, basis = np.linalg.eigh(pair[0] + math.sqrt(2) * pair[1])
    split = np.flatnonzero(np.diff(values) > 1e-12) + 1
    bases = np.split(basis, split, axis=1)
    moduli, cosines = (np.array([np.trace(b.T @ a @ b) / b.shape[1] for b in bases]) for a in pair)
    # the pair has these eigenspaces in common if their projections give it back
    rebuilt = [
        sum(v * (b @ b.T) for v, b in zip(vs, bases, strict=True)) for vs in (moduli, cosines)
    ]
    if len(bases) > _MAX_BLOCKS or any(
        np.abs(a - b).max() > 1e-12 for a, b in zip(pair, rebuilt, strict=True)
    ):
        return None
    return bases, np.maximum(moduli, 0) * scale**2, cosines * scale


def _dirichlet(bases: list[Array], moduli: Array, cosines: Array, order: int) -> QueryRule:
    """Return a product of Gauss-Jacobi rules for the squared lengths in the eigenspaces.

    The arguments are those that `_find_blocks` returns, and the number of nodes of each rule.
    """
    # u is (queries, eigenspaces so far), their squared lengths, and `left` what they leave of |x|^2 = 1
    sizes = [b.shape[1] for b in bases]
    u, p, left = np.empty((1, 0)), np.ones(1), np.ones((1, 1))
    # the squared length in one eigenspace has a beta law, as a share of what the ones before it left
    for i, size in enumerate(sizes[:-1]):
        x, q = roots_jacobi(order, sum(sizes[i + 1 :]) / 2 - 1, size / 2 - 1)
        share = np.tile((1 + x) / 2, len(p))[:, None]
        u, left = np.repeat(u, order, axis=0), np.repeat(left, order, axis=0)
        u, left, p = (
            np.hstack([u, left * share]),
            left * (1 - share),
            np.outer(p, q / q.sum()).ravel(),
        )
    u = np.hstack([u, left])

    def outer(h: Array) -> Array:
        # given the squared lengths, x x' has the mean u / size on each eigenspace
        return np.asarray(
            sum((h @ v) / b.shape[1] * (b @ b.T) for v, b in zip(u.T, bases, strict=True))
        )

    # |M x|^2 is x . M'M x, and x . M x is that of the symmetric part of M
    return QueryRule(np.sqrt(u @ moduli), u @ cosines, p, outer)


def _polar(M: Array, order: int) -> QueryRule:
    """Return a product rule in polar coordinates on half the sphere, because all functions are even in x."""
    # in two dimensions the angles lie on half the circle, in more on all of it
    angle = np.pi * (np.arange(order if len(M) == 2 else 2 * order) + 0.5) / order
    x, p = (np.stack([np.cos(angle), np.sin(angle)], axis=1), np.full(angle.size, 1 / angle.size))
    # each further dimension adds the coordinate t, and shrinks the others to sqrt(1 - t^2)
    for dim in range(3, len(M) + 1):
        t, q = roots_gegenbauer(order, (dim - 2) / 2)
        # half the sphere is where the last coordinate is positive
        if dim == len(M):
            t, q = t[t > 0], q[t > 0]
        x = np.hstack([np.kron(np.sqrt(1 - t * t)[:, None], x), np.repeat(t, len(x))[:, None]])
        p = np.outer(q / q.sum(), p).ravel()
    return _points(M, x, p)


def _points(M: Array, x: Array, p: Array) -> QueryRule:
    z = x @ M.T
    return QueryRule(np.linalg.norm(z, axis=1), (z * x).sum(1), p, lambda h: (x * h[:, None]).T @ x)
