"""What the cards of a chapter need beyond its headline experiment: parameters in, data frames out.

One module a chapter, with the chapter's name; the book prints its source. The tables have one vocabulary:
``task``, ``dim``, ``n``, ``noise_std``, ``lipschitz``, ``seed``, as the rules of ``book/claims``.
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
