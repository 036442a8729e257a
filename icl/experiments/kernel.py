"""Measurements of attention as a kernel estimate: weights, bias and noise over w, best windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from icl.attention import softmax_attention, softmax_weights
from icl.covariates import uniform_sphere
from icl.experiments.tables import LIMIT, measured
from icl.risk import optimal_window, population_risk
from icl.statistics import local_slope
from icl.streams import stream
from icl.tasks import Affine, Cosine, ReLU, Zonal, angle_quadrature
from icl.tasks.gegenbauer import Polynomials

Array = NDArray[np.float64]
CLASSES: dict[str, type[Affine | ReLU | Cosine]] = {"affine": Affine, "relu": ReLU, "cosine": Cosine}
#: Those that are proportional to L.
PROPORTIONAL = ("affine", "relu")
Predictor = Callable[[Tensor, Tensor, Tensor, float], float]


def log_slopes(x: ArrayLike, y: ArrayLike, error: ArrayLike) -> tuple[Array, Array]:
    """Return slopes of log y in log x between neighbors on the last axis, and errors from relative ones."""
    steps, error = np.diff(np.log(x)), np.asarray(error)
    return np.diff(np.log(y)) / steps, (error[..., 1:] + error[..., :-1]) / steps


# ---------------------------------------------------------------- weights of drawn contexts


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
        y = y + noise_std * torch.from_numpy(stream(seed, "noise", step).standard_normal(n + 1))
        yield x[:-1], y[:-1], x[-1]


def _statsmodels(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    from statsmodels.nonparametric.kernel_regression import KernelReg

    h = np.full(x.shape[1], w**-0.5)
    model = KernelReg(y.numpy(), x.numpy(), "c" * x.shape[1], "lc", bw=h)
    return float(model.fit(query.numpy()[None])[0][0])


def _scikit_learn(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    from sklearn.neighbors import KNeighborsRegressor

    model = KNeighborsRegressor(len(x), weights=lambda distance: np.exp(-w / 2 * distance**2))
    return float(model.fit(x.numpy(), y.numpy()).predict(query.numpy()[None])[0])


def _von_mises_fisher(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    from scipy.stats import vonmises_fisher

    density = vonmises_fisher(query.numpy(), w).pdf(x.numpy())
    return float(density @ y.numpy() / density.sum())


def _fused(x: Tensor, y: Tensor, query: Tensor, w: float) -> float:
    q, k, v = query[None, None], x[None], y[None, :, None]
    return float(torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=w)[0, 0, 0])


#: The same prediction by other people's code.
LIBRARIES: dict[str, Predictor] = {
    "statsmodels": _statsmodels,
    "scikit-learn": _scikit_learn,
    "SciPy, von Mises-Fisher": _von_mises_fisher,
    "PyTorch, fused attention": _fused,
}


def libraries(dims: Sequence[int], n: int, draws: int, noise_std: float, seed: int) -> pd.DataFrame:
    """Return the largest difference of each library's predictions from ours: ``by``, ``d``, ``gap``."""

    def one(by: str, d: int) -> float:
        gaps = []
        for x, y, query in contexts(d, n, draws, noise_std, seed):
            for w in (0.5, 4.0, 30.0):
                ours = softmax_attention(x, y, query, w * torch.eye(d).double())
                gaps.append(abs(LIBRARIES[by](x, y, query, w) - float(ours)))
        return max(gaps)

    return measured(one, ["gap"], by=LIBRARIES, d=dims)


def weights(
    dims: Sequence[int], n: int, draws: int, seed: int, w: float, on_sphere: bool = True
) -> pd.DataFrame:
    """Compare attention's weights at ``M = w I`` with the Gaussian kernel of squared bandwidth 1 / w.

    Returns:
        Columns ``d``; ``gap``, the largest difference; ``coefficient`` of the squared distance in -log of a
        weight, over w; ``disorder``, the share of pairs of which the farther example weighs more.
    """

    def one(d: int) -> tuple[float, ...]:
        omegas, squares = [], []
        for x, _, query in contexts(d, n, draws, 0.0, seed, on_sphere):
            omegas.append(softmax_weights(x, query, w * torch.eye(d).double()).numpy())
            squares.append(((x - query) ** 2).sum(-1).numpy())
        omega, square = np.array(omegas), np.array(squares)
        kernel = np.exp(-w / 2 * square)
        gap = np.abs(omega - kernel / kernel.sum(-1, keepdims=True)).max()
        slopes = [np.polyfit(a, -np.log(b) / w, 1)[0] for a, b in zip(square, omega, strict=True)]
        wrong = (omega[:, :, None] > omega[:, None]) & (square[:, :, None] > square[:, None])
        return float(gap), float(np.mean(slopes)), float(np.mean(wrong.sum((1, 2)) / (n * (n - 1) / 2)))

    return measured(one, ["gap", "coefficient", "disorder"], d=dims)


# ---------------------------------------------------------------- bias and noise over w


def parts(task: Zonal, w: Sequence[float], n: int, noise_std: float) -> pd.DataFrame:
    """Return what a window does: ``w``, ``half`` (the distance of half weight), ``points``, and the risk.

    ``points`` is the number of examples attended to, one over the mean sum of squared weights; ``bias``,
    ``noise`` and ``risk`` are exact.
    """
    at = np.asarray(w)
    risk, unit = (population_risk(task, at, n, s) for s in (noise_std, 1.0))
    columns = {"w": at, "half": np.sqrt(2 * np.log(2) / at), "points": 1 / unit.noise}
    return pd.DataFrame(columns | {"bias": risk.bias, "noise": risk.noise, "risk": risk.total})


def noise_growth(dims: Sequence[int], n: int) -> pd.DataFrame:
    """Return the least slope of log noise in log w, for all classes: ``d``, ``slope``, ``error``."""
    w = np.geomspace(0.01, 1e3, 21)

    def one(d: int) -> tuple[float, float]:
        risk = population_risk(Affine(d), w, n, 1.0)
        slope, error = log_slopes(w, risk.noise, risk.error)
        return float(slope.min()), float(error.max())

    return measured(one, ["slope", "error"], d=dims)


def bias_slopes(dims: Sequence[int], n: int) -> pd.DataFrame:
    """Return the largest slope in log w of the log of the mean square of the estimator's bias.

    Columns ``kind``, ``d``, ``slope`` and ``error``, the largest change with a coarser quadrature. The mean
    prediction of a function of degree l is that function times ``m_l = E sum_i omega_i P_l(t_i)``; as
    ``1 / S = int exp(-s S) ds``, m_l is one integral over s.
    """
    w, last = np.geomspace(0.1, 100, 16), 60

    def shortfalls(d: int, at: float, nodes: int, step: float) -> Array:
        """Return 1 - m_l for l = 1, ..., last."""
        theta, p = angle_quadrature(d, nodes)
        u = np.arange(-np.log(n) - 30, 2 * at + 6, step)
        z = np.exp(np.minimum(u[:, None] - at * (1 - np.cos(theta)), 8))
        phi = (np.exp(-z) @ p)[:, None] ** (n - 1)
        one_token = (z * np.exp(-z) * phi).sum(0) * p
        return np.asarray(n * step * (Polynomials(d, theta).take(last + 1)[1:] @ one_token))

    def steepest(nodes: int, step: float) -> Array:
        slopes = []
        for d in dims:
            a = np.array([task(d).spectrum(last)[0] for task in CLASSES.values()])
            missed = np.array([shortfalls(d, at, nodes, step) for at in w])
            slopes.append((np.diff(np.log(a @ missed.T**2)) / np.diff(np.log(w))).max(-1))
        return np.transpose(slopes)

    fine = steepest(300, 0.1)
    frame = measured(
        lambda kind, d: fine[[*CLASSES].index(kind), [*dims].index(d)], ["slope"], kind=CLASSES, d=dims
    )
    return frame.assign(error=np.abs(fine - steepest(240, 0.15)).max())


def bias_turns(dims: Sequence[int], n: int) -> pd.DataFrame:
    """Return slopes of log L_bias in log w on both sides of the best window without noise, w_0.

    Columns ``kind``, ``d``, ``low`` and ``high``, the two windows in units of w_0, ``beyond``, whether they
    are narrower than w_0, ``slope``, ``error``.
    """
    factors = np.array([0.1, 0.5, 0.9, 1.0, 1.1, 3.0, 10.0])

    def one(kind: str, d: int) -> tuple[Any, ...]:
        task = CLASSES[kind](d)
        risk = population_risk(task, factors * float(optimal_window(task, n, 0.0).w), n, 0.0)
        slope, error = log_slopes(factors, risk.bias, risk.error)
        return factors[:-1], factors[1:], factors[1:] > 1, slope, error

    return measured(one, ["low", "high", "beyond", "slope", "error"], kind=PROPORTIONAL, d=dims)


def concentration(dims: Sequence[int]) -> pd.DataFrame:
    """Return the slope of log(1 - E sum of squared weights) in log w, `LIMIT`: ``d``, ``n``.

    Calibrated at n = 2, where that is ``E sech^2(w (t_1 - t_2) / 2) / 2``, of order 1 / w.
    """
    w = np.array([1e4, 1e5, 1e6])

    def slope(d: int, n: int) -> tuple[Any, Any]:
        return local_slope(w, 1 - population_risk(Affine(d), w, n, 1.0).noise)

    return measured(lambda d, n: (*slope(d, n), *slope(d, 2), -1.0), LIMIT, d=dims, n=(3, 20))


# ---------------------------------------------------------------- best windows


def narrowing(
    kinds: Sequence[str], dims: Sequence[int], n: int, noise_std: float, low: float, high: float
) -> pd.DataFrame:
    """Return the distance of half weight at L = high over that at L = low.

    Columns ``kind``, ``d``, ``ratio``, ``error``.
    """

    def half(w: float) -> float:
        return min(2.0, float(np.sqrt(2 * np.log(2) / w))) if w > 0 else 2.0

    def one(kind: str, d: int) -> tuple[float, float]:
        smooth, rough = (optimal_window(CLASSES[kind](d, L), n, noise_std) for L in (low, high))
        ratio = half(float(rough.w)) / half(float(smooth.w))
        return ratio, ratio * float(rough.error + smooth.error)

    return measured(one, ["ratio", "error"], kind=kinds, d=dims)


def error_exponents(lipschitz: Sequence[float], short: int, noise_std: float) -> dict[str, pd.DataFrame]:
    """Return the exponents of the error in n for cosines on the circle, `LIMIT`, by what the window does.

    It is *adapted* to n, or *kept* from a short context. Affine functions calibrate both: -4 / 5 and 0.
    """
    far = np.array([1e5, 1e6, 1e7])

    def slope(task: Zonal, adapted: bool) -> tuple[Any, Any]:
        w = optimal_window(task, far if adapted else short, noise_std).w
        return local_slope(far, population_risk(task, w, far, noise_std).total)

    def one(adapted: bool) -> pd.DataFrame:
        known = *slope(Affine(2), adapted), -4 / 5 if adapted else 0.0
        return measured(lambda L: (*slope(Cosine(2, L), adapted), *known), LIMIT, L=lipschitz)

    return {"adapted": one(True), "kept": one(False)}


def sensitivities(dims: Sequence[int], n: int, noise_std: float) -> dict[str, pd.DataFrame]:
    """Return extreme slopes of log w*: columns ``kind``, ``d``, ``slope``, ``error``.

    In log L the least, for affine and ReLU functions (of which only L / sigma matters) and, as *waves*, for
    cosines between L = 1 and 16; in log *sigma* the largest. Equal weights count as w = 1e-6.
    """
    steep, sigma, ends = np.geomspace(0.25, 16, 13), np.geomspace(0.05, 3, 13), np.array([1.0, 16.0])

    def extreme(axis: Array, w: Array, error: Array, pick: Any) -> tuple[float, float]:
        slopes, errors = log_slopes(axis, np.maximum(w, 1e-6), error)
        return float(pick(slopes)), float(errors.max())

    def over(axis: Array, noise: Array, pick: Any) -> pd.DataFrame:
        def one(kind: str, d: int) -> tuple[float, float]:
            best = optimal_window(CLASSES[kind](d), n, noise)
            return extreme(axis, best.w, best.error, pick)

        return measured(one, ["slope", "error"], kind=PROPORTIONAL, d=dims)

    def waves(kind: str, d: int) -> tuple[float, float]:
        best = [optimal_window(Cosine(d, L), n, noise_std) for L in ends]
        return extreme(ends, np.array([b.w for b in best]), np.array([b.error for b in best]), np.min)

    cosines = measured(waves, ["slope", "error"], kind=["cosine"], d=dims)
    return {
        "L": over(steep, noise_std / steep, np.min),
        "sigma": over(sigma, sigma, np.max),
        "waves": cosines,
    }


# ---------------------------------------------------------------- figures


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
    around, labels = (f(on_circle(a)[None])[0].numpy() for a in (np.linspace(-np.pi, np.pi, 400), theta))
    return around, theta, labels + noise


def errors_on_circle(lipschitz: Sequence[float], lengths: Sequence[int], noise_std: float) -> pd.DataFrame:
    """Return the risk of each window on waves: ``L``, ``window`` (the L it is best for), ``n``, ``error``."""
    n = np.asarray(lengths)

    def one(L: float, window: float) -> tuple[Array, Array]:
        w = optimal_window(Cosine(2, window), n, noise_std).w
        return n, np.asarray(population_risk(Cosine(2, L), w, n, noise_std).total)

    return measured(one, ["n", "error"], L=lipschitz, window=lipschitz)


def circle_tables(noise_std: float = 0.3) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return predictions at angles around the circle, and the examples' weights, for the figure that moves.

    Columns ``w``, ``L``, ``angle``, ``prediction``, ``target``, ``best`` (the prediction at the best w for
    this L); and ``w``, ``L``, ``query``, ``x``, ``y``, ``size``.
    """
    rng, curves, points = stream(4, "evaluation"), [], []
    angles, noise = rng.integers(-180, 180, 40), noise_std * rng.standard_normal(40)
    around = np.arange(-180, 181, 3)
    x, queries = (on_circle(np.deg2rad(some)) for some in (angles, around))
    best = {L: float(optimal_window(Cosine(2, L), 40, noise_std).w) for L in (1, 2, 3, 5, 8)}

    def omega(w: float) -> Array:
        return np.asarray(softmax_weights(x, queries, w * torch.eye(2).double()).numpy())

    for w in (0.0, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0):
        for L, least in best.items():
            labels, setting = np.cos(L * np.deg2rad(angles)) + noise, {"w": w, "L": L}
            row = {"angle": around, "prediction": omega(w) @ labels, "best": omega(least) @ labels}
            curves.append(pd.DataFrame(setting | row | {"target": np.cos(L * np.deg2rad(around))}))
            for query, size in zip(around[::5], omega(w)[::5], strict=True):
                points.append(
                    pd.DataFrame(setting | {"query": query, "x": angles, "y": labels, "size": size})
                )
    return pd.concat(curves), pd.concat(points)
