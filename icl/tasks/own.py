"""The Gegenbauer coefficients of a user-defined class, found from its covariance alone.

The covariance is ``k(cos theta) = sum_l a_l P_l(cos theta)``. The variogram is
``gamma(theta) = k(1) - k(cos theta)``. N_l is the number of spherical harmonics of degree l, and E is the
mean over the angle between two tokens.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from icl.tasks.gegenbauer import Array, Polynomials, angle_quadrature

if TYPE_CHECKING:
    from icl.tasks.base import Zonal

#: Largest error of a fitted variogram, relative to its largest value.
_MAX_MISFIT = 1e-9


def fitted_spectrum(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return ``(a_1, ..., a_degree)`` of a covariance, and the sum of all later coefficients.

    Above degree 500, in three or more dimensions, a few coefficients stand for all near them, and the others
    are zero.

    Raises:
        ValueError: If no expansion with coefficients >= 0 was found.

    >>> from icl.tasks import Affine, Zonal
    >>> class Own(Zonal):
    ...     def covariance(self, cosine):
    ...         return Affine(5).covariance(cosine)
    >>> a, rest = fitted_spectrum(Own(5), 2)
    >>> a.round(9), round(rest, 9)  # a_1 = 1 / 15
    (array([0.06666667, 0.        ]), 0.0)
    """
    require_arrays(task)
    # On the circle P_l oscillates too much for the fit, but projections on P_l lose only few digits.
    if task.dim == 2:
        return _project_on_circle(task, degree)
    degrees, a, rest = _fit_variogram(task)
    wanted = degrees <= degree
    # out[0] is the coefficient of degree 1
    out = np.zeros(degree)
    out[degrees[wanted] - 1] = a[wanted]
    return out, float(a[~wanted].sum() + rest)


def _project_on_circle(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return `Zonal.spectrum` on the circle by a Fourier series; ValueError if it fails or has an a_l < 0."""
    # the difference to a rule with twice as many nodes shows the error
    a, size = _transform_covariance(task, degree, 4 * degree + 200)
    finer, _ = _transform_covariance(task, degree, 8 * degree + 400)
    if not np.abs(a - finer).sum() <= 1e-9 * size:
        raise _make_fit_error(
            task, f"coefficients change by {np.abs(a - finer).sum() / size:.1e}, allowed 1e-09"
        )
    if np.any(a < -1e-9 * size):
        raise ValueError(
            f"{task!r}: covariance is not positive definite, a_{np.argmin(a)}={a.min():.2g}"
        )
    # smaller coefficients are rounding errors
    a = np.where(a > 1e-15 * size, a, 0.0)
    rest = float(task.covariance(np.array(1.0)) - a.sum())
    # this difference has a larger rounding error
    return a[1:], rest if rest > 1e-14 * size else 0.0


def _transform_covariance(task: Zonal, degree: int, nodes: int) -> tuple[Array, float]:
    """Return ``a_0, ..., a_degree`` of a covariance k on the circle, and the largest ``|k|``."""
    theta = (2 * np.arange(nodes) + 1) * np.pi / (2 * nodes)
    k = check_finite(task, task.covariance(np.cos(theta)), theta)
    from scipy.fft import dct

    # entry l is twice the sum of k cos(l theta) over the nodes
    a = dct(k)[: degree + 1] / nodes
    a[0] /= 2
    return a, float(np.abs(k).max())


def _make_fit_error(task: Zonal, why: str) -> ValueError:
    """Return the error of a covariance whose coefficients were not found."""
    return ValueError(
        f"{task!r}: the numerical fit of Gegenbauer coefficients >= 0 to the covariance failed ({why}). "
        + _explain_misfit(task)
    )


def require_arrays(task: Zonal) -> None:
    """Raise ValueError if a covariance takes single numbers but not arrays."""
    try:
        task.covariance(np.array([0.5, 1.0]))
    except (TypeError, ValueError) as error:
        try:
            task.covariance(0.5)
        except Exception:
            # arrays are not the reason, and the error is raised where the covariance is used
            return
        raise ValueError(
            f"{task!r}: covariance(cosine) must take arrays, for example by np.exp in place of math.exp, and "
            f"np.where in place of if; of an array it says: {error}"
        ) from error


def check_finite(task: Zonal, values: Array, theta: Array) -> Array:
    """Return values of a covariance or variogram; ValueError unless each angle has a finite number."""
    if np.shape(values) != theta.shape or not np.all(np.isfinite(values)):
        raise ValueError(f"{task!r}: covariance(cosine) must be finite, and of the shape of cosine")
    return values


def _fit_variogram(task: Zonal) -> tuple[NDArray[np.int_], Array, float]:
    """Return the degrees of `fit_grid`, their coefficients, and the sum of all later coefficients.

    In many dimensions the projections ``a_l = N_l E[k P_l]`` are useless, because N_l multiplies the rounding
    error of k. To fit ``gamma = sum_l a_l (1 - P_l)`` on a grid of angles, with a_l >= 0 by Schoenberg's
    theorem, is a well-posed least-squares problem, and the risk depends on the fitted gamma only.
    """
    degrees, theta = fit_grid()
    gamma = np.asarray(check_finite(task, task.variogram(theta), theta), dtype=float)
    # the functions are constant
    if not np.abs(gamma).max() > 1e-14 * abs(float(task.covariance(np.array(1.0)))):
        return degrees, np.zeros(degrees.size), 0.0
    a, misfit = _fit_coefficients(task.dim, gamma.tobytes())
    if not misfit <= _MAX_MISFIT:
        raise _make_fit_error(task, f"misfit {misfit:.1e}, allowed {_MAX_MISFIT:g}")
    return degrees, a[:-1], float(a[-1])


@lru_cache(maxsize=1)
def fit_grid() -> tuple[NDArray[np.int_], Array]:
    """Return the degrees that are fitted, and the angles of the fit."""
    # Above degree 500 some degrees stand for all. From 300 on, this would fail for functions with kinks in
    # three dimensions.
    sparse = np.round(500 * 1.04 ** np.arange(1, 87)).astype(int)
    # the successors make even and odd degrees
    degrees = np.unique(np.concatenate([np.arange(1, 501), sparse, sparse + 1]))
    # the smallest angle is where P_l of the highest degree begins to fall
    near = np.geomspace(2 / degrees[-1], 0.3, 225)
    middle = np.linspace(0.3, np.pi - 0.3, 900)[1:-1]
    return degrees, np.concatenate([near, middle, np.pi - near[::-1]])


@lru_cache(maxsize=64)
def _fit_coefficients(dim: int, variogram: bytes) -> tuple[Array, float]:
    """Return the coefficients, and the largest error of the fit over the largest value of the variogram.

    The last coefficient is the sum of those beyond `fit_grid`. The variogram is given as bytes, because
    arrays cannot be keys of a cache.
    """
    degrees, theta = fit_grid()
    gamma = np.frombuffer(variogram)
    rows = Polynomials(dim, theta).take(degrees[-1] + 1)[degrees]
    # The last column stands for all later degrees, which no window resolves: P_l counts as zero.
    table = np.stack([*rows, np.ones_like(theta)], axis=1)
    # only user-defined classes need this, which takes long to import
    from scipy.optimize import nnls

    # Errors are divided by gamma, because the risk of narrow windows depends on small angles, where gamma is
    # small.
    weight = 1 / (np.abs(gamma) + 1e-5 * np.abs(gamma).max())
    a, _ = nnls(table * weight[:, None], gamma * weight, maxiter=20_000)
    return a, float(np.max(np.abs(table @ a - gamma)) / np.abs(gamma).max())


def _explain_misfit(task: Zonal) -> str:
    """Return a sentence on why the fit failed."""
    nodes, p = angle_quadrature(task.dim, 400)
    k = np.asarray(task.covariance(np.cos(nodes)), dtype=float)
    # E k P_l = a_l / N_l
    projections = (1 - Polynomials(task.dim, nodes).take(9)) @ (p * k)
    at = int(np.argmin(projections[1:])) + 1
    if projections[at] < -1e-9 * np.abs(k).max():
        return f"It is not positive definite: a_{at} is negative"
    return (
        "No negative coefficient was found up to degree 8: probably it is positive definite and too rough "
        "for the fit, like exp(-|x - x'|); then give spectrum(degree) in closed form"
    )
