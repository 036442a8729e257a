"""Measurements of a chapter's cards beyond its headline experiment: parameters in, data frames out.

Each chapter has a module of its name, whose source the book prints. The columns of the tables have the names
that the rules of ``book/claims`` use: ``task``, ``dim``, ``n``, ``noise_std``, ``lipschitz``, ``seed``.
Functions that several chapters need are in this file, because a module does not import the module of another
chapter.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from icl.risk import matrix_risk, optimal_window
from icl.tasks import Zonal
from icl_book.statistics import median_interval

__all__ = ["FAR", "log_slope", "losses_of_matrices", "medians", "tabulate_record"]

#: Local slopes are taken between these window parameters, where the laws for large w hold within a percent.
FAR = (3e4, 1e5)


def log_slope(x: ArrayLike, y: ArrayLike, relative_error: ArrayLike) -> tuple[float, float]:
    """Return the slope of log y in log x between two points, and its absolute error.

    Args:
        x: Both abscissas, positive.
        y: Both ordinates, positive.
        relative_error: The relative errors of the ordinates, one number for both, or two.
    """
    step = float(np.diff(np.log(x))[0])
    # the relative error of y is the absolute error of log y
    error = float(np.sum(np.broadcast_to(relative_error, 2)))
    return float(np.diff(np.log(y))[0]) / step, error / abs(step)


def losses_of_matrices(task: Zonal, *, n: int, noise_std: float) -> pd.DataFrame:
    """Compute how much worse four matrices M are than the best multiple of the identity.

    The best multiple ``w I`` has the least risk. Each of the four is the same w times a named matrix, which
    is not a positive multiple of the identity.

    Returns:
        Columns ``matrix``, the name; ``value``, the exact risk of M divided by that of the best multiple,
        minus one; and ``error``, the absolute numerical error of ``value``.
    """
    quarter_turn = np.eye(task.dim)
    quarter_turn[:2, :2] = [[0, -1], [1, 0]]
    matrices = {
        "a plane turned by 90°": quarter_turn,
        "a direction ignored": np.diag([0.0] + [1.0] * (task.dim - 1)),
        "a direction narrower by 10 %": np.diag([1.1] + [1.0] * (task.dim - 1)),
        "turned round": -np.eye(task.dim),
    }
    best = optimal_window(task, n, noise_std)
    rows = []
    for name, matrix in matrices.items():
        risk = matrix_risk(task, best.w * matrix, n, noise_std)
        ratio = risk.total / best.risk
        # `best.error` is the relative error of the best w. Such an error changes `best.risk` by less, since
        # the risk is flat at the best w. `risk.error` is relative, too, while `error` is absolute.
        error = ratio * (risk.error + best.error)
        rows.append({"matrix": name, "value": ratio - 1, "error": error})
    return pd.DataFrame(rows)


def medians(table: pd.DataFrame, value: str, *, by: Sequence[str]) -> pd.DataFrame:
    """Return the median of repeated runs for each setting, with its distribution-free interval.

    Args:
        table: One row for each setting and run.
        value: The column of the number.
        by: The columns of the setting. Settings stay in the order of their first rows.

    Returns:
        The columns ``by``; ``median``; and the ends ``low`` and ``high`` of its interval
        (`icl_book.statistics.median_interval`).
    """
    rows = []
    for setting, group in table.groupby(list(by), sort=False):
        middle, low, high, _ = median_interval(group[value].to_numpy(dtype=float))
        row = dict(zip(by, setting, strict=True))
        row |= {"median": float(middle), "low": float(low), "high": float(high)}
        rows.append(row)
    return pd.DataFrame(rows)


def tabulate_record(steps: Sequence[int], **values: NDArray[np.float64]) -> pd.DataFrame:
    """Make a table of numbers that were recorded during training, with a row for each step and seed.

    Args:
        steps: The recorded steps of training.
        values: For the name of each column, its numbers (steps, seeds).

    Returns:
        Columns ``step``, ``seed``, and those of ``values``.
    """
    _, seeds = next(iter(values.values())).shape
    index = pd.MultiIndex.from_product([steps, range(seeds)], names=["step", "seed"])
    columns = {name: array.ravel() for name, array in values.items()}
    return pd.DataFrame(columns, index=index).reset_index()
