"""The exact risk of any key-query matrix, and its gradient.

The setting is that of `icl.risk.exact`: tokens x_i and query x_q uniform on the sphere, weights omega_i, and
functions f with the covariance ``k(cos t) = sum_l a_l P_l(cos t)``. Given the query, softmax attention with
the matrix M has the weights ``omega_i ~ exp(x_i . z)``, where ``z = M x_q``. By rotation invariance the risk
given the query depends on two numbers only, ``kappa = |z|`` and ``c = x_q . z / kappa``::

    rho(kappa, c) = L(kappa) + 2 sum_l a_l m_l(kappa) (1 - P_l(c)),
    m_l(kappa) = E sum_i omega_i P_l(x_i . z / kappa),

where L(kappa) is the risk of kappa I. Proof: the mean of the squared error over f is
``sum_ij omega_i omega_j k(x_i . x_j) - 2 sum_i omega_i k(x_i . x_q) + k(1)``. For given z, only the middle
term depends on the query. By the addition theorem the mean of ``P_l(x_i . x_q)`` over rotations about z is
``P_l(x_i . z / kappa) P_l(c)``.

The risk of M is the mean of rho over the query, which `icl.risk.numerics.matrix_means` computes.
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

# the number of nodes is doubled until risk and gradient change by less than this share of the risk
_MAX_CHANGE = 1e-12


def matrix_risk(task: Zonal, M: ArrayLike, n: int, noise_std: float) -> MatrixRisk:
    """Compute the population risk of the attention unit with the key-query matrix M, and its gradient in M.

    Scores are ``x_i . M x_q``, and tokens and query are uniform on the sphere. M has shape (d, d). The other
    arguments are those of `population_risk`, but single numbers.

    Raises:
        ValueError: If an argument is out of range, or if M is too large for the class (see
            `population_risk`). For d > 5 the matrices ``M'M`` and ``M + M'`` must also commute and have at
            most five joint eigenspaces. For other matrices
            ``icl.pretrain.metrics.evaluation_error(M, task, noise_std, n)`` estimates the risk.

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
    # each rule for the mean over the query is twice as fine as the rule before
    rules = query_rules(matrix)
    # a row has the bias, the noise, and the entries of the gradient
    row = rule_means(task, length, variance, matrix, next(rules))
    # the change stays zero if there is one rule only, because then this rule is exact
    change = 0.0
    for queries in rules:
        before, row = row, rule_means(task, length, variance, matrix, queries)
        change = float(np.abs(row - before).max())
        if change <= _MAX_CHANGE * (row[0] + row[1]):
            break
    # the error of the rule for tokens is estimated at the largest kappa, where it is largest
    token_error = panel_of(task, length, float(np.linalg.norm(matrix, 2))).error
    # the risk is zero for constant functions without noise
    error = np.asarray(change / max(row[0] + row[1], 1e-300) + token_error)
    return MatrixRisk(row[0], row[1], error[()], row[2:].reshape(matrix.shape))


def population_flow(task: Zonal, n: int, noise_std: float, times: ArrayLike) -> Array:
    """Compute the curve of gradient flow from zero, ``dM/dt = -gradient of the risk at M``.

    This is training with infinitely many contexts and infinitely small steps. A gradient step of size eta
    takes the time eta. By rotation invariance the gradient at ``M = w I`` is ``(risk'(w) / d) I``. So the
    flow stays among the matrices ``w I``, with ``dw/dt = -risk'(w) / d``.

    Args:
        task: A rotation-invariant class from `icl.tasks`.
        n: Context length, >= 1.
        noise_std: Standard deviation of the label noise, >= 0.
        times: Times from 0 to 1e15, which do not decrease.

    Returns:
        The window parameter w at the times, shape (len(times),), with a relative error of about 1e-8.

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

    def compute_velocity(_: float, w: Array) -> Array:
        # the integrator may try a w slightly below zero
        rows = integrate(task, max(float(w[0]), 0.0), np.array([float(length)]))
        _, bias_w, _, noise_w = rows[:, 0]
        return np.array([-(bias_w + variance * noise_w) / task.dim])

    # the integrator does not accept a time twice
    instants, back = np.unique(instants, return_inverse=True)
    if instants.size == 0 or instants[-1] == 0:
        return np.zeros(back.shape)
    span = (0.0, float(instants[-1]))
    curve = solve_ivp(compute_velocity, span, [0.0], "LSODA", instants, rtol=1e-9, atol=1e-12).y
    return np.asarray(curve[0, back])
