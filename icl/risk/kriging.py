"""Bounds from below and above on the best predictor that is linear in the labels.

Given the tokens, *kriging* is the best predictor that is linear in the labels. For Gaussian functions and
noise it is the best of all predictors. Let ``a_l`` be the coefficients of the covariance k, whose sum is
``k(1)``, and ``N_l`` the number of harmonics of degree l. With n tokens and noise of variance sigma^2, ::

    S_tau(n) = sum_l a_l / (1 + n a_l / (N_l tau)),
    S_{sigma^2}(n) <= risk <= S_{sigma^2 + R}(n - m).

The upper bound holds for every m < n and every R that is at least the risk with m tokens.

The lower bound considers one harmonic at a time, and tells the predictor all other harmonics
(Opper and Vivarelli 1999). The upper bound considers a predictor in two steps: it uses m tokens for kriging,
and then smooths the residuals of the other n - m labels. For m = 0 and ``R = k(1)`` the upper bound is at
most ``(1 + k(1) / sigma^2) S_{sigma^2}(n + 1)``. So both bounds fall at the same rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import broadcast, reals
from icl.risk.numerics.integrals import spectrum
from icl.tasks import Zonal, check_task
from icl.tasks.base import CONTEXT_RANGE, POSITIVE_NOISE_RANGE, Array, fine_variance
from icl.tasks.gegenbauer import multiplicity

_MAX_DEGREE = 2**16
# context lengths, from 1 to n, at which the upper bound is computed in turn
_STEPS = 60


@dataclass(frozen=True, eq=False)
class KrigingBounds:
    """Bounds on the risk of kriging, arrays of the broadcast shape of ``n`` and ``noise_std``.

    Attributes:
        lower: A lower bound for every predictor that is linear in the labels.
        upper: An upper bound for the best such predictor.
    """

    lower: Array
    upper: Array


def kriging_bounds(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> KrigingBounds:
    """Enclose the least risk that a predictor linear in the labels can have.

    The mean of a function over the sphere counts in the risk as degree 0. ``n >= 1`` and ``noise_std > 0``
    broadcast.

    >>> from icl.tasks import Affine
    >>> found = kriging_bounds(Affine(dim=5), n=10**6, noise_std=0.5)
    >>> round(float(10**6 * found.lower), 3), round(float(10**6 * found.upper), 3)
    (1.5, 1.508)
    """
    check_task(task)
    n, noise_std = broadcast(
        n=reals(n, "n", *CONTEXT_RANGE, whole=True),
        noise_std=reals(noise_std, "noise_std", *POSITIVE_NOISE_RANGE),
    )
    settings = zip(n.ravel().tolist(), (noise_std**2).ravel().tolist(), strict=True)
    pairs = [_compute_bounds(task, length, variance) for length, variance in settings]
    lower, upper = np.array(pairs).T.reshape(2, *n.shape)
    return KrigingBounds(lower[()], upper[()])


def _compute_bounds(task: Zonal, n: float, variance: float) -> tuple[float, float]:
    """Return the lower and the upper bound for n tokens and label noise of this variance."""
    fine = fine_variance(task)
    # fine variance acts as noise at the tokens, and at the query it is added at the end
    variance += fine
    # `rest` is the sum of the coefficients after the degree `last`
    last = 64
    while True:
        a, rest = spectrum(task, last)
        # `reduced` bounds n a_l / (N_l variance) for later degrees
        reduced = n * rest / float(multiplicity(task.dim, last)[-1]) / variance
        # For later degrees the lower bound counts rest / (1 + reduced), and the upper bound `rest`.
        if reduced * rest <= 1e-12 * float(a.sum()) or last >= _MAX_DEGREE:
            break
        last *= 4
    # `whole` is k(1), with the constant part that the covariance leaves out. `spectrum` begins at degree 1,
    # and a_0 is what remains.
    whole = float(task.covariance(np.array(1.0))) + task.left_out_level
    constant = max(0.0, whole - float(a.sum()) - rest)
    a = np.append(constant, a)
    per_harmonic = a / multiplicity(task.dim, last)

    def compute_terms(tau: float, tokens: float) -> Array:
        """Return the terms of S_tau(tokens), one for each degree up to ``last``."""
        # if the divisor overflows, the term is zero
        with np.errstate(over="ignore"):
            return np.asarray(a / (1 + tokens * per_harmonic / tau))

    def bound_from_above(tau: float, tokens: float) -> float:
        """Return an upper bound on S_tau(tokens), in which later degrees count in full."""
        return float(compute_terms(tau, tokens).sum()) + rest

    # a tiny a_0 may be an error of fitted coefficients, which would raise the lower bound
    first = 0 if constant > 1e-9 * whole else 1
    lower = float(compute_terms(variance, n)[first:].sum()) + rest / (1 + reduced)
    grid = np.unique(np.floor(np.geomspace(1, n, _STEPS)))
    # without tokens the risk is the sum of all coefficients
    lengths, uppers = np.array([0.0]), np.array([float(a.sum()) + rest])
    # The upper bound is the least S_{variance + R}(tokens - m) over all m in `lengths`. It is at most the
    # last R, because more tokens never have a larger risk.
    for tokens in grid:
        found = min(
            bound_from_above(variance + R, tokens - m) for m, R in zip(lengths, uppers, strict=True)
        )
        lengths = np.append(lengths, tokens)
        uppers = np.append(uppers, min(found, uppers[-1]))
    return lower + fine, float(uppers[-1]) + fine
