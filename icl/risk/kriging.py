r"""The best predictor that is linear in the labels, between two closed forms at every context length.

Given the tokens, kriging is the best predictor that is linear in the labels, and the best of all predictors
for Gaussian functions and noise. Its risk, averaged over tokens and query, depends on the class through the
coefficients ``a_l`` of its covariance k alone, whose sum is ``k(1)``. With n tokens, label noise of variance
sigma^2 and ``N_l`` harmonics of degree l, ::

    S_tau(n) = sum_l a_l / (1 + n a_l / (N_l tau)),
    S_{sigma^2}(n) <= risk <= S_{sigma^2 + R}(n - m)    for every m < n and every R >= the risk with m tokens.

The lower bound tells the predictor all harmonics but one (Opper and Vivarelli 1999). The upper bound smooths
what is left of the labels after kriging with m tokens; with m = 0 and ``R = k(1)`` it is at most
``(1 + k(1) / sigma^2) S_{sigma^2}(n + 1)``. That bounds kriging for every class of bounded variance and every
exchangeable law of tokens, so that both bounds have the same rate.
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
# the upper bound is found at this many context lengths, each from the shorter ones
_STEPS = 60


@dataclass(frozen=True, eq=False)
class KrigingBounds:
    """Bounds on the risk of kriging, arrays of the broadcast shape of ``n`` and ``noise_std``.

    Attributes:
        lower: A lower bound on the risk of every predictor that is linear in the labels.
        upper: An upper bound on the risk of the best one.
    """

    lower: Array
    upper: Array


def kriging_bounds(task: Zonal, n: ArrayLike, noise_std: ArrayLike) -> KrigingBounds:
    """Enclose the least risk that a predictor linear in the labels can have.

    Args:
        task: A rotation-invariant class; its constant, the mean of its functions, is predicted too.
        n: Context length, >= 1.
        noise_std: Standard deviation of the label noise, > 0; it and ``n`` broadcast.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range.

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
    pairs = [_bounds(task, *one) for one in settings]
    lower, upper = np.array(pairs).T.reshape(2, *n.shape)
    return KrigingBounds(lower[()], upper[()])


def _bounds(task: Zonal, n: float, variance: float) -> tuple[float, float]:
    """Return both bounds for n tokens and label noise of this variance.

    Fine variance is noise at the tokens, and cannot be predicted at the query.
    """
    fine = fine_variance(task)
    variance += fine
    last = 64
    while True:
        a, rest = spectrum(task, last)
        # The lower bound divides the power of a degree by 1 + n a_l / (N_l tau). This is at most 1 +
        # `reduced` for later degrees: each has at most the power `rest`, and at least as many harmonics as
        # the last one. The upper bound takes all of `rest`, and the loop ends once that is hardly more. At
        # the largest degree they are farther apart, and still bounds.
        reduced = n * rest / float(multiplicity(task.dim, last)[-1]) / variance
        if reduced * rest <= 1e-12 * float(a.sum()) or last >= _MAX_DEGREE:
            break
        last *= 4
    # the spectrum begins at degree 1, and degree 0 has what the other degrees leave of k(1)
    whole = float(task.covariance(np.array(1.0))) + task.left_out_level
    constant = max(0.0, whole - float(a.sum()) - rest)
    a = np.append(constant, a)
    per_harmonic = a / multiplicity(task.dim, last)

    def unknown(noise: float, tokens: float) -> Array:
        """Return the terms of S_tau(tokens) for tau = ``noise``: what is unknown of each degree."""
        # where the divisor is infinite nothing is unknown
        with np.errstate(over="ignore"):
            return np.asarray(a / (1 + tokens * per_harmonic / noise))

    def bound(noise: float, tokens: float) -> float:
        """Return an upper bound on S_tau(tokens) for tau = ``noise``; of later degrees all may be unknown."""
        return float(unknown(noise, tokens).sum()) + rest

    # a tiny constant may be an error of fitted coefficients, which would lift the lower bound: it is left out
    certain = slice(0 if constant > 1e-9 * whole else 1, None)
    lower = float(unknown(variance, n)[certain].sum()) + rest / (1 + reduced)
    grid = np.unique(np.floor(np.geomspace(1, n, _STEPS)))
    # without tokens the risk is k(1)
    lengths, uppers = np.array([0.0]), np.array([float(a.sum()) + rest])
    # The bound for these tokens is the best one over all shorter contexts, with m tokens and a risk of at
    # most R. More tokens never have a larger risk.
    for tokens in grid:
        found = min(bound(variance + R, tokens - m) for m, R in zip(lengths, uppers, strict=True))
        lengths, uppers = (np.append(lengths, tokens), np.append(uppers, min(found, uppers[-1])))
    return lower + fine, float(uppers[-1]) + fine
