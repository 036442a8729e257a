"""Other measurements of the chapter on the exact risk: direct rules over all tokens, noise of two values.

Symbols:
    x_i, x_q: Tokens and query, on the unit sphere of dimension dim.
    w: The window parameter of the unit ``M = w I``.
    omega_i: The weight of token i, ``exp(w x_i.x_q)`` over the sum of these.
    gamma_ij: The variogram of tokens i and j, ``E (f(x_i) - f(x_j))^2 / 2``; q stands for the query.
    sigma: The standard deviation ``noise_std`` of the label noise.
"""

import itertools

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from scipy.special import roots_jacobi

from icl.attention import softmax_weights
from icl.covariates import uniform_sphere
from icl.risk import optimal_window, population_risk, split_risk
from icl.streams import stream
from icl.tasks import Zonal, angle_quadrature, make_task

Array = NDArray[np.float64]


def direct_over_exact(
    *,
    tasks: list[str],
    dims: list[int],
    n_values: list[int],
    w_values: list[float],
    lipschitz: float,
    noise_std: float,
) -> pd.DataFrame:
    """Compute the risk of two or three tokens by Gauss rules over all their angles, over the exact risk.

    Returns:
        Columns ``task, dim, n, w``; ``query`` (whether the query is one more token with its own clean label,
        which is another convention); ``value``, the direct risk over the exact one, and its ``error``, what
        twice the nodes in every variable change, plus the relative error of the exact risk.
    """
    rows = []
    for name, dim, n in itertools.product(tasks, dims, n_values):
        task = make_task(name, dim, lipschitz)
        # Three tokens take as many times longer as there are nodes.
        nodes = 80 if n == 2 else 64
        few = _average_variogram(task, nodes)
        many = _average_variogram(task, 2 * nodes)
        for w, query in itertools.product(w_values, (False, True)):
            exact = population_risk(task, w, n, noise_std)
            coarse = _integrate_directly(task, w, n, noise_std, few, query)
            fine = _integrate_directly(task, w, n, noise_std, many, query)
            rows.append(
                {
                    "task": name,
                    "dim": dim,
                    "n": n,
                    "w": w,
                    "query": query,
                    "value": fine / float(exact.total),
                    "error": abs(fine - coarse) / float(exact.total) + float(exact.error),
                }
            )
    return pd.DataFrame(rows)


def _integrate_directly(
    task: Zonal, w: float, n: int, noise_std: float, between: Array, query: bool
) -> float:
    """Return E sum_ij omega_i omega_j (gamma_iq + gamma_jq - gamma_ij) + sigma^2 E sum_i omega_i^2.

    ``between``, (nodes, nodes), is the mean of gamma_ij for each pair of two tokens' angles to the query. All
    arrays have these axes, token i and token j; i = j is a term of its own, ``same``. n is two or three. If
    ``query``, the query is one more token, whose label is that of the query without noise.
    """
    theta, p = angle_quadrature(task.dim, len(between))
    gamma = task.variogram(theta)
    kernel = np.exp(-w * (1 - np.cos(theta)))
    pair = gamma[:, None] + gamma - between
    same = (2 * gamma + noise_std**2)[:, None] * kernel[:, None] ** 2
    both = np.outer(kernel, kernel) * pair
    upper = np.outer(p, p) * (n * same + n * (n - 1) * both)
    # As a token the query adds its kernel, which is one, to the denominator, and nothing to the error.
    lower = kernel[:, None] + kernel + float(query)
    # A third token, if there is one, enters the denominator only.
    if n == 2:
        return float((upper / lower**2).sum())
    risk = 0.0
    for mass, third in zip(p, kernel, strict=True):
        risk += float(mass * (upper / (lower + third) ** 2).sum())
    return risk


def _average_variogram(task: Zonal, nodes: int) -> Array:
    """Return the variogram between two tokens, averaged over the azimuth between them, (nodes, nodes).

    The axes are the angles of the two tokens to the query.
    """
    theta, _ = angle_quadrature(task.dim, nodes)
    # On the circle the two tokens are on the same side of the query, or on opposite sides.
    cosine = np.array([-1.0, 1.0])
    weight = np.full(2, 0.5)
    if task.dim > 2:
        # The density of the azimuth's cosine is (1 - cosine^2)^exponent.
        exponent = (task.dim - 4) / 2
        cosine, weight = roots_jacobi(nodes, exponent, exponent)
        weight = weight / weight.sum()
    # The squared sine of half the angle between the tokens is near + apart (1 - cosine) / 2.
    near = np.sin((theta[:, None] - theta) / 2) ** 2
    apart = np.sin(theta)[:, None] * np.sin(theta)
    mean = np.zeros_like(near)
    for c, p in zip(cosine, weight, strict=True):
        half_sine = np.sqrt(np.clip(near + apart * (1 - c) / 2, 0, 1))
        mean = mean + p * task.variogram(2 * np.arcsin(half_sine))
    return mean


def loss_against_parts(
    *,
    tasks: list[str],
    dims: list[int],
    lipschitz: float,
    noise_std: float,
    seed: int,
    shift: float,
) -> pd.DataFrame:
    """Compare the loss with bias + noise at 20 drawn contexts of 8 tokens, w = 6.

    The loss is averaged over all 256 sign patterns of a noise of two values. With a ``shift`` the noise has a
    mean; its second moment stays.

    Returns:
        Columns ``task, dim`` and ``value``, the largest gap relative to the loss.
    """
    n = 8
    w = 6.0
    draws = 20
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
    # The noise is (patterns, tokens); its mean square is that of the signs alone.
    noise = noise_std * (signs + shift) / (1 + shift**2) ** 0.5
    rows = []
    for name, dim in itertools.product(tasks, dims):
        tokens = uniform_sphere(stream(seed, "monte carlo"), draws, n + 1, dim)
        functions = make_task(name, dim, lipschitz).sample(stream(seed, "tasks"), draws)
        f = functions(tokens).numpy()
        M = w * torch.eye(dim, dtype=tokens.dtype)
        omega = softmax_weights(tokens[:, :-1], tokens[:, -1], M).numpy()
        bias = (omega * f[:, :-1]).sum(-1) - f[:, -1]
        loss = ((bias[:, None] + omega @ noise.T) ** 2).mean(-1)
        parts = bias**2 + noise_std**2 * (omega**2).sum(-1)
        gap = np.max(np.abs(loss - parts) / loss)
        rows.append({"task": name, "dim": dim, "value": gap})
    return pd.DataFrame(rows)


def shares_at_best(
    *, tasks: list[str], dims: list[int], n_values: list[float], noise_std: float
) -> pd.DataFrame:
    """Compute the errors blur and scatter at the best window, beside what is predicted of long contexts.

    Returns:
        Columns ``task, dim, n``; ``scatter`` over the error by noise, and the ``rule`` that predicts it, the
        mean square of f(x) - f(x_q) over sigma^2, x weighted as with 2w; the ``other rule``, the same with w;
        ``blur`` as a share of the risk, its ``limit`` and the ``other limit``, that of kinks for smooth
        functions and of smooth functions for kinks; and ``error``, the relative error of scatter and blur.
    """
    rows = []
    for name, dim in itertools.product(tasks, dims):
        task = make_task(name, dim)
        # A class without a kink has no singular term.
        order = task.singular_term[0] if task.singular_term else 4
        # Kinks have order 3, and smooth functions 4, so that 7 - order is the other order.
        limit, other = ((dim - 1) / (dim - 1 + rho) for rho in (order, 7 - order))
        best = optimal_window(task, n_values, noise_std)
        risk = split_risk(task, best.w, n_values, noise_std)
        angles = angle_quadrature(dim, 800)
        for i, n in enumerate(n_values):
            # The rule weighs with twice the window parameter, the other rule with the window itself.
            rule, wide = (
                _mean_square_difference(task, factor * best.w[i], angles) / noise_std**2
                for factor in (2, 1)
            )
            # Scatter is bias less blur, so its relative error is larger. A window that is wrong by its error
            # changes the quotient about as much.
            error = risk.error[i] * (risk.bias[i] / risk.scatter[i] + 1) + best.error[i]
            rows.append(
                {
                    "task": name,
                    "dim": dim,
                    "n": n,
                    "scatter": risk.scatter[i] / risk.noise[i],
                    "rule": rule,
                    "other rule": wide,
                    "blur": risk.blur[i] / risk.total[i],
                    "limit": limit,
                    "other limit": other,
                    "error": error,
                }
            )
    return pd.DataFrame(rows)


def _mean_square_difference(task: Zonal, w: float, angles: tuple[Array, Array]) -> float:
    """Return ``E (f(x) - f(x_q))^2`` for a point x of the density ``e^{w x . x_q}`` on the sphere.

    ``angles`` are those of x to x_q, and their probabilities without the density (`angle_quadrature`).
    """
    theta, p = angles
    # This is exp(-w (1 - cos(theta))) without cancellation.
    weight = p * np.exp(-2 * w * np.sin(theta / 2) ** 2)
    return float(2 * weight @ task.variogram(theta) / weight.sum())


#: Settings of the interactive figure.
CLASSES_TO_MOVE = list(itertools.product(("affine", "ReLU"), (3, 5, 8)))
LENGTHS = 10.0 ** np.arange(1, 9)
LIPSCHITZ = [0.1, 0.2, 0.5, 1, 2, 5, 10]
NOISE = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]


def risks_to_move() -> pd.DataFrame:
    """Return the three errors at L = sigma = 1, for the interactive figure, which moves w.

    Columns ``task, dim, n, w, blur, scatter, noise``.
    """
    # The parts of the risk have an axis of lengths and an axis of windows.
    w = 10 ** (np.arange(-10, 41) / 10)
    parts = []
    for name, dim in CLASSES_TO_MOVE:
        risk = split_risk(make_task(name, dim), w, LENGTHS[:, None], 1.0)
        for i, n in enumerate(LENGTHS):
            errors = {"blur": risk.blur, "scatter": risk.scatter, "noise": risk.noise}
            columns = {part: values[i] for part, values in errors.items()}
            parts.append(pd.DataFrame({"task": name, "dim": dim, "n": n, "w": w} | columns))
    return pd.concat(parts, ignore_index=True)


def best_windows_to_move() -> pd.DataFrame:
    """Return the best window and its risk, for the interactive figure: ``task, dim, n, L, sigma, w, risk``.

    The window depends on L and sigma through sigma / L alone, and the risk is L^2 times that at L = 1, so
    each ratio is computed once.
    """
    settings = pd.DataFrame(itertools.product(LIPSCHITZ, NOISE), columns=["L", "sigma"])
    # Equal ratios, such as 0.1 / 0.2 and 1 / 2, may differ in their last digit.
    settings["ratio"] = (settings.sigma / settings.L).round(9)
    ratios = np.unique(settings.ratio)
    tables = []
    for name, dim in CLASSES_TO_MOVE:
        # The axes are ratios and lengths.
        best = optimal_window(make_task(name, dim), LENGTHS, ratios[:, None])
        for n, w, risk in zip(LENGTHS, best.w.T, best.risk.T, strict=True):
            lowest = pd.DataFrame({"ratio": ratios, "w": w, "risk": risk})
            tables.append(settings.merge(lowest, on="ratio").assign(task=name, dim=dim, n=n))
    table = pd.concat(tables, ignore_index=True)
    table["risk"] *= table.L**2
    return table[["task", "dim", "n", "L", "sigma", "w", "risk"]]
