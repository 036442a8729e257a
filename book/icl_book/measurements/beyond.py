"""Measurements beyond regression: labels -1 and 1, links, mixtures of classes, random networks, layers.

Symbols:
    M: The matrix of a unit, w I for the window parameter w.
    n, d: The number of examples beside the query, and the dimension ``dim``.
    L: The Lipschitz constant ``lipschitz``.
    S, B: The number of models, ``seeds``, and of contexts for each of them, ``batch_size``.
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
    """Labels -1 and 1 with mean ``(1 - 2 flipped) tanh(L q.x)``, ``q`` uniform on the sphere."""

    dim: int
    lipschitz: float
    flipped: float

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw the labels of ``count`` functions; each call draws the labels anew."""
        q = uniform_sphere(rng, count, self.dim)

        def label(x: Tensor) -> Tensor:
            ramp = torch.tanh(self.lipschitz * torch.einsum("bd,bnd->bn", q.to(x), x))
            mean = (1 - 2 * self.flipped) * ramp
            # A label with this mean is 1 with probability (1 + mean) / 2.
            u = torch.as_tensor(rng.uniform(-1.0, 1.0, tuple(mean.shape)))
            return torch.where(u.to(mean) < mean, 1.0, -1.0).to(mean)

        return label


def mean_of_labels(*, dim: int, lipschitz: float, flipped: float) -> tuple[Tanh, float]:
    """Return the class of the labels' means, and the standard deviation of the labels around them."""
    mean = Tanh(dim, lipschitz=(1 - 2 * flipped) * lipschitz, steepness=lipschitz)
    return mean, float(np.sqrt(1 - mean.covariance(1.0)))


def window_exponents(windows: pd.DataFrame) -> pd.DataFrame:
    """Return local exponents of the width ``w^(-1/2)`` of windows between neighbors of a grid.

    Args:
        windows: Columns ``n``, ``flipped``, ``lipschitz``, ``w`` and its relative ``error``.

    Returns:
        Columns ``varied``, what grows: "noise", the probability of a flip where it is positive, or
        "lipschitz"; ``n``, ``flipped`` and ``lipschitz``, those before the step; ``value``, the exponent, and
        its absolute ``error``.
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
                        "error": 0.5 * (before["error"] + after["error"]) / step,
                    }
                )
    return pd.DataFrame(rows)


def cross_entropy(
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
    """Train units from M = I, and a gain of their output from 1, on the cross-entropy of a logistic model.

    Returns:
        Columns ``lipschitz``, ``flipped``, ``seed``; ``ratio``, the mean diagonal of M over the exact best w
        of the squared loss; and ``least``, the smallest eigenvalue of the symmetric part of M over the mean
        diagonal.
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
                # The model says that the query's label is y with probability 1 / (1 + exp(-y gain answer)).
                surprise = torch.nn.functional.softplus(-y[..., -1] * gain * answer)
                adam.zero_grad()
                # The sum over units of different seeds trains each of them as if it were alone.
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
def behind_projection(
    *, lipschitz: float, noise_std: float, n: int, **training: Any
) -> pd.DataFrame:
    """Train units on nonlinear links of three coordinates of five, from a random start.

    A link is a function of ``B'x``, where the columns of B are the first three unit vectors. ``training``
    goes to `icl.pretrain.train_grid`, as in the other functions that have it: seeds, steps, batch_size,
    learning_rate.

    Returns:
        Columns ``link``, ``seed``; ``window``, the mean diagonal of the block B'MB of M over the exact best w
        of the link's class in three dimensions; ``outside``, the Frobenius norm of M without that block, over
        that of M.
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
            # The subspace is that of the first coordinates, so that this is B'MB.
            block = M[:rank, :rank]
            whole = float(np.linalg.norm(M))
            inside = float(np.linalg.norm(block))
            # Rounding may make the norm of the block the larger one.
            rows.append(
                {
                    "link": name,
                    "seed": seed,
                    "window": np.trace(block) / rank / best,
                    "outside": np.sqrt(max(whole**2 - inside**2, 0)) / whole,
                }
            )
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Folded:
    """``f(x) = g(|x|)``, entry by entry, with g of the affine class."""

    dim: int
    lipschitz: float

    def sample(self, rng: Rng, count: int) -> Function:
        """Draw ``count`` functions."""
        g = Affine(self.dim, self.lipschitz).sample(rng, count)
        return lambda x: g(x.abs())


@dataclass(frozen=True)
class Absolute:
    """Uniform tokens with all entries made positive."""

    dim: int

    def from_normal(self, normal: Tensor) -> Tensor:
        """Return covariates from normal numbers."""
        return Sphere(self.dim).from_normal(normal).abs()


def nonlinear_first(
    *, dim: int, lipschitz: float, noise_std: float, n: int, contexts: int = 4000, **training: Any
) -> pd.DataFrame:
    """Train units on functions of ``|x|``, given x or given ``|x|``.

    Returns:
        Columns ``seed``, ``token`` and ``absolute``, test errors of units that are given x and ``|x|``, and
        ``ratio``, the first over the second.
    """
    problems: dict[str, tuple[Any, Absolute | None]] = {
        "token": (Folded(dim, lipschitz), None),
        "absolute": (Affine(dim, lipschitz), Absolute(dim)),
    }
    found = pd.DataFrame({"seed": range(training["seeds"])})
    for name, (task, tokens) in problems.items():
        units = train_grid(
            task, noise_std, n, covariates=tokens, initial_std=0.3, shared_tokens=False, **training
        )
        # Without a seed all units are tested on the same contexts. The last error is that after training.
        found[name] = evaluation_error(
            units, task, noise_std, n, contexts=contexts, seed=None, covariates=tokens
        )[-1]
    return found.assign(ratio=found.token / found.absolute)


def restrict_to_cap(x: Tensor, limit: float, u: ArrayLike) -> Tensor:
    """Move uniform covariates along great circles through the query, to where ``x_i . x_q <= limit``.

    The part orthogonal to the query keeps its direction; the inner product is drawn anew, from its law,
    ``(1 + x.x_q) / 2 ~ Beta((d - 1) / 2, (d - 1) / 2)``, given that it is at most the limit, in (-1, 1].
    x is (..., n + 1, d), unit vectors with the query last; u are uniform numbers in [0, 1], (..., n).
    ValueError for other shapes and numbers.
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
    t = torch.from_numpy(2 * betaincinv(a, a, u * betainc(a, a, (1 + limit) / 2)) - 1).unsqueeze(-1)
    query = x[..., -1:, :]
    orthogonal = normalize(x[..., :-1, :] - (x[..., :-1, :] * query).sum(-1, keepdim=True) * query)
    return torch.cat([t * query + (1 - t**2).clamp(min=0).sqrt() * orthogonal, query], -2)


# --------------------------------------------------------------------------- other functions
def bias_limit(task: Zonal, w: float) -> float:
    """Return the bias of infinitely many tokens, ``sum_l a_l (1 - I_{nu+l}(w) / I_nu(w))^2``, for w > 0.

    Here a_l is the variance of the functions in degree l >= 1 (`spectrum`), I is the modified Bessel
    function, and nu is ``d / 2 - 1``.
    """
    nu = task.dim / 2 - 1
    # The ratio of the Bessel functions falls like e^(-l^2 / 2w), so that it is negligible beyond this degree:
    # there it counts as zero, and all of the class's variance `rest` is bias.
    last = int(min(bandlimit(task), 60 + math.ceil(12 * math.sqrt(w))))
    a, rest = spectrum(task, last)
    base = ive(nu, w)
    # r is the ratio of the Bessel functions for each degree from 1 on. In `ive` both have a factor e^-w, and
    # it cancels.
    if base > 1e-290:
        r = ive(nu + np.arange(1, last + 1), w) / base
    else:
        # Both functions underflow. r_l is a product of ratios of neighbors, I_{nu+k+1} / I_{nu+k}, each of
        # which the recurrence gives from the next one. It starts so far out that its start is forgotten.
        ratios, tail = np.empty(last), 0.0
        for k in range(last + 200, -1, -1):
            tail = w / (task.dim + 2 * k + w * tail)
            if k < last:
                ratios[k] = tail
        r = np.cumprod(ratios)
    return float(a @ (1 - r) ** 2 + rest)


def bias_slopes(*, dims: Sequence[int]) -> pd.DataFrame:
    """Return the largest slope of log bias in log w, with infinitely many tokens.

    It is taken between neighbors on a grid of w from 0.1 to 100. Columns ``task``, ``dim``, ``slope``.
    """
    w = np.geomspace(0.1, 100, 61)
    rows = []
    for dim in dims:
        followed: dict[str, Zonal] = {
            "affine": Affine(dim, 2.0),
            "ReLU": ReLU(dim, 2.0),
            "tanh, steepness 4": Tanh(dim, 2.0, 4.0),
            "cosine, L = 3": Cosine(dim, 3.0),
        }
        for name, task in followed.items():
            bias = [bias_limit(task, float(v)) for v in w]
            slope = np.max(np.diff(np.log(bias)) / np.diff(np.log(w)))
            rows.append({"dim": dim, "task": name, "slope": slope})
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class Mixture(Zonal):
    """Classes with equal shares."""

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
    """Return what the best unit of one class with L = 1, or of the mixture of three, loses on each class.

    The classes are affine, ReLU, and ``cosine``, which is `Cosine` or `PhasedCosine`.

    Returns:
        Columns ``dim``, ``n``, ``noise_std``; ``start``, the class or "mixture" for which the unit ``w I`` is
        best; ``task``, the test class; ``risk`` and its relative error ``risk_error``; ``price``, the risk
        over the least one of the test class, and its absolute ``error``.
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
                        # The relative error of the best w is more than that of the risk, which is flat there.
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
                                "error": price * float(risk.error + best[name].error),
                            }
                        )
    return pd.DataFrame(rows)


def networks(
    *,
    dim: int,
    n: int,
    noise_std: float,
    lipschitz_values: Sequence[float],
    hidden_units: Sequence[int],
    **training: Any,
) -> pd.DataFrame:
    """Train units on random networks, and compare with the exact window of the ReLU class with sqrt(3) L.

    Up to a constant function, which every window predicts, this class has the covariance of the networks.
    Columns ``hidden``, ``lipschitz``, ``seed``, ``ratio``: the trained w over that exact one.
    """
    settings = [(hidden, L) for hidden in hidden_units for L in lipschitz_values]
    units = train_grid(
        [Network(dim, L, hidden) for hidden, L in settings], noise_std, n, **training
    )
    rows = []
    for (hidden, L), windows in zip(settings, units.windows, strict=True):
        relu = ReLU(dim, lipschitz=np.sqrt(3) * L)
        exact = float(optimal_window(relu, n=n, noise_std=noise_std).w)
        for seed, w in enumerate(windows):
            rows.append({"hidden": hidden, "lipschitz": L, "seed": seed, "ratio": w / exact})
    return pd.DataFrame(rows)


# --------------------------------------------------------------------------- several layers
MODELS = ("one layer", "two layers", "two layers, no residual")


def attend(queries: Tensor, examples: Tensor, values: Tensor, M: Tensor) -> Tensor:
    """Return means of values (..., n, k) for each query (..., q, d); M is (S, d, d), one for each model."""
    scores = queries @ M[:, None].mT @ examples.mT
    return torch.softmax(scores, dim=-1) @ values


def last_tokens(model: str, weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """Return the tokens that the last layer sees, (S, B, n + 1, d), the query last.

    ``x`` are the tokens of the contexts, the same shape, or with 1 in place of S if all models have the same
    contexts. In a model of two layers, one of `MODELS`, the first has the matrices M1 of its scores and V1 of
    its values, (S, d, d).
    """
    if model == "one layer":
        return x
    examples = x[:, :, :-1]
    mixed = attend(x, examples, examples, weights["M1"]) @ weights["V1"][:, None].mT
    return x + mixed if model == "two layers" else mixed


def predict(model: str, weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Predict the query's label with S models, (S, B)."""
    h = last_tokens(model, weights, x)
    examples = h[:, :, :-1]
    query = h[:, :, -1:]
    labels = y[:, :, :-1, None]
    return attend(query, examples, labels, weights["M"])[:, :, 0, 0]


def log_ratio(model: str, weights: dict[str, Tensor], x: Tensor) -> Tensor:
    """Return the log of the ratio of the last layer's weights of the first two examples, (S, B)."""
    h = last_tokens(model, weights, x)
    difference = h[:, :, :1] - h[:, :, 1:2]
    return (h[:, :, -1:] @ weights["M"][:, None].mT @ difference.mT)[:, :, 0, 0]


def trained_models(
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

    All models see the same contexts, and so does the layer with the best window, which is computed.

    Returns:
        Columns ``model``, ``seed``; ``risk``, that of the model over that of the best window, both on the
        same contexts; ``others``, how much the log of the ratio of the weights of two examples changes if all
        other examples are drawn anew, as root mean square over that of this log.
    """
    task = ReLU(dim, lipschitz)
    best = float(optimal_window(task, n=n, noise_std=noise_std).w)

    # Contexts of the seed 0 are for training, of 1 for the test, and those of 2 for the other examples.
    def draw(seed: int, step: int, count: int) -> tuple[Tensor, Tensor]:
        x, y = draw_contexts(task, noise_std=noise_std, n=n, batch_size=count, seed=seed, step=step)
        return x.float(), y.float()

    x_test, y_test = (part[None] for part in draw(1, 0, contexts))
    window = {"M": best * torch.eye(dim)[None]}
    # The query's label has noise of its own, which is not part of the risk.
    missed = predict("one layer", window, x_test, y_test) - y_test[..., -1]
    window_risk = float(missed.square().mean()) - noise_std**2
    # Only the first two examples and the query stay.
    redrawn = draw(2, 0, contexts)[0][None]
    redrawn[:, :, [0, 1, -1]] = x_test[:, :, [0, 1, -1]]
    models = {}
    for model in MODELS:
        # Each model starts anew, so that all have the same M. One layer leaves M1 and V1 as they are.
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
    """Send tokens through many layers ``M = w I`` of attention, alone or projected to the sphere after each.

    Returns:
        A row for each ``model``, ``w`` and ``layer``: ``spread``, the mean squared distance of the tokens to
        their mean, relative to the start; ``factor``, the largest ratio of the range of a coordinate after
        the layer to that before, among ranges above 1e-3, since rounding spoils smaller ones (NaN if all
        are); and ``bound``, its proved bound without projection, ``1 - e^(-2w)``.
    """
    x = uniform_sphere(stream(2, "evaluation"), contexts, tokens, dim)

    def spread(x: Tensor) -> float:
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
                factors = (after / before)[before > 1e-3]
                rows.append(
                    {
                        "model": model,
                        "w": w,
                        "layer": layer,
                        "spread": spread(h) / spread(x),
                        "factor": float(factors.max()) if len(factors) else np.nan,
                        "bound": float(-np.expm1(-2 * w)),
                    }
                )
    return pd.DataFrame(rows)
