"""Tidy tables of settings and of repeated runs."""

from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from icl.statistics import median_interval

Array = NDArray[np.float64]
#: What was measured in one setting: numbers or arrays by name. Arrays broadcast, and each entry is a row.
Row = dict[str, Any]
#: The classes of functions that most chapters compare, as the book prints their names; `icl.tasks.make_task`
#: makes these and every other one of `icl.tasks.CLASSES`.
KINDS = ("affine", "ReLU", "cosine")
#: The fastest way to train, as in `icl.pretrain.train_grid`.
FAST: dict[str, Any] = {"shared_tokens": True, "stream": "native", "dtype": "float32"}


class Training(NamedTuple):
    """How small models are trained: by Adam, from several seeds, on fresh contexts at each step."""

    seeds: int
    steps: int
    batch_size: int
    learning_rate: Any  # a number, or a list with one for each setting
    device: torch.device | str = "cpu"


def grid(**values: Iterable[Any]) -> pd.DataFrame:
    """Return a row for every combination of settings, a column for each; the last changes fastest."""
    return pd.MultiIndex.from_product(values.values(), names=values.keys()).to_frame(
        index=False
    )


def each(measure: Callable[..., Row], **settings: Any) -> pd.DataFrame:
    """Measure in every combination of settings.

    A list (a tuple, a range) is swept, the last one fastest, and is a column of the table; a list of
    dictionaries sweeps several keywords together. Anything else, an array, too, is the same in all settings,
    and no column. Each setting has a row, or one for each entry of the arrays that were measured there.
    """
    lists, same, parts = [], {}, []
    for name, some in settings.items():
        if isinstance(some, Sequence) and not isinstance(some, str):
            lists.append(
                [value if isinstance(value, dict) else {name: value} for value in some]
            )
        else:
            same[name] = some
    for values in product(*lists):
        setting = {name: value for some in values for name, value in some.items()}
        found = measure(**setting, **same)
        columns = (column.ravel() for column in np.broadcast_arrays(*found.values()))
        parts.append(pd.DataFrame(setting | dict(zip(found, columns, strict=True))))
    return pd.concat(parts, ignore_index=True)


def measured(
    measure: Callable[..., Any], columns: Sequence[str], **values: Iterable[Any]
) -> pd.DataFrame:
    """Measure `each` setting by a function that returns numbers or arrays for ``columns``, in this order."""

    def row(**setting: Any) -> Row:
        found = measure(**setting) if len(columns) > 1 else (measure(**setting),)
        return dict(zip(columns, found, strict=True))

    return each(row, **{name: list(some) for name, some in values.items()})


def exponents(
    few: pd.DataFrame, many: pd.DataFrame, value: str, factor: float, by: Sequence[str]
) -> pd.DataFrame:
    """Return the exponent with which a number grows in what is ``factor`` times as large in ``many``.

    Args:
        few: One row for each setting and run.
        many: The same settings and runs, with ``factor`` times as much.
        value: The column of the number, which is positive.
        factor: Above one.
        by: The columns that name setting and run.

    Returns:
        Columns ``by``, ``exponent``, the slope of the logarithm, and ``run``, the number of the row.
    """
    both = few.merge(many, on=list(by), suffixes=("_few", "_many"))
    ratio = both[f"{value}_many"] / both[f"{value}_few"]
    return both[list(by)].assign(
        exponent=np.log(ratio) / np.log(factor), run=range(len(both))
    )


def medians(frame: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Return the median of repeated runs for each setting, with its distribution-free interval.

    Args:
        frame: One row for each setting and run.
        value: The column of the number.
        by: The columns of the setting; the order of the rows stays.

    Returns:
        Columns ``by``, ``median``, ``low`` and ``high`` (`icl.statistics.median_interval`).
    """
    rows = []
    for setting, group in frame.groupby(list(by), sort=False):
        rows.append(
            [
                *setting,
                *map(float, median_interval(group[value].to_numpy(dtype=float))[:3]),
            ]
        )
    return pd.DataFrame(rows, columns=[*by, "median", "low", "high"])
