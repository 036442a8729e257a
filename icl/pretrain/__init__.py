"""Pretraining of attention units, many at once.

- `config`: what a unit is (`UnitConfig`) and what a sweep shares (`Settings`).
- `sweep`: `pretrain`, and its result. `trainer`: the loop over steps and the checkpoint.
- `batches`: contexts as pure functions of (seed, step). `model`: prediction and gradient of stacked units.
- `metrics`: test error and matrix norms of trained units. `reference`: one unit by autograd, slowly.
"""

from icl.pretrain.config import Settings, UnitConfig, check_integrable
from icl.pretrain.sweep import Pretrained, loss_gradient, pretrain

__all__ = ["Pretrained", "Settings", "UnitConfig", "check_integrable", "loss_gradient", "pretrain"]
