"""Measurements of attention as a kernel estimate in one setting: weights, bias and noise, best windows."""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from icl.attention import softmax_attention, softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import optimal_window, population_risk
from icl.statistics import local_slope
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU, Zonal, angle_quadrature, make_task
from icl.tasks.gegenbauer import Polynomials
from icl_book.measurements.sweeps import limit, log_slopes, smallest_slope, with_error
from icl_book.measurements.tables import Array, Row, each

#: Of `icl.tasks.CLASSES`, those that cards judge.
KINDS = ("affine", "relu", "cosine")
#: Those that are proportional to L.
PROPORTIONAL = ("affine", "relu")


def contexts(
    d: int, n: int, draws: int, noise_std: float, seed: int, on_sphere: bool = True
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield examples, labels of a ReLU function and a query; on the sphere or with a normal law."""
    for step in range(draws):
        rng = stream(seed, "monte carlo", step)
        x = uniform_sphere(rng, n + 1, d)
        if not on_sphere:
            x = torch.from_numpy(rng.standard_normal((n + 1, d)))
        y = ReLU(d).sample(stream(seed, "tasks", step), 1)(x[None])[0]
        y = y + noise_std * torch.from_numpy(
            stream(seed, "noise", step).standard_normal(n + 1)
        )
        yield x[:-1], y[:-1], x[-1]


def _statsmodels(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    h = np.full(x.shape[1], w**-0.5)
    model = KernelReg(y.numpy(), x.numpy(), "c" * x.shape[1], "lc", bw=h)
    return float(model.fit(query.numpy()[None])[0][0])


def _scikit_learn(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    from sklearn.neighbors import KNeighborsRegressor

    model = KNeighborsRegressor(
        len(x), weights=lambda distance: np.exp(-w / 2 * distance**2)
    )
    return float(model.fit(x.numpy(), y.numpy()).predict(query.numpy()[None])[0])


def _von_mises_fisher(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    from scipy.stats import vonmises_fisher

    density = vonmises_fisher(query.numpy(), w).pdf(x.numpy())
    return float(density @ y.numpy() / density.sum())


def _fused(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    q, k, v = query[None, None], x[None], y[None, :, None]
    return float(
        torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=w)[0, 0, 0]
    )


#: The same prediction by other people's code.
LIBRARIES: dict[str, Callable[[Tensor, Tensor, Tensor, float], float]] = {
    "statsmodels": _statsmodels,
    "scikit-learn": _scikit_learn,
    "SciPy, von Mises-Fisher": _von_mises_fisher,
    "PyTorch, fused attention": _fused,
}


def gap_to_library(
    by: str, d: int, n: int, draws: int, noise_std: float, seed: int
) -> Row:
    """Return the largest difference, ``gap``, of the predictions of one of the `LIBRARIES` from ours."""
    gaps = []
    for x, y, query in contexts(d, n, draws, noise_std, seed):
        for w in (0.5, 4.0, 30.0):
            ours = softmax_attention(x, y, query, w * torch.eye(d, dtype=torch.float64))
            gaps.append(abs(LIBRARIES[by](x, y, query, w) - float(ours)))
    return {"gap": max(gaps)}


def weights(
    d: int, n: int, draws: int, seed: int, w: float, on_sphere: bool = True
) -> Row:
    """Compare attention's weights at ``M = w I`` with the Gaussian kernel of squared bandwidth 1 / w.

    Returns:
        ``gap``, the largest difference; ``coefficient`` of the squared distance in -log of a weight, over w;
        ``disorder``, the share of pairs of which the farther example weighs more.
    """
    omegas, squares = [], []
    for x, _, query in contexts(d, n, draws, 0.0, seed, on_sphere):
        omegas.append(
            softmax_weights(x, query, w * torch.eye(d, dtype=torch.float64)).numpy()
        )
        squares.append(((x - query) ** 2).sum(-1).numpy())
    omega, square = np.array(omegas), np.array(squares)
    kernel = np.exp(-w / 2 * square)
    gap = np.abs(omega - kernel / kernel.sum(-1, keepdims=True)).max()
    slopes = [
        np.polyfit(a, -np.log(b) / w, 1)[0] for a, b in zip(square, omega, strict=True)
    ]
    wrong = (omega[:, :, None] > omega[:, None]) & (
        square[:, :, None] > square[:, None]
    )
    disorder = np.mean(wrong.sum((1, 2)) / (n * (n - 1) / 2))
    return {"gap": gap, "coefficient": np.mean(slopes), "disorder": disorder}


def parts(task: Zonal, w: Sequence[float], n: int, noise_std: float) -> pd.DataFrame:
    """Return what a window does: ``w``, ``half`` (the distance of half weight), ``points``, and the risk.

    ``points`` is the number of examples attended to, one over the mean sum of squared weights; ``bias``,
    ``noise`` and ``risk`` are exact.
    """
    at = np.asarray(w)
    risk, unit = (population_risk(task, at, n, s) for s in (noise_std, 1.0))
    columns = {"w": at, "half": np.sqrt(2 * np.log(2) / at), "points": 1 / unit.noise}
    return pd.DataFrame(
        columns | {"bias": risk.bias, "noise": risk.noise, "risk": risk.total}
    )


def noise_growth(d: int, n: int) -> Row:
    """Return the least slope of log noise in log w, for all classes: ``value`` and ``error``."""
    w = np.geomspace(0.01, 1e3, 21)
    risk = population_risk(Affine(d), w, n, 1.0)
    return smallest_slope(w, risk.noise, risk.error)


def bias_slope(kind: str, d: int, n: int) -> Row:
    """Return the largest slope in log w of the log of the mean square of the estimator's bias.

    ``value`` and ``error``, its change with a coarser quadrature, and rounding.
    """
    w, last = np.geomspace(0.1, 100, 16), 60
    a, _ = make_task(kind, d).spectrum(last)

    def steepest(nodes: int, step: float) -> float:
        missed = np.array([_shortfalls(d, n, float(at), last, nodes, step) for at in w])
        return float((np.diff(np.log(a @ missed.T**2)) / np.diff(np.log(w))).max())

    fine = steepest(300, 0.1)
    return {
        "value": fine,
        "error": abs(fine - steepest(240, 0.15)) + np.finfo(float).eps,
    }


@lru_cache(maxsize=256)  # all classes share them
def _shortfalls(d: int, n: int, w: float, last: int, nodes: int, step: float) -> Array:
    """Return 1 - m_l for l = 1, ..., last: the mean prediction of a function of degree l is m_l times it.

    ``m_l = E sum_i omega_i P_l(t_i)``; as ``1 / S = int exp(-s S) ds``, it is one integral over s.
    """
    theta, p = angle_quadrature(d, nodes)
    u = np.arange(-np.log(n) - 30, 2 * w + 6, step)
    z = np.exp(np.minimum(u[:, None] - w * (1 - np.cos(theta)), 8))
    phi = (np.exp(-z) @ p)[:, None] ** (n - 1)
    one_token = (z * np.exp(-z) * phi).sum(0) * p
    return np.asarray(n * step * (Polynomials(d, theta).take(last + 1)[1:] @ one_token))


def bias_turns(kind: str, d: int, n: int) -> Row:
    """Return slopes of log L_bias in log w on both sides of the best window without noise, w_0.

    ``low`` and ``high``, the two windows in units of w_0, ``beyond``, whether they are narrower than w_0,
    ``slope``, ``error``.
    """
    factors, task = np.array([0.1, 0.5, 0.9, 1.0, 1.1, 3.0, 10.0]), make_task(kind, d)
    risk = population_risk(task, factors * optimal_window(task, n, 0.0).w, n, 0.0)
    slope, error = log_slopes(factors, risk.bias, risk.error)
    low, high = factors[:-1], factors[1:]
    return {
        "low": low,
        "high": high,
        "beyond": high > 1,
        "slope": slope,
        "error": error,
    }


def concentration(d: int, n: int) -> Row:
    """Return the slope of log(1 - E sum of squared weights) in log w, a `sweeps.limit`.

    Calibrated at n = 2, where that is ``E sech^2(w (t_1 - t_2) / 2) / 2``, of order 1 / w.
    """
    w = np.array([1e4, 1e5, 1e6])
    return limit(
        lambda m: local_slope(w, 1 - population_risk(Affine(d), w, m, 1.0).noise),
        -1.0,
        (n, 2),
    )


def narrowing(
    kind: str, d: int, n: int, noise_std: float, low: float, high: float
) -> Row:
    """Return the distance of half weight at L = high over that at L = low: ``value``, ``error``."""
    best = [optimal_window(make_task(kind, d, L), n, noise_std) for L in (low, high)]
    w = np.maximum([one.w for one in best], 1e-9)
    smooth, rough = np.minimum(
        2, np.sqrt(2 * np.log(2) / w)
    )  # no two points are farther apart
    return with_error(rough / smooth, best[0].error, best[1].error)


def error_exponent(L: float, noise_std: float, short: int | None = None) -> Row:
    """Return the exponent of the error in n for cosines on the circle, a `sweeps.limit`.

    The window is adapted to n, or kept from a ``short`` context. Affine functions calibrate both: -4 / 5, 0.
    """
    far = np.array([1e5, 1e6, 1e7])

    def slope(task: Zonal) -> tuple[Any, Any]:
        w = optimal_window(task, short or far, noise_std).w
        return local_slope(far, population_risk(task, w, far, noise_std).total)

    return limit(slope, 0.0 if short else -4 / 5, (Cosine(2, L), Affine(2)))


def slope_in_lipschitz(kind: str, d: int, n: int, noise_std: float) -> Row:
    """Return the least slope of log w* in log L, ``value``, and its ``error``; equal weights are w = 1e-6.

    Of affine and ReLU functions only L / sigma matters; of cosines, the slope between L = 1 and 16.
    """
    if kind == "cosine":
        L = np.array([1.0, 16.0])
        best = [optimal_window(Cosine(d, one), n, noise_std) for one in L]
        w, error = np.transpose([(one.w, one.error) for one in best])
    else:
        L = np.geomspace(0.25, 16, 13)
        found = optimal_window(make_task(kind, d), n, noise_std / L)
        w, error = found.w, found.error
    return smallest_slope(L, np.maximum(w, 1e-6), error)


def slope_in_noise(kind: str, d: int, n: int) -> Row:
    """Return the largest slope of log w* in log sigma, ``value``, and its ``error``."""
    sigma = np.geomspace(0.05, 3, 13)
    best = optimal_window(make_task(kind, d), n, sigma)
    slope, error = log_slopes(sigma, np.maximum(best.w, 1e-6), best.error)
    return {"value": slope.max(), "error": error.max()}


def on_circle(angles: ArrayLike) -> Tensor:
    """Return points of the unit circle, (angles, 2)."""
    return torch.from_numpy(np.stack([np.cos(angles), np.sin(angles)], axis=-1))


def drawn_on_circle(
    task: Zonal, n: int, noise_std: float, seed: int, step: int
) -> tuple[Array, Array, Array]:
    """Draw one function: its values at 400 angles from -pi to pi, angles of n examples, and their labels."""
    f = task.sample(stream(seed, "tasks", step), 1)
    theta = np.sort(stream(seed, "covariates", step).uniform(-np.pi, np.pi, n))
    noise = noise_std * stream(seed, "noise", step).standard_normal(n)
    around, labels = (
        f(on_circle(a)[None])[0].numpy()
        for a in (np.linspace(-np.pi, np.pi, 400), theta)
    )
    return around, theta, labels + noise


def error_on_circle(
    L: float, window: float, lengths: ArrayLike, noise_std: float
) -> Row:
    """Return the risk, ``error``, on waves of L of the window that is best for waves of ``window``."""
    n = np.asarray(lengths)
    w = optimal_window(Cosine(2, window), n, noise_std).w
    return {"n": n, "error": population_risk(Cosine(2, L), w, n, noise_std).total}


def circle_tables(noise_std: float = 0.3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return predictions at angles around the circle, and the examples' weights, for the figure that moves.

    Columns ``w``, ``L``, ``angle``, ``prediction``, ``target``, ``best`` (the prediction at the best w for
    this L); and ``w``, ``L``, ``query``, ``x``, ``y``, ``size``.
    """
    rng = stream(4, "evaluation")
    angles, noise = rng.integers(-180, 180, 40), noise_std * rng.standard_normal(40)
    around = np.arange(-180, 181, 3)
    x, queries = (on_circle(np.deg2rad(some)) for some in (angles, around))

    def omega(w: float) -> Array:
        return np.asarray(
            softmax_weights(x, queries, w * torch.eye(2, dtype=torch.float64)).numpy()
        )

    def labels(L: float) -> Array:
        return np.asarray(np.cos(L * np.deg2rad(angles)) + noise)

    def curve(w: float, L: float) -> Row:
        best = omega(float(optimal_window(Cosine(2, L), 40, noise_std).w)) @ labels(L)
        target = np.cos(L * np.deg2rad(around))
        return {
            "angle": around,
            "prediction": omega(w) @ labels(L),
            "target": target,
            "best": best,
        }

    def sizes(w: float, L: float) -> Row:
        return {
            "query": around[::5, None],
            "x": angles,
            "y": labels(L),
            "size": omega(w)[::5],
        }

    shown = {
        "w": [0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0],
        "L": [1, 2, 3, 5, 8],
    }
    return each(curve, **shown), each(sizes, **shown)
