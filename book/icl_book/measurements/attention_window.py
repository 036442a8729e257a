"""Measurements of the chapter on the window: libraries, slopes of bias and noise in w, best windows.

Symbols:
    w: The window parameter of the unit ``M = w I``, and ``w*`` the best one.
    x_i, q: Tokens and query, on the unit sphere of dimension dim.
    omega_i: The weight of token i, ``exp(w x_i.q)`` over the sum of these.
    L, sigma: Lipschitz constant of the functions, standard deviation of the label noise.
"""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from icl.attention import softmax_attention, softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import optimal_window, population_risk, split_risk
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU, angle_quadrature, make_task
from icl.tasks.gegenbauer import Polynomials

Array = NDArray[np.float64]

#: A smaller w* counts as this one where a logarithm is taken, because w* may be zero.
EQUAL_WEIGHTS = 1e-6


def statsmodels_prediction(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    """Predict by statsmodels' kernel regression with the bandwidth w^(-1/2)."""
    from statsmodels.nonparametric.kernel_regression import KernelReg

    h = np.full(x.shape[1], w**-0.5)
    model = KernelReg(y.numpy(), x.numpy(), "c" * x.shape[1], "lc", bw=h)
    return float(model.fit(query.numpy()[None])[0][0])


def scikit_learn_prediction(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    """Predict by scikit-learn's nearest neighbors, all of them, with Gaussian weights."""
    from sklearn.neighbors import KNeighborsRegressor

    model = KNeighborsRegressor(len(x), weights=lambda distance: np.exp(-w / 2 * distance**2))
    return float(model.fit(x.numpy(), y.numpy()).predict(query.numpy()[None])[0])


def scipy_prediction(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    """Predict with weights by SciPy's density of von Mises and Fisher."""
    from scipy.stats import vonmises_fisher

    density = vonmises_fisher(query.numpy(), w).pdf(x.numpy())
    return float(density @ y.numpy() / density.sum())


def pytorch_prediction(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    """Predict by PyTorch's fused attention."""
    found = torch.nn.functional.scaled_dot_product_attention(
        query[None, None], x[None], y[None, :, None], scale=w
    )
    return float(found[0, 0, 0])


#: The same prediction by the code of other packages. On the sphere a Gaussian of the distance, with variance
#: 1 / w, gives a token the weight exp(w x.q), up to a factor that all tokens share.
LIBRARIES: dict[str, Callable[[Tensor, Tensor, Tensor, float], float]] = {
    "statsmodels": statsmodels_prediction,
    "scikit-learn": scikit_learn_prediction,
    "SciPy, von Mises-Fisher": scipy_prediction,
    "PyTorch, fused attention": pytorch_prediction,
}


def gaps_to_libraries(
    *, dims: list[int], n: int, draws: int, noise_std: float, seed: int
) -> pd.DataFrame:
    """Compare the predictions of `LIBRARIES` with ours on sampled contexts of ReLU functions with L = 1.

    ``gap`` is the largest absolute difference over all contexts and three w.
    """
    rows = []
    for library, dim in product(LIBRARIES, dims):
        gap = 0.0
        for draw in range(draws):
            # The last token is the query, whose label is not used.
            x = uniform_sphere(stream(seed, "monte carlo", draw), n + 1, dim)
            f = ReLU(dim).sample(stream(seed, "tasks", draw), 1)(x[None])[0]
            noise = stream(seed, "noise", draw).standard_normal(n + 1)
            y = f + noise_std * torch.from_numpy(noise)
            for w in (0.5, 4.0, 30.0):
                M = w * torch.eye(dim, dtype=torch.float64)
                ours = float(softmax_attention(x[:-1], y[:-1], x[-1], M))
                theirs = LIBRARIES[library](x[:-1], y[:-1], x[-1], w)
                # unlike `max`, this keeps a NaN
                gap = float(np.maximum(gap, abs(theirs - ours)))
        rows.append({"library": library, "dim": dim, "gap": gap})
    return pd.DataFrame(rows)


def weights_by_distance(weights: pd.DataFrame) -> pd.DataFrame:
    """Measure how the weights of the examples fall with their distance to the query, for each context.

    The argument ``weights`` has a row for each example, whose weight is ``attention``. ``coefficient`` is the
    slope of -log(attention) in the squared distance. ``disorder`` is the share of the pairs of examples in
    which the farther example has the larger weight.
    """
    rows = []
    context = ["tokens", "dim", "w", "draw"]
    for labels, part in weights.groupby(context, sort=False):
        distance = part.distance.to_numpy()
        attention = part.attention.to_numpy()
        slope = np.polyfit(distance**2, -np.log(attention), deg=1)[0]
        farther = distance[:, None] > distance
        heavier = attention[:, None] > attention
        pairs = len(part) * (len(part) - 1) / 2
        disorder = np.sum(farther & heavier) / pairs
        row = dict(zip(context, labels, strict=True))
        rows.append(row | {"coefficient": slope, "disorder": disorder})
    return pd.DataFrame(rows)


def concentration_slopes(*, dims: list[int], n_values: list[int]) -> pd.DataFrame:
    """Return the slope of log(1 - E sum_i omega_i^2) in log w, from w = 1e5 to 1e6.

    The number 1 - E sum_i omega_i^2 is zero if one token has all the weight.
    """
    rows = []
    for dim, n in product(dims, n_values):
        # With sigma = 1 the error by noise is E sum_i omega_i^2, for every class.
        risk = population_risk(Affine(dim), [1e5, 1e6], n, noise_std=1.0)
        spread = 1 - risk.noise
        # The relative error of `spread` is the absolute error of its logarithm.
        error = risk.error * risk.noise / spread
        slope = np.log(spread[1] / spread[0]) / np.log(10)
        rows.append({"dim": dim, "n": n, "slope": slope, "error": error.sum() / np.log(10)})
    return pd.DataFrame(rows)


def noise_slopes(*, dims: list[int], n: int) -> pd.DataFrame:
    """Return the smallest slope of log E sum_i omega_i^2 in log w, between neighbors on a grid of w."""
    w = np.geomspace(0.01, 1e3, 21)
    step = np.log(w[1] / w[0])
    rows = []
    for dim in dims:
        # With sigma = 1 the error by noise is E sum_i omega_i^2, for every class.
        risk = population_risk(Affine(dim), w, n, noise_std=1.0)
        slope = np.diff(np.log(risk.noise)) / step
        # The relative error of the noise is the absolute error of its logarithm.
        error = (risk.error[1:] + risk.error[:-1]) / step
        rows.append({"dim": dim, "slope": slope.min(), "error": error.max()})
    return pd.DataFrame(rows)


def bias_slopes(*, tasks: list[str], dims: list[int], n: int) -> pd.DataFrame:
    """Return the largest slope in log w of the log of the mean squared bias, between neighbors on a grid.

    The bias at a query is the mean prediction over all draws of the tokens, minus the function. Only the
    parts of the functions of degrees 1 to 60 count. ``error`` is the change of the slope by a coarser
    quadrature.
    """
    w_values = np.geomspace(0.1, 100, 16)
    rows = []
    for dim in dims:
        missed = [_integrate_missed_shares(dim, n, w, nodes=300, step=0.1) for w in w_values]
        coarse = [_integrate_missed_shares(dim, n, w, nodes=240, step=0.15) for w in w_values]
        for name in tasks:
            # `a` is the variance of the functions in each degree. Rows of `missed` are windows, and its
            # columns are degrees. The mean squared bias is the sum of ``a_l (1 - m_l)^2`` over the degrees l.
            a, _ = make_task(name, dim).spectrum(len(missed[0]))
            slope = _find_steepest(w_values, np.array(missed) ** 2 @ a)
            other = _find_steepest(w_values, np.array(coarse) ** 2 @ a)
            error = abs(slope - other) + np.finfo(float).eps
            rows.append({"task": name, "dim": dim, "slope": slope, "error": error})
    return pd.DataFrame(rows)


def _find_steepest(x: Array, y: Array) -> float:
    """Return the largest slope of log y in log x between neighbors."""
    return float((np.diff(np.log(y)) / np.diff(np.log(x))).max())


def _integrate_missed_shares(dim: int, n: int, w: float, *, nodes: int, step: float) -> Array:
    """Return 1 - m_l for the degrees l from 1 to 60, where m_l f is the mean prediction of an f of degree l.

    The factor is ``m_l = E sum_i omega_i P_l(t_i)``. Here t_i is the cosine of the angle between token i and
    the query, and P_l is the Gegenbauer polynomial with P_l(1) = 1. The kernel of a token is
    ``exp(-w (1 - t_i))``, and its weight omega_i is the kernel divided by the sum S of all kernels. Since
    ``1 / S = int exp(-s S) ds``, and tokens are independent, m_l is one integral over s.
    """
    theta, p = angle_quadrature(dim, nodes)
    # u is log s, and z is s times the kernel. Below this range n z is at most e^-30. Above it z is more than
    # e^6, even for the farthest token. So the integrand is negligible outside.
    u = np.arange(-np.log(n) - 30, 2 * w + 6, step)
    # The axes of z are u and the angles. The cap at e^8 changes nothing, as exp(-z) is zero there.
    z = np.exp(np.minimum(u[:, None] - w * (1 - np.cos(theta)), 8))
    # This is the mean of exp(-s S) without the kernel of one token.
    others = (np.exp(-z) @ p)[:, None] ** (n - 1)
    # The kernel of the one token times ds is z du.
    one_token = (z * np.exp(-z) * others).sum(0) * p
    # The weights sum to one, so 1 - m_l is E sum_i omega_i (1 - P_l(t_i)). `take` returns one minus each
    # Gegenbauer polynomial, from degree 0 on.
    one_minus_P = Polynomials(dim, theta).take(61)[1:]
    return np.asarray(n * step * (one_minus_P @ one_token))


def compare_half_widths(
    *, tasks: list[str], dims: list[int], n: int, noise_std: float, low: float, high: float
) -> pd.DataFrame:
    """Compare the half-widths of the best weights for two Lipschitz constants, ``low`` and ``high``.

    The half-width is the distance from the query at which a token weighs half as much as at the query.
    ``ratio`` is the half-width for L = high divided by that for L = low.
    """
    rows = []
    for name, dim in product(tasks, dims):
        smooth = optimal_window(make_task(name, dim, low), n, noise_std)
        rough = optimal_window(make_task(name, dim, high), n, noise_std)
        half_widths = []
        for best in (smooth, rough):
            # At this distance exp(-w distance^2 / 2) is one half. The distance would be infinite for w = 0.
            distance = np.sqrt(2 * np.log(2) / max(float(best.w), 1e-9))
            # Two points of the sphere are at most 2 apart.
            half_widths.append(min(2.0, distance))
        ratio = half_widths[1] / half_widths[0]
        # The relative error of a half-width is half of that of its w. So this is twice the error.
        error = ratio * (smooth.error + rough.error)
        rows.append({"task": name, "dim": dim, "ratio": ratio, "error": error})
    return pd.DataFrame(rows)


def window_slopes(
    *, tasks: list[str], dims: list[int], n: int, lipschitz: ArrayLike = 1.0, noise_std: ArrayLike
) -> pd.DataFrame:
    """Return the smallest and the largest slope of log w*, in log L or in log sigma, between neighbors.

    Either ``lipschitz`` or ``noise_std`` has several values, in rising order.
    """
    several = lipschitz if np.ndim(lipschitz) else noise_std
    steps = np.diff(np.log(np.asarray(several, dtype=float)))
    pairs = list(np.broadcast(lipschitz, noise_std))
    rows = []
    for name, dim in product(tasks, dims):
        found = [optimal_window(make_task(name, dim, L), n, sigma) for L, sigma in pairs]
        w = np.maximum([float(best.w) for best in found], EQUAL_WEIGHTS)
        # The relative error of w* is the absolute error of its logarithm.
        errors = np.array([float(best.error) for best in found])
        slopes = np.diff(np.log(w)) / steps
        rows.append(
            {
                "task": name,
                "dim": dim,
                "least": slopes.min(),
                "greatest": slopes.max(),
                "error": ((errors[1:] + errors[:-1]) / steps).max(),
            }
        )
    return pd.DataFrame(rows)


def place_on_circle(angles: ArrayLike) -> Tensor:
    """Return the points of the unit circle at angles in radians, (angles, 2)."""
    return torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=-1))


class Circle(NamedTuple):
    """One context of a wave on the circle, with the predictions for many w. Angles are in degrees."""

    angles: Array
    labels: Array
    #: Angles at which predictions are shown.
    around: Array
    #: The wave at the angles `around`, without noise.
    target: Array
    #: For each w, the predictions at the angles `around`, and the weights of the examples at the query.
    shown: dict[float, tuple[Array, Array]]


def circle_to_move(query: float) -> tuple[pd.DataFrame, Circle]:
    """Return the exact errors for many w, and one context with its predictions, for the interactive figure.

    Functions are waves cos(3 angle + phase). In the one context the phase is zero, and ``query`` is the angle
    of the query in degrees.
    """
    rng = stream(4, "evaluation")
    n, L, noise_std = 40, 3, 0.5
    angles = rng.integers(-180, 180, n).astype(float)
    labels = np.cos(L * np.deg2rad(angles)) + noise_std * rng.standard_normal(n)
    around = np.arange(-180.0, 181.0, 4)
    examples = place_on_circle(np.deg2rad(angles))
    # These are 40 windows from 0.44 to 87.
    windows = 10 ** (np.arange(-6, 34) / 17)
    shown = {}
    for w in windows.tolist():
        predictions = _weigh_circle(examples, around, w) @ labels
        at_query = _weigh_circle(examples, [query], w)[0]
        shown[w] = predictions, at_query
    exact = split_risk(Cosine(2, L), windows, n, noise_std)
    errors = {
        "risk": exact.total,
        "noise": exact.noise,
        "scatter": exact.scatter,
        "blur": exact.blur,
    }
    target = np.cos(L * np.deg2rad(around))
    circle = Circle(angles, labels, around, target, shown)
    return pd.DataFrame({"w": windows} | errors), circle


def _weigh_circle(examples: Tensor, around: ArrayLike, w: float) -> Array:
    """Return the weights of examples for queries at angles in degrees, (angles, examples)."""
    queries = place_on_circle(np.deg2rad(around))
    M = w * torch.eye(2, dtype=torch.float64)
    return np.asarray(softmax_weights(examples, queries, M).numpy())
