"""The result of all exact risks: bias + noise = total."""

from __future__ import annotations

from dataclasses import dataclass

from icl.tasks.base import Array


@dataclass(frozen=True, eq=False)
class Risk:
    """The population risk, split as on the slides.

    Attributes:
        bias: ``E (sum omega_i f(x_i) - f(x_q))^2``; contains the sampling variance of f, and its fine
            variance. It and the others have the broadcast shape of the arguments (scalars if all were).
        noise: ``sigma^2 E sum omega_i^2``.
        error: Estimated relative error of both, the change that a coarser rule makes.
    """

    bias: Array
    noise: Array
    error: Array

    @property
    def total(self) -> Array:
        """The risk, bias + noise."""
        return self.bias + self.noise


@dataclass(frozen=True, eq=False)
class WindowRisk(Risk):
    """The risk of ``M = w I``, with the derivatives of bias and noise in w.

    Attributes:
        bias_slope: Derivative of ``bias`` in w.
        noise_slope: Derivative of ``noise`` in w.
    """

    bias_slope: Array
    noise_slope: Array

    @property
    def slope(self) -> Array:
        """Derivative of the risk in w."""
        return self.bias_slope + self.noise_slope


@dataclass(frozen=True, eq=False)
class SplitRisk(Risk):
    """The risk of ``M = w I``, with its bias split in two: risk = blur + scatter + noise.

    Attributes:
        blur: The error of the mean prediction over all contexts, given f and the query.
        error: Estimated relative error of bias, noise and blur.
    """

    blur: Array

    @property
    def scatter(self) -> Array:
        """How much the prediction varies with the places of the examples, without label noise.

        It is the difference of bias and blur, and cannot be trusted below ``error`` times the bias.
        """
        return self.bias - self.blur


@dataclass(frozen=True, eq=False)
class MatrixRisk(Risk):
    """The risk of one matrix M, with its gradient.

    Attributes:
        gradient: Derivative of ``total`` in the entries of M, shape (d, d).
        error: Estimated error of bias, noise and each entry of the gradient, divided by ``total``: what
            doubling the rule over the queries changed, plus what a coarser rule for the tokens changes.
    """

    gradient: Array
