"""Measurements of a chapter's cards beyond its headline experiment: parameters in, data frames out.

Each chapter has a module of its name; the book prints its source. The tables share one vocabulary with the
rules of ``book/claims``: ``task``, ``dim``, ``n``, ``noise_std``, ``lipschitz``, ``seed``. Functions that
several chapters need are here. Modules do not import those of other chapters.
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
        relative_error: Their relative errors, one number for both or two.
    """
    step = float(np.diff(np.log(x))[0])
    error = float(np.sum(np.broadcast_to(relative_error, 2)))
    return float(np.diff(np.log(y))[0]) / step, error / abs(step)


def losses_of_matrices(task: Zonal, *, n: int, noise_std: float) -> pd.DataFrame:
    """Return what four matrices that are not positive multiples of the identity lose, exactly.

    Each unit has the best w of ``M = w I`` times the matrix that is named.

    Returns:
        Columns ``matrix``, its name; ``value``, the risk of the unit over the least one of all multiples of
        the identity, minus one, and ``error``, the absolute numerical error of that.
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
        # The relative error of the best w is more than that of the risk, which is flat there.
        error = ratio * (risk.error + best.error)
        rows.append({"matrix": name, "value": ratio - 1, "error": error})
    return pd.DataFrame(rows)


def medians(table: pd.DataFrame, value: str, *, by: Sequence[str]) -> pd.DataFrame:
    """Return the median of repeated runs for each setting, with its distribution-free interval.

    Args:
        table: One row for each setting and run.
        value: The column of the number.
        by: The columns of the setting; settings stay in the order of their first rows.

    Returns:
        Columns ``by``, ``median``, ``low`` and ``high`` (`icl_book.statistics.median_interval`).
    """
    rows = []
    for setting, group in table.groupby(list(by), sort=False):
        middle, low, high, _ = median_interval(group[value].to_numpy(dtype=float))
        row = dict(zip(by, setting, strict=True))
        row |= {"median": float(middle), "low": float(low), "high": float(high)}
        rows.append(row)
    return pd.DataFrame(rows)


def tabulate_record(steps: Sequence[int], **values: NDArray[np.float64]) -> pd.DataFrame:
    """Return numbers that were recorded while units of several seeds trained, a row for each step and seed.

    Args:
        steps: The recorded steps.
        values: One array for each column, (steps, seeds).

    Returns:
        Columns ``step``, ``seed``, and those of ``values``.
    """
    _, seeds = next(iter(values.values())).shape
    index = pd.MultiIndex.from_product([steps, range(seeds)], names=["step", "seed"])
    columns = {name: array.ravel() for name, array in values.items()}
    return pd.DataFrame(columns, index=index).reset_index()
