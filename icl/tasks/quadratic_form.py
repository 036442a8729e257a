r"""Predictors that are linear in the labels, with the labels integrated out, given the tokens.

Softmax attention, its rivals with other activations, several heads, nearest neighbors and kriging all
predict ``p = sum_i omega_i y_i``, with weights omega that depend on the tokens only. Given the tokens x_i and
the query x_q, the mean of ``(p - f(x_q))^2`` over functions and noise is a quadratic form in the weights, ::

    risk(omega) = prior - 2 omega . k_q + omega' (K + sigma^2 I) omega.

- ``prior`` is ``E f(x)^2``.
- The entries of k_q are ``k(x_i . x_q)``, where k is the covariance of the class.
- K has ``k(x_i . x_j)`` for different tokens, and ``prior`` on the diagonal.

Only tokens must be sampled, and they may have any distribution on the sphere. Weights may be negative, and
need not sum to one. Kriging has the weights with the smallest risk.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from icl.checks import real, tensor
from icl.tasks.base import NOISE_RANGE, Zonal, check_task, fine_variance

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, eq=False)
class QuadraticRisk:
    """The quadratic form of the risk for B contexts.

    Attributes:
        prior: ``E f(x)^2``, the risk of predicting zero.
        kernel_vector: k_q, (B, n).
        gram: ``K + sigma^2 I``, (B, n, n).
        noisy: Whether the labels have noise, or the class has fine variance (`Zonal.unresolved`).
    """

    prior: float
    kernel_vector: torch.Tensor
    gram: torch.Tensor
    noisy: bool

    @classmethod
    def of(cls, task: Zonal, tokens: torch.Tensor, noise_std: float) -> QuadraticRisk:
        """Return the form of a class at unit tokens (B, n + 1, d), of which the last one is the query.

        The form is float64 on the CPU, and without a gradient. Fine variance (`Zonal.unresolved`) acts as
        label noise. Tokens count as different places even if their coordinates agree.

        Raises:
            TypeError: If the class is not rotation invariant.
            ValueError: If the noise is out of range, the dimensions differ, or a token is not a unit vector.
        """
        from icl.pytorch import torch

        check_task(task)
        noise_std = real(noise_std, "noise_std", *NOISE_RANGE)
        # the check of lengths also refuses NaN
        tensor(tokens, "tokens", "n + 1", "d", finite=False)
        tokens = tokens.detach().double().cpu()
        if tokens.ndim != 3 or tokens.shape[-1] != task.dim or tokens.shape[1] < 2:
            raise ValueError(
                f"tokens of shape {tuple(tokens.shape)}: must be (B, n + 1, {task.dim})"
            )
        cosine = tokens @ tokens.mT
        squares = cosine.diagonal(dim1=-2, dim2=-1)
        if not bool(((squares - 1).abs() <= 1e-6).all()):
            raise ValueError(
                f"tokens: must be unit vectors, squared lengths are up to {float(squares.max()):g}"
            )
        # rounding may take a cosine out of its range
        cosine = cosine.clamp(-1, 1)
        # the weights need not sum to one, so that a constant part counts
        level = task.left_out_level
        prior = task.second_moment + level
        pairs = torch.triu_indices(cosine.shape[1], cosine.shape[2], 1)
        values = torch.as_tensor(np.asarray(task.covariance(cosine[:, *pairs].numpy())) + level)
        # the diagonal of the tokens is set below, and that of the query is not used
        k = torch.empty_like(cosine)
        # these are the entries (i, j) and (j, i)
        k[:, *pairs] = k[:, *pairs.flip(0)] = values
        gram = k[:, :-1, :-1].clone()
        gram.diagonal(dim1=-2, dim2=-1).fill_(prior + noise_std**2)
        noisy = noise_std > 0 or fine_variance(task) > 0
        return cls(prior, k[:, :-1, -1], gram, noisy)

    def risk(self, weights: torch.Tensor) -> torch.Tensor:
        """Return the risk of predictors with these weights, (..., B, n), in each context; shape (..., B)."""
        self._check(weights, "weights")
        return self.prior - 2 * self.gain(weights) + self.product(weights, weights)

    def gain(self, weights: torch.Tensor) -> torch.Tensor:
        """Return ``E p f(x_q)`` for the prediction p with these weights, (..., B, n); shape (..., B)."""
        self._check(weights, "weights")
        return (weights * self.kernel_vector).sum(-1)

    def product(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """Return ``E p_a p_b`` for two predictions with weights a and b, (..., B, n); shape (..., B)."""
        from icl.pytorch import torch

        self._check(a, "a")
        self._check(b, "b")
        return torch.einsum("...bi,bij,...bj->...b", a.to(self.gram), self.gram, b.to(self.gram))

    def _check(self, weights: torch.Tensor, name: str) -> None:
        """Raise unless ``weights`` is a tensor (..., B, n)."""
        tensor(weights, name, *self.kernel_vector.shape, finite=False)

    def kriging(self) -> torch.Tensor:
        """Return the weights with the smallest risk, ``(K + sigma^2 I)^{-1} k_q``, shape (B, n).

        Without noise and fine variance K may be singular, and the pseudo-inverse is used.
        """
        from icl.pytorch import torch

        k_q = self.kernel_vector.unsqueeze(-1)
        if self.noisy:
            return torch.cholesky_solve(k_q, torch.linalg.cholesky(self.gram)).squeeze(-1)
        # smaller eigenvalues are rounding errors of zero
        inverse: torch.Tensor = torch.linalg.pinv(self.gram, hermitian=True, rtol=1e-12)
        return (inverse @ k_q).squeeze(-1)
