"""Measurements beyond regression: labels -1 and 1, links, mixtures of classes, random networks, layers.

L is the Lipschitz constant ``lipschitz``. S models are trained at once (``seeds``), and each of them gets B
contexts in a step (``batch_size``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc, betaincinv, ive
from torch import Tensor

from icl.attention import softmax_attention
from icl.checks import real, reals, tensor
from icl.covariates import LowRank, Sphere, normalize, uniform_sphere
from icl.pretrain import draw_contexts, train_grid
from icl.pretrain.metrics import evaluation_error
from icl.risk import optimal_window, population_risk
from icl.risk.numerics.integrals import bandlimit, spectrum
from icl.streams import stream
from icl.tasks import Affine, Cosine, Network, Projected, ReLU, Tanh, Zonal
from icl.tasks.base import Function, Rng

Array = NDArray[np.float64]


# --------------------------------------------------------------------------- labels -1 and 1
@dataclass(frozen=True)
class Labels:
    """Labels -1 and 1 with mean ``tanh(L q.x)``, each then flipped with the probability ``flipped``.

    The direction q is uniform on the unit sphere.
    """

    dim: int
    lipschitz: float
    flipped: float

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw ``count`` directions q, and return a function that draws labels at each call."""
        q = uniform_sphere(rng, count, self.dim)

        def label(x: Tensor) -> Tensor:
            ramp = torch.tanh(self.lipschitz * torch.einsum("bd,bnd->bn", q.to(x), x))
            mean = (1 - 2 * self.flipped) * ramp
            # A uniform u is below the mean with the probability (1 + mean) / 2, that of the label 1.
            u = torch.as_tensor(rng.uniform(-1.0, 1.0, tuple(mean.shape)))
            return torch.where(u.to(mean) < mean, 1.0, -1.0).to(mean)

        return label


def mean_of_labels(*, dim: int, lipschitz: float, flipped: float) -> tuple[Tanh, float]:
    """Return the class of the labels' means, and the standard deviation of the labels around their means.

    The variance is the mean square of the labels, which is one, minus the mean square of their means.
    """
    mean = Tanh(dim, lipschitz=(1 - 2 * flipped) * lipschitz, steepness=lipschitz)
    return mean, float(np.sqrt(1 - mean.covariance(1.0)))


def window_exponents(windows: pd.DataFrame) -> pd.DataFrame:
    """Return the exponents with which the width ``w^(-1/2)`` grows in ``flipped`` and in ``lipschitz``.

    An exponent is the slope of the log of the width between two adjacent positive values, with the other
    number and n fixed. ``windows`` has columns ``n``, ``flipped``, ``lipschitz``, the best ``w`` and its
    relative ``error``.
    """
    rows = []
    for varied, column, fixed in (
        ("noise", "flipped", "lipschitz"),
        ("lipschitz", "lipschitz", "flipped"),
    ):
        for _, group in windows[windows[column] > 0].groupby(["n", fixed], sort=False):
            points = group.sort_values(column).to_dict("records")
            for before, after in itertools.pairwise(points):
                step = np.log(after[column] / before[column])
                rows.append(
                    {
                        "varied": varied,
                        "n": before["n"],
                        "flipped": before["flipped"],
                        "lipschitz": before["lipschitz"],
                        "value": -0.5 * np.log(after["w"] / before["w"]) / step,
                        # The relative error of w is the absolute error of log w.
                        "error": 0.5 * (before["error"] + after["error"]) / step,
                    }
                )
    return pd.DataFrame(rows)


def train_on_cross_entropy(
    *,
    dim: int,
    n: int,
    lipschitz_values: Sequence[float],
    flips: Sequence[float],
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float,
) -> pd.DataFrame:
    """Train units to predict labels -1 and 1, on the cross-entropy of a logistic model.

    The log-odds of the label 1 are the unit's output times a gain, which is trained, too. ``ratio`` is the
    mean of the diagonal of M over the exact best w of the squared loss, and ``least`` the smallest eigenvalue
    of the symmetric part of M over the mean of the diagonal.
    """
    rows = []
    for lipschitz in lipschitz_values:
        for flipped in flips:
            mean, noise_std = mean_of_labels(dim=dim, lipschitz=lipschitz, flipped=flipped)
            best = optimal_window(mean, n=n, noise_std=noise_std)
            M = torch.eye(dim).repeat(seeds, 1, 1).requires_grad_()
            gain = torch.ones(seeds, 1, requires_grad=True)
            adam = torch.optim.Adam([M, gain], lr=learning_rate)
            for step in range(steps):
                adam.param_groups[0]["lr"] = learning_rate * (1 - step / steps)
                # One draw has the contexts of all units. The labels themselves are random, without noise.
                x, y = draw_contexts(
                    Labels(dim, lipschitz, flipped),
                    noise_std=0.0,
                    n=n,
                    batch_size=seeds * batch_size,
                    seed=11,
                    step=step,
                )
                x = x.float().view(seeds, batch_size, n + 1, dim)
                y = y.float().view(seeds, batch_size, n + 1)
                answer = softmax_attention(x[..., :-1, :], y[..., :-1], x[..., -1, :], M[:, None])
                # `surprise` is minus the log of the label's probability 1 / (1 + exp(-y gain answer)).
                surprise = torch.nn.functional.softplus(-y[..., -1] * gain * answer)
                adam.zero_grad()
                # Each unit has its own term of the sum, so it is trained as if it were alone.
                surprise.mean(dim=1).sum().backward()  # type: ignore[no-untyped-call]
                adam.step()
            for seed, trained in enumerate(M.detach().numpy()):
                w = float(np.trace(trained)) / dim
                least = float(np.linalg.eigvalsh((trained + trained.T) / 2)[0])
                rows.append(
                    {
                        "lipschitz": lipschitz,
                        "flipped": flipped,
                        "seed": seed,
                        "ratio": w / float(best.w),
                        "least": least / w,
                    }
                )
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------- what is close
def train_on_projections(
    *, lipschitz: float, noise_std: float, n: int, **training: Any
) -> pd.DataFrame:
    """Train units on functions of three coordinates of five, from a random start.

    The functions are ``g(B'x)``, where the columns of B are the first three unit vectors. The class of g is
    called the link. The first three coordinates of a token are a unit vector, and so are the other two.
    ``window`` is the mean of the diagonal of B'MB over the exact best w of the link. ``outside`` is the
    Frobenius norm of the other entries of M over that of M.
    """
    rank = 3
    basis: Any = np.eye(5)[:, :rank]
    links: dict[str, Zonal] = {
        "ReLU, L": ReLU(rank, lipschitz),
        "ReLU, 2L": ReLU(rank, 2 * lipschitz),
        "tanh, steepness 3": Tanh(rank, 2 * lipschitz, 3.0),
    }
    units = train_grid(
        [Projected(link, basis.T) for link in links.values()],
        noise_std,
        n,
        covariates=LowRank(basis),
        initial_std=0.3,
        **training,
    )
    rows = []
    for name, link, trained in zip(links, links.values(), units.M, strict=True):
        best = float(optimal_window(link, n=n, noise_std=noise_std).w)
        for seed, M in enumerate(trained):
            # This is B'MB.
            block = M[:rank, :rank]
            whole = float(np.linalg.norm(M))
            inside = float(np.linalg.norm(block))
            # By rounding the difference may be slightly negative.
            outside = np.sqrt(max(whole**2 - inside**2, 0))
            rows.append(
                {
                    "link": name,
                    "seed": seed,
                    "window": np.trace(block) / rank / best,
                    "outside": outside / whole,
                }
            )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Folded:
    """``f(x) = g(|x|)``, entry by entry, with g of the affine class."""

    dim: int
    lipschitz: float

    def sample(self, rng: Rng, count: int) -> Function:
        g = Affine(self.dim, self.lipschitz).sample(rng, count)
        return lambda x: g(x.abs())


@dataclass(frozen=True)
class Absolute:
    """Uniform tokens with all entries made positive."""

    dim: int

    def from_normal(self, normal: Tensor) -> Tensor:
        return Sphere(self.dim).from_normal(normal).abs()


def train_on_absolute_values(
    *, dim: int, lipschitz: float, noise_std: float, n: int, contexts: int = 4000, **training: Any
) -> pd.DataFrame:
    """Train units on affine functions of ``|x|``, once with the tokens x and once with the tokens ``|x|``.

    Here ``|x|`` is x with all entries made positive. ``token`` and ``absolute`` are the mean squared test
    errors with the tokens x and with the tokens ``|x|``.
    """
    problems: dict[str, tuple[Any, Absolute | None]] = {
        "token": (Folded(dim, lipschitz), None),
        "absolute": (Affine(dim, lipschitz), Absolute(dim)),
    }
    found = pd.DataFrame({"seed": range(training["seeds"])})
    for name, (task, tokens) in problems.items():
        # Each call trains the units of a single task, so that there is not another task to share tokens with.
        units = train_grid(
            task, noise_std, n, covariates=tokens, initial_std=0.3, shared_tokens=False, **training
        )
        # With ``seed=None`` a unit is tested on contexts of its own seed. The last error is that at the end.
        found[name] = evaluation_error(
            units, task, noise_std, n, contexts=contexts, seed=None, covariates=tokens
        )[-1]
    return found.assign(ratio=found.token / found.absolute)


def restrict_to_cap(x: Tensor, limit: float, u: ArrayLike) -> Tensor:
    """Move uniform covariates to the cap of the sphere in which ``x_i . x_q <= limit``.

    Each token moves on the great circle through itself and the query. The new inner product has the law of
    uniform tokens, ``(1 + x_i.x_q) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2)``, cut off at the limit.

    Args:
        x: Unit vectors, (..., n + 1, d), the query last.
        limit: The largest inner product, in (-1, 1].
        u: Uniform numbers in [0, 1], (..., n), one for each new inner product.
    """
    tensor(x, "x", "n + 1", "d")
    u = reals(u, "u", 0, 1)
    limit = real(limit, "limit", -1, 1, exclusive_min=True)
    if x.shape[-1] < 2 or x.shape[-2] < 2 or u.shape != (*x.shape[:-2], x.shape[-2] - 1):
        raise ValueError(
            f"x has shape {tuple(x.shape)}, u {u.shape}: must be (..., n + 1, d) and (..., n), n >= 1, d >= 2"
        )
    if not bool(((x.norm(dim=-1) - 1).abs() <= 1e-6).all()):
        raise ValueError("x: must be unit vectors")
    a = (x.shape[-1] - 1) / 2
    # These are the new inner products: quantiles of the law that is cut off at the limit.
    t = torch.from_numpy(2 * betaincinv(a, a, u * betainc(a, a, (1 + limit) / 2)) - 1).unsqueeze(-1)
    query = x[..., -1:, :]
    orthogonal = normalize(x[..., :-1, :] - (x[..., :-1, :] * query).sum(-1, keepdim=True) * query)
    return torch.cat([t * query + (1 - t**2).clamp(min=0).sqrt() * orthogonal, query], -2)


# --------------------------------------------------------------------------- other functions
def bias_limit(task: Zonal, w: float) -> float:
    """Return the bias with infinitely many tokens, ``sum_l a_l (1 - r_l)^2``, for w > 0.

    Here a_l is the variance of the functions in degree l >= 1 (`spectrum`). The ratio r_l is
    ``I_{nu+l}(w) / I_nu(w)``, with the modified Bessel functions I and ``nu = d / 2 - 1``.
    """
    nu = task.dim / 2 - 1
    # Beyond `last` either all a_l are negligible (`bandlimit`), or r_l is, which falls like e^(-l^2 / 2w) and
    # counts as zero. So `rest`, the variance of all higher degrees, is added to the bias as it is. At
    # l = 12 sqrt(w) the number e^(-l^2 / 2w) is e^-72. For small w the 60 degrees are enough.
    last = int(min(bandlimit(task), 60 + math.ceil(12 * math.sqrt(w))))
    a, rest = spectrum(task, last)
    base = ive(nu, w)
    if base > 1e-290:
        # `ive` is I times e^-w, a factor that cancels in the ratio.
        r = ive(nu + np.arange(1, last + 1), w) / base
    else:
        # Here `ive` underflows. But r_l is the product of q_0, ..., q_{l-1} with q_k = I_{nu+k+1} / I_{nu+k},
        # and the recurrence of Bessel functions gives q_k = w / (d + 2 k + w q_{k+1}). The loop starts with
        # q = 0 far beyond the last degree, where this start no longer matters.
        factors = np.empty(last)
        q = 0.0
        for k in range(last + 200, -1, -1):
            q = w / (task.dim + 2 * k + w * q)
            if k < last:
                factors[k] = q
        r = np.cumprod(factors)
    return float(a @ (1 - r) ** 2 + rest)


def bias_slopes(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the largest slope of log bias in log w with infinitely many tokens, for four classes.

    A slope is taken between two neighbors on a grid of w. Since the bias falls, the largest slope is that of
    the slowest fall.
    """
    w = np.geomspace(0.1, 100, 61)
    rows = []
    for dim in dims:
        classes: dict[str, Zonal] = {
            "affine": Affine(dim, 2.0),
            "ReLU": ReLU(dim, 2.0),
            "tanh, steepness 4": Tanh(dim, 2.0, 4.0),
            "cosine, L = 3": Cosine(dim, 3.0),
        }
        for name, task in classes.items():
            bias = [bias_limit(task, float(v)) for v in w]
            slope = np.max(np.diff(np.log(bias)) / np.diff(np.log(w)))
            rows.append({"dim": dim, "task": name, "slope": slope})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Mixture(Zonal):
    """The class whose functions are drawn from each of the ``classes`` with the same probability."""

    classes: tuple[Zonal, ...] = ()

    def covariance(self, cosine: ArrayLike) -> Array:
        return np.asarray(np.mean([c.covariance(cosine) for c in self.classes], axis=0))

    def variogram(self, theta: ArrayLike) -> Array:
        return np.asarray(np.mean([c.variogram(theta) for c in self.classes], axis=0))

    def spectrum(self, degree: int) -> tuple[Array, float]:
        a, rest = zip(*(c.spectrum(degree) for c in self.classes), strict=True)
        return np.mean(a, axis=0), float(np.mean(rest))


def prices(
    *,
    dims: Sequence[int],
    n_values: Sequence[float],
    noise_stds: Sequence[float],
    cosine: type[Zonal] = Cosine,
) -> pd.DataFrame:
    """Test the best unit ``w I`` of one class, or of a mixture, on every class.

    The classes are affine, ReLU, and ``cosine``, which is `Cosine` or `PhasedCosine`, all with L = 1.
    ``start`` is the class for which the unit is best, and ``task`` the test class. ``risk`` is the unit's
    risk, with the relative error ``risk_error``, and ``price`` this risk over the least risk of all w.
    """
    rows = []
    for dim in dims:
        classes = {"affine": Affine(dim), "ReLU": ReLU(dim), "cosine": cosine(dim)}
        mixture = Mixture(dim, tuple(classes.values()))
        for n in n_values:
            for noise_std in noise_stds:
                best = {
                    name: optimal_window(task, n=n, noise_std=noise_std)
                    for name, task in (classes | {"mixture": mixture}).items()
                }
                for start, unit in best.items():
                    for name, task in classes.items():
                        risk = population_risk(task, unit.w, n, noise_std)
                        price = float(risk.total / best[name].risk)
                        # The relative error of the least risk is below that of w, as the risk is flat there.
                        error = price * float(risk.error + best[name].error)
                        rows.append(
                            {
                                "dim": dim,
                                "n": n,
                                "noise_std": noise_std,
                                "start": start,
                                "task": name,
                                "risk": float(risk.total),
                                "risk_error": float(risk.error),
                                "price": price,
                                "error": error,
                            }
                        )
    return pd.DataFrame(rows)


def train_on_networks(
    *,
    dim: int,
    n: int,
    noise_std: float,
    lipschitz_values: Sequence[float],
    hidden_units: Sequence[int],
    **training: Any,
) -> pd.DataFrame:
    """Train units on random networks, and compare their w with the best w of a ReLU class.

    This ReLU class has the Lipschitz constant sqrt(3) L. Its covariance differs from that of the networks by
    a constant, which stands for constant functions, and every window predicts these.
    """
    pairs = [(hidden, L) for hidden in hidden_units for L in lipschitz_values]
    tasks = [Network(dim, L, hidden) for hidden, L in pairs]
    units = train_grid(tasks, noise_std, n, **training)
    rows = []
    for (hidden, L), windows in zip(pairs, units.windows, strict=True):
        relu = ReLU(dim, lipschitz=np.sqrt(3) * L)
        exact = float(optimal_window(relu, n=n, noise_std=noise_std).w)
        for seed, w in enumerate(windows):
            rows.append({"hidden": hidden, "lipschitz": L, "seed": seed, "ratio": w / exact})
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------- several layers
MODELS = ("one layer", "two layers", "two layers, no residual")


def attend(queries: Tensor, examples: Tensor, values: Tensor, M: Tensor) -> Tensor:
    """Return the softmax mean of the values for each query, (S, B, q, k).

    The score of the example x_i for the query x_q is ``x_i' M x_q``. An axis S or B may have the length one.

    Args:
        queries: Shape (S, B, q, d).
        examples: Shape (S, B, n, d).
        values: Shape (S, B, n, k).
        M: Shape (S, d, d).
    """
    scores = queries @ M[:, None].mT @ examples.mT
    return torch.softmax(scores, dim=-1) @ values


def last_tokens(model: str, weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """Return the tokens that the last layer of a model of `MODELS` sees, (S, B, n + 1, d), the query last.

    The tokens ``x`` of the contexts have this shape, too, or (1, B, n + 1, d) if all models have the same
    contexts. The first of two layers has the matrices M1 for its scores and V1 for its values, (S, d, d).
    """
    if model == "one layer":
        return x
    examples = x[:, :, :-1]
    mixed = attend(x, examples, examples, weights["M1"]) @ weights["V1"][:, None].mT
    return x + mixed if model == "two layers" else mixed


def predict(model: str, weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Predict the query's label with S models, (S, B), from tokens x and labels y of the contexts.

    ``x`` is as in `last_tokens`, and ``y`` has the shape of ``x`` without the last axis.
    """
    h = last_tokens(model, weights, x)
    examples = h[:, :, :-1]
    query = h[:, :, -1:]
    labels = y[:, :, :-1, None]
    return attend(query, examples, labels, weights["M"])[:, :, 0, 0]


def log_ratio(model: str, weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """Return the log of the ratio of the weights of the first two examples in the last layer, (S, B)."""
    h = last_tokens(model, weights, x)
    difference = h[:, :, :1] - h[:, :, 1:2]
    return (h[:, :, -1:] @ weights["M"][:, None].mT @ difference.mT)[:, :, 0, 0]


def train_models(
    *,
    dim: int,
    n: int,
    lipschitz: float,
    noise_std: float,
    seeds: int,
    steps: int,
    batch_size: int,
    learning_rate: float,
    contexts: int,
) -> pd.DataFrame:
    """Train one layer, and two layers with and without a residual connection, on ReLU functions.

    The three models have the same starts and the same training contexts. ``risk`` is the risk over that of a
    layer ``M = w I`` with the exact best w, on the same test contexts. ``others`` is how much the `log_ratio`
    of two examples changes if all other examples are drawn anew: the root mean square of the change, over
    that of `log_ratio` before.
    """
    task = ReLU(dim, lipschitz)
    best = float(optimal_window(task, n=n, noise_std=noise_std).w)

    # The contexts of training have the seed 0, those of the test 1, and the examples that are drawn anew 2.
    def draw(seed: int, step: int, count: int) -> tuple[Tensor, Tensor]:
        x, y = draw_contexts(task, noise_std=noise_std, n=n, batch_size=count, seed=seed, step=step)
        return x.float(), y.float()

    # The first axis is that of models.
    x_test, y_test = draw(1, 0, contexts)
    x_test = x_test[None]
    y_test = y_test[None]
    window = {"M": best * torch.eye(dim)[None]}
    # The noise of the query's label is not part of the risk.
    missed = predict("one layer", window, x_test, y_test) - y_test[..., -1]
    window_risk = float(missed.square().mean()) - noise_std**2
    # All but the first two examples and the query are drawn anew.
    redrawn = draw(2, 0, contexts)[0][None]
    redrawn[:, :, [0, 1, -1]] = x_test[:, :, [0, 1, -1]]
    models = {}
    for model in MODELS:
        # The random numbers begin anew for each model. One layer does not use M1 and V1.
        rng = stream(0, "initialization")
        weights = {}
        for name in ("M", "M1", "V1"):
            start = 0.3 * rng.standard_normal((seeds, dim, dim))
            weights[name] = torch.from_numpy(start).float()
        for weight in weights.values():
            weight.requires_grad_()
        models[model] = weights, torch.optim.Adam(weights.values(), lr=learning_rate)
    for step in range(steps):
        x, y = draw(0, step, seeds * batch_size)
        x = x.view(seeds, batch_size, n + 1, dim)
        y = y.view(seeds, batch_size, n + 1)
        for model, (weights, adam) in models.items():
            adam.param_groups[0]["lr"] = learning_rate * (1 - step / steps)
            error = predict(model, weights, x, y) - y[..., -1]
            adam.zero_grad()
            error.square().mean(dim=1).sum().backward()  # type: ignore[no-untyped-call]
            adam.step()
    rows = []
    for model, (trained, _) in models.items():
        weights = {name: weight.detach() for name, weight in trained.items()}
        error = predict(model, weights, x_test, y_test) - y_test[..., -1]
        risk = error.square().mean(dim=1) - noise_std**2
        before = log_ratio(model, weights, x_test)
        change = log_ratio(model, weights, redrawn) - before
        others = (change.square().mean(dim=1) / before.square().mean(dim=1)).sqrt()
        for seed in range(seeds):
            rows.append(
                {
                    "model": model,
                    "seed": seed,
                    "risk": float(risk[seed]) / window_risk,
                    "others": float(others[seed]),
                }
            )
    return pd.DataFrame(rows)


def collapse(
    *, dim: int, windows: Sequence[float], layers: int, contexts: int = 24, tokens: int = 32
) -> pd.DataFrame:
    """Send tokens through many layers of attention ``M = w I``, with and without projection to the sphere.

    In a layer every token of a context attends to all tokens of the context, itself included.

    Returns:
        A row for each ``model``, ``w`` and ``layer``. ``spread`` is the mean squared distance of the tokens
        to their mean after the layer, over that before the first layer. ``factor`` is the range of a
        coordinate over the tokens of a context after the layer, divided by its range before, the largest of
        all coordinates and contexts. ``bound`` is ``1 - e^(-2w)``, without projection a proved bound on
        ``factor``.
    """
    x = uniform_sphere(stream(2, "evaluation"), contexts, tokens, dim)

    def compute_spread(x: Tensor) -> float:
        distance = (x - x.mean(dim=1, keepdim=True)).square().sum(dim=-1)
        return float(distance.mean())

    rows = []
    for model in ("attention alone", "projected to the sphere"):
        for w in windows:
            h = x
            for layer in range(1, layers + 1):
                before = h.amax(dim=1) - h.amin(dim=1)
                h = torch.softmax(w * (h @ h.mT), dim=-1) @ h
                if model == "projected to the sphere":
                    h = h / h.norm(dim=-1, keepdim=True)
                after = h.amax(dim=1) - h.amin(dim=1)
                # Rounding spoils the ratios of smaller ranges. If all are smaller, the factor is NaN.
                factors = (after / before)[before > 1e-3]
                rows.append(
                    {
                        "model": model,
                        "w": w,
                        "layer": layer,
                        "spread": compute_spread(h) / compute_spread(x),
                        "factor": float(factors.max()) if len(factors) else np.nan,
                        "bound": float(-np.expm1(-2 * w)),
                    }
                )
    return pd.DataFrame(rows)
