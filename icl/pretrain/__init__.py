"""Pretraining of attention units, many at once.

- `config`: what a unit is (`UnitConfig`) and what a sweep shares (`Settings`).
- `trainer`: `pretrain`, and the same for settings times seeds (`train_grid`). `result`: `Pretrained`.
- `batches`: contexts as pure functions of (seed, step). `model`: prediction, gradient and step of units.
- `sweep`: units in stacks and the engines that take their steps.
- `metrics`: test error and matrix norms of trained units.
"""

from icl.pretrain.batches import draw_contexts
from icl.pretrain.config import Settings, UnitConfig
from icl.pretrain.result import Pretrained
from icl.pretrain.trainer import pretrain, train_grid

__all__ = [
    "Pretrained",
    "Settings",
    "UnitConfig",
    "draw_contexts",
    "pretrain",
    "train_grid",
]
