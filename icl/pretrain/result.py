"""What `icl.pretrain.pretrain` returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.model import Array

Parameters = dict[str, Array]


@dataclass(frozen=True, eq=False)
class Pretrained:
    """Result of a pretraining sweep.

    Attributes:
        units: The units, in the order given.
        settings: The `icl.pretrain.config.Settings` that they share.
        shape: How ``M`` and ``windows`` arrange the units: (units,), or (settings, seeds) for `train_grid`.
        parameters: Trained parameters of each unit by name: ``M``, or ``W_V`` (last row), ``W_K``, ``W_Q``.
        history: All units' parameters at each step of ``settings.record``.
        diverged: Units whose parameters became infinite or NaN.
        engines: What took the steps of each unit, "compiled" or "eager".
        device: Type of the device of the training.
    """

    units: tuple[UnitConfig, ...]
    settings: Settings
    shape: tuple[int, ...]
    parameters: tuple[Parameters, ...]
    history: tuple[tuple[Parameters, ...], ...]
    diverged: tuple[UnitConfig, ...]
    engines: tuple[str, ...]
    device: str

    @property
    def M(self) -> Array:
        """Key-query matrices, ``(*shape, d, d)``: ``M``, or the token block of ``W_K' W_Q``."""
        return self._key_query(self.parameters)

    @property
    def M_history(self) -> Array:
        """Key-query matrices at the recorded steps, ``(len(record), *shape, d, d)``."""
        return np.array([self._key_query(all_units) for all_units in self.history])

    @property
    def windows(self) -> Array:
        """Mean of the diagonal of each ``M``, the w of the nearest ``w I``.

        For a class of even functions M and -M have the same risk: compare the absolute values.
        """
        w = np.trace(self.M, axis1=-2, axis2=-1) / self.M.shape[-1]
        return np.asarray(w)

    def _key_query(self, parameters: Sequence[Parameters]) -> Array:
        """Return the key-query matrices, ``(*shape, d, d)``, of all units' parameters."""
        d = self.units[0].task.dim
        found = [p["M"] if "M" in p else (p["W_K"].T @ p["W_Q"])[:d, :d] for p in parameters]
        return np.array(found).reshape(*self.shape, d, d)
