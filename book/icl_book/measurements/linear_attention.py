"""Other measurements of the chapter on linear attention: rates, nearest neighbors, other activations.

The unit is ``M = w I``, so the score of token i is ``s = w t_i`` with ``t_i = x_i . x_q``. Attention with an
activation phi gives token i the weight ``phi(w t_i)``. Normalized weights are divided by their sum. Other
weights are multiplied by a gain and divided by n.

- P_l is the Gegenbauer polynomial of degree l, with P_l(1) = 1;
- a_l are the coefficients of a class: its covariance is ``E f(x) f(x') = sum_l a_l P_l(x . x')``;
- ``m_l = E phi(w t) P_l(t)``, where t is ``t_i`` of a random token. Without normalization and gain, the mean
  prediction is f with its harmonics of degree l multiplied by m_l.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, betaln, expit, gammaln

from icl.checks import broadcast, reals
from icl.covariates import uniform_sphere
from icl.risk import Risk, asymptotics, linear_optimum, optimal_window, population_risk
from icl.streams import stream
from icl.tasks import QuadraticRisk, ReLU, Zonal, angle_quadrature, check_setting, make_task
from icl.tasks.base import MAX_MAGNITUDE, fine_variance
from icl.tasks.gegenbauer import Polynomials
from icl_book.statistics import t_interval

Array = NDArray[np.float64]

#: `neighbors_risk` computes means over a cap up to this degree. Those of higher degrees count as zero.
_MAX_DEGREE = 400
#: With more neighbors, rounding would spoil the density in `neighbors_risk`.
_MAX_NEIGHBORS = 1e12


@dataclass(frozen=True)
class Centered(Zonal):
    """The class ``base`` without the constant part of its functions."""

    base: Zonal

    def covariance(self, cosine: ArrayLike) -> Array:
        (a_1,), rest = self.base.spectrum(1)
        constant = self.base.covariance(np.array(1.0)) - a_1 - rest
        return np.asarray(self.base.covariance(cosine) - constant)

    def spectrum(self, degree: int) -> tuple[Array, float]:
        return self.base.spectrum(degree)


def growth_slopes(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    lipschitz: float,
    noise_std: float,
    intercept: bool,
) -> pd.DataFrame:
    """Measure how the least risk of linear attention over that of softmax attention grows with n.

    The slope of the log of this ratio in log n is taken between two lengths. At these the best w is 3e4 and
    1e5, by the law of the window. If ``intercept`` is false, linear attention need not predict the constant
    part of the functions. Softmax attention predicts the constant part without an error.
    """
    rows = []
    for dim, name in product(dims, tasks):
        task = make_task(name, dim, lipschitz)
        linear_task = task if intercept else Centered(dim, task)
        n = asymptotics.sharp_context(task, [3e4, 1e5], noise_std)
        best = optimal_window(task, n, noise_std)
        # `optimal_window` returns the same risk, but not the error of the risk.
        softmax = population_risk(task, best.w, n, noise_std)
        ratio = linear_optimum(linear_task, n, noise_std).risk / softmax.total
        step = np.log(n[1] / n[0])
        slope = np.log(ratio[1] / ratio[0]) / step
        # The relative error of a risk is the absolute error of its log. That of linear attention is rounding.
        error = (softmax.error.sum() + 1e-14) / step
        rows.append({"task": name, "dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def neighbors_risk(task: Zonal, k: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> Risk:
    """Compute the risk of the mean label of the k context tokens that are nearest to the query.

    Let the cap be the part of the sphere that is nearer to the query than the (k + 1)-th nearest token. Given
    the cap, the k nearest tokens are independent and uniform in it. With m_l the mean of P_l over the cap, ::

        bias = E sum_l a_l [(1 - m_l)^2 + (1 - m_l^2) / k],    l = 1, 2, ....

    The share of the sphere in the cap has the law Beta(k + 1, n - k). The fine variance of a class
    (`Zonal.unresolved`) is the variance of a part of its functions that is not correlated between places. It
    counts as one more a_l, with m_l = 0.

    >>> from icl.tasks import Affine
    >>> round(float(neighbors_risk(Affine(dim=3), k=2, n=10, noise_std=0.5).noise), 6)
    0.125
    """
    k = reals(k, "k", 1, MAX_MAGNITUDE, whole=True)
    # This risk does not depend on w, and the check gets a zero in place of w.
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    k, n, noise_std = broadcast(k=k, n=n, noise_std=noise_std)
    if np.any(k > n):
        raise ValueError(f"k={k.max():g}: must be at most n")
    a, rest = task.spectrum(_MAX_DEGREE)
    # Both terms count with m_l = 0. For `rest`, the degrees above `_MAX_DEGREE`, this makes the error `tail`.
    beyond = rest + fine_variance(task)
    # a[0] is the coefficient of degree 1. Zeros at the end are left out.
    a = a[: 1 + int(np.flatnonzero(a).max(initial=0))]
    half = (task.dim - 1) / 2

    def integrate_bias(k: float, n: float) -> tuple[float, float]:
        """Return the bias and its relative error."""
        if k == n:
            # The cap is the whole sphere, where the mean of P_l is zero.
            return (a.sum() + beyond) * (1 + 1 / k), 0.0
        # The nodes y are log odds of the share p of the sphere in the cap. To each side of the mode they go
        # nine standard deviations, and then 40 scales of the exponential tail.
        mode = np.log((k + 1) / (n - k))
        spread = 9 * np.sqrt(1 / (k + 1) + 1 / (n - k))
        y = np.linspace(mode - spread - 40 / (k + 1), mode + spread + 40 / (n - k), 241)
        # The density of y has the logarithm -(k + 1) log(1 + e^-y) - (n - k) log(1 + e^y). Above
        # `_MAX_NEIGHBORS` the logarithm is multiplied by a factor below one. The density is then wider, which
        # does not matter, since the standard deviation of p is still less than a millionth of p.
        factor = min(1.0, _MAX_NEIGHBORS / k)
        log_density = -factor * (k + 1) * np.logaddexp(0, -y)
        log_density -= factor * (n - k) * np.logaddexp(0, y)
        density = np.exp(log_density - log_density.max())
        # This is the angle from the query to the edge of the cap.
        theta = 2 * np.arcsin(np.sqrt(betaincinv(half, half, expit(y))))
        # The mean of P_l over the cap is a factor times the P_{l-1} of dimension d + 2 at cos theta. The
        # factor is sin^(d-1) theta, divided by d - 1 and by the integral of sin^(d-2) from 0 to theta. This
        # integral is p B((d - 1) / 2, 1 / 2).
        log_factor = (
            2 * half * np.log(np.sin(theta))
            + np.logaddexp(0, -y)
            - betaln(half, 0.5)
            - np.log(2 * half)
        )
        # The axes are the degrees from 1 on, and the nodes. `take` returns 1 - P_0, 1 - P_1, ...
        mean = np.exp(log_factor) * (1 - Polynomials(task.dim + 2, theta).take(a.size))
        terms = a @ ((1 - mean) ** 2 + (1 - mean**2) / k) + beyond * (1 + 1 / k)
        fine = float(terms @ density / density.sum())
        # The coarser rule has every second node.
        coarse = float(terms[::2] @ density[::2] / density[::2].sum())
        # To count m_l = 0 changes a term of `rest` by at most 3 |m_l| a_l. The larger |m_l| of the last two
        # degrees stands for that of all higher degrees.
        tail = 3 * rest * float(np.abs(mean[-2:]).max(0) @ density / density.sum())
        # The maximum prevents 0 / 0 if the bias is zero.
        return fine, (abs(fine - coarse) + tail) / max(fine, 1e-300)

    rows = np.array([integrate_bias(*pair) for pair in zip(k.flat, n.flat, strict=True)])
    bias, error = rows.T.reshape(2, *k.shape)
    # The noise is exact, so that the relative error of the risk is at most that of the bias.
    noise = noise_std**2 / k
    # The index () turns an array without axes into a number.
    return Risk(bias[()], noise[()], error[()])


def compare_with_neighbors(task: Zonal, n: float, noise_std: float) -> dict[str, float]:
    """Compare the least risk of a unit with that of the mean label of the k nearest tokens.

    ``value`` is the risk of the unit with the best w over that of the mean label with the best ``k``.
    """
    best = optimal_window(task, n, noise_std)
    # `optimal_window` returns the same risk, but not the error of the risk.
    unit = population_risk(task, best.w, n, noise_std)
    # Each later round tries up to 200 values between the two neighbors of the best k so far.
    k = np.unique(np.geomspace(1, n, 200).round())
    for _ in range(3):
        at = int(neighbors_risk(task, k, n, noise_std).total.argmin())
        best_k = float(k[at])
        low = k[max(at - 1, 0)]
        high = k[min(at + 1, k.size - 1)]
        k = np.unique(np.linspace(low, high, 200).round())
    nearest = neighbors_risk(task, best_k, n, noise_std)
    value = float(unit.total / nearest.total)
    # The errors of the two risks are relative, and that of the ratio is absolute.
    error = value * float(nearest.error + unit.error)
    return {"value": value, "error": error, "k": best_k}


def price_of_softmax(dim: int) -> float:
    """Return the limit for n -> infinity of the ``value`` of `compare_with_neighbors`, for smooth classes.

    With m = dim - 1 and V the volume of the unit ball of R^m, the limit is
    ``[(m + 2)^(2 m) (V (4 pi)^(-m/2))^4]^(1 / (m + 4))``.
    """
    m = dim - 1
    log_volume = m / 2 * np.log(np.pi) - gammaln(m / 2 + 1)
    # This is the logarithm of V (4 pi)^(-m/2).
    log_product = log_volume - m / 2 * np.log(4 * np.pi)
    return float(np.exp((2 * m * np.log(m + 2) + 4 * log_product) / (m + 4)))


def compare_in_long_contexts(
    *, tasks: Sequence[str], dims: Sequence[int], w_values: Sequence[float], noise_std: float
) -> pd.DataFrame:
    """Compare units with the k nearest tokens in long contexts, for classes with L = 1.

    For each of the ``w_values`` the context has the length at which this w is the best one, by the law of the
    window. ``limit`` is the limit of ``value`` as n grows, and ``next_limit`` the limit in dimension dim + 1,
    a control.
    """
    rows = []
    for dim, name, w in product(dims, tasks, w_values):
        task = make_task(name, dim, 1.0)
        n = float(asymptotics.sharp_context(task, w, noise_std))
        row = {"dim": dim, "task": name, "w": w, "limit": price_of_softmax(dim)}
        row |= {"next_limit": price_of_softmax(dim + 1)}
        rows.append(row | compare_with_neighbors(task, n, noise_std))
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Activation:
    """How weights come from scores: by a key of `KERNELS`, and with or without division by their sum."""

    kernel: str
    normalized: bool


#: The functions phi(s) at s = w t. A common factor would change nothing, because of the gain or the sum.
KERNELS: dict[str, Callable[[Array, float], Array]] = {
    "exp": lambda s, w: np.exp(s - w),
    "sigmoid": lambda s, w: 1 / (1 + np.exp(-s)),
    "ReLU": lambda s, w: np.maximum(s, 0),
    "tanh": lambda s, w: np.tanh(s),
    "linear": lambda s, w: s,
}
#: Activations by their names on the page. For tanh and linear the sum of the weights may be near zero, so
#: these two are not normalized.
ACTIVATIONS: dict[str, Activation] = {
    "softmax": Activation("exp", normalized=True),
    "exp": Activation("exp", normalized=False),
    "normalized sigmoid": Activation("sigmoid", normalized=True),
    "sigmoid": Activation("sigmoid", normalized=False),
    "normalized ReLU": Activation("ReLU", normalized=True),
    "ReLU": Activation("ReLU", normalized=False),
    "tanh": Activation("tanh", normalized=False),
    "linear": Activation("linear", normalized=False),
}
#: Window parameters of all sweeps, from wide to narrow.
W_VALUES = np.geomspace(0.05, 400, 60)
#: The last degree of the harmonics that are computed.
DEGREE = 120


@lru_cache(maxsize=8)
def _tabulate_harmonics(dim: int) -> tuple[Array, Array, Array]:
    """Return Gauss nodes for t, their probabilities, and P_0, ..., P_DEGREE at the nodes."""
    theta, density = angle_quadrature(dim, 400)
    return np.cos(theta), density, 1 - Polynomials(dim, theta).take(DEGREE + 1)


def compute_moments(kernel: str, w: float, dim: int) -> tuple[Array, float]:
    """Return m_0, ..., m_DEGREE and E phi(w t)^2, where phi is ``KERNELS[kernel]``."""
    t, density, P = _tabulate_harmonics(dim)
    values = KERNELS[kernel](w * t, w)
    return P @ (density * values), float(density @ values**2)


def compute_coefficients(task: Zonal) -> Array:
    """Return a_0, ..., a_DEGREE of a class. All later coefficients are added to a_DEGREE."""
    a, rest = task.spectrum(DEGREE)
    a[-1] += rest
    constant = float(task.covariance(np.array(1.0))) - a.sum()
    return np.concatenate([[constant], a])


def floors(task: Zonal) -> pd.DataFrame:
    """Return the least risk of each activation in an infinite context, over `W_VALUES` and any gain.

    ``floor`` is divided by the variance of the class, to which the constant part does not contribute.
    """
    a = compute_coefficients(task)
    rows = []
    for name, activation in ACTIVATIONS.items():
        # The axes are windows and degrees.
        m = np.array([compute_moments(activation.kernel, w, task.dim)[0] for w in W_VALUES])
        # The risk is sum_l a_l (1 - gain m_l)^2. Weights that are divided by their sum have the gain 1 / m_0,
        # and other weights have the gain with the least risk.
        if activation.normalized:
            gain = 1 / m[:, :1]
        else:
            gain = ((m @ a) / (m**2 @ a))[:, None]
        limits = (1 - gain * m) ** 2 @ a
        rows.append({"activation": name, "floor": float(limits.min() / a[1:].sum())})
    return pd.DataFrame(rows)


def gain_risk(kernel: str, task: Zonal, w: float, n: int, noise_std: float) -> float:
    """Return the exact risk of weights that are not normalized, ``KERNELS[kernel]``, with the best gain."""
    a = compute_coefficients(task)
    m, square = compute_moments(kernel, w, task.dim)
    # Before its gain the prediction is h = sum_i phi(w t_i) y_i / n, and E f(x_q) h = a.m. This is E h^2. It
    # has n squares phi(w t_i)^2 y_i^2, and n (n - 1) products of two different tokens.
    mean_square = ((n - 1) * (a @ m**2) + (a.sum() + noise_std**2) * square) / n
    # With a gain g the risk is E f^2 - 2 g a.m + g^2 E h^2, where E f^2 is the sum of a. This is its minimum.
    return float(a.sum() - (a @ m) ** 2 / mean_square)


class Tokens:
    """Sampled tokens of contexts. Risks are exact means over the functions of a class and the noise."""

    def __init__(self, task: Zonal, *, noise_std: float, n: int, contexts: int):
        # The last point of each context is the query.
        x = uniform_sphere(stream(0, "monte carlo"), contexts, n + 1, task.dim)
        self.cosine = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1]).numpy()
        self.form = QuadraticRisk.of(task, x, noise_std)

    def compute_risks(self, values: Array) -> Array:
        """Return the risk on each context for weights ``values``, (contexts, n), divided by their sum."""
        # If all values of a context are zero, its weights are zero, too, and so is its prediction.
        total = values.sum(1, keepdims=True)
        weights = torch.from_numpy(values / np.where(total == 0, 1, total))
        return np.asarray(self.form.risk(weights).numpy())


def risk_curves(
    *, dim: int, lipschitz_values: Sequence[float], noise_std: float, n: int, contexts: int
) -> pd.DataFrame:
    """Return the risk of every activation on ReLU functions, for every L and every second w of `W_VALUES`.

    If weights are not normalized, the gain is the best one. Risks are exact, except those of the normalized
    sigmoid and of the normalized ReLU, which are means over sampled contexts.
    """
    rows = []
    for lipschitz in lipschitz_values:
        task = ReLU(dim, lipschitz)
        tokens = Tokens(task, noise_std=noise_std, n=n, contexts=contexts)
        for (name, activation), w in product(ACTIVATIONS.items(), W_VALUES[::2]):
            if name == "softmax":
                risk = float(population_risk(task, w, n, noise_std).total)
                low = high = risk
            elif not activation.normalized:
                risk = gain_risk(activation.kernel, task, w, n, noise_std)
                low = high = risk
            else:
                values = KERNELS[activation.kernel](w * tokens.cosine, w)
                mean, low_end, high_end = t_interval(tokens.compute_risks(values))
                risk = float(mean)
                low = float(low_end)
                high = float(high_end)
            rows.append(
                {
                    "activation": name,
                    "lipschitz": lipschitz,
                    "w": w,
                    "risk": risk,
                    "low": low,
                    "high": high,
                }
            )
    return pd.DataFrame(rows)


def compare_adaptation(curves: pd.DataFrame) -> pd.DataFrame:
    """Compare activations at the largest L of the table of `risk_curves`.

    ``over_softmax`` is the least risk of the activation over that of softmax. ``price`` is the risk of the
    activation with the w that is best for the smallest L, over its least risk. If ``price`` is one, there is
    nothing to adapt.
    """
    smooth = curves[curves.lipschitz == curves.lipschitz.min()]
    rough = curves[curves.lipschitz == curves.lipschitz.max()]
    least = rough.groupby("activation", sort=False).risk.min()
    rows = []
    for name, risk in least.items():
        smooth_curve = smooth[smooth.activation == name]
        kept_w = smooth_curve.w.loc[smooth_curve.risk.idxmin()]
        kept_risk = rough[(rough.activation == name) & (rough.w == kept_w)].risk.iloc[0]
        rows.append(
            {"activation": name, "over_softmax": risk / least["softmax"], "price": kept_risk / risk}
        )
    return pd.DataFrame(rows)


def compare_shifted_sigmoid(
    task: Zonal, *, noise_std: float, n: int, contexts: int, shifts: Sequence[float]
) -> pd.DataFrame:
    """Compare the normalized sigmoid of ``s - shift`` with softmax on the same sampled contexts.

    ``ratio`` is the least mean risk of the sigmoid over the least mean risk of softmax.
    """
    tokens = Tokens(task, noise_std=noise_std, n=n, contexts=contexts)
    # In the chapter's cases the best w is below 60.
    w_values = W_VALUES[::2][W_VALUES[::2] < 60]
    softmax = []
    sigmoid: dict[float, list[float]] = {shift: [] for shift in shifts}
    for w in w_values:
        s = w * tokens.cosine
        softmax.append(tokens.compute_risks(np.exp(s - s.max())).mean())
        for shift in shifts:
            values = 1 / (1 + np.exp(shift - s))
            sigmoid[shift].append(tokens.compute_risks(values).mean())
    rows = [
        {"shift": shift, "ratio": min(risks) / min(softmax)} for shift, risks in sigmoid.items()
    ]
    return pd.DataFrame(rows)
