"""The Gegenbauer coefficients of a user-defined class, found from its covariance alone.

As in `icl.tasks.base` the covariance is ``k(cos theta) = sum_l a_l P_l(cos theta)``. N_l is the number of
harmonics of degree l, and E the mean over the angle between two tokens.
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
    # on the circle P_l oscillates too much for the fit, and projections lose few digits
    if task.dim == 2:
        return _project(task, degree)
    degrees, a, rest = _fit_variogram(task)
    # out[0] is the coefficient of degree 1
    out, wanted = np.zeros(degree), degrees <= degree
    out[degrees[wanted] - 1] = a[wanted]
    return out, float(a[~wanted].sum() + rest)


def _project(task: Zonal, degree: int) -> tuple[Array, float]:
    """Return `Zonal.spectrum` on the circle, where the expansion is a Fourier series, or raise ValueError."""
    # twice as many nodes show the error of the midpoint rule
    a, size = _fourier(task, degree, 4 * degree + 200)
    finer, _ = _fourier(task, degree, 8 * degree + 400)
    if not np.abs(a - finer).sum() <= 1e-9 * size:
        raise _make_fit_error(
            task, f"coefficients change by {np.abs(a - finer).sum() / size:.1e}, allowed 1e-09"
        )
    if np.any(a < -1e-9 * size):
        raise ValueError(
            f"{task!r}: covariance is not positive definite, a_{np.argmin(a)}={a.min():.2g}"
        )
    # smaller coefficients are rounding errors; by Schoenberg's theorem all are nonnegative
    a = np.where(a > 1e-15 * size, a, 0.0)
    rest = float(task.covariance(np.array(1.0)) - a.sum())
    return a[1:], rest if rest > 1e-14 * size else 0.0


def _fourier(task: Zonal, degree: int, nodes: int) -> tuple[Array, float]:
    """Return ``a_0, ..., a_degree`` of a covariance on the circle by the midpoint rule, and max |k|."""
    theta = (2 * np.arange(nodes) + 1) * np.pi / (2 * nodes)
    k = check_finite(task, task.covariance(np.cos(theta)), theta)
    # only user-defined classes need this import
    from scipy.fft import dct

    # this transform is twice the sum of k cos(l theta) over the nodes, and a_0 is the mean
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
    """Refuse a covariance that is written for single numbers; other errors of it come when it is used."""
    try:
        task.covariance(np.array([0.5, 1.0]))
    except (TypeError, ValueError) as error:
        try:
            task.covariance(0.5)
        except Exception:
            return
        raise ValueError(
            f"{task!r}: covariance(cosine) must take arrays, for example by np.exp in place of math.exp, and "
            f"np.where in place of if; of an array it says: {error}"
        ) from error


def check_finite(task: Zonal, values: Array, theta: Array) -> Array:
    """Return values of a covariance or variogram; raise unless they are finite numbers, one at each angle."""
    if np.shape(values) != theta.shape or not np.all(np.isfinite(values)):
        raise ValueError(f"{task!r}: covariance(cosine) must be finite, and of the shape of cosine")
    return values


def _fit_variogram(task: Zonal) -> tuple[NDArray[np.int_], Array, float]:
    """Return degrees, coefficients and the sum of all later ones, fitted to the variogram.

    On a sphere of many dimensions the projections ``a_l = N_l E[k P_l]`` are useless: k is known to
    rounding, and N_l multiplies the error. But ``gamma = sum_l a_l (1 - P_l)`` on a grid of angles, with
    a_l >= 0 by Schoenberg's theorem, is a well-posed least-squares problem, and the risk depends on
    the fitted gamma only. Beyond degree 500, P_l changes slowly with l, so that some degrees stand for all.
    Functions with kinks in three dimensions have more variance there than others: for them the fit would
    fail if degrees were left out from 300 on.
    """
    degrees, theta = fit_grid()
    gamma = np.asarray(check_finite(task, task.variogram(theta), theta), dtype=float)
    # constant functions have no spectrum
    if not np.abs(gamma).max() > 1e-14 * abs(float(task.covariance(np.array(1.0)))):
        return degrees, np.zeros(degrees.size), 0.0
    a, misfit = _fit(task.dim, gamma.tobytes())
    if not misfit <= _MAX_MISFIT:
        raise _make_fit_error(task, f"misfit {misfit:.1e}, allowed {_MAX_MISFIT:g}")
    return degrees, a[:-1], float(a[-1])


@lru_cache(maxsize=1)
def fit_grid() -> tuple[NDArray[np.int_], Array]:
    """Return the degrees that are fitted, and the angles of the fit."""
    # 86 steps of 4 % lead from degree 500 to 14,600
    sparse = np.round(500 * 1.04 ** np.arange(1, 87)).astype(int)
    # each of these stands with its successor for even and odd degrees
    degrees = np.unique(np.concatenate([np.arange(1, 501), sparse, sparse + 1]))
    # angles are dense at both ends, from where the highest degree begins to turn
    near = np.geomspace(2 / degrees[-1], 0.3, 225)
    return degrees, np.concatenate(
        [near, np.linspace(0.3, np.pi - 0.3, 900)[1:-1], np.pi - near[::-1]]
    )


@lru_cache(maxsize=64)
def _fit(dim: int, variogram: bytes) -> tuple[Array, float]:
    """Return the coefficients of the degrees of `fit_grid`, then the sum of all later ones, and the misfit.

    The misfit is the largest error of the variogram, relative to its largest value. The variogram comes as
    bytes, because arrays cannot be keys of a cache.
    """
    degrees, theta = fit_grid()
    gamma = np.frombuffer(variogram)
    rows = Polynomials(dim, theta).take(degrees[-1] + 1)[degrees]
    # the last column stands for later degrees, which no window resolves: for them P_l is zero
    table = np.stack([*rows, np.ones_like(theta)], axis=1)
    # this takes long to import, and only user-defined classes need it
    from scipy.optimize import nnls

    # narrow windows depend on small angles, so errors there are weighted by 1 / gamma
    weight = 1 / (np.abs(gamma) + 1e-5 * np.abs(gamma).max())
    a, _ = nnls(table * weight[:, None], gamma * weight, maxiter=20_000)
    return a, float(np.max(np.abs(table @ a - gamma)) / np.abs(gamma).max())


def _explain_misfit(task: Zonal) -> str:
    """Say why no coefficients >= 0 fit: a low degree has a negative one, or none was seen."""
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
