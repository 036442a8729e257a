"""Gradient flow on the population risk: the training curve of infinitely many contexts."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import integer, real, reals
from icl.risk.integrals import integrate
from icl.tasks import Zonal, check_task
from icl.tasks.base import MOST, Array

_EVALUATIONS = 3000  # slopes along a flow; more take minutes


def population_flow(task: Zonal, n: int, noise_std: float, times: ArrayLike, start: float = 0.0) -> Array:
    """Compute the training curve of infinitely many contexts and infinitely small steps.

    For rotation-invariant tokens and classes the gradient of the population risk at
    ``M = w I`` is ``(risk'(w) / d) I``: started there, gradient flow on the whole matrix
    stays there and moves w by ``dw/dt = -risk'(w) / d``.

    Args:
        task: A rotation-invariant class.
        n: Context length.
        noise_std: Noise standard deviation.
        times: Increasing times >= 0; a gradient step of size eta takes time eta.
        start: w at time 0, >= 0.

    Returns:
        w at the times, shape (len(times),), relative error about 1e-8.

    Raises:
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range or the flow too long.
    """
    from scipy.integrate import solve_ivp  # takes long to import, and only flows need it

    check_task(task)
    length = np.array([float(integer(n, "n", 1, MOST))])
    variance, start = real(noise_std, "noise_std", 0, MOST) ** 2, real(start, "start", 0, MOST)
    moments = reals(times, "times", 0)
    if moments.ndim != 1 or np.any(np.diff(moments) < 0):
        raise ValueError(f"times={times!r}: must be a sequence of increasing numbers >= 0")
    moments, back = np.unique(moments, return_inverse=True)
    if moments.size == 0 or moments[-1] == 0:  # nothing to integrate
        return np.full(back.shape, start)

    calls = iter(range(_EVALUATIONS))

    def velocity(_: float, w: Array) -> list[float]:
        if next(calls, None) is None:
            raise ValueError(f"times up to {moments[-1]:g}: the flow of {task!r} takes too many steps")
        _, bias_w, _, noise_w = integrate(task, max(float(w[0]), 0.0), length)[:, 0]
        return [-(bias_w + variance * noise_w) / task.dim]

    try:
        velocity(0.0, np.array([start]))
    except ValueError as problem:
        raise ValueError(f"start={start:g}: {problem}") from None
    span = (0.0, float(moments[-1]))
    return np.asarray(solve_ivp(velocity, span, [start], "LSODA", moments, rtol=1e-9, atol=1e-12).y[0])[back]
