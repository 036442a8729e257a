"""Random streams and covariate laws.

Everything random in the project is drawn from a *stream*: a counter-based generator that
is a pure function of ``(seed, name, step)``. Step 1000 can be drawn without drawing the
999 before it, so work can be resumed anywhere, and the numbers of one stream never depend
on how much another one used. Streams are drawn on the CPU and then moved, so every device
sees the same numbers.
"""

from __future__ import annotations

import operator

import numpy as np
import torch
from scipy.special import betaincinv

#: The separate sources of randomness and their place in the generator's key.
STREAMS = {"covariates": 0, "tasks": 1, "noise": 2, "initialization": 3, "evaluation": 4, "monte carlo": 5}


def stream(seed: int, name: str, step: int = 0) -> np.random.Generator:
    """The generator of stream ``name`` at ``step``: Philox with key (seed, name), counter step.

    Args:
        seed: Non-negative integer below 2**64.
        name: One of `STREAMS`.
        step: Non-negative integer; every step owns 2**192 counter values of its own.

    Returns:
        A NumPy generator; equal arguments give equal numbers on every machine.

    Raises:
        ValueError: If the seed or step is negative or the name is unknown.
    """
    if name not in STREAMS:
        raise ValueError(f"name={name!r}: allowed are {', '.join(STREAMS)}")
    seed, step = integer(seed, "seed", 0), integer(step, "step", 0)
    return np.random.Generator(np.random.Philox(key=[seed, STREAMS[name]], counter=[0, 0, 0, step]))


def integer(value, name: str, least: int) -> int:
    """``value`` as an int of at least ``least``.

    Args:
        value: What the caller was given.
        name: The parameter's name, for the message.
        least: The smallest value allowed.

    Returns:
        The value as a plain int.

    Raises:
        ValueError: If it is not a whole number or too small.
    """
    try:
        whole = operator.index(value)
    except TypeError:
        whole = None
    if whole is None or isinstance(value, bool) or whole < least:
        raise ValueError(f"{name}={value!r}: must be an integer >= {least}")
    return whole


def uniform_sphere(rng: np.random.Generator, *shape: int) -> torch.Tensor:
    """Points uniform on the unit sphere, ``x ~ U(S^{d-1})``.

    Args:
        rng: A stream.
        *shape: Leading sizes and, last, the dimension d >= 2.

    Returns:
        float64 tensor of that shape whose last axis has norm 1.
    """
    integer(shape[-1], "dim", 2)
    x = torch.from_numpy(rng.standard_normal(shape))
    return x / x.norm(dim=-1, keepdim=True)


def cap_quantile(dim: int, mass: float) -> float:
    """The ``1 - x.x_q`` below which a uniform token ``x`` falls with probability ``mass``.

    Args:
        dim: Dimension d >= 2.
        mass: Probability; 1 and more give 2, the whole sphere.

    Returns:
        A number in [0, 2]. Its inverse at mass 1/n is the window parameter whose kernel
        just reaches the nearest of n tokens; it grows like ``n ** (2 / (d - 1))``.
    """
    return 2.0 if mass >= 1 else 2 * float(betaincinv((dim - 1) / 2, (dim - 1) / 2, mass))


def low_rank_sphere(rng: np.random.Generator, basis: torch.Tensor, *shape: int) -> torch.Tensor:
    """Tokens ``x = B u + B_perp v`` with independent ``u ~ U(S^{k-1})``, ``v ~ U(S^{d-k-1})``.

    Args:
        rng: A stream.
        basis: ``B``, shape (d, k) with orthonormal columns, 2 <= k <= d - 2.
        *shape: Leading sizes of the result.

    Returns:
        float64 tensor of shape (*shape, d), every token of norm sqrt(2).
    """
    d, k = basis.shape
    complement = torch.linalg.qr(basis.double(), mode="complete").Q[:, k:]
    u, v = uniform_sphere(rng, *shape, k), uniform_sphere(rng, *shape, d - k)
    return u @ basis.double().T + v @ complement.T
