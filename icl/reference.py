"""Slow, literal versions of what the package computes fast; tests and chapters compare with these.

Two things are computed the way they are written down: the tensor trick and pretraining. The population
risk, which has no such way but sampling, is computed by other means in `icl.reference_risk`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from icl.contexts import Member
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
