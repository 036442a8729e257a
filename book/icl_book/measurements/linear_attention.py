"""Other measurements of the chapter on linear attention: growth of the gap, neighbors, other activations.

With M = w I, scores ``s = w t`` and ``t = x_i . x_q``, an activation phi predicts with the weights
``phi(w t_i)``, divided by their sum ("normalized") or times a gain over n. By Funk and Hecke it multiplies
the harmonics of degree l by ``m_l = E phi(w t) P_l(t)``, in the mean over tokens.

- P_l is the Gegenbauer polynomial of degree l, with P_l(1) = 1;
- a_l are the coefficients of a class: its covariance is ``E f(x) f(x') = sum_l a_l P_l(x . x')``.
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

#: Means over a cap are computed up to this degree; higher degrees average to zero.
_MAX_DEGREE = 400
#: With more neighbors, rounding would decide the density in `neighbors_risk`.
_MAX_NEIGHBORS = 1e12


@dataclass(frozen=True)
class Centered(Zonal):
    """Another class without its constant part, which then need not be predicted."""

    base: Zonal

    def covariance(self, cosine: ArrayLike) -> Array:
        (a_1,), rest = self.base.spectrum(1)
        constant = self.base.covariance(np.array(1.0)) - a_1 - rest
        return np.asarray(self.base.covariance(cosine) - constant)

    def spectrum(self, degree: int) -> tuple[Array, float]:
        return self.base.spectrum(degree)


def growth(
    *,
    tasks: Sequence[str],
    dims: Sequence[int],
    lipschitz: float,
    noise_std: float,
    intercept: bool,
) -> pd.DataFrame:
    """Return the slope in log n of the log of linear attention's least risk over softmax attention's.

    It is taken between the lengths at which the law of the window says that the best w is 3e4 and 1e5.
    ``intercept`` says whether linear attention has to predict the constant part of the functions, too, which
    costs softmax attention nothing. Columns ``task, dim, slope, error``.
    """
    rows = []
    for dim, name in product(dims, tasks):
        task = make_task(name, dim, lipschitz)
        linear_task = task if intercept else Centered(dim, task)
        n = asymptotics.sharp_context(task, [3e4, 1e5], noise_std)
        best = optimal_window(task, n, noise_std)
        softmax = population_risk(task, best.w, n, noise_std)
        ratio = linear_optimum(linear_task, n, noise_std).risk / softmax.total
        step = np.log(n[1] / n[0])
        slope = np.log(ratio[1] / ratio[0]) / step
        # The risk of linear attention is a formula, with rounding only.
        error = (softmax.error.sum() + 1e-14) / step
        rows.append({"task": name, "dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def neighbors_risk(task: Zonal, k: ArrayLike, n: ArrayLike, noise_std: ArrayLike) -> Risk:
    """Compute the risk of predicting with the mean label of the k context tokens nearest to the query.

    Given the distance of the next token, the k nearest are independent and uniform in the cap around the
    query that it bounds. With ``m_l`` here the mean of P_l over that cap, ::

        bias = E sum_l a_l [(1 - m_l)^2 + (1 - m_l^2) / k],    l = 1, 2, ...,

    where the mass of the cap has the law Beta(k + 1, n - k); for k = n the cap is the whole sphere. The fine
    variance of a class (`Zonal.unresolved`) is one more a_l, with m_l = 0.

    >>> from icl.tasks import Affine
    >>> round(float(neighbors_risk(Affine(dim=3), k=2, n=10, noise_std=0.5).noise), 6)
    0.125
    """
    k = reals(k, "k", 1, MAX_MAGNITUDE, whole=True)
    _, n, noise_std = check_setting(task, 0.0, n, noise_std)
    k, n, noise_std = broadcast(k=k, n=n, noise_std=noise_std)
    if np.any(k > n):
        raise ValueError(f"k={k.max():g}: must be at most n")
    a, rest = task.spectrum(_MAX_DEGREE)
    # These parts count as m_l = 0. For `rest` that is an approximation, whose error is `tail`.
    beyond = rest + fine_variance(task)
    # a[0] is the coefficient of degree 1. Degrees after the last one that the class has are left out.
    a = a[: 1 + int(np.flatnonzero(a).max(initial=0))]
    half = (task.dim - 1) / 2

    def bias(k: float, n: float) -> tuple[float, float]:
        """Return the bias and its relative error."""
        # The mean of P_l over the whole sphere is zero.
        if k == n:
            return (a.sum() + beyond) * (1 + 1 / k), 0.0
        # The nodes y are the log odds of the cap's mass. To each side of the mode they go nine standard
        # deviations and then 40 scales of the exponential tail.
        mode = np.log((k + 1) / (n - k))
        spread = 9 * np.sqrt(1 / (k + 1) + 1 / (n - k))
        y = np.linspace(mode - spread - 40 / (k + 1), mode + spread + 40 / (n - k), 241)
        # The density of log odds y has the logarithm -(k + 1) log(1 + e^-y) - (n - k) log(1 + e^y). Above
        # `_MAX_NEIGHBORS` rounding would decide it, so it is taken as wide as there. The mass varies by less
        # than a millionth then, so its exact law does not matter.
        capped = min(1.0, _MAX_NEIGHBORS / k)
        density = -capped * (k + 1) * np.logaddexp(0, -y)
        density -= capped * (n - k) * np.logaddexp(0, y)
        density = np.exp(density - density.max())
        theta = 2 * np.arcsin(np.sqrt(betaincinv(half, half, expit(y))))
        # The mean of P_l over the cap is sin^(d-1) theta times P_{l-1} of dimension d + 2 at cos theta, over
        # (d - 1) times the integral of sin^(d-2) up to theta. The factor of P_{l-1} has this logarithm.
        log_factor = (
            2 * half * np.log(np.sin(theta))
            + np.logaddexp(0, -y)
            - betaln(half, 0.5)
            - np.log(2 * half)
        )
        # The axes are degrees from 1 on and nodes. `Polynomials` are one minus P_0, P_1, ...
        mean = np.exp(log_factor) * (1 - Polynomials(task.dim + 2, theta).take(a.size))
        terms = a @ ((1 - mean) ** 2 + (1 - mean**2) / k) + beyond * (1 + 1 / k)
        # The coarser rule has every second node.
        fine, coarse = (float(terms[::s] @ density[::s] / density[::s].sum()) for s in (1, 2))
        # Higher degrees count as m_l = 0, which changes a term by at most 3 |m_l|. The last even and the last
        # odd degree stand for all of them.
        tail = 3 * rest * float(np.abs(mean[-2:]).max(0) @ density / density.sum())
        return fine, (abs(fine - coarse) + tail) / max(fine, 1e-300)

    rows = np.array([bias(*pair) for pair in zip(k.flat, n.flat, strict=True)])
    value, error = rows.T.reshape(2, *k.shape)
    return Risk(*(v[()] for v in (value, noise_std**2 / k, error)))


def neighbors(task: Zonal, n: float, noise_std: float) -> dict[str, float]:
    """Compare the least risk of a unit with that of the mean label of the k nearest tokens, at one setting.

    Returns:
        ``value``, the least risk of a unit over that with the best k, and its ``error``; and ``k``, the best
        one that was found.
    """
    best = optimal_window(task, n, noise_std)
    unit = population_risk(task, best.w, n, noise_std)
    k = np.unique(np.geomspace(1, n, 200).round())
    # The first of three rounds tries 200 values from 1 to n, the others refine around the best.
    for _ in range(3):
        at = int(neighbors_risk(task, k, n, noise_std).total.argmin())
        best_k = float(k[at])
        low = k[max(at - 1, 0)]
        high = k[min(at + 1, k.size - 1)]
        k = np.unique(np.linspace(low, high, 200).round())
    nearest = neighbors_risk(task, best_k, n, noise_std)
    value = float(unit.total / nearest.total)
    error = value * float(nearest.error + unit.error)
    return {"value": value, "error": error, "k": best_k}


def price_of_softmax(dim: int) -> float:
    """Return the limit for n to infinity of the ``value`` of `neighbors`, for smooth classes.

    With m = dim - 1 and V the volume of the unit ball of R^m, it is
    ``[(m + 2)^(2 m) (V (4 pi)^(-m/2))^4]^(1 / (m + 4))``.
    """
    m = dim - 1
    log_volume = m / 2 * np.log(np.pi) - gammaln(m / 2 + 1)
    gaussian = log_volume - m / 2 * np.log(4 * np.pi)
    return float(np.exp((2 * m * np.log(m + 2) + 4 * gaussian) / (m + 4)))


def long_neighbors(
    *, tasks: Sequence[str], dims: Sequence[int], w_values: Sequence[float], noise_std: float
) -> pd.DataFrame:
    """Compare a unit with the k nearest tokens at the lengths at which the law says that w is the best one.

    The classes have L = 1, and each of ``w_values`` has its length.

    Returns:
        Columns ``dim, task, w``; ``limit`` and ``next_limit``, the `price_of_softmax` in this and in the next
        dimension; ``value, error`` and ``k`` of `neighbors`.
    """
    rows = []
    for dim, name, w in product(dims, tasks, w_values):
        task = make_task(name, dim, 1.0)
        n = float(np.round(asymptotics.sharp_context(task, w, noise_std)))
        row = {"dim": dim, "task": name, "w": w, "limit": price_of_softmax(dim)}
        row |= {"next_limit": price_of_softmax(dim + 1)}
        rows.append(row | neighbors(task, n, noise_std))
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Activation:
    """What attention does with its scores: a ``kernel``, and whether weights are divided by their sum."""

    kernel: str
    normalized: bool


#: phi(s) at s = w t, up to a factor that the gain or the normalization removes.
KERNELS: dict[str, Callable[[Array, float], Array]] = {
    "exp": lambda s, w: np.exp(s - w),
    "sigmoid": lambda s, w: 1 / (1 + np.exp(-s)),
    "ReLU": lambda s, w: np.maximum(s, 0),
    "tanh": lambda s, w: np.tanh(s),
    "linear": lambda s, w: s,
}
#: Activations by their names on the page. Odd ones are not normalized, since their sums may be near zero.
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
#: The last degree of all expansions.
DEGREE = 120


@lru_cache(maxsize=8)
def _tabulate_harmonics(dim: int) -> tuple[Array, Array, Array]:
    """Return nodes in t, their masses, and P_0, ..., P_DEGREE there."""
    theta, density = angle_quadrature(dim, 400)
    return np.cos(theta), density, 1 - Polynomials(dim, theta).take(DEGREE + 1)


def moments(kernel: str, w: float, dim: int) -> tuple[Array, float]:
    """Return m_0, ..., m_DEGREE and E phi^2."""
    t, density, P = _tabulate_harmonics(dim)
    values = KERNELS[kernel](w * t, w)
    return P @ (density * values), float(density @ values**2)


def coefficients(task: Zonal) -> Array:
    """Return a_0, ..., a_DEGREE of a class; the last includes all later ones, which every kernel loses."""
    a, rest = task.spectrum(DEGREE)
    a[-1] += rest
    constant = float(task.covariance(np.array(1.0))) - a.sum()
    return np.concatenate([[constant], a])


def floors(task: Zonal) -> pd.DataFrame:
    """Return the risk in an infinite context at the best w and gain, over the class's variance.

    The best w is the best of `W_VALUES`, and normalized weights have no gain to choose. Columns
    ``activation`` and ``floor``.
    """
    a = coefficients(task)
    rows = []
    for name, activation in ACTIVATIONS.items():
        # The axes are windows and degrees.
        m = np.array([moments(activation.kernel, w, task.dim)[0] for w in W_VALUES])
        # The best gain minimizes sum_l a_l (1 - gain m_l)^2. Normalized weights have the gain 1 / m_0.
        gain = ((m @ a) / (m**2 @ a))[:, None]
        if activation.normalized:
            gain = 1 / m[:, :1]
        limits = (1 - gain * m) ** 2 @ a
        rows.append({"activation": name, "floor": float(limits.min() / a[1:].sum())})
    return pd.DataFrame(rows)


def gain_risk(kernel: str, task: Zonal, w: float, n: int, noise_std: float) -> float:
    """Return the exact risk of a kernel, a key of `KERNELS`, at the best gain, without normalization."""
    a = coefficients(task)
    m, square = moments(kernel, w, task.dim)
    # The prediction, before its gain, is h = sum phi(w t_i) y_i / n, with E f(x_q) h = a.m. Of the n^2 terms
    # of h^2, n are squares, whose phi(w t_i)^2 has the mean `square`.
    mean_square = ((n - 1) * (a @ m**2) + (a.sum() + noise_std**2) * square) / n
    return float(a.sum() - (a @ m) ** 2 / mean_square)


class Tokens:
    """Sampled contexts with the labels of a class integrated out: the risk of any weights there."""

    def __init__(self, task: Zonal, *, noise_std: float, n: int, contexts: int):
        x = uniform_sphere(stream(0, "monte carlo"), contexts, n + 1, task.dim)
        self.cosine = torch.einsum("bnd,bd->bn", x[:, :-1], x[:, -1]).numpy()
        self.form = QuadraticRisk.of(task, x, noise_std)

    def normalized(self, values: Array) -> Array:
        """Return the risks of predictors with weights proportional to ``values``, (contexts,)."""
        # If no token has a weight, the prediction is zero.
        total = values.sum(1, keepdims=True)
        weights = torch.from_numpy(values / np.where(total == 0, 1, total))
        return np.asarray(self.form.risk(weights).numpy())


def risk_curves(
    *, dim: int, lipschitz_values: Sequence[float], noise_std: float, n: int, contexts: int
) -> pd.DataFrame:
    """Return the risk at every second w of `W_VALUES`, for every activation and L, ReLU class.

    Columns ``activation, lipschitz, w, risk``, and the ends ``low`` and ``high`` of its interval. The risk is
    exact, and equal to both ends, except for normalized sigmoid and ReLU, for which ``contexts`` are sampled.
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
                mean, low_end, high_end = t_interval(tokens.normalized(values))
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


def adaptation(curves: pd.DataFrame) -> pd.DataFrame:
    """Return what the window does for each activation, from the table of `risk_curves`.

    Columns ``activation``; ``over_softmax``, its least risk over softmax's at the largest L; ``price``, its
    risk there with the w that is best for the smallest L, over the least: one means that there was nothing to
    adapt.
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


def shifted_sigmoid(
    task: Zonal, *, noise_std: float, n: int, contexts: int, shifts: Sequence[float]
) -> pd.DataFrame:
    """Return the least risk of the normalized sigmoid of ``s - shift`` over softmax's: ``shift, ratio``.

    Both are means over the same sampled contexts, least over every second w of `W_VALUES` below 60.
    """
    tokens = Tokens(task, noise_std=noise_std, n=n, contexts=contexts)
    # In the chapter's setting these risks are least at smaller w.
    w_values = W_VALUES[::2][W_VALUES[::2] < 60]
    softmax = []
    sigmoid: dict[float, list[float]] = {shift: [] for shift in shifts}
    for w in w_values:
        s = w * tokens.cosine
        softmax.append(tokens.normalized(np.exp(s - s.max())).mean())
        for shift in shifts:
            values = 1 / (1 + np.exp(shift - s))
            sigmoid[shift].append(tokens.normalized(values).mean())
    rows = [
        {"shift": shift, "ratio": min(risks) / min(softmax)} for shift, risks in sigmoid.items()
    ]
    return pd.DataFrame(rows)
