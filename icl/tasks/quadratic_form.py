r"""Predictors that are linear in the labels, with the labels integrated out and the tokens given.

Softmax attention, its rivals with other activations, several heads, nearest neighbors and kriging all
predict ``p = sum_i omega_i y_i`` with weights that depend on the tokens only. Given the tokens, the mean of
``(p - f(x_q))^2`` over functions and noise is a quadratic form in the weights,

    risk(omega) = k(1) - 2 omega . k_q + omega' (K + sigma^2 I) omega,

with the class covariance ``K_ij = k(x_i . x_j)`` and ``k_q,i = k(x_i . x_q)``. Only tokens need sampling, and
they may have any law on the sphere; the form does not ask that weights are positive or sum to one. Its
minimizer is kriging, the floor of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from icl.tasks.base import Zonal, check_setting


@dataclass(frozen=True)
class QuadraticRisk:
    """The quadratic form of the risk for B contexts.

    Attributes:
        prior: ``k(1) = E f(x)^2``, the risk of predicting zero.
        near: ``k_q``, shape (B, n).
        among: ``K + sigma^2 I``, shape (B, n, n).
        noisy: Whether sigma > 0.
    """

    prior: float
    near: torch.Tensor
    among: torch.Tensor
    noisy: bool

    @classmethod
    def of(cls, task: Zonal, tokens: torch.Tensor, noise_std: float) -> QuadraticRisk:
        """The form of a class at given tokens.

        Args:
            task: A rotation-invariant class.
            tokens: Unit vectors (B, n + 1, d), float64; the query is last.
            noise_std: Standard deviation of the label noise.

        Returns:
            The form.

        Raises:
            TypeError: If the class is not rotation invariant.
            ValueError: If the noise is out of range or the dimensions differ.
        """
        check_setting(task, 0.0, 1, noise_std)
        if tokens.ndim != 3 or tokens.shape[-1] != task.dim or tokens.shape[1] < 2:
            raise ValueError(f"tokens of shape {tuple(tokens.shape)}: must be (B, n + 1, {task.dim})")
        cosine = (tokens @ tokens.mT).clamp(-1, 1)
        k = torch.as_tensor(np.asarray(task.covariance(cosine.numpy())))
        among = k[:, :-1, :-1] + noise_std**2 * torch.eye(tokens.shape[1] - 1, dtype=k.dtype)
        return cls(float(task.covariance(np.array(1.0))), k[:, :-1, -1], among, noise_std > 0)

    def risk(self, weights: torch.Tensor) -> torch.Tensor:
        """Risks of the predictors with these weights.

        Args:
            weights: (..., B, n).

        Returns:
            (..., B), one for each context: their mean over contexts is the risk, their spread its error.
        """
        return self.prior - 2 * self.gain(weights) + self.product(weights, weights)

    def gain(self, weights: torch.Tensor) -> torch.Tensor:
        """``E p f(x_q)``, shape (..., B)."""
        return (weights * self.near).sum(-1)

    def product(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """``E p_a p_b`` of two predictors with weights (..., B, n); shape (..., B)."""
        return torch.einsum("...bi,bij,...bj->...b", a, self.among, b)

    def kriging(self) -> torch.Tensor:
        """The weights with the smallest risk, ``(K + sigma^2 I)^{-1} k_q``, shape (B, n).

        Without noise K may be singular (an affine class has d + 1 dimensions): the pseudo-inverse is used.
        """
        near = self.near.unsqueeze(-1)
        if self.noisy:
            return torch.cholesky_solve(near, torch.linalg.cholesky(self.among)).squeeze(-1)
        return (torch.linalg.pinv(self.among, hermitian=True, rtol=1e-12) @ near).squeeze(-1)
