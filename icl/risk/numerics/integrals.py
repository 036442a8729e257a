r"""The integrals of the exact risk, for one window and many context lengths.

They are those that `icl.risk.exact` derives, as sums over the nodes of `icl.risk.numerics.quadrature`. The
symbols are:

- w is the window, n the number of tokens, and theta the angle between a token and the query.
- u is log s, ``z = s exp(-w (1 - cos theta))``, and ``phi = E exp(-z)``, where E is the mean over theta.
- a_l are the coefficients of the covariance, P_l the polynomials at cos theta, and gamma is the variogram.
- The *pair term* is ``sum_l a_l m_l^2`` with ``m_l = E[z (1 - P_l) e^-z]``. It is the factor of
  ``n (n-1) phi^(n-2)`` in the bias.

The arrays of a mesh have an axis of panels. Each panel has nodes in u and angles.
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

# the functions raise if they need more Gegenbauer degrees than this
_MAX_DEGREES = 100_000
# after this many degrees `_compute_pair_term` checks whether _MAX_DEGREES can be enough
_CHECK_FEASIBLE_AFTER = 1000
# a class counts as even, apart from degree 1, if all other odd coefficients up to this degree are zero
_MAX_PARITY_DEGREE = 10_000
# beyond this product of w and the distance to the nearest token, the risk equals nearest_neighbor_risk
_MAX_NARROWNESS = 1e12
# log z is at most this, because exp(-exp(6)) is zero to machine precision
_MAX_LOG_Z = 6.0
# logarithms of powers of phi are at least this, because exp(-709) is not a normal number
_MIN_LOG = -700
# one block of Gegenbauer polynomials has at most about this many numbers
_MAX_TABLE = 2**16
# `_sum_blur` and `attended_gegenbauer_means` may use larger blocks, since they need no table in u
_MAX_BLOCK = 2**22


def integrate(task: Zonal, w: float, n: Array, order: int = 16, slopes: bool = True) -> Array:
    """Compute the bias and the noise of the exact risk for context lengths n, shape (j,).

    The rows of the result, (4, j), are bias, derivative of the bias in w, noise / sigma^2, and derivative of
    noise / sigma^2 in w. Without ``slopes`` the rows, (2, j), are bias and noise / sigma^2. ``order`` is the
    number of Gauss-Legendre nodes of a panel.

    Raises:
        ValueError: If w is too large for n, or for a class whose spectrum falls slowly.

    >>> from icl.tasks import Affine
    >>> integrate(Affine(3), 0.0, np.array([4.0]))[::2, 0].round(12)  # a_1 (1 + 1 / n) and 1 / n
    array([0.13888889, 0.25      ])
    """
    out = np.empty((4, n.size) if slopes else (2, n.size))
    # for every degree, here 32, the sum of all a_l is a.sum() + rest
    a, rest = spectrum(task, 32)
    # A single token has weight one, so that the bias is twice the mean of the variogram. This mean is the sum
    # of all a_l.
    single = [[2 * (float(a.sum()) + rest)], [0.0], [1.0], [0.0]]
    out[:, n == 1] = single if slopes else single[::2]
    if np.any(n > 1):
        # this product compares the distance to the nearest token with the width of the kernel
        if w * invert_cap_mass(task.dim, 1 / n[n > 1].min()) > _MAX_NARROWNESS:
            raise ValueError(
                f"w={w:g}: too large for n={n[n > 1].min():g}, see nearest_neighbor_risk"
            )
        total = np.zeros((len(out), np.count_nonzero(n > 1)))
        jumps = _find_angle_of_jumps(task, float(a.sum()) + rest)
        for mesh in meshes(task.dim, w, n[n > 1], bandlimit(task), order, jumps=jumps):
            total += _integrate_mesh(task, w, n[n > 1], mesh, total[0], slopes)
        out[:, n > 1] = total
    fine = fine_variance(task)
    # fine variance acts as noise at the tokens, and at the query it counts once more
    if fine > 0:
        bias, noise = (0, 2) if slopes else (0, 1)
        out[bias] += fine * (1 + out[noise])
        if slopes:
            out[1] += fine * out[3]
    return out


def _find_angle_of_jumps(task: Zonal, variance: float) -> float:
    """Return the angle at which the singular term of the variogram equals ``variance``.

    The singular term is ``constant theta^order``. The angle is infinity unless the order is below 2. Then the
    functions are rougher than Lipschitz functions, for example because they jump.
    """
    order, constant = task.singular_term or (math.inf, 1.0)
    # a singular term that is out of range counts as none here, and `window_law` raises ValueError for it
    has_jumps = 0 < order < 2 and 0 < constant < math.inf and variance > 0
    return (variance / constant) ** (1 / order) if has_jumps else math.inf


def integrate_blur(task: Zonal, w: float, n: Array, order: int = 16) -> Array:
    """Compute the blur, ``sum_l a_l (1 - m_l)^2``, for context lengths n, shape (j,).

    The blur is the error of the mean prediction over all contexts, given f and the query. Here m_l is not
    that of the pair term. It is the mean of P_l under the weights, which `attended_gegenbauer_means`
    computes. Fine variance is added in full, because the mean prediction does not predict it.

    >>> from icl.tasks import Affine
    >>> integrate_blur(Affine(3), 0.0, np.array([4.0])).round(12)  # equal weights know nothing: a_1
    array([0.11111111])
    """
    # Each length has its own angles: short contexts need many angles and few degrees, and long contexts need
    # few angles and many degrees.
    return np.array([_sum_blur(task, w, float(one), order) for one in n]) + fine_variance(task)


def _sum_blur(task: Zonal, w: float, n: float, order: int) -> float:
    """Return the blur for one context length, without fine variance.

    Let ``b_l = 1 - m_l``. The blur is ``sum_l a_l b_l^2``, and degrees up to L are summed. Since
    ``sum_l a_l b_l`` is the mean of the variogram under the weights, the degrees beyond L contribute ::

        2 (E sum_i omega_i gamma(theta_i) - sum_{l<=L} a_l b_l) - sum_{l>L} a_l + sum_{l>L} a_l m_l^2.

    Only the last term is neglected, because m_l is small for large l.
    """
    # for every degree, here 32, the sum of all a_l is a.sum() + rest
    a, rest = spectrum(task, 32)
    variance = float(a.sum()) + rest
    # the only token of a context is independent of the query, so that every m_l is zero
    if n == 1:
        return variance
    jumps = _find_angle_of_jumps(task, variance)
    theta, law = _attended_law(task.dim, w, n, bandlimit(task), order, jumps)
    # `left` is the bracket of the formula above, and `cancels` is its rounding error
    left = float(law @ variogram_of(task, theta))
    cancels = 2e-16 * left
    blur = 0.0
    polynomials = Polynomials(task.dim, theta)
    # degree 0 is skipped, since it is predicted without error
    polynomials.take(1)
    # the sum has the degrees up to `last`, and the next block has about `many` degrees
    last, many = 0, 16
    while last < _MAX_DEGREES:
        # a block has at least four degrees, because its last four show how small m_l is
        step = max(4, min(many, _MAX_BLOCK // theta.size))
        # `missed` has the b_l of the block
        missed = polynomials.take(step) @ law
        a, rest = spectrum(task, last + step)
        blur += float(a[last:] @ missed**2)
        left -= float(a[last:] @ missed)
        if rest <= 0:
            return blur
        last, many = last + step, 2 * many
        # the sum ends if the neglected term is small, and the rounding of the bracket, too
        if rest * np.max((1 - missed[-4:]) ** 2) <= 1e-12 * blur and cancels <= 1e-9 * blur:
            return blur + 2 * left - rest
    raise ValueError(f"w={w:g} is too large for {task!r}: its spectrum falls too slowly")


def attended_gegenbauer_means(dim: int, w: float, n: float, degree: int, order: int = 16) -> Array:
    """Return ``m_l = E sum_i omega_i P_l(x_i . x_q)`` for l = 1, ..., degree and n >= 2 tokens.

    >>> attended_gegenbauer_means(3, 2.0, 1e9, 1).round(6)  # of many tokens: coth 2 - 1 / 2
    array([0.537315])
    """
    theta, law = _attended_law(dim, w, n, degree, order)
    # `take` returns 1 - P_l for the next degrees, a block at a time, so that all of them need not fit into
    # memory
    polynomials = Polynomials(dim, theta)
    step = max(1, _MAX_BLOCK // theta.size)
    rows = [
        polynomials.take(min(step, degree + 1 - first)) @ law
        for first in range(0, degree + 1, step)
    ]
    # degree 0 is left out
    return 1 - np.concatenate(rows)[1:]


def _attended_law(
    dim: int, w: float, n: float, degree: float, order: int, jumps: float = math.inf
) -> tuple[Array, Array]:
    """Return angles, and the mean weight of all tokens at each angle.

    For every function h of the angle, the sum over angles of h times the mean weight is
    ``E sum_i omega_i h(theta_i) = n int E[h z e^-z] phi^(n-1) du``. ``degree``, ``order`` and ``jumps`` are
    arguments of `meshes`.
    """
    thetas, laws = [], []
    for mesh in meshes(dim, w, np.array([n]), degree, order, jumps):
        # `gap` is 1 - cos theta
        gap = 2 * np.sin(mesh.theta / 2) ** 2
        # the axes are panels, nodes in u, angles
        z = np.exp(np.minimum(mesh.u[..., None] - (w * gap)[:, None], _MAX_LOG_Z))
        lost = -np.expm1(-z)
        # the minimum is needed because rounding could make phi zero, and its logarithm infinite
        one_minus_phi = np.minimum(mesh.below + _sum_angles(lost, mesh.p), 1 - 1e-16)
        power = mesh.weight * n * np.exp(np.maximum((n - 1) * np.log1p(-one_minus_phi), _MIN_LOG))
        # for each panel the integral over u is a product of matrices, (1, nodes) with (nodes, angles)
        thetas.append(mesh.theta.ravel())
        laws.append((mesh.p * (power[:, None] @ (z * (1 - lost)))[:, 0]).ravel())
    return np.concatenate(thetas), np.concatenate(laws)


def _integrate_mesh(
    task: Zonal, w: float, n: Array, mesh: Mesh, before: Array, slopes: bool
) -> Array:
    """Return the rows of `integrate` over one mesh, for n above 1 and without fine variance.

    ``before`` is the bias over earlier meshes. Terms are neglected if they are small compared with the bias
    over all meshes so far.
    """
    p = mesh.p[:, None]
    # `gap` is 1 - cos theta
    gap = 2 * np.sin(mesh.theta / 2) ** 2
    # z has the axes panels, nodes in u, angles
    z = np.exp(np.minimum(mesh.u[..., None] - (w * gap)[:, None], _MAX_LOG_Z))
    minus_lost = np.expm1(-z)
    # `decay` is exp(-z)
    decay = 1 + minus_lost
    # the rows of the table are p z e^-z and, with slopes, its derivative in w
    table = np.empty((len(z), 2 if slopes else 1, *z.shape[1:]))
    first = np.multiply(z, decay * p, out=table[:, 0])
    # `second` is p z^2 e^-z
    second = z * first

    one_minus_phi = mesh.below - _sum_angles(minus_lost, mesh.p)
    phi = np.maximum(mesh.above + _sum_angles(decay, mesh.p), 1e-300)
    # log phi is computed from the smaller of phi and 1 - phi, which has the smaller rounding error. The
    # bounds 1e-300 and 0.5 keep both logarithms finite.
    log_phi = np.where(
        one_minus_phi < 0.5, np.log1p(-np.minimum(one_minus_phi, 0.5)), np.log(phi)
    ).ravel()
    # these are n phi^(n-1) and n (n - 1) phi^(n-2), times the weights in u, of shape (len(n), nodes)
    count, weight = n[:, None], mesh.weight.ravel()
    single_power = weight * count * np.exp(np.maximum((count - 1) * log_phi, _MIN_LOG))
    pair_power = weight * count * (count - 1) * np.exp(np.maximum((count - 2) * log_phi, _MIN_LOG))

    gamma = variogram_of(task, mesh.theta)
    # these are E[2 gamma z^2 e^-z] and E[z^2 e^-z], the means over one token
    single, noise = 2 * _sum_angles(second, gamma).ravel(), second.sum(-1).ravel()
    # The derivative of g(z) in w is -z g'(z) times the gap. A constant may be subtracted from the gap,
    # because this adds a multiple of a derivative in u, whose integral is zero. The constant here is about
    # the mean of the gap, which is 1 at w = 0 and near (d - 1) / (2 w) for a large w. This avoids
    # cancellation.
    shifted = gap - 1 / (1 + 2 * w / (task.dim - 1))
    if slopes:
        np.multiply(second - first, shifted[:, None], out=table[:, 1])
    pair, *pair_w = _compute_pair_term(
        task, mesh.theta, gap, gamma, table, pair_power, before + single_power @ single
    )
    bias = single_power @ single + pair_power @ pair
    if not slopes:
        return np.stack([bias, single_power @ noise])
    # names that end in _w are derivatives in w; `second_w` lacks the factor `shifted`
    log_phi_w = (_sum_angles(first, shifted) / phi).ravel()
    second_w = (z - 2) * second
    single_w = 2 * _sum_angles(second_w, shifted * gamma).ravel()
    noise_w = _sum_angles(second_w, shifted).ravel()
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


def _sum_angles(table: Array, h: Array) -> Array:
    """Return ``sum_theta table(u, theta) h(theta)`` for k nodes in u, shape (panels, k)."""
    return np.asarray((table @ h[..., None])[..., 0])


def _compute_pair_term(
    task: Zonal, theta: Array, gap: Array, gamma: Array, table: Array, weight: Array, scale: Array
) -> Array:
    """Return the pair term at the nodes in u, and its derivative in w if the table has two rows.

    Write ``m_l = flat - e_l`` with ``flat = E[z e^-z]`` and ``e_l = E[z P_l e^-z]``. For large l the
    polynomial P_l oscillates within the window, so that e_l is small. Degrees up to L are summed. Since
    ``sum_l a_l (1 - P_l)`` is the variogram, the degrees beyond L contribute ::

        2 flat (E[z gamma e^-z] - sum_{l<=L} a_l m_l) - flat^2 sum_{l>L} a_l + sum_{l>L} a_l e_l^2.

    Only the last term is neglected, once it is below 1e-12 of the integral over u. In a very narrow window
    the bracket cancels. Then the sum goes on until all later coefficients are zero. If the `bandlimit` of the
    class is infinity, the function raises ValueError instead.

    Args:
        task: The class.
        theta: Angles, (panels, angles).
        gap: ``1 - cos theta`` at the angles.
        gamma: The variogram at the angles.
        table: ``z e^-z`` times probabilities, and its derivative in w: (panels, rows, nodes in u, angles)
            with one row or two.
        weight: Factors of the nodes in the integral over u, (lengths, all nodes), to judge the errors by.
        scale: The part of the bias that is known already, (lengths,), to judge the errors by.

    Returns:
        An array (rows, all nodes).
    """
    too_large = f"w is too large for {task!r}: its spectrum falls too slowly for this window"
    a, rest = spectrum(task, 1)
    # 1 - P_1 is the gap, so that this is m_1
    m = _sum_rows(table, gap[..., None])[..., 0]
    total = a * _multiply_rows(m, m)
    if rest <= 0:
        return _join_panels(total)
    flat = table.sum(-1)
    variogram = _sum_rows(table, gamma[..., None])[..., 0]
    # `left` is the bracket of the formula above
    left = variogram - a * m
    smooth = math.isfinite(bandlimit(task))
    # `cancels` is the rounding error of the term with the bracket; it may be 1e-9 of the integral
    cancels = 2e-16 * (weight @ (flat[:, 0] * variogram[:, 0]).ravel())

    # Degree 1 is done. The later degrees follow in blocks, each twice as large as the block before. If all
    # later odd coefficients are zero, odd degrees are skipped, and `step` is 2.
    checked = int(min(bandlimit(task), _MAX_PARITY_DEGREE))
    step = 1 if spectrum(task, checked)[0][2::2].any() else 2
    polynomials = Polynomials(task.dim, theta.ravel(), step == 2)
    # `take` returns the next polynomials: here it skips degrees 0 and 1, or degree 0 if all are even
    polynomials.take(1 if step == 2 else 2)
    # `done` says at which nodes P_l has averaged out
    done = np.zeros((len(table), table.shape[2]), dtype=bool)
    # the sum has degree 1 and the degrees up to `last`, and the next block has at most `many` degrees
    last, many = 2 - step, 16
    while rest > 0:
        degrees = last + step * (1 + np.arange(max(1, min(many, _MAX_TABLE // theta.size))))
        last, many = int(degrees[-1]), 2 * many
        if last > _MAX_DEGREES:
            raise ValueError(too_large)
        a, rest = spectrum(task, last)
        a = a[degrees - 1]
        missed = polynomials.take(degrees.size).reshape(-1, *theta.shape)
        m = _sum_rows(table, missed.transpose(1, 2, 0))
        done = _freeze_below_rounding(m, flat, done)
        total += _multiply_rows(m, m) @ a
        # all later coefficients are zero
        if rest <= 0:
            break
        left -= m @ a
        # e_l is flat - m_l, and later e_l are taken to be at most the largest of the last four
        neglected = rest * ((m[:, 0, :, -4:] - flat[:, 0, :, None]) ** 2).max(axis=-1).ravel()
        allowed = 1e-12 * (weight @ total[:, 0].ravel() + scale)
        if np.all(weight @ neglected <= allowed):
            if np.all(cancels <= 1e3 * allowed):
                total = total + 2 * _multiply_rows(flat, left)
                return _join_panels(total - rest * _multiply_rows(flat, flat))
            if not smooth:
                raise ValueError(too_large)
        # This check is done once, after _CHECK_FEASIBLE_AFTER degrees. It raises if the sum of _MAX_DEGREES
        # degrees would still neglect too much. The integral may still grow by 2 flat left. Then 1e-12 of this
        # growth may be neglected, too.
        if task.singular_term is not None and degrees[0] <= _CHECK_FEASIBLE_AFTER < last:
            neglected = _bound_neglected(task, theta, table[:, 0], flat[:, 0].ravel())
            growth = 2e-12 * weight @ (flat[:, 0] * left[:, 0]).ravel()
            if np.any(weight @ neglected > allowed + growth):
                raise ValueError(too_large)
    return _join_panels(total)


def _sum_rows(table: Array, h: Array) -> Array:
    """Return ``sum_theta table(u, theta) h(theta)`` for each row of the table; h is (panels, angles, ...)."""
    panels, rows, k, angles = table.shape
    means = table.reshape(panels, rows * k, angles) @ h
    return np.asarray(means).reshape(panels, rows, k, *h.shape[2:])


def _multiply_rows(x: Array, y: Array) -> Array:
    """Return the product of two tables. A second row, if there is one, is the w-derivative of the first."""
    out = x[:, :1] * y
    out[:, 1:] += x[:, 1:] * y[:, :1]
    return out


def _join_panels(x: Array) -> Array:
    """Return a table (panels, rows, k) as (rows, panels * k)."""
    return x.swapaxes(0, 1).reshape(x.shape[1], -1)


def _bound_neglected(task: Zonal, theta: Array, table: Array, flat: Array) -> Array:
    """Return a lower bound on what `_MAX_DEGREES` degrees neglect at each node in u: ``sum_l a_l e_l^2``.

    ``table``, (panels, nodes in u, angles), has ``z e^-z`` times probabilities, and ``flat``, (all nodes,),
    has its sums over the angles. Divided by ``flat``, the table is a law of the angle at each node. Let l be
    `_MAX_DEGREES`. If the standard deviation of this law is below ``1 / (2 l)``, P_l does not average out,
    and its mean square is that of a Bessel function. The bound is a hundredth of this estimate, to be safe.
    If the standard deviation is larger, the bound is zero.
    """
    bessel_order = (task.dim - 3) / 2
    assert task.singular_term is not None
    # For a class of order rho, the sum of all coefficients from l on falls like (l + shift)^-rho. `rest` is
    # this sum from _MAX_DEGREES on, extrapolated from the sum after degree 64.
    shift = task.dim / 2 - 1
    rho = task.singular_term[0]
    rest = spectrum(task, 64)[1] * ((64 + shift) / (_MAX_DEGREES + shift)) ** rho
    mean_theta, mean_square = (
        _sum_angles(table, theta**k).ravel() / np.maximum(flat, 1e-300) for k in (1, 2)
    )
    # `narrow` says at which nodes the standard deviation of the angle is below 1 / (2 l)
    narrow = _MAX_DEGREES * np.sqrt(np.maximum(mean_square - mean_theta**2, 0.0)) < 0.5
    # this is l theta; the maximum only keeps the logarithm finite, because for small l theta P_l^2 is set to
    # one, or to 1 / 2 if d = 2
    argument = np.maximum(_MAX_DEGREES * mean_theta, 1e-3)
    # With nu = bessel_order, P_l is about Gamma(nu + 1) (2 / x)^nu J_nu(x) at x = l theta. The mean of J_nu^2
    # is 1 / (pi x). `log_square` is the logarithm of the mean of P_l^2.
    log_square = (
        2 * gammaln(bessel_order + 1)
        + 2 * bessel_order * np.log(2 / argument)
        - np.log(math.pi * argument)
    )
    return np.asarray(
        rest * np.where(narrow, np.exp(np.minimum(log_square, 0.0)), 0.0) * flat**2 / 100
    )


def _freeze_below_rounding(m: Array, flat: Array, done: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Set ``m_l`` to ``flat`` in place, at nodes where P_l has averaged out, so that e_l is zero.

    Higher degrees would alias, because the mesh has too few angles for them. ``m`` is (panels, rows, k,
    degrees), for the k nodes in u of each panel. ``done``, (panels, k), says at which nodes an earlier degree
    has averaged out. The result is ``done`` after the degrees of ``m``.
    """
    # an e_l up to this limit counts as zero, because its square is at most 1e-12 of flat^2
    limit = 1e-6 * flat[:, 0, :, None]
    small = np.abs(m[:, 0] - flat[:, 0, :, None]) <= limit
    if not small.any() and not done.any():
        return done
    # A degree has averaged out if its e_l is small, and those of the three degrees before. A single small e_l
    # may be a change of sign.
    run = small[..., 3:] & small[..., 2:-1] & small[..., 1:-2] & small[..., :-3]
    out = np.repeat(done[..., None], m.shape[-1], axis=-1)
    out[..., 3:] |= np.logical_or.accumulate(run, axis=-1)
    np.copyto(m, flat[..., None], where=out[:, None])
    return np.asarray(out[..., -1])


def spectrum(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return the coefficients ``(a_1, ..., a_degree)`` of a class, and the sum of all later coefficients.

    >>> from icl.tasks import Linear
    >>> spectrum(Linear(3, lipschitz=2.0), 2)  # E f(x)^2 = L^2 / d, in degree 1
    (array([1.33333333, 0.        ]), 0.0)
    """
    return _spectrum(task, degree)


@cache_by_class(4096)
def _spectrum(task: Zonal, degree: int) -> tuple[Array, float]:
    return coefficients(task, degree)


def bandlimit(task: Zonal) -> float:
    """Return the highest degree whose coefficient is more than 1e-18 of the sum of all coefficients.

    The result is infinity if this degree is above 4096, and 1 for constant functions.

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
