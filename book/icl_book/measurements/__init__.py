"""What the book's chapters measure and is too long for a cell: parameters in, tidy tables out.

- `tables`: one measurement in every setting (`tables.each`), medians of repeated runs, the classes by the
  names that the book prints. `sweeps`: slopes, and limits at the ends of sweeps.
- `layers`, `classification`, `closeness`, `functions`: several heads and layers, labels -1 and 1, what
  *close* means, other classes of functions.
- `identities`, `misprints`: both sides of formulas, on random problems. `costs`: what they cost.
- `kernel`: attention as a kernel estimate, its weights, bias and noise over w, best windows.
- `exact_risk`: against direct rules and sampling, bias + noise, cost.
- `lipschitz`: constants printed, proved, built and found. `curvature`: step sizes and passes.
- `target_shift`: moves of weights, data and target; layers that imitate a step.
- `theorem2`: the exact window over many decades, the proof sketch, trained units.
- `theorem4_low_rank`: Theorem 4 over all matrices, and functions behind a nonlinear link.
- `gaussian`: Gaussian tokens and a ball: where the window stops, and what it leaves.
- `lemma1_covariance`: units on ellipsoids, and the sign of w.
- `phases`: the map of windows, waves, the law of smooth classes, much noise, no noise, long contexts.
- `theorem3`: the price of the wrong window, its limits, units tested on other classes.
- `certificates`: other matrices than multiples of the identity, and bounds over all Lipschitz functions.
- `pretraining`: how the norm of M grows, units with all matrices free, finite time.
- `rivals`: linear attention, neighbors, ridge regression. `activations`: sigmoid, tanh, ReLU attention.
"""

from collections.abc import Sequence

import pandas as pd

from icl.statistics import median_interval

__all__ = ["medians"]


def medians(table: pd.DataFrame, value: str, *, by: Sequence[str]) -> pd.DataFrame:
    """Return the median of repeated runs for each setting, with its distribution-free interval.

    Args:
        table: One row for each setting and run.
        value: The column of the number.
        by: The columns of the setting; the order of the rows stays.

    Returns:
        Columns ``by``, ``median``, ``low`` and ``high`` (`icl.statistics.median_interval`).
    """
    rows = []
    for setting, group in table.groupby(list(by), sort=False):
        middle, low, high, _ = median_interval(group[value].to_numpy(dtype=float))
        row = dict(zip(by, setting, strict=True))
        row |= {"median": float(middle), "low": float(low), "high": float(high)}
        rows.append(row)
    return pd.DataFrame(rows)
