"""Gradient flow of the population risk: training with infinitely many contexts and infinitely small steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import integer, real, reals
from icl.risk.integrals import integrate
from icl.risk.matrix import as_square_matrix, matrix_risk
from icl.tasks import Zonal, check_task
from icl.tasks.base import MOST, Array

_EVALUATIONS = 3000  # slopes along a flow; more take minutes


def population_flow(task: Zonal, n: int, noise_std: float, times: ArrayLike, start: ArrayLike = 0.0) -> Array:
    """Compute the curve of gradient flow, ``dM/dt = -gradient of the risk at M``.

    For rotation-invariant tokens and classes the gradient at ``M = w I`` is ``(risk'(w) / d) I``: started
    there, the flow stays there and moves w by ``dw/dt = -risk'(w) / d``.

    Args:
        task: A rotation-invariant class.
        n: Context length.
        noise_std: Noise standard deviation.
        times: Increasing times >= 0; a gradient step of size eta takes time eta.
        start: A number w >= 0 for ``w I``, or a matrix, shape (d, d).

    Returns:
        w at the times, shape (len(times),), relative error about 1e-8; or M, shape (len(times), d, d), to
        the accuracy of `icl.risk.matrix_risk`.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range or the flow too long.
    """
    from scipy.integrate import solve_ivp  # takes long to import, and only flows need it

    check_task(task)
    length, variance = integer(n, "n", 1, MOST), real(noise_std, "noise_std", 0, MOST) ** 2
    moments = reals(times, "times", 0)
    if moments.ndim != 1 or np.any(np.diff(moments) < 0):
        raise ValueError(f"times={times!r}: must be a sequence of increasing numbers >= 0")
    shape: tuple[int, ...] = ()
    if not isinstance(start, list | tuple) and np.ndim(start) == 0:
        first = np.array([real(start, "start", 0, MOST)])
    else:
        shape, first = (task.dim, task.dim), as_square_matrix(start, task.dim, "start").ravel()

    calls = iter(range(_EVALUATIONS))

    def velocity(_: float, M: Array) -> Array:
        if next(calls, None) is None:
            raise ValueError(f"times up to {moments[-1]:g}: the flow of {task!r} takes too many steps")
        if shape:
            return -matrix_risk(task, M.reshape(shape), length, noise_std).gradient.ravel()
        _, bias_w, _, noise_w = integrate(task, max(float(M[0]), 0.0), np.array([float(length)]))[:, 0]
        return np.array([-(bias_w + variance * noise_w) / task.dim])

    moments, back = np.unique(moments, return_inverse=True)
    curve = first[:, None]
    if moments.size and moments[-1] > 0:  # else there is nothing to integrate
        try:
            velocity(0.0, first)
        except ValueError as problem:
            raise ValueError(f"start={np.asarray(start).tolist()}: {problem}") from None
        span = (0.0, float(moments[-1]))
        curve = solve_ivp(velocity, span, first, "LSODA", moments, rtol=1e-9, atol=1e-12).y
    return np.asarray(curve.T[np.minimum(back, curve.shape[1] - 1)].reshape(*back.shape, *shape))
