"""What a type checker has to know of the names of `icl`: read by mypy in `make lint`, never run."""

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
# an ignored error that is none is an error, so that no name is of any type
none = icl.no_such_name  # type: ignore[attr-defined]
train_grid(Affine(3), 0.5, 4, seeds=1, record=(1,))
train_grid(Affine(3), 0.5, 4, seeds=1, optimiser="sgd")  # type: ignore[call-arg]
