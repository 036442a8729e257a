"""Types that a checker has to infer for names of `icl`: mypy reads this file, and nothing runs it."""

from typing import assert_type

import numpy as np

import icl
from icl.data import BestWindow
from icl.pretrain import train_grid
from icl.regressor import SoftmaxAttentionRegressor
from icl.tasks import Affine

assert_type(icl.__version__, str)
assert_type(icl.best_window(np.eye(3), np.ones(3)), BestWindow)
assert_type(icl.SoftmaxAttentionRegressor(), SoftmaxAttentionRegressor)
predicted: str = icl.predict(np.eye(3), np.ones(3), np.eye(3), 1.0)  # type: ignore[assignment]
# mypy reports an ignore without an error, so this line fails if a name has the type Any
none = icl.no_such_name  # type: ignore[attr-defined]
train_grid(Affine(3), 0.5, 4, seeds=1, record=(1,))
train_grid(Affine(3), 0.5, 4, seeds=1, optimiser="sgd")  # type: ignore[call-arg]
