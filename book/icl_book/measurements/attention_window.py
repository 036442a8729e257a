"""Other measurements of the chapter on the window: libraries, bias and noise over w, best windows.

Symbols:
    w: The window parameter of the unit ``M = w I``, and ``w*`` the best one.
    x_i, q: Tokens and query, on the unit sphere of dimension dim.
    omega_i: The weight of token i, ``exp(w x_i.q)`` over the sum of these.
    n: The number of tokens beside the query.
    L, sigma: Lipschitz constant of the functions, standard deviation of the label noise.

Errors are absolute errors of the number that a row is about.
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

#: A logarithm takes this w for equal weights, w = 0.
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
    """Compare the predictions of `LIBRARIES` with ours on drawn contexts.

    Returns:
        Columns ``library, dim`` and ``gap``, the largest absolute difference in all contexts, of ReLU
        functions, at w = 0.5, 4 and 30.
    """
    rows = []
    for library, dim in product(LIBRARIES, dims):
        gap = 0.0
        for step in range(draws):
            # The last token is the query, whose label is not used.
            x = uniform_sphere(stream(seed, "monte carlo", step), n + 1, dim)
            f = ReLU(dim).sample(stream(seed, "tasks", step), 1)(x[None])[0]
            noise = stream(seed, "noise", step).standard_normal(n + 1)
            y = f + noise_std * torch.from_numpy(noise)
            for w in (0.5, 4.0, 30.0):
                M = w * torch.eye(dim, dtype=torch.float64)
                ours = float(softmax_attention(x[:-1], y[:-1], x[-1], M))
                theirs = LIBRARIES[library](x[:-1], y[:-1], x[-1], w)
                gap = max(gap, abs(theirs - ours))
        rows.append({"library": library, "dim": dim, "gap": gap})
    return pd.DataFrame(rows)


def weights_by_distance(weights: pd.DataFrame) -> pd.DataFrame:
    """Say how weights fall with the distance to the query.

    Args:
        weights: A row for each example: ``tokens, dim, w, draw, distance, attention``.

    Returns:
        For each context (``tokens, dim, w, draw``) the ``coefficient`` of the squared distance in
        -log(attention), by least squares, and ``disorder``, the share of pairs of which the farther example
        weighs more.
    """
    rows = []
    context = ["tokens", "dim", "w", "draw"]
    for setting, part in weights.groupby(context, sort=False):
        distance = part.distance.to_numpy()
        attention = part.attention.to_numpy()
        slope = np.polyfit(distance**2, -np.log(attention), deg=1)[0]
        farther = distance[:, None] > distance
        heavier = attention[:, None] > attention
        pairs = len(part) * (len(part) - 1) / 2
        disorder = np.sum(farther & heavier) / pairs
        row = dict(zip(context, setting, strict=True))
        rows.append(row | {"coefficient": slope, "disorder": disorder})
    return pd.DataFrame(rows)


def concentration(*, dims: list[int], n_values: list[int]) -> pd.DataFrame:
    """Return slopes of log(1 - E sum_i omega_i^2) in log w from w = 1e5 to 1e6: ``dim, n, slope, error``."""
    rows = []
    for dim, n in product(dims, n_values):
        # Noise of variance one makes its part of the risk E sum_i omega_i^2, for every class.
        risk = population_risk(Affine(dim), [1e5, 1e6], n, noise_std=1.0)
        spread = 1 - risk.noise
        error = risk.error * risk.noise / spread
        slope = np.log(spread[1] / spread[0]) / np.log(10)
        rows.append({"dim": dim, "n": n, "slope": slope, "error": error.sum() / np.log(10)})
    return pd.DataFrame(rows)


def noise_slopes(*, dims: list[int], n: int) -> pd.DataFrame:
    """Return the smallest slope of log E sum_i omega_i^2 in log w: ``dim, slope, error``.

    It is taken between neighbors on a grid of w from 0.01 to 1,000 and is the same for all classes. The error
    is the largest of those of these slopes.
    """
    w = np.geomspace(0.01, 1e3, 21)
    step = np.log(w[1] / w[0])
    rows = []
    for dim in dims:
        # Noise of variance one makes its part of the risk E sum_i omega_i^2, for every class.
        risk = population_risk(Affine(dim), w, n, noise_std=1.0)
        slope = np.diff(np.log(risk.noise)) / step
        error = (risk.error[1:] + risk.error[:-1]) / step
        rows.append({"dim": dim, "slope": slope.min(), "error": error.max()})
    return pd.DataFrame(rows)


def bias_slopes(*, tasks: list[str], dims: list[int], n: int) -> pd.DataFrame:
    """Return the largest slope in log w of the log of the mean square of the estimator's bias.

    The bias is the mean prediction over all tokens minus the function, at one query; its square is averaged
    over functions. Of these, only the parts of degrees 1 to 60 count. The slope is taken between neighbors on
    a grid of w from 0.1 to 100. Columns ``task, dim, slope`` and ``error``, what a coarser quadrature
    changes, and rounding.
    """
    w_values = np.geomspace(0.1, 100, 16)
    rows = []
    for dim in dims:
        missed = [_integrate_missed_shares(dim, n, w, nodes=300, step=0.1) for w in w_values]
        coarse = [_integrate_missed_shares(dim, n, w, nodes=240, step=0.15) for w in w_values]
        for name in tasks:
            # `a` is the variance of the functions in each degree. Rows are windows, columns are degrees.
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
    """Return 1 - m_l, l from 1 to 60: the mean prediction of a function of degree l is m_l times it.

    ``m_l = E sum_i omega_i P_l(t_i)``, where t_i is the cosine of a token's angle to the query and omega_i is
    ``exp(-w (1 - t_i))`` over the sum S of these, and P_l is the Gegenbauer polynomial with P_l(1) = 1. As
    ``1 / S = int exp(-s S) ds``, it is one integral over s. ``nodes`` are those of the angle, and ``step`` is
    that of log s.
    """
    theta, p = angle_quadrature(dim, nodes)
    # u is log s. Below this range n z is at most e^-30, and above it z is more than e^6 even
    # at the farthest token.
    u = np.arange(-np.log(n) - 30, 2 * w + 6, step)
    # z is s times the kernel, (u, angles). At the cap, z = e^8, exp(-z) is zero in floating point.
    z = np.exp(np.minimum(u[:, None] - w * (1 - np.cos(theta)), 8))
    # This is E exp(-z) of all tokens but one.
    phi = (np.exp(-z) @ p)[:, None] ** (n - 1)
    # The kernel of one token times ds is z du.
    one_token = (z * np.exp(-z) * phi).sum(0) * p
    # `take` returns one minus each Gegenbauer polynomial.
    lost = Polynomials(dim, theta).take(61)[1:]
    return np.asarray(n * step * (lost @ one_token))


def narrowing(
    *, tasks: list[str], dims: list[int], n: int, noise_std: float, low: float, high: float
) -> pd.DataFrame:
    """Return the half-width of the best weights at L = high over that at L = low.

    The half-width is the distance to the query at which a token weighs half as much as one at the query.
    Columns ``task, dim, ratio, error``.
    """
    rows = []
    for name, dim in product(tasks, dims):
        smooth = optimal_window(make_task(name, dim, low), n, noise_std)
        rough = optimal_window(make_task(name, dim, high), n, noise_std)
        # At these distances exp(-w distance^2 / 2) is one half. Two points of the sphere are at most 2 apart,
        # which is the width also of equal weights, w = 0.
        halves = [
            min(2.0, np.sqrt(2 * np.log(2) / max(float(best.w), 1e-9))) for best in (smooth, rough)
        ]
        ratio = halves[1] / halves[0]
        # A width has half the relative error of its w, so that this is more than enough.
        error = ratio * (smooth.error + rough.error)
        rows.append({"task": name, "dim": dim, "ratio": ratio, "error": error})
    return pd.DataFrame(rows)


def window_slopes(
    *, tasks: list[str], dims: list[int], n: int, lipschitz: ArrayLike = 1.0, noise_std: ArrayLike
) -> pd.DataFrame:
    """Return the extreme slopes of log w* in log L, or in log sigma, along a sweep.

    Args:
        tasks: Names of classes, see `icl.tasks.make_task`.
        dims: Dimensions.
        n: Context length.
        lipschitz: Lipschitz constants L in rising order, or one.
        noise_std: Standard deviations sigma of the label noise in rising order, or one. One of the two is
            swept.

    Returns:
        ``task``, ``dim``, the ``least`` and the ``greatest`` slope between neighbors, and their ``error``.
        Equal weights count as w = 1e-6.
    """
    swept = np.asarray(lipschitz if np.ndim(lipschitz) else noise_std, dtype=float)
    settings = list(np.broadcast(lipschitz, noise_std))
    steps = np.diff(np.log(swept))
    rows = []
    for name, dim in product(tasks, dims):
        found = [optimal_window(make_task(name, dim, L), n, s) for L, s in settings]
        w = np.maximum([float(best.w) for best in found], EQUAL_WEIGHTS)
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


def on_circle(angles: ArrayLike) -> Tensor:
    """Return points of the unit circle, (angles, 2)."""
    return torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=-1))


class Circle(NamedTuple):
    """Examples of a wave on the circle, at angles in degrees, and what the layer makes of them at each w."""

    angles: Array
    labels: Array
    around: Array
    target: Array
    #: For each w, the prediction at the angles `around`, and the weights of the examples at the query.
    shown: dict[float, tuple[Array, Array]]


def circle_to_move(query: float) -> tuple[pd.DataFrame, Circle]:
    """Return the exact errors against w, and one context with its predictions, for the interactive figure.

    Columns of the errors: ``w, risk, noise, scatter, blur``, for waves cos(3 angle + phase), 40 examples and
    noise of standard deviation 0.5. The phase of the context is zero; ``query`` is an angle in degrees.
    """
    rng = stream(4, "evaluation")
    n, L, noise_std = 40, 3, 0.5
    angles = rng.integers(-180, 180, n).astype(float)
    labels = np.cos(L * np.deg2rad(angles)) + noise_std * rng.standard_normal(n)
    around = np.arange(-180.0, 181.0, 4)
    examples = on_circle(np.deg2rad(angles))
    # These are 40 windows from 0.44 to 87.
    windows = 10 ** (np.arange(-6, 34) / 17)
    shown = {}
    for w in windows.tolist():
        prediction = _weigh_circle(examples, around, w) @ labels
        shown[w] = prediction, _weigh_circle(examples, [query], w)[0]
    exact = split_risk(Cosine(2, L), windows, n, noise_std)
    errors = {
        "risk": exact.total,
        "noise": exact.noise,
        "scatter": exact.scatter,
        "blur": exact.blur,
    }
    circle = Circle(angles, labels, around, np.cos(L * np.deg2rad(around)), shown)
    return pd.DataFrame({"w": windows} | errors), circle


def _weigh_circle(examples: Tensor, around: ArrayLike, w: float) -> Array:
    """Return the weights of examples for queries at angles in degrees, (angles, examples)."""
    queries = on_circle(np.deg2rad(around))
    M = w * torch.eye(2, dtype=torch.float64)
    return np.asarray(softmax_weights(examples, queries, M).numpy())
