"""Pretraining of attention units, many at once.

- `config`: what a unit is (`UnitConfig`) and what a sweep shares (`Settings`).
- `trainer`: `pretrain`, the same for settings times seeds (`train_grid`), and the loop over steps.
- `batches`: contexts as pure functions of (seed, step). `model`: prediction and gradient of stacked units.
- `metrics`: test error and matrix norms of trained units.
"""

from icl.pretrain.batches import draw_contexts
from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.trainer import Pretrained, TrainedGrid, pretrain, train_grid

__all__ = [
    "Pretrained",
    "Settings",
    "TrainedGrid",
    "UnitConfig",
    "draw_contexts",
    "pretrain",
    "train_grid",
]
