r"""The integrals of the exact risk, for one window and many context lengths.

They are those that `icl.risk.exact` derives, as sums over the nodes of `icl.risk.numerics.quadrature`. With
the symbols of that module:

- w is the window, n the number of tokens, and theta the angle between a token and the query.
- u is log s, ``z = s exp(-w (1 - cos theta))``, and ``phi = E exp(-z)``, where E is the mean over theta.
- a_l are the coefficients of the covariance, P_l the polynomials at cos theta, and gamma is the variogram.
- In the bias of pairs, ``sum_l a_l m_l^2``, the mean over a token is ``m_l = E[z (1 - P_l) e^-z]``.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from icl.covariates import invert_cap_mass
from icl.risk.numerics.quadrature import Mesh, meshes
from icl.tasks import Zonal
from icl.tasks.base import Array, cache_by_class, coefficients, fine_variance, variogram_of
from icl.tasks.gegenbauer import Polynomials

# the integrals raise if they need more Gegenbauer degrees than this
_MAX_DEGREES = 100_000
# after this many degrees it is checked whether _MAX_DEGREES can be enough
_CHECK_FEASIBLE_AFTER = 1000
# a class has its parity if all coefficients up to this degree have it: a `Spectrum` has no later ones
_MAX_PARITY_DEGREE = 10_000
# beyond this the risk equals nearest_neighbor_risk to machine precision
_MAX_NARROWNESS = 1e12
# z is at most exp of this, because exp(-exp(6)) is zero to machine precision
_MAX_LOG_Z = 6.0
# powers of phi are at least exp of this, because exp(-709) is not a normal number
_MIN_LOG = -700
# one block of Gegenbauer polynomials has at most about this many numbers
_MAX_TABLE = 2**16
# a block may be larger where it is not multiplied by a table in u
_MAX_BLOCK = 2**22


def integrate(task: Zonal, w: float, n: Array, order: int = 16, slopes: bool = True) -> Array:
    """Compute bias, its w-derivative, noise / sigma^2, its w-derivative for context lengths n, shape (j,).

    The result has shape (4, j); without the slopes it is bias and noise / sigma^2, (2, j). ``order`` is the
    number of Gauss-Legendre nodes a panel. ValueError if w is too large: for n, or for the degrees of the
    class.

    >>> from icl.tasks import Affine
    >>> integrate(Affine(3), 0.0, np.array([4.0]))[::2, 0].round(12)  # a_1 (1 + 1 / n) and 1 / n
    array([0.13888889, 0.25      ])
    """
    out = np.empty((4, n.size) if slopes else (2, n.size))
    # the sum of all a_l is a.sum() + rest for every degree
    a, rest = spectrum(task, 32)
    # a single token has weight one: the bias is twice the mean variogram, and this mean is the sum of all a_l
    single = [[2 * (float(a.sum()) + rest)], [0.0], [1.0], [0.0]]
    out[:, n == 1] = single if slopes else single[::2]
    if np.any(n > 1):
        # this product compares the distance to the nearest token with the width of the kernel
        if w * invert_cap_mass(task.dim, 1 / n[n > 1].min()) > _MAX_NARROWNESS:
            raise ValueError(
                f"w={w:g}: too large for n={n[n > 1].min():g}, see nearest_neighbor_risk"
            )
        total = np.zeros((len(out), np.count_nonzero(n > 1)))
        jumps = _angle_of_jumps(task, float(a.sum()) + rest)
        for mesh in meshes(task.dim, w, n[n > 1], bandlimit(task), order, jumps=jumps):
            total += _integrate_mesh(task, w, n[n > 1], mesh, total[0], slopes)
        out[:, n > 1] = total
    fine = fine_variance(task)
    # fine variance is independent from place to place, and at the query as well
    if fine > 0:
        bias, noise = (0, 2) if slopes else (0, 1)
        out[bias] += fine * (1 + out[noise])
        if slopes:
            out[1] += fine * out[3]
    return out


def _angle_of_jumps(task: Zonal, variance: float) -> float:
    """Return the angle at which the singular term equals the variance; infinity unless the class jumps.

    A class counts as one that jumps if its order is below 2, that is if it is rougher than Lipschitz
    functions.
    """
    order, constant = task.singular_term or (math.inf, 1.0)
    # only `window_law` raises for a term that is out of range
    has_jumps = 0 < order < 2 and 0 < constant < math.inf and variance > 0
    return (variance / constant) ** (1 / order) if has_jumps else math.inf


def integrate_blur(task: Zonal, w: float, n: Array, order: int = 16) -> Array:
    """Compute the error of the mean prediction, ``sum_l a_l (1 - m_l)^2``, for context lengths n, shape (j,).

    Here m_l is the mean of P_l under the weights, see `attended_gegenbauer_means`, and not the m_l at the top
    of this module. Fine variance counts in full, because the mean prediction has none of it.

    >>> from icl.tasks import Affine
    >>> integrate_blur(Affine(3), 0.0, np.array([4.0])).round(12)  # equal weights know nothing: a_1
    array([0.11111111])
    """
    # short contexts need many angles and few degrees, long ones the reverse, so that each has its own table
    return np.array([_sum_blur(task, w, float(one), order) for one in n]) + fine_variance(task)


def _sum_blur(task: Zonal, w: float, n: float, order: int) -> float:
    """Return `integrate_blur` for one length, without fine variance.

    The degrees beyond L, the last one summed, contribute, with ``b_l = 1 - m_l`` and because ``sum_l a_l
    b_l`` is the mean of the variogram under the weights, ::

        2 (E sum_i omega_i gamma(theta_i) - sum_{l<=L} a_l b_l) - sum_{l>L} a_l + sum_{l>L} a_l m_l^2,

    and only the last, quadratically small term is neglected, as in `_pair_term`.
    """
    # the sum of all a_l is a.sum() + rest for every degree
    a, rest = spectrum(task, 32)
    variance = float(a.sum()) + rest
    # the only token of a context is independent of the query, so that every m_l is zero
    if n == 1:
        return variance
    jumps = _angle_of_jumps(task, variance)
    theta, law = _attended_law(task.dim, w, n, bandlimit(task), order, jumps)
    left = float(law @ variogram_of(task, theta))
    # `left` is the bracket of the formula above, and this is its rounding error
    cancels = 2e-16 * left
    polynomials, blur, last, many = Polynomials(task.dim, theta), 0.0, 0, 16
    # degree 0 is predicted without error
    polynomials.take(1)
    while last < _MAX_DEGREES:
        # at least four degrees, because the last four show how small m_l is; `missed` are their b_l
        step = max(4, min(many, _MAX_BLOCK // theta.size))
        missed = polynomials.take(step) @ law
        a, rest = spectrum(task, last + step)
        blur += float(a[last:] @ missed**2)
        left -= float(a[last:] @ missed)
        if rest <= 0:
            return blur
        last, many = last + step, 2 * many
        # the last term is negligible, and so is the rounding of the first one
        if rest * np.max((1 - missed[-4:]) ** 2) <= 1e-12 * blur and cancels <= 1e-9 * blur:
            return blur + 2 * left - rest
    raise ValueError(f"w={w:g} is too large for {task!r}: its spectrum falls too slowly")


def attended_gegenbauer_means(dim: int, w: float, n: float, degree: int, order: int = 16) -> Array:
    """Return ``m_l = E sum_i omega_i P_l(x_i . x_q)``, l = 1..degree, for n >= 2 tokens.

    >>> attended_gegenbauer_means(3, 2.0, 1e9, 1).round(6)  # of many tokens: coth 2 - 1 / 2
    array([0.537315])
    """
    theta, law = _attended_law(dim, w, n, degree, order)
    polynomials, step = Polynomials(dim, theta), max(1, _MAX_BLOCK // theta.size)
    rows = [
        polynomials.take(min(step, degree + 1 - first)) @ law
        for first in range(0, degree + 1, step)
    ]
    return 1 - np.concatenate(rows)[1:]


def _attended_law(
    dim: int, w: float, n: float, degree: float, order: int, jumps: float = math.inf
) -> tuple[Array, Array]:
    """Return angles, and how much weight the tokens at each of them have on average.

    ``E sum_i omega_i h(theta_i) = n int E[h z e^-z] phi^(n-1) du`` for every function h of the angle. The
    last three arguments are those of `meshes`.
    """
    thetas, laws = [], []
    for mesh in meshes(dim, w, np.array([n]), degree, order, jumps):
        gap = 2 * np.sin(mesh.theta / 2) ** 2
        # the axes are panels, nodes in u, angles
        z = np.exp(np.minimum(mesh.u[..., None] - (w * gap)[:, None], _MAX_LOG_Z))
        lost = -np.expm1(-z)
        # `missed` is 1 - phi, which rounding may lift to one
        missed = np.minimum(mesh.below + _mean(lost, mesh.p), 1 - 1e-16)
        power = mesh.weight * n * np.exp(np.maximum((n - 1) * np.log1p(-missed), _MIN_LOG))
        # the integral over u is a product of matrices, for each panel (1, nodes) with (nodes, angles)
        thetas.append(mesh.theta.ravel())
        laws.append((mesh.p * (power[:, None] @ (z * (1 - lost)))[:, 0]).ravel())
    return np.concatenate(thetas), np.concatenate(laws)


def _integrate_mesh(
    task: Zonal, w: float, n: Array, mesh: Mesh, before: Array, slopes: bool
) -> Array:
    """Return the rows of `integrate` over one mesh; ``before`` is the bias of earlier ones.

    What is neglected is small compared with the bias of all meshes so far.
    """
    # `gap` is 1 - x.x_q, and z has the axes panels, nodes in u, angles
    p, gap = mesh.p[:, None], 2 * np.sin(mesh.theta / 2) ** 2
    z = np.exp(np.minimum(mesh.u[..., None] - (w * gap)[:, None], _MAX_LOG_Z))
    # this is exp(-z) - 1
    minus_lost = np.expm1(-z)
    decay = 1 + minus_lost
    # the rows of the table are `first`, which is p z e^-z, and its derivative in w
    table = np.empty((len(z), 2 if slopes else 1, *z.shape[1:]))
    first = np.multiply(z, decay * p, out=table[:, 0])
    # this is p z^2 e^-z
    second = z * first

    # `missed` is 1 - phi
    missed = mesh.below - _mean(minus_lost, mesh.p)
    phi = np.maximum(mesh.above + _mean(decay, mesh.p), 1e-300)
    log_phi = np.where(missed < 0.5, np.log1p(-np.minimum(missed, 0.5)), np.log(phi)).ravel()
    # these are n phi^(n-1) and n (n - 1) phi^(n-2), times the weights in u, of shape (len(n), nodes)
    count, weight = n[:, None], mesh.weight.ravel()
    single_power = weight * count * np.exp(np.maximum((count - 1) * log_phi, _MIN_LOG))
    pair_power = weight * count * (count - 1) * np.exp(np.maximum((count - 2) * log_phi, _MIN_LOG))

    gamma = variogram_of(task, mesh.theta)
    single, noise = 2 * _mean(second, gamma).ravel(), second.sum(-1).ravel()
    # The derivative of g(z) in w is -z g'(z) times the gap. A constant may be subtracted from the gap,
    # because it multiplies derivatives in u, whose integrals are zero. Subtracting about the
    # mean, which is 1 at w = 0 and near (d - 1) / (2 w) for a large w, avoids cancellation.
    shifted = gap - 1 / (1 + 2 * w / (task.dim - 1))
    if slopes:
        np.multiply(second - first, shifted[:, None], out=table[:, 1])
    pair, *pair_w = _pair_term(
        task, mesh.theta, gap, gamma, table, pair_power, before + single_power @ single
    )
    bias = single_power @ single + pair_power @ pair
    if not slopes:
        return np.stack([bias, single_power @ noise])
    # the ending _w is a derivative in w
    log_phi_w = (_mean(first, shifted) / phi).ravel()
    second_w = (z - 2) * second
    single_w, noise_w = (
        2 * _mean(second_w, shifted * gamma).ravel(),
        _mean(second_w, shifted).ravel(),
    )
    return np.stack(
        [
            bias,
            single_power @ single_w
            + (single_power * (count - 1)) @ (single * log_phi_w)
            + pair_power @ pair_w[0]
            + (pair_power * (count - 2)) @ (pair * log_phi_w),
            single_power @ noise,
            single_power @ noise_w + (single_power * (count - 1)) @ (noise * log_phi_w),
        ]
    )


def _mean(table: Array, h: Array) -> Array:
    """Return ``sum_theta table(u, theta) h(theta)``, shape (panels, k)."""
    return np.asarray((table @ h[..., None])[..., 0])


def _pair_term(
    task: Zonal, theta: Array, gap: Array, gamma: Array, table: Array, weight: Array, scale: Array
) -> Array:
    """Return ``sum_l a_l m_l^2`` and its w-derivative at the nodes, from ``z e^-z`` times probabilities.

    Write ``m_l = flat - e_l`` with ``flat = E[z e^-z]``; e_l falls as P_l averages out within the window. As
    ``sum_l a_l (1 - P_l)`` is the variogram, the degrees beyond L, the last one summed, contribute ::

        2 flat (E[z gamma e^-z] - sum_{l<=L} a_l m_l) - flat^2 sum_{l>L} a_l + sum_{l>L} a_l e_l^2,

    and only the last, quadratically small term is neglected, once it is below 1e-12 of the integral. If the
    window is so narrow that the first of these terms cancels, the sum for a smooth class goes on until the
    coefficients end.

    The table is (panels, rows, nodes in u, angles), and the result (rows, all nodes), with one row, or two
    with the derivative. ``weight``, (lengths, all nodes), are the factors of the nodes in the integrals, and
    ``scale``, (lengths,), what else an integral contains, both to judge the errors by.
    """
    too_large = f"w is too large for {task!r}: its spectrum falls too slowly for this window"
    a, rest = spectrum(task, 1)
    # 1 - P_1 is the gap
    m = _row_means(table, gap[..., None])[..., 0]
    total = a * _row_product(m, m)
    if rest <= 0:
        return _by_row(total)
    flat = table.sum(-1)
    variogram = _row_means(table, gamma[..., None])[..., 0]
    # this is the bracket of the first term
    left = variogram - a * m
    smooth = math.isfinite(bandlimit(task))
    # this is the rounding error of the first term; it is allowed to be 1e-9 of the integral
    cancels = 2e-16 * (weight @ (flat[:, 0] * variogram[:, 0]).ravel())

    # Degree 1 is done, and blocks of the others follow, each twice as large as the one before. If the class
    # is even but for degree 1, odd degrees are skipped.
    checked = int(min(bandlimit(task), _MAX_PARITY_DEGREE))
    step = 1 if spectrum(task, checked)[0][2::2].any() else 2
    polynomials = Polynomials(task.dim, theta.ravel(), step == 2)
    # degrees 0 and 1 are skipped, or degree 0 alone where polynomials are the even ones
    polynomials.take(1 if step == 2 else 2)
    done = np.zeros((len(table), table.shape[2]), dtype=bool)
    last, many = 2 - step, 16
    while rest > 0:
        degrees = last + step * (1 + np.arange(max(1, min(many, _MAX_TABLE // theta.size))))
        last, many = int(degrees[-1]), 2 * many
        if last > _MAX_DEGREES:
            raise ValueError(too_large)
        a, rest = spectrum(task, last)
        a = a[degrees - 1]
        missed = polynomials.take(degrees.size).reshape(-1, *theta.shape)
        m = _row_means(table, missed.transpose(1, 2, 0))
        done = _freeze_below_rounding(m, flat, done)
        total += _row_product(m, m) @ a
        # every degree with a coefficient is done
        if rest <= 0:
            break
        left -= m @ a
        neglected = rest * ((m[:, 0, :, -4:] - flat[:, 0, :, None]) ** 2).max(axis=-1).ravel()
        allowed = 1e-12 * (weight @ total[:, 0].ravel() + scale)
        if np.all(weight @ neglected <= allowed):
            if np.all(cancels <= 1e3 * allowed):
                total = total + 2 * _row_product(flat, left)
                return _by_row(total - rest * _row_product(flat, flat))
            if not smooth:
                raise ValueError(too_large)
        # Once, after enough degrees, it is checked whether even `_MAX_DEGREES` leave too much. What may be
        # left of the integral, 2 flat left, is added to what is allowed.
        if task.singular_term is not None and degrees[0] <= _CHECK_FEASIBLE_AFTER < last:
            neglected = _bound_neglected(task, theta, table[:, 0], flat[:, 0].ravel())
            if np.any(
                weight @ neglected > allowed + 2e-12 * weight @ (flat[:, 0] * left[:, 0]).ravel()
            ):
                raise ValueError(too_large)
    return _by_row(total)


def _row_means(table: Array, h: Array) -> Array:
    """Return ``sum_theta table(u, theta) h(theta)`` for each row; h is (panels, angles, ...)."""
    panels, rows, k, angles = table.shape
    means = table.reshape(panels, rows * k, angles) @ h
    return np.asarray(means).reshape(panels, rows, k, *h.shape[2:])


def _row_product(x: Array, y: Array) -> Array:
    """Return the product of two tables whose second row, if any, is the derivative in w of the first."""
    out = x[:, :1] * y
    out[:, 1:] += x[:, 1:] * y[:, :1]
    return out


def _by_row(x: Array) -> Array:
    """Return a table (panels, rows, k) as (rows, panels * k)."""
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def _bound_neglected(task: Zonal, theta: Array, table: Array, flat: Array) -> Array:
    """Return a lower bound on what `_MAX_DEGREES` degrees neglect at the nodes, for a class of order rho.

    Its coefficients fall like ``l^-(rho + 1)``. Angles that differ by much less than ``1 / l`` do not average
    P_l out; there its mean square is that of a Bessel function. The bound is 100 times lower, to be safe.
    """
    # l + shift is how degrees enter the coefficients' powers, and the Bessel function has the order nu
    shift, bessel_order = task.dim / 2 - 1, (task.dim - 3) / 2
    assert task.singular_term is not None
    # the sum of all coefficients from l on falls like l^-rho
    rho = task.singular_term[0]
    rest = spectrum(task, 64)[1] * ((64 + shift) / (_MAX_DEGREES + shift)) ** rho
    mean_theta, mean_square = (
        _mean(table, theta**k).ravel() / np.maximum(flat, 1e-300) for k in (1, 2)
    )
    narrow = _MAX_DEGREES * np.sqrt(np.maximum(mean_square - mean_theta**2, 0.0)) < 0.5
    # the floor keeps a logarithm finite; where it counts, the bound on P_l^2 is one, as below
    argument = np.maximum(_MAX_DEGREES * mean_theta, 1e-3)
    # With nu = bessel_order, P_l is about Gamma(nu + 1) (2 / x)^nu J_nu(x) at x = l theta, and J_nu^2 has the
    # mean 1 / (pi x)
    log_square = (
        2 * gammaln(bessel_order + 1)
        + 2 * bessel_order * np.log(2 / argument)
        - np.log(math.pi * argument)
    )
    return np.asarray(
        rest * np.where(narrow, np.exp(np.minimum(log_square, 0.0)), 0.0) * flat**2 / 100
    )


def _freeze_below_rounding(m: Array, flat: Array, done: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Set the mean of P_l to zero where it has averaged out, because higher degrees alias on the mesh.

    ``flat`` is what m is if the mean of P_l is zero. The function changes m, (panels, rows, k, degrees), in
    place, and returns which nodes are beyond their last degree.
    """
    limit = 1e-6 * flat[:, 0, :, None]
    small = np.abs(m[:, 0] - flat[:, 0, :, None]) <= limit
    if not small.any() and not done.any():
        return done
    # a degree has averaged out if it and the three before it are small: one alone may be a change of sign
    run = small[..., 3:] & small[..., 2:-1] & small[..., 1:-2] & small[..., :-3]
    out = np.repeat(done[..., None], m.shape[-1], axis=-1)
    out[..., 3:] |= np.logical_or.accumulate(run, axis=-1)
    np.copyto(m, flat[..., None], where=out[:, None])
    return np.asarray(out[..., -1])


def spectrum(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return ``(a_1, ..., a_degree)`` of a class, and the sum of all later ones.

    >>> from icl.tasks import Linear
    >>> spectrum(Linear(3, lipschitz=2.0), 2)  # E f(x)^2 = L^2 / d, in degree 1
    (array([1.33333333, 0.        ]), 0.0)
    """
    return _spectrum(task, degree)


@cache_by_class(4096)
def _spectrum(task: Zonal, degree: int) -> tuple[Array, float]:
    return coefficients(task, degree)


def bandlimit(task: Zonal) -> float:
    """Return the highest degree whose coefficient is above the rounding of the covariance.

    It is infinity if it is above 4096, and 1 for constant functions.

    >>> from icl.tasks import Affine, Quadratic, ReLU
    >>> [float(bandlimit(task)) for task in (Affine(3), Quadratic(3), ReLU(3))]
    [1.0, 2.0, inf]
    """
    return _bandlimit(task)


@cache_by_class(256)
def _bandlimit(task: Zonal) -> float:
    for degree in (2, 32, 512, 4096):
        a, rest = spectrum(task, degree)
        if rest <= 1e-18 * a.sum():
            return 1.0 + max(np.flatnonzero(a > 1e-18 * a.sum()), default=0)
    return math.inf
