"""Measurements of a chapter's cards beyond its headline experiment: parameters in, data frames out.

Each chapter has a module of its name. The columns of the tables have the names that the rules of
``book/claims`` use. A column ``error`` is the absolute numerical error of its row's number, unless a function
says otherwise. Functions that several chapters need are in this file.
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

    ``relative_error`` is that of y, one number for both points or two.
    """
    step = float(np.diff(np.log(x))[0])
    # the relative error of y is the absolute error of log y
    error = float(np.sum(np.broadcast_to(relative_error, 2)))
    return float(np.diff(np.log(y))[0]) / step, error / abs(step)


def losses_of_matrices(task: Zonal, *, n: int, noise_std: float) -> pd.DataFrame:
    """Compute how much worse four matrices M are than ``w I`` with the best w.

    Each of the four is this w times a named matrix. ``value`` is the exact risk of M over the least risk,
    minus one.
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
        # The risk is flat at the best w, so that its relative error is below `best.error`, that of w.
        error = ratio * (risk.error + best.error)
        rows.append({"matrix": name, "value": ratio - 1, "error": error})
    return pd.DataFrame(rows)


def medians(table: pd.DataFrame, value: str, *, by: Sequence[str]) -> pd.DataFrame:
    """Return the median of repeated runs for each setting, with its distribution-free interval.

    ``table`` has one row for each setting and run, and ``by`` are the columns of the setting.
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

    ``values`` has an array (steps, seeds) for the name of each column.
    """
    _, seeds = next(iter(values.values())).shape
    index = pd.MultiIndex.from_product([steps, range(seeds)], names=["step", "seed"])
    columns = {name: array.ravel() for name, array in values.items()}
    return pd.DataFrame(columns, index=index).reset_index()
