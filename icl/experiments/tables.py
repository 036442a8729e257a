"""Tidy tables of settings and of repeated runs, and the limits of sweeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from icl.statistics import median_interval
from icl.tasks import Affine, Cosine, ReLU

Array = NDArray[np.float64]
#: The classes of functions by the names that the book prints; each is called with (dim, lipschitz).
TASKS: dict[str, type[Affine | ReLU | Cosine]] = {"affine": Affine, "ReLU": ReLU, "cosine": Cosine}


class Training(NamedTuple):
    """How small models are trained: by Adam, from several seeds, on fresh contexts at each step."""

    seeds: int
    steps: int
    batch_size: int
    learning_rate: float
    device: torch.device | str = "cpu"


#: Columns of a limit at the end of a sweep: its ``value`` and the ``change`` in the last step; the same,
#: ``limit`` and ``step``, of a known case whose limit is the ``truth``, which calibrates the error.
LIMIT = ("value", "change", "limit", "step", "truth")


def grid(**values: Iterable[Any]) -> pd.DataFrame:
    """Return a row for every combination of settings, a column for each; the last changes fastest."""
    return pd.MultiIndex.from_product(values.values(), names=values.keys()).to_frame(index=False)


def measured(measure: Callable[..., Any], columns: Sequence[str], **values: Iterable[Any]) -> pd.DataFrame:
    """Measure in every combination of settings.

    Args:
        measure: Called with one setting, a keyword for each of ``values``; returns one number for each of
            ``columns``, or arrays of equal lengths, a row for each entry.
        columns: The names of what it returns.
        **values: What each setting takes on, see `grid`.

    Returns:
        One row for each setting (and entry): its values, then the columns.
    """
    parts = []
    for setting in grid(**values).to_dict("records"):
        found = measure(**setting) if len(columns) > 1 else (measure(**setting),)
        entries = np.broadcast_arrays(*map(np.atleast_1d, found))
        parts.append(pd.DataFrame(dict(zip(columns, entries, strict=True))).assign(**setting))
    return pd.concat(parts, ignore_index=True)[[*values, *columns]]


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
        middle, low, high, _ = median_interval(group[value].to_numpy(dtype=float))
        rows.append([*setting, float(middle), float(low), float(high)])
    return pd.DataFrame(rows, columns=[*by, "median", "low", "high"])
