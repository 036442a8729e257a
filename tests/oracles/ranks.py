"""Theorem 4's risk with any noise in the scores, from the law of a token's rank, without code of `icl`.

A token at 1 - cos = y of the query, with the irrelevant part s of its score, has the weight
``exp(-c y + e s) / sum``: the probability that its ``X = c y - e s + G`` is the least, where G is the
logarithm of an exponential variable. Names are those of the appendix, ``notebooks/certificates``.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import roots_jacobi

_STEP = 0.1  # of the trapezoid rule in u


def sphere_law(dim: int, nodes: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Return values and probabilities of one coordinate of a uniform point of S^{dim-1}."""
    if dim == 1:
        return np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    x, p = roots_jacobi(nodes, (dim - 3) / 2, (dim - 3) / 2)
    return x, p / p.sum()


@dataclass
class Ranks:
    """The law of X for one rank k, one pair (c, e) and one law of s; arrays have the shape of ``u``."""

    k: int
    c: float
    e: float
    s: np.ndarray
    weight: np.ndarray
    nodes: int = 50
    u: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        reach = self.e * np.abs(self.s).max()
        self.u = np.arange(-reach - 40, 2 * self.c + reach + 5, _STEP)
        # this rule integrates 1 / (1 - t^2) against the law of t, where that is finite
        power = (self.k - 5) / 2 if self.k > 3 else (self.k - 3) / 2
        self.t, p = roots_jacobi(self.nodes, power, power)
        p = p * (1 - self.t**2) if self.k > 3 else p
        self.p = p / p.sum()
        shift = -self.c * (1 - self.t)[:, None] + self.e * self.s
        self.x = np.minimum(self.u[:, None, None] + shift, 6.0)
        self.joint = self.p[:, None] * self.weight
        self.g = np.exp(self.x - np.exp(self.x))
        self.f = self.mean(1.0, self.g)
        self.above = (np.exp(-np.exp(self.x)) * self.joint).sum((1, 2))  # 1 - F
        self.h = self.mean(self.t[:, None], self.g) / self.f

    def mean(self, value, density) -> np.ndarray:
        """Return the mean of a function of (t, s) times a density in u."""
        return (value * density * self.joint).sum((1, 2))

    def risk(self, n: int, sigma: float) -> tuple[float, float]:
        """Return bias, and noise over sigma^2 = E sum omega^2, from formula (1) of the appendix."""
        mass = n * (n - 1) * self.above ** (n - 2) * self.f * _STEP
        noise = 1 - (mass * self.f).sum()
        H = self.mean(self.t[:, None], -np.expm1(-np.exp(self.x)))
        total = 2 + self.k * sigma**2 - (mass * self.level(H, sigma)).sum()
        return total / self.k - sigma**2 * noise, noise

    def level(self, H: np.ndarray, sigma: float) -> np.ndarray:
        """Return the function L of the rank."""
        return 2 * H + self.f * (1 + self.k * sigma**2 - self.h**2)

    def level_slope(self, sigma: float) -> np.ndarray:
        """Return dL/de at fixed rank, directly from its definition."""
        bend = self.g * (1 - np.exp(self.x))
        away = -self.s - (self.mean(-self.s, self.g) / self.f)[:, None, None]
        t = self.t[:, None]
        dH, df, dhf = (
            -self.mean(away * t, self.g),
            -self.mean(away, bend),
            -self.mean(away * t, bend),
        )
        return 2 * dH + (1 + self.k * sigma**2 + self.h**2) * df - 2 * self.h * dhf

    def level_slope_by_parts(self, sigma: float, shift: int = 3, spread: float = 1.0) -> np.ndarray:
        """Return it from the covariance of psi and v, for k >= 3; ``shift`` and ``spread`` plant errors."""
        k, c, t = self.k, self.c, self.t
        r = (self.g * self.weight).sum(-1)  # this is the density of Z at u - c y, for each u and t
        v = (-self.s * self.g * self.weight).sum(-1) / r
        v -= ((v * r * self.p).sum(-1) / self.f)[:, None]
        tau = spread * ((t - self.h[:, None]) ** 2 + k * sigma**2)
        psi = (2 * c + k - shift) * t + (k - shift) * tau * t / (1 - t**2)
        found = -(psi * v * r * self.p).sum(-1) / c
        if k == 3:
            for end, sign in ((-1.0, 1.0), (1.0, -1.0)):  # y = 2 and y = 0
                x = np.minimum(self.u[:, None] - c * (1 - end) + self.e * self.s, 6.0)
                g = np.exp(x - np.exp(x)) * self.weight
                mean = (self.mean(-self.s, self.g) / self.f)[:, None]
                omega = ((-self.s - mean) * g).sum(-1)
                found += sign * ((end - self.h) ** 2 + k * sigma**2) * omega / (2 * c)
        return found

    def slope(self, n: int, sigma: float) -> float:
        """Return d risk / de."""
        mass = n * (n - 1) * self.above ** (n - 2) * self.f * _STEP
        return -(mass * self.level_slope(sigma)).sum() / self.k
