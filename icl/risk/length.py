"""The price of a rule that carries a window from one context length to a longer one.

A layer with fixed weights has one window for contexts of every length. A *rule* multiplies the scores, and so
the window parameter w, by a factor that depends on the context length. Language models use such rules, and
`length_price` says what a rule costs in the setting of `icl.risk.exact`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from icl.checks import choice, reals
from icl.risk.exact import optimal_window, population_risk
from icl.tasks import Zonal
from icl.tasks.base import MAX_MAGNITUDE, Array

#: For each rule, the factor on w for N examples in d dimensions, if w was made for n0 examples.
RULES: Mapping[str, Callable[[Any, Any, Any], Any]] = {
    "kept": lambda n0, N, d: 1.0,
    "log n": lambda n0, N, d: np.log(N) / np.log(n0),
    "(log n)^2": lambda n0, N, d: (np.log(N) / np.log(n0)) ** 2,
    "YaRN": lambda n0, N, d: (1 + 0.1 * np.log(N / n0)) ** 2,
    "Llama 4": lambda n0, N, d: 1 + 0.1 * np.log(1 + np.floor(N / n0)),
    "power": lambda n0, N, d: (N / n0) ** (2 / (d + 2)),
}


def length_price(
    task: Zonal,
    n0: ArrayLike,
    N: ArrayLike,
    noise_std: ArrayLike,
    rule: str | ArrayLike,
) -> Array:
    r"""Compute the price at ``N`` examples of the best window for ``n0`` examples, carried there by a rule.

    The *price* is the exact risk at ``N`` examples with the carried window, divided by the least risk at
    ``N`` examples. It is at least 1. The rules are:

    - "kept", the factor 1;
    - "log n", the factor :math:`\log N/\log n_0` of Qwen's ``use_logn_attn`` and of LongRoPE;
    - "(log n)^2", its square;
    - "YaRN", the factor :math:`(1+0.1\ln(N/n_0))^2` of YaRN (arXiv:2309.00071), DeepSeek and gpt-oss;
    - "Llama 4", the factor :math:`1+0.1\ln(1+\lfloor N/n_0\rfloor)`, which is not 1 at ``N = n0``;
    - "power", the factor :math:`(N/n_0)^{2/(d+2)}` of the law of the window for functions with a kink.

    Args:
        task: A rotation-invariant class from `icl.tasks`.
        n0: The context length for which the window is the best one, at least 2, because rules divide by
            ``log n0``.
        N: The context length at which the window is used, at least ``n0``.
        noise_std: Standard deviation sigma of the label noise, at least 0.
        rule: A name, or the factor on w, at least 0; it, ``n0``, ``N`` and ``noise_std`` broadcast.

    Raises:
        ValueError: If an argument is out of range, or for what `optimal_window` and `population_risk`
            refuse.

    >>> from icl.tasks import ReLU
    >>> for rule in ("kept", "log n", "power"):
    ...     print(rule, length_price(ReLU(dim=4), 2048, 128 * 2048, 0.5, rule).round(2))
    kept 6.12
    log n 2.85
    power 1.0
    """
    n0 = reals(n0, "n0", 2, MAX_MAGNITUDE, whole=True)
    N = reals(N, "N", 2, MAX_MAGNITUDE, whole=True)
    if np.any(n0 > N):
        raise ValueError(f"N={np.min(N):g}: must be at least n0={np.max(n0):g}")
    w = optimal_window(task, n0, noise_std).w
    if isinstance(rule, str):
        # this ends the error's list of what is allowed
        choice(rule, "rule", RULES, ", and numbers")
        factor = RULES[rule](n0, N, task.dim)
    else:
        factor = reals(rule, "rule", 0, MAX_MAGNITUDE)
    least = optimal_window(task, N, noise_std).risk
    # the carried window may be too narrow
    try:
        return np.asarray(population_risk(task, w * factor, N, noise_std).total / least)[()]
    except ValueError as error:
        raise ValueError(f"rule={np.max(factor):g}: {error}") from None
