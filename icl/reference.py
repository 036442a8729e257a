"""Slow, literal versions of what the package computes fast; tests and chapters compare with these."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy.integrate import quad_vec
from scipy.special import gammaln
from torch import Tensor

from icl.contexts import Member
from icl.tasks import Zonal
from icl.tokens import stream

# The tensor trick, taken at its word: build A1 (x) A2 and differentiate through it.

def kron_logits(A1: Tensor, A2: Tensor, X: Tensor) -> Tensor:
    """(A1 (x) A2) vec(X), a vector of n * m logits, through the explicit n m x d e matrix."""
    return torch.kron(A1, A2) @ X.reshape(-1)


def kron_loss(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str = "normalized") -> Tensor:
    """`icl.tensor_trick.loss` as printed: a sum over the blocks A_j of single regressions.

    Args:
        A1: (n, d).
        A2: (m, e).
        X: (d, e).
        B: (n, m) targets, whose row j is b_j; None where the kind has none.
        kind: One of the five kinds.

    Returns:
        The loss, a scalar that autograd can differentiate.
    """
    A, x, m = torch.kron(A1, A2), X.reshape(-1), A2.shape[0]
    total = X.new_zeros(())
    for j in range(A1.shape[0]):
        u = torch.exp(A[j * m:(j + 1) * m] @ x)
        alpha = u.sum()
        f = u / alpha
        if kind == "normalized":
            total = total + 0.5 * ((f - B[j]) ** 2).sum()
        elif kind == "rescaled":
            total = total + 0.5 * ((u - alpha * B[j]) ** 2).sum()
        elif kind == "sparse":
            total = total + alpha
        elif kind == "cross_entropy":
            total = total - (B[j] * f.log()).sum()
        elif kind == "entropy":
            total = total - (f * f.log()).sum()
        else:
            raise ValueError(f"kind is {kind!r}")
    return total


def kron_gradient(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, kind: str = "normalized") -> Tensor:
    """The gradient of `kron_loss` in X by autograd through the explicit Kronecker product; (d, e)."""
    return torch.func.grad(lambda Y: kron_loss(A1, A2, Y, B, kind))(X)


def kron_hvp(A1: Tensor, A2: Tensor, X: Tensor, B: Tensor | None, V: Tensor,
             kind: str = "normalized") -> Tensor:
    """The Hessian of `kron_loss` in X times V, by forward over reverse autograd; (d, e)."""
    return torch.func.jvp(lambda Y: kron_gradient(A1, A2, Y, B, kind), (X,), (V,))[1]


# The population risk, by brute force: no Gegenbauer expansion, no trapezoid rule, no graded panels.

def population_risk(task: Zonal, w: float, n: int, noise_std: float, nodes: int = 300) -> tuple[float, float]:
    """`icl.risk.population_risk` from its definition, with plain two-dimensional quadrature.

    The pair of tokens is integrated over both angles to the query and the angle between
    their tangential parts; the integral over s runs through an adaptive rule. Meant for
    moderate windows (w up to about ``nodes / 3``).

    Args:
        task: A rotation-invariant class.
        w: Window parameter.
        n: Context length.
        noise_std: Noise standard deviation.
        nodes: Gauss-Legendre nodes for each angle to the query.

    Returns:
        ``(bias, noise)``.
    """
    d = task.dim
    theta, p = _sphere_angles(d, nodes)
    gap = 2 * np.sin(theta / 2) ** 2
    gamma = task.variogram(theta)
    # mean variogram between two tokens over the angle psi between their tangential parts
    if d == 2:
        psi, q = np.array([0.0, np.pi]), np.array([0.5, 0.5])
    else:
        psi, q = _sphere_angles(d - 1, nodes)
    among = np.zeros((nodes, nodes))
    for angle, weight in zip(psi, q, strict=True):
        half = (np.sin((theta[:, None] - theta) / 2) ** 2
                + np.sin(theta)[:, None] * np.sin(theta) * np.sin(angle / 2) ** 2)
        among += weight * task.variogram(2 * np.arcsin(np.sqrt(np.clip(half, 0, 1))))
    together = (gamma[:, None] + gamma - among) * p[:, None] * p

    def integrand(u):
        z = np.exp(np.minimum(u - w * gap, 6.0))
        one, two = z * np.exp(-z), z * z * np.exp(-z)
        log_phi = np.log1p(-min(p @ -np.expm1(-z), 1 - 1e-16))
        single = n * math.exp((n - 1) * log_phi)
        bias = single * (two * 2 * gamma) @ p
        if n > 1:
            bias += n * (n - 1) * math.exp((n - 2) * log_phi) * (one @ together @ one)
        return np.array([bias, single * two @ p])

    low = -math.log(n * (p @ np.exp(-w * gap))) - 25
    total = np.zeros(2)
    for left in np.arange(low, 2 * w + 8, 4.0):  # an adaptive rule on short pieces cannot miss the peak
        total += quad_vec(integrand, left, left + 4.0, epsabs=1e-18, epsrel=1e-12)[0]
    return float(total[0]), float(noise_std**2 * total[1])


def _sphere_angles(dim: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes on [0, pi] with the probability density of the angle on S^{dim-1}."""
    x, weight = np.polynomial.legendre.leggauss(nodes)
    theta = (x + 1) * np.pi / 2
    constant = math.exp(gammaln(dim / 2) - gammaln((dim - 1) / 2)) / math.sqrt(math.pi)
    return theta, weight * np.pi / 2 * constant * np.sin(theta) ** (dim - 2)


# Pretraining, the way anybody would write it: one unit, autograd, torch.optim, double precision.

def contexts(member: Member, step: int, batch_size: int) -> tuple[Tensor, Tensor]:
    """The portable batch of ``step``: tokens (B, n + 1, d), the query last, and labels (B, n + 1)."""
    shape = (batch_size, member.context_length + 1)
    x = member.law.tokens(torch.from_numpy(
        stream(member.seed, "covariates", step).standard_normal((*shape, member.task.dim))))
    noise = torch.from_numpy(stream(member.seed, "noise", step).standard_normal(shape))
    f = member.task.sample(stream(member.seed, "tasks", step), batch_size)
    return x, f(x) + member.noise_std * noise


def prediction(parameters: dict[str, Tensor], activation: str, x: Tensor, y: Tensor) -> Tensor:
    """What a unit predicts for the query's label: ITA slides, eqs. (1) and (2), for any activation."""
    tokens = torch.cat([x, y.unsqueeze(-1)], -1)
    tokens[:, -1, -1] = 0  # the query's label is not shown
    context, query = tokens[:, :-1], tokens[:, -1]
    if "M" in parameters:
        scores = (context[..., :-1] * (query[:, :-1] @ parameters["M"].T).unsqueeze(1)).sum(-1)
        values = context[..., -1]
    else:
        scores = ((context @ parameters["W_K"].T) * (query @ parameters["W_Q"].T).unsqueeze(1)).sum(-1)
        values = context @ parameters["W_V"]
    if activation == "softmax":
        return (torch.softmax(scores, -1) * values).sum(-1)
    phi = {"linear": lambda s: s, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "relu": torch.relu}[
        activation.removeprefix("normalized ")](scores)
    if activation.startswith("normalized"):
        total = phi.sum(-1, keepdim=True)
        return (phi / torch.where(total == 0, 1.0, total) * values).sum(-1)
    return (phi * values).mean(-1)


def pretrain(member: Member, steps: int, batch_size: int, learning_rate: float, optimizer: str = "adam",
             draw=contexts) -> dict[str, np.ndarray]:
    """`icl.pretrain.pretrain` for one unit and the linear schedule, slowly.

    Args:
        member: The unit.
        steps: Optimizer steps.
        batch_size: Contexts a step.
        learning_rate: Initial step size.
        optimizer: "adam" or "sgd".
        draw: From (member, step, batch size) to a batch; the portable one if not given.

    Returns:
        Trained parameters by name.
    """
    start = torch.from_numpy(member.initial())
    parameters = {name: value.clone().requires_grad_() for name, value in member.shape.unpack(start).items()}
    kind = torch.optim.Adam if optimizer == "adam" else torch.optim.SGD
    descent = kind(parameters.values(), lr=member.learning_rate or learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(descent, lambda step: 1 - step / steps)
    for step in range(steps):
        x, y = draw(member, step, batch_size)
        descent.zero_grad()
        ((prediction(parameters, member.activation, x, y) - y[:, -1]) ** 2).mean().backward()
        descent.step()
        schedule.step()
    return {name: value.detach().numpy() for name, value in parameters.items()}
