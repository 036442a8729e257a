"""What the cards of a chapter need beyond its headline experiment: parameters in, data frames out.

One module a chapter, with the chapter's name; the book prints its source. The tables have one vocabulary:
``task``, ``dim``, ``n``, ``noise_std``, ``lipschitz``, ``seed``, as the rules of ``book/claims``.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from icl.statistics import median_interval

__all__ = ["medians", "recorded"]


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


def recorded(steps: Sequence[int], **values: NDArray[np.float64]) -> pd.DataFrame:
    """Return numbers that were recorded of some units during training, a row for each step and seed.

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
