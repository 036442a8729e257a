r"""The exact risk of any key-query matrix, and its gradient.

The setting is that of `icl.risk.exact`: tokens x_i and query x_q uniform on the sphere, weights omega_i, and
functions f with the covariance ``k(cos t) = sum_l a_l P_l(cos t)``. Given the query, softmax attention with
the matrix M has the weights ``omega_i ~ exp(x_i . z)``, ``z = M x_q``. By rotation invariance its risk
depends on two numbers, ``kappa = |z|`` and ``c = x_q . z / kappa``::

    rho(kappa, c) = L(kappa) + 2 sum_l a_l m_l(kappa) (1 - P_l(c)),
    m_l(kappa) = E sum_i omega_i P_l(x_i . z / kappa),

where L(kappa) is the risk of kappa I. In the mean over f, ``sum_ij omega_i omega_j k(x_i . x_j) -
2 sum_i omega_i k(x_i . x_q) + k(1)``, only the middle term depends on the query, and by the addition theorem
``P_l(x_i . x_q)`` averages to ``P_l(x_i . z / kappa) P_l(c)`` over the rotations about z.

The risk of M is the mean of rho over the query, which `icl.risk.numerics.matrix_means` computes. It refuses
matrices without structure in more than five dimensions; `icl.pretrain.metrics.evaluation_error` estimates
their risk from contexts that it samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import integer, matrix_rows, real, reals, shown
from icl.risk.numerics.integrals import integrate
from icl.risk.numerics.matrix_means import panel_of, query_rules, rule_means
from icl.risk.numerics.result import MatrixRisk
from icl.tasks import Zonal, check_task
from icl.tasks.base import CONTEXT_RANGE, MAX_MAGNITUDE, NOISE_RANGE, Array
from icl.tasks.own import require_arrays

# a rule is not doubled again once doubling changes less than this share of the risk
_MAX_CHANGE = 1e-12


def matrix_risk(task: Zonal, M: ArrayLike, n: int, noise_std: float) -> MatrixRisk:
    """Compute the population risk of the attention unit with the key-query matrix M, and its gradient.

    Scores are ``x_i . M x_q``; tokens and query are uniform on the sphere. M has shape (d, d); the other
    arguments are those of `population_risk`, without broadcasting.

    Raises:
        ValueError: Also if M is too large for the class (see `population_risk`), and in more than five
            dimensions unless ``M'M`` and ``M + M'`` commute and have at most five joint eigenspaces. For
            other matrices ``icl.pretrain.metrics.evaluation_error(M, task, noise_std, n)`` estimates the risk
            from contexts that it samples.

    >>> from icl.tasks import Affine
    >>> risk = matrix_risk(Affine(dim=5), np.zeros((5, 5)), n=20, noise_std=1.0)
    >>> round(float(risk.noise), 12)  # equal weights average the noise
    0.05
    """
    check_task(task)
    require_arrays(task)
    length = float(integer(n, "n", *CONTEXT_RANGE))
    variance = real(noise_std, "noise_std", *NOISE_RANGE) ** 2
    matrix = np.array(matrix_rows(M, "M"))
    if matrix.shape != (task.dim, task.dim) or np.abs(matrix).max() > MAX_MAGNITUDE:
        raise ValueError(
            f"M: shape {matrix.shape}, must be ({task.dim}, {task.dim}), entries at most {MAX_MAGNITUDE:g}"
        )
    rules = query_rules(matrix)
    # a row has bias, noise and the entries of the gradient
    row, change = rule_means(task, length, variance, matrix, next(rules)), 0.0
    for queries in rules:
        before, row = row, rule_means(task, length, variance, matrix, queries)
        change = float(np.abs(row - before).max())
        if change <= _MAX_CHANGE * (row[0] + row[1]):
            break
    # the rule for tokens is tested at the largest kappa, where it is hardest
    coarser = panel_of(task, length, float(np.linalg.norm(matrix, 2))).error
    # the risk of constant functions without noise is zero
    error = np.asarray(change / max(row[0] + row[1], 1e-300) + coarser)
    return MatrixRisk(row[0], row[1], error[()], row[2:].reshape(matrix.shape))


def population_flow(task: Zonal, n: int, noise_std: float, times: ArrayLike) -> Array:
    """Compute the curve of gradient flow from zero, ``dM/dt = -gradient of the risk at M``.

    It is training with infinitely many contexts and infinitely small steps. For rotation-invariant tokens and
    classes the gradient at ``M = w I`` is ``(risk'(w) / d) I``: started at zero, the flow stays among these
    matrices and moves w by ``dw/dt = -risk'(w) / d``. ``times`` do not decrease, 0 to 1e15; a gradient step
    of size eta takes time eta. For a flow that starts elsewhere, `matrix_risk` gives the gradient to a
    user-defined integrator.

    Returns:
        w at the times, shape (len(times),), relative error about 1e-8.

    >>> from icl.risk import optimal_window
    >>> from icl.tasks import Affine
    >>> w = population_flow(Affine(dim=3), n=20, noise_std=0.5, times=[0.0, 10.0, 1e6])
    >>> bool(abs(w[-1] / optimal_window(Affine(dim=3), n=20, noise_std=0.5).w - 1) < 1e-6)
    True
    """
    # this module takes long to import, and only flows need it
    from scipy.integrate import solve_ivp

    check_task(task)
    require_arrays(task)
    length = integer(n, "n", *CONTEXT_RANGE)
    variance = real(noise_std, "noise_std", *NOISE_RANGE) ** 2
    instants = reals(times, "times", 0, 1e15)
    if instants.ndim != 1 or np.any(np.diff(instants) < 0):
        raise ValueError(f"times={shown(times)}: must be a sequence of increasing numbers")

    def velocity(_: float, w: Array) -> Array:
        # the integrator may try a w slightly below zero
        rows = integrate(task, max(float(w[0]), 0.0), np.array([float(length)]))
        _, bias_w, _, noise_w = rows[:, 0]
        return np.array([-(bias_w + variance * noise_w) / task.dim])

    # the integrator takes each time once
    instants, back = np.unique(instants, return_inverse=True)
    if instants.size == 0 or instants[-1] == 0:
        return np.zeros(back.shape)
    span = (0.0, float(instants[-1]))
    curve = solve_ivp(velocity, span, [0.0], "LSODA", instants, rtol=1e-9, atol=1e-12).y
    return np.asarray(curve[0, back])
