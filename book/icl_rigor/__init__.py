"""Rigorous enclosures, in ball arithmetic: what they return contains the exact number, rounding included.

- `balls`: means over the tokens, with a bound for every error of a rule.
- `enclose`: the population risk of ``M = w I``.
- `curvature`: the range of the second derivatives of softmax regression.

The balls are those of Arb, by python-flint, which the first call imports.
"""

from __future__ import annotations

from dataclasses import dataclass

from icl.checks import integer, real
from icl.tasks import Zonal, check_task
from icl.tasks.base import MAX_MAGNITUDE, NOISE_RANGE

Interval = tuple[float, float]


@dataclass(frozen=True)
class EnclosedRisk:
    """Intervals ``(low, high)``, rounded outwards, that contain the population risk.

    Attributes:
        bias: ``E (sum omega_i f(x_i) - f(x_q))^2``.
        noise: ``sigma^2 E sum omega_i^2``.
        total: Their sum.
    """

    bias: Interval
    noise: Interval
    total: Interval


def enclose_risk(
    task: Zonal, w: float, n: int, noise_std: float, rtol: float = 1e-10
) -> EnclosedRisk:
    """Enclose the exact population risk of the attention unit ``M = w I``; a theorem, not an estimate.

    Arguments are those of `icl.risk.population_risk`, without broadcasting; ``rtol``, 1e-15 to 1e-2, is the
    largest relative width of ``bias`` and ``noise``. The cost grows like w^2, more slowly if n is large.

    Raises:
        ModuleNotFoundError: If python-flint is not installed.
        TypeError: If the task is not rotation invariant.
        ValueError: If an argument is out of range, for w above 300, for classes other than affine, linear,
            quadratic, ReLU and cosine, or where a width is above ``rtol``.
    """
    check_task(task)
    w, n, noise_std = (
        real(w, "w", 0, 300),
        integer(n, "n", 1, int(MAX_MAGNITUDE)),
        real(noise_std, "noise_std", *NOISE_RANGE),
    )
    rtol = real(rtol, "rtol", 1e-15, 1e-2)
    require()
    from icl_rigor import enclose

    return enclose.risk(task, w, n, noise_std, rtol)


def require() -> None:
    """Raise ModuleNotFoundError, in one line, if python-flint is not installed."""
    try:
        import flint  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError("python-flint is missing: pip install python-flint") from None
