"""What turning the attention by an angle adds to the risk, by the reflection that proves its form.

Nothing is expanded in polynomials, and it shares only the covariance of a class with `icl`.
"""

import numpy as np
from numpy.polynomial import Chebyshev
from scipy.special import roots_jacobi

_STEP = 0.2  # of the trapezoid rule in u


def mean_weight(t, dim: int, rho: float, n: int, nodes: int = 200):
    """Return mu(t) = n E[omega_1 | t_1 = t], for tokens of scores rho t."""
    T, p = roots_jacobi(nodes, (dim - 3) / 2, (dim - 3) / 2)
    p = p / p.sum()
    u = np.arange(-np.log(n) - 40, 2 * rho + 5, _STEP)
    others = np.exp(-np.exp(u[:, None] + rho * (T - 1))) @ p
    z = np.exp(np.minimum(u[:, None] + rho * (np.ravel(t) - 1), 6.0))
    law = n * others ** (n - 1) * _STEP
    return (law @ (z * np.exp(-z))).reshape(np.shape(t))


def turning(covariance, dim: int, rho: float, alpha: float, n: int, factor: float = 0.5) -> float:
    """G(rho, alpha) = factor * E [k(x.c) - k(x.x')] [mu(x.c) - mu(x.x')] over x on the sphere."""
    if dim == 2:
        square, q = np.ones(1), np.ones(1)
    else:  # squared length of the projection of x to the plane of c and x'
        y, q = roots_jacobi(60, (dim - 4) / 2, 0)
        square, q = (1 + y) / 2, q / q.sum()
    phi = 2 * np.pi * (np.arange(400) + 0.5) / 400
    radius = np.sqrt(square)[:, None]
    attended, asked = radius * np.cos(phi), radius * np.cos(phi - alpha)
    grid = np.cos(np.pi * (np.arange(80) + 0.5) / 80)
    mu = Chebyshev.fit(grid, np.log(mean_weight(grid, dim, rho, n)), 79, domain=[-1, 1])
    weights = [np.exp(mu(t)) for t in (attended, asked)]
    gap = (covariance(attended) - covariance(asked)) * (weights[0] - weights[1])
    return float(factor * q @ gap.mean(1))


def circle_means(degrees, w: float, n: int) -> tuple[float, np.ndarray, np.ndarray]:
    """On the circle: N = E sum omega_i^2, and for each degree m = E sum omega_i cos(l theta_i) and q.

    ``q = E sum_ij omega_i omega_j cos(l (theta_i - theta_j))``.
    """
    theta = 2 * np.pi * (np.arange(400) + 0.5) / 400
    u = np.arange(-np.log(n) - 40, 2 * w + 5, _STEP)
    z = np.exp(np.minimum(u[:, None] - w * (1 - np.cos(theta)), 6.0))
    once, others = z * np.exp(-z), np.exp(-z).mean(1)
    waves = once @ np.cos(np.outer(theta, degrees)) / theta.size
    pair = n * (n - 1) * others ** (n - 2) * _STEP
    noise = 1 - pair @ once.mean(1) ** 2
    return (float(noise), n * _STEP * (others ** (n - 1) @ waves), noise + pair @ waves**2)


def circle(spectrum: dict[int, float], w: float, angle: float, n: int, sigma: float) -> float:
    """Return the risk of ``w`` times the rotation by ``angle``, for the covariance sum a_l cos(l theta)."""
    degrees, a = np.array(list(spectrum)), np.array(list(spectrum.values()))
    noise, m, q = circle_means(degrees, w, n)
    return float(a @ (q - 2 * m * np.cos(degrees * angle) + 1) + sigma**2 * noise)
