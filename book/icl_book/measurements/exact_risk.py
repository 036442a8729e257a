"""Other measurements of the chapter on the exact risk: direct integrals, noise of two values, best windows.

Symbols:
    x_i, x_q: Tokens and query, on the unit sphere of dimension dim.
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
    """Compare the exact risk of two or three tokens with a direct integral over the angles of all tokens.

    ``query`` says whether in the direct integral the query is one more token, which has its label without
    noise. ``value`` is the direct risk divided by `population_risk`.
    """
    rows = []
    for name, dim, n in itertools.product(tasks, dims, n_values):
        task = make_task(name, dim, lipschitz)
        # A third token multiplies the time by the number of nodes, so there are fewer nodes.
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

    The first axis of each matrix is the angle of token i to the query, and the second axis that of token j.
    ``between`` is the mean of gamma_ij for each pair of angles, by `_average_variogram`.
    """
    theta, p = angle_quadrature(task.dim, len(between))
    gamma = task.variogram(theta)
    kernel = np.exp(-w * (1 - np.cos(theta)))
    pair = gamma[:, None] + gamma - between
    # A weight omega is a kernel over the sum of all kernels. The numerator has n terms with i = j, all with
    # the same mean, and n (n - 1) terms with different i and j.
    same = (2 * gamma + noise_std**2)[:, None] * kernel[:, None] ** 2
    both = np.outer(kernel, kernel) * pair
    upper = np.outer(p, p) * (n * same + n * (n - 1) * both)
    # If the query is a token, its kernel, which is one, is part of the sum, and its label has no error.
    lower = kernel[:, None] + kernel + float(query)
    # A third token adds its kernel to this sum, and changes nothing else.
    if n == 2:
        return float((upper / lower**2).sum())
    risk = 0.0
    for mass, third in zip(p, kernel, strict=True):
        risk += float(mass * (upper / (lower + third) ** 2).sum())
    return risk


def _average_variogram(task: Zonal, nodes: int) -> Array:
    """Return the mean variogram of two tokens, given the angle of each token to the query, (nodes, nodes).

    The mean is over the azimuth, which is the angle between the parts of the tokens orthogonal to the query.
    """
    theta, _ = angle_quadrature(task.dim, nodes)
    # In dimension 2 the azimuth is 180° or 0°, with the same probability.
    cosine = np.array([-1.0, 1.0])
    weight = np.full(2, 0.5)
    if task.dim > 2:
        # The density of the cosine of the azimuth is proportional to (1 - cosine^2)^exponent.
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
    """Compare the loss with the sum of bias and noise term, on sampled contexts of 8 tokens.

    The loss is the mean square of the prediction minus f(x_q). The noise of each label has two values, so the
    mean is exact, over all 256 patterns. A ``shift`` other than zero changes the mean of the noise, but not
    its mean square. ``value`` is the largest difference between the loss and the sum, divided by the loss.
    """
    n = 8
    w = 6.0
    draws = 20
    signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
    # The noise is (patterns, tokens). The square root keeps its mean square at sigma^2.
    noise = noise_std * (signs + shift) / (1 + shift**2) ** 0.5
    rows = []
    for name, dim in itertools.product(tasks, dims):
        tokens = uniform_sphere(stream(seed, "monte carlo"), draws, n + 1, dim)
        functions = make_task(name, dim, lipschitz).sample(stream(seed, "tasks"), draws)
        f = functions(tokens).numpy()
        M = w * torch.eye(dim, dtype=tokens.dtype)
        omega = softmax_weights(tokens[:, :-1], tokens[:, -1], M).numpy()
        # This is the error of the prediction from labels without noise. The bias is its square.
        bias = (omega * f[:, :-1]).sum(-1) - f[:, -1]
        loss = ((bias[:, None] + omega @ noise.T) ** 2).mean(-1)
        parts = bias**2 + noise_std**2 * (omega**2).sum(-1)
        gap = np.max(np.abs(loss - parts) / loss)
        rows.append({"task": name, "dim": dim, "value": gap})
    return pd.DataFrame(rows)


def shares_at_best(
    *, tasks: list[str], dims: list[int], n_values: list[float], noise_std: float
) -> pd.DataFrame:
    """Compute blur and scatter (`icl.risk.split_risk`) at the best window, beside predictions of them.

    Returns:
        Columns ``task``, ``dim``, ``n`` and

        - ``scatter``, the scatter divided by the noise term;
        - ``rule``, the prediction of ``scatter``, which is the mean square of f(x) - f(x_q), divided by
          sigma^2, for x with the density ``e^{2w x.x_q}``;
        - ``other rule``, the same number for x with the density ``e^{w x.x_q}``;
        - ``blur``, the blur divided by the risk;
        - ``limit``, the prediction of ``blur`` for long contexts;
        - ``other limit``, the limit of smooth functions if the class has a kink, and that of functions with a
          kink if the class is smooth;
        - ``error``, the relative error of ``scatter`` and of ``blur``.
    """
    rows = []
    for name, dim in itertools.product(tasks, dims):
        task = make_task(name, dim)
        # Classes with a kink have order 3. A class without a singular term is smooth, and has order 4. In a
        # window of radius r the blur is proportional to r^order. In long contexts the rest of the risk is
        # nearly the noise term, which is proportional to r^-(dim - 1). At the best r the two slopes cancel.
        # Then the blur has the share `limit` of the risk.
        order = task.singular_term[0] if task.singular_term else 4
        # This is 4 for 3, and 3 for 4.
        other_order = 7 - order
        limit = (dim - 1) / (dim - 1 + order)
        other_limit = (dim - 1) / (dim - 1 + other_order)
        best = optimal_window(task, n_values, noise_std)
        risk = split_risk(task, best.w, n_values, noise_std)
        angles = angle_quadrature(dim, 800)
        for i, n in enumerate(n_values):
            w = best.w[i]
            rule = _average_square_difference(task, 2 * w, angles) / noise_std**2
            other_rule = _average_square_difference(task, w, angles) / noise_std**2
            # Scatter is the bias minus the blur, so its relative error is that of the bias times bias /
            # scatter. The added 1 is for the divisor, the noise term or the risk. A relative error of w
            # changes the two quotients by about the same relative amount.
            error = risk.error[i] * (risk.bias[i] / risk.scatter[i] + 1) + best.error[i]
            rows.append(
                {
                    "task": name,
                    "dim": dim,
                    "n": n,
                    "scatter": risk.scatter[i] / risk.noise[i],
                    "rule": rule,
                    "other rule": other_rule,
                    "blur": risk.blur[i] / risk.total[i],
                    "limit": limit,
                    "other limit": other_limit,
                    "error": error,
                }
            )
    return pd.DataFrame(rows)


def _average_square_difference(task: Zonal, w: float, angles: tuple[Array, Array]) -> float:
    """Return ``E (f(x) - f(x_q))^2`` for a point x of the density ``e^{w x . x_q}`` on the sphere.

    ``angles`` are the nodes and probabilities of `angle_quadrature`.
    """
    theta, p = angles
    # This is exp(-w (1 - cos(theta))) without cancellation.
    weight = p * np.exp(-2 * w * np.sin(theta / 2) ** 2)
    return float(2 * weight @ task.variogram(theta) / weight.sum())


#: Classes with dimensions, lengths n, L and sigma of the interactive figure.
CLASSES_TO_MOVE = list(itertools.product(("affine", "ReLU"), (3, 5, 8)))
LENGTHS = 10.0 ** np.arange(1, 9)
LIPSCHITZ = [0.1, 0.2, 0.5, 1, 2, 5, 10]
NOISE = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10]


def risks_to_move() -> pd.DataFrame:
    """Return the three errors with L = sigma = 1 at many w, for the interactive figure."""
    w = 10 ** (np.arange(-10, 41) / 10)
    parts = []
    for name, dim in CLASSES_TO_MOVE:
        # The errors have the shape (lengths, windows).
        risk = split_risk(make_task(name, dim), w, LENGTHS[:, None], 1.0)
        for i, n in enumerate(LENGTHS):
            errors = {"blur": risk.blur, "scatter": risk.scatter, "noise": risk.noise}
            columns = {part: values[i] for part, values in errors.items()}
            parts.append(pd.DataFrame({"task": name, "dim": dim, "n": n, "w": w} | columns))
    return pd.concat(parts, ignore_index=True)


def best_windows_to_move() -> pd.DataFrame:
    """Return the best w and its risk for many L and sigma, for the interactive figure.

    The best w depends on sigma / L alone. The risk is L^2 times the risk at Lipschitz constant 1 and noise
    sigma / L. So each ratio sigma / L is computed once.
    """
    pairs = pd.DataFrame(itertools.product(LIPSCHITZ, NOISE), columns=["L", "sigma"])
    # Without rounding, equal ratios such as 0.02 / 0.2 and 0.05 / 0.5 would differ in their last digit.
    pairs["ratio"] = (pairs.sigma / pairs.L).round(9)
    ratios = np.unique(pairs.ratio)
    tables = []
    for name, dim in CLASSES_TO_MOVE:
        # The windows and risks have the shape (ratios, lengths).
        best = optimal_window(make_task(name, dim), LENGTHS, ratios[:, None])
        for n, w, risk in zip(LENGTHS, best.w.T, best.risk.T, strict=True):
            lowest = pd.DataFrame({"ratio": ratios, "w": w, "risk": risk})
            tables.append(pairs.merge(lowest, on="ratio").assign(task=name, dim=dim, n=n))
    table = pd.concat(tables, ignore_index=True)
    table["risk"] *= table.L**2
    return table[["task", "dim", "n", "L", "sigma", "w", "risk"]]
